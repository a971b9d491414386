// SPDX-License-Identifier: Apache-2.0
// The public face of what people read of a model.
#include "gam/model/model.hpp"
#include "gam/report/page.hpp"
#include "gam/report/summary.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/report.hpp>

#include <fmt/core.h>

namespace tessera::gam {

std::string summary(const Model& model) {
  return summary_text(model.fitted());
}

std::string report_html(const Model& model, const ReportOptions& options) {
  PageOptions page{.same_y_scale = options.same_y_scale, .run = {}};
  if (!options.run_report.empty()) {
    page.run = load_run_record(options.run_report);
    if (page.run->model != model.fitted().checksum)
      throw Error(
          ErrorCode::input,
          fmt::format("{}: is the run report of another model than {}, or of one that was changed since: "
                      "give the two files of one fit",
                      options.run_report, model.fitted().path));
  }
  return report_page(model.fitted(), page);
}

}  // namespace tessera::gam
