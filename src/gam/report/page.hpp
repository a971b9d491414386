// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"
#include "gam/report/reported_rows.hpp"
#include "gam/report/run_record.hpp"

#include <tessera/gam/report.hpp>

#include <optional>

namespace TESSERA_NAMESPACE::gam {

struct PageOptions {
  bool same_y_scale = true;  ///< of the curves, as mgcv's plot.gam has them
  std::optional<RunRecord> run;
  const ReportedRows* rows = nullptr;  ///< null: there are none
};

/// A page of HTML with the summary, every term's plot, residual checks, and how the run was shared out. It
/// stands alone: no script, no other file, no network; light or dark as the reader has it. It is well-formed
/// XML too, and the same for the same input. Its pictures are beside it, in their order. Throws
/// `Error(input)` if the run is one over another number of rows than the model's. Pure.
[[nodiscard]] Report report_page(const FittedModel& model, const PageOptions& options);

}  // namespace TESSERA_NAMESPACE::gam
