// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"
#include "gam/check/check_rows.hpp"
#include "gam/data/table_source.hpp"
#include "gam/fit/row_sample.hpp"
#include "gam/model/covariance.hpp"
#include "gam/model/model.hpp"
#include "gam/report/page.hpp"
#include "gam/report/reported_rows.hpp"
#include "gam/report/summary.hpp"

#include <tessera/gam/report.hpp>

#include <memory>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

std::string summary(const Model& model) {
  return summary_text(model.fitted());
}

ReportRows report_rows(Job& job, const Model& model, const Table& table, const CheckOptions& options,
                       FitObserver* observer) {
  require_valid(options);
  FitObserver silent;
  FitObserver& told = observer != nullptr ? *observer : silent;
  const ModelRows rows(job, model.fitted(), source_of(table), options.memory, told, options.series);
  RowSample sample = sample_rows(job, rows, told);
  Check check = check_rows(job, rows, options, told);
  return ReportRows(
      std::make_shared<const ReportedRows>(ReportedRows{std::move(sample), options, std::move(check)}));
}

Report report(const Model& model, const ReportOptions& options) {
  require_covariance(model.fitted(), "plots");
  PageOptions page{.same_y_scale = options.same_y_scale, .run = {}, .rows = options.rows.rows()};
  if (!options.run_report.empty()) {
    page.run = load_run_record(options.run_report);
    if (page.run->model != model.fitted().checksum)
      throw base::input_error(
          "{}: the run report does not belong to the model {}, or the model was changed: give the run report "
          "and the model of the same fit",
          options.run_report, model.fitted().path);
  }
  return report_page(model.fitted(), page);
}

std::string report_html(const Model& model, const ReportOptions& options) {
  return report(model, options).html;
}

}  // namespace TESSERA_NAMESPACE::gam
