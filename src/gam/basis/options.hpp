// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/districts.hpp"

#include <tessera/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

struct BasisOptions {
  int k = 0;              ///< basis dimension before constraints; 0: the default
  std::vector<double> m;  ///< orders, whose meaning depends on the basis; NaN: the default
  int variables = 1;      ///< number of variables: more than 1 for an isotropic smooth
  /// Maximum number of points of an isotropic basis, and R's seed for the sample of points.
  int most_points = 2000;
  std::uint32_t seed = 1;
  std::string districts_file{};        ///< file from which the districts are read; empty: none
  Districts districts{};               ///< of bs="mrf"; empty until the file is read
  std::string curve{};                 ///< of bs="ad": the underlying basis; empty: ps
  std::vector<std::string> ignored{};  ///< options that have no effect, as in mgcv: reported in the log
  friend bool operator==(const BasisOptions&, const BasisOptions&) = default;
};

/// Why an argument ("k", "m" or "xt") is invalid.
struct OptionFault {
  std::string_view argument;
  std::string text;
};

[[nodiscard]] inline double order_or(const BasisOptions& options, std::size_t i, double otherwise) {
  return i < options.m.size() && !std::isnan(options.m[i]) ? options.m[i] : otherwise;
}

/// Sets a missing k to the larger of `usual` and `least`; refuses a k below `least`, which the orders need.
[[nodiscard]] inline std::optional<OptionFault> set_default_k(BasisOptions& options, int usual, int least,
                                                              std::string_view basis) {
  if (options.k == 0) options.k = std::max(usual, least);
  if (options.k >= least) return std::nullopt;
  return OptionFault{"k",
                     fmt::format("k={} is too small: bs=\"{}\" needs at least {}", options.k, basis, least)};
}

/// Removes the orders after the first `behind`, because mgcv ignores them. For a basis without orders, an m
/// of only 2, 0 or NA (a default) is not reported.
inline void ignore_orders(BasisOptions& options, std::size_t behind, std::string_view basis) {
  if (options.m.size() <= behind) return;
  const bool plain = behind == 0 && std::ranges::all_of(options.m, [](double order) {
                       return std::isnan(order) || order == 2 || order == 0;
                     });
  options.m.resize(behind);
  if (plain) return;
  const std::string beyond = behind == 0   ? ""
                             : behind == 1 ? " beyond its first number"
                                           : fmt::format(" beyond its first {} numbers", behind);
  options.ignored.push_back(fmt::format("m has no effect on bs=\"{}\"{}", basis, beyond));
}

/// P-splines: m[0] is the degree of the splines minus one, and m[1] the order of the differences; a single
/// number sets both.
[[nodiscard]] inline std::optional<OptionFault> settle_differences(BasisOptions& options, int least,
                                                                   std::string_view basis) {
  constexpr int most = 3;
  ignore_orders(options, 2, basis);
  const double spline = order_or(options, 0, 2);
  const double difference = order_or(options, options.m.size() == 1 ? 0 : 1, 2);
  if (spline != 0 && spline != 1 && spline != 2)
    return OptionFault{"m", fmt::format("m[1]={}: give the order of the splines, 0, 1 or 2 (cubic)", spline)};
  if (difference != std::floor(difference) || difference < least || difference > most)
    return OptionFault{
        "m", fmt::format("m[2]={}: give the order of the penalty, a whole number from {} to {}", difference,
                         least, most)};
  options.m = {spline, difference};
  return std::nullopt;
}

[[nodiscard]] inline int spline_degree(const BasisOptions& options) {
  return static_cast<int>(options.m[0]) + 1;
}

}  // namespace TESSERA_NAMESPACE::gam
