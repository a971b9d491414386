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
///     start = ["log(mean)", "0"]             # of the responses' mean and deviation; else 0
///     response = ["exp(eta1)", "exp(eta2)"]  # what is predicted with type response; else the predictors
///     mean = "exp(eta1 + exp(2 * eta2) / 2)" # of a response
///     deviation = "exp(eta1) * …"            # its standard deviation
///     cumulative = "pnorm((log(y) - eta1) * exp(-eta2))"  # P(Y <= y)
///     quantile = "…"                         # of p and the predictors
///     support = "y > 0"                      # what a response must have
///
/// Only the first three keys are required. Derivatives are those of the expressions (jet.hpp). Returns null
/// if the file has no `predictors`, and is therefore one for `parse_custom_family`; throws like that.
[[nodiscard]] std::shared_ptr<const SeveralFamily> parse_own_several(const std::string& toml,
                                                                     const std::string& origin);

}  // namespace TESSERA_NAMESPACE::gam
