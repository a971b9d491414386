// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/family/family.hpp"
#include "gam/rows/row_pass.hpp"
#include "gam/table/frame/extent.hpp"
#include "gam/table/frame/workers.hpp"

#include <optional>
#include <vector>

/// Where PIRLS begins.
namespace TESSERA_NAMESPACE::gam {

/// Whether the family makes the first means from the response, without coefficients. Gaussian fits begin at
/// the mean: residuals about it keep a large common level out of the sums of squares. A custom family also
/// begins at the mean, as it has no start of its own.
[[nodiscard]] bool has_own_start(const Family& family);

/// The linear predictor of a mean. Throws `Error(input)` if no predictor gives that mean in a custom family.
[[nodiscard]] double predictor_of(const Family& family, double mean);

/// The coefficients with which every mean is `mean`; nothing in a model without an intercept.
[[nodiscard]] std::optional<std::vector<double>> coefficients_of_mean(const Design& design,
                                                                      const Family& family, double mean);

/// *Collective.* The range of the sum of the offsets over the complete rows of the job, in the units of the
/// fit.
[[nodiscard]] Extent extent_of_offset(const Workers& workers, const Rows& rows);

/// *Collective.* A predictor whose mean is `mean`, less as much of the offset as leaves that of every row
/// within what the family's link allows. Throws as `predictor_of` does.
[[nodiscard]] double inner_predictor(const Workers& workers, const Rows& rows, double mean);

/// *Collective.* The coefficients of that predictor, as every row's but for its offset; nothing in a model
/// with neither an intercept nor a factor of all levels.
[[nodiscard]] std::optional<std::vector<double>> inner_coefficients(const Workers& workers, const Rows& rows,
                                                                    double mean);

/// The first coefficients: those of the mean; zeros for a family with a start of its own, and in a gaussian
/// model without an intercept. Throws `Error(usage)` for a custom family in a model without one.
[[nodiscard]] std::vector<double> first_coefficients(const Design& design, const Family& family, double mean);

}  // namespace TESSERA_NAMESPACE::gam
