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

/// Start values of PIRLS.
namespace TESSERA_NAMESPACE::gam {

/// Whether the family derives the first means from the responses, without coefficients. Gaussian and custom
/// families start at the mean instead; for gaussian fits, residuals about the mean keep a large common level
/// out of the sums of squares.
[[nodiscard]] bool has_own_start(const Family& family);

/// The linear predictor of a mean. Throws `Error(input)` if no predictor gives that mean in a custom family.
[[nodiscard]] double predictor_of(const Family& family, double mean);

/// Coefficients of the predictor 1 in all rows, by the intercept or a factor coded by all levels; empty:
/// there is neither.
[[nodiscard]] std::vector<double> unit_coefficients(const Design& design);

/// The coefficients for which every mean is `mean`; empty for a model without an intercept.
[[nodiscard]] std::optional<std::vector<double>> coefficients_of_mean(const Design& design,
                                                                      const Family& family, double mean);

/// *Collective.* The range of the sum of the offsets over the complete rows of the job, in the units of the
/// fit.
[[nodiscard]] Extent extent_of_offset(const Workers& workers, const Rows& rows);

/// *Collective.* A predictor with the mean `mean`, minus the part of the offset that keeps every row's
/// predictor in the link's range. Throws like `predictor_of`.
[[nodiscard]] double inner_predictor(const Workers& workers, const Rows& rows, double mean);

/// *Collective.* The coefficients with which every row has the predictor `inner_predictor` before its offset;
/// empty for a model with neither an intercept nor a factor coded by all levels.
[[nodiscard]] std::optional<std::vector<double>> inner_coefficients(const Workers& workers, const Rows& rows,
                                                                    double mean);

/// Mean and standard deviation of the response, which is above 0 unless the mean is 0.
[[nodiscard]] ResponseLevel level_of_response(const RawMoments& moments);

/// The first coefficients: every mean is then that of the response. Zeros for a family with its own start,
/// and in a gaussian model without an intercept. With several linear predictors, those that the family starts
/// from; 0 for a predictor whose columns do not have the constant. Throws `Error(usage)` for a custom family
/// in a model without an intercept.
[[nodiscard]] std::vector<double> first_coefficients(const Design& design, const Family& family,
                                                     const RawMoments& moments);

}  // namespace TESSERA_NAMESPACE::gam
