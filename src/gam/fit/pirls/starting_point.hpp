// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/number_scan.hpp"
#include "gam/data/frame/workers.hpp"
#include "gam/design/design.hpp"
#include "gam/family/family.hpp"
#include "gam/family/several_family.hpp"
#include "gam/rows/row_pass.hpp"

#include <optional>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Whether the family derives the first means from the responses, without coefficients. Gaussian and custom
/// families start at the mean instead; in Gaussian fits, this avoids cancellation in the sums of squares.
[[nodiscard]] bool has_own_start(const Family& family);

/// The linear predictor of a mean. Throws `Error(input)` if a custom family has no predictor for `mean`.
[[nodiscard]] double predictor_of(const Family& family, double mean);

/// Coefficients with a linear predictor of 1: an intercept, or a factor coded by all levels. Else empty.
[[nodiscard]] std::vector<double> unit_coefficients(const Design& design);

/// The coefficients for which every mean is `mean`, before the offset; empty for a model without an
/// intercept.
[[nodiscard]] std::optional<std::vector<double>> coefficients_of_mean(const Design& design,
                                                                      const Family& family, double mean);

/// *Collective.* The range of the sum of offsets over the job's complete rows, in the units of the fit.
[[nodiscard]] Extent extent_of_offset(const Workers& workers, const Rows& rows);

/// *Collective.* The predictor of `mean` minus the extreme offset. Plus any offset it is in the link's range.
[[nodiscard]] double inner_predictor(const Workers& workers, const Rows& rows, double mean);

/// *Collective.* Coefficients with the predictor `inner_predictor` before the offset; empty for a model with
/// neither an intercept nor a factor coded by all levels.
[[nodiscard]] std::optional<std::vector<double>> inner_coefficients(const Workers& workers, const Rows& rows,
                                                                    double mean);

/// Mean and standard deviation of the response. The deviation is above 0 unless the mean is 0.
[[nodiscard]] ResponseLevel level_of_response(const RawMoments& moments);

/// Start coefficients, with every mean equal to the mean response. Zeros for a family with its own start, and
/// for a Gaussian model without an intercept. With several linear predictors the family chooses their start
/// values; 0 for a predictor whose columns do not span the constant. Throws `Error(usage)` for a custom
/// family in a model without an intercept.
[[nodiscard]] std::vector<double> first_coefficients(const Design& design, const Family& family,
                                                     const RawMoments& moments);

}  // namespace TESSERA_NAMESPACE::gam
