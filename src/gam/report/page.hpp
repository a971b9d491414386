// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"
#include "gam/report/reported_rows.hpp"
#include "gam/report/run_record.hpp"

#include <tessera/gam/report.hpp>

#include <optional>

namespace TESSERA_NAMESPACE::gam {

struct PageOptions {
  bool same_y_scale = true;  ///< one y scale for all curves, as in mgcv's plot.gam
  std::optional<RunRecord> run;
  const ReportedRows* rows = nullptr;  ///< rows to show on the page; null: none
};

/// An HTML page with the summary, term plots, residual checks, and the rows and times of the run. The page is
/// self-contained (no script, no other file), well-formed XML, and deterministic. The pictures are also
/// returned separately. Throws `Error(input)` if the run report and the model differ in the number of rows.
[[nodiscard]] Report report_page(const FittedModel& model, const PageOptions& options);

}  // namespace TESSERA_NAMESPACE::gam
