// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* The first row with an invalid working weight, and the family's invalid value there: a
/// variance not above 0, a derivative of 0, a mean or a deviance that is not finite. One line, the same on
/// every rank; empty if there is no such row.
[[nodiscard]] std::string first_invalid_row(const tessera::Job& job, const Rows& rows,
                                            std::span<const double> raw_coef);

/// The requirement of the link, for a family with `Family::predictors`: "poisson(identity) needs a linear
/// predictor above 0".
[[nodiscard]] std::string needed_predictor(const Family& family);

/// Rows whose predictors are near an end of `Family::predictors`.
struct RowsAtEdge {
  std::int64_t count = 0;
  std::int64_t leaving = 0;  ///< rows near the end that the step moves away from it
};

/// *Collective.* Counts the rows whose predictors are within `near` of an end after a step from the
/// coefficients `raw_begin` to `raw_end`. Cost: a scan of all rows by the host threads.
[[nodiscard]] RowsAtEdge rows_at_edge(const FitContext& fit, const Rows& rows,
                                      std::span<const double> raw_begin, std::span<const double> raw_end,
                                      double near);

}  // namespace TESSERA_NAMESPACE::gam
