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

/// An HTML page with the summary, each term's plot, residual checks, and the division of work in the run. It
/// is self-contained (no script, no other file, no network), light or dark as the reader prefers, well-formed
/// XML, and deterministic. The pictures are also returned separately, in order. Throws `Error(input)` if the
/// run report's number of rows is not the model's. Pure.
[[nodiscard]] Report report_page(const FittedModel& model, const PageOptions& options);

}  // namespace TESSERA_NAMESPACE::gam
