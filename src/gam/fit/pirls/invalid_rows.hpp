// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Describes the first row with an invalid working weight, and the invalid value (variance not
/// above 0, derivative of 0, mean or deviance not finite). The same on every rank; empty if all are valid.
[[nodiscard]] std::string first_invalid_row(const tessera::Job& job, const Rows& rows,
                                            std::span<const double> raw_coef);

/// "poisson(identity) needs a linear predictor above 0", for a family with `Family::predictors`.
[[nodiscard]] std::string needed_predictor(const Family& family);

struct RowsAtEdge {
  std::int64_t count = 0;
  std::int64_t leaving = 0;  ///< rows near an end that the step moves away from this end
};

/// *Collective.* Counts the rows whose predictors are within `near` of an end of `Family::predictors` after a
/// step from the coefficients `raw_begin` to `raw_end`. Cost: a scan of all rows by the host threads.
[[nodiscard]] RowsAtEdge rows_at_edge(const FitContext& fit, const Rows& rows,
                                      std::span<const double> raw_begin, std::span<const double> raw_end,
                                      double near);

}  // namespace TESSERA_NAMESPACE::gam
