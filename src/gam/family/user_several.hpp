// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/several_family.hpp"

#include <memory>
#include <string>

namespace TESSERA_NAMESPACE::gam {

inline constexpr int most_own_predictors = 4;

/// Reads a family of one to four linear predictors from the text of a TOML file:
///
///     # lognormal.toml
///     name = "lognormal"
///     predictors = 2
///     log_likelihood = "-log(y) - eta2 - ((log(y) - eta1) * exp(-eta2))^2 / 2"
///     start = ["log(mean)", "0"]             # from the mean and deviation of all responses; default 0
///     response = ["exp(eta1)", "exp(eta2)"]  # predictions of type response; default: predictors
///     mean = "exp(eta1 + exp(2 * eta2) / 2)" # mean of a response
///     deviation = "exp(eta1) * …"            # standard deviation of a response
///     cumulative = "pnorm((log(y) - eta1) * exp(-eta2))"  # P(Y <= y)
///     quantile = "…"                         # function of p and the predictors
///     support = "y > 0"                      # condition on a response
///
/// Only the first three keys are required. Derivatives are by automatic differentiation (jet.hpp). Returns
/// null if the file has no key `predictors`: such a file is for `parse_custom_family`. Throws like
/// `parse_custom_family`.
[[nodiscard]] std::shared_ptr<const SeveralFamily> parse_own_several(const std::string& toml,
                                                                     const std::string& origin);

}  // namespace TESSERA_NAMESPACE::gam
