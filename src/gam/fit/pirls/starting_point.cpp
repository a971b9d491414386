// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/starting_point.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

namespace TESSERA_NAMESPACE::gam {

bool has_own_start(const Family& family) {
  return !family.linear() && family.start() != Start::mean;
}

double predictor_of(const Family& family, double mean) {
  if (const auto found = family.predictor(mean)) return *found;
  throw Error(ErrorCode::input,
              fmt::format("the mean of the response, {:g}, is no mean of the family {}: its inverse link "
                          "passes it at no predictor in the direction of its derivative",
                          mean, family.name()));
}

std::optional<std::vector<double>> coefficients_of_mean(const Design& design, const Family& family,
                                                        double mean) {
  const auto intercept = std::ranges::find(design.blocks, "(Intercept)", &CoefBlock::label);
  if (intercept == design.blocks.end()) return std::nullopt;
  std::vector<double> coef(static_cast<std::size_t>(design.coef_size));
  coef[static_cast<std::size_t>(intercept->coef_begin)] = predictor_of(family, mean);
  return coef;
}

std::vector<double> first_coefficients(const Design& design, const Family& family, double mean) {
  if (!has_own_start(family)) {
    if (auto coef = coefficients_of_mean(design, family, mean)) return *std::move(coef);
    if (family.start() == Start::mean)
      throw Error(ErrorCode::usage,
                  fmt::format("the family {} needs a formula with an intercept", family.text()));
  }
  return std::vector<double>(static_cast<std::size_t>(design.coef_size));
}

}  // namespace TESSERA_NAMESPACE::gam
