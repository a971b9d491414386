// SPDX-License-Identifier: Apache-2.0
#include "gam/inference/false_discovery.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace TESSERA_NAMESPACE::gam {

std::vector<double> false_discovery_rates(std::span<const double> p_values) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    if (!std::isnan(p_values[i])) order.push_back(i);
  }
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> rates(p_values.size(), std::numeric_limits<double>::quiet_NaN());
  double least = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    least =
        std::min(least, p_values[order[i]] * static_cast<double>(order.size()) / static_cast<double>(i + 1));
    rates[order[i]] = least;
  }
  return rates;
}

}  // namespace TESSERA_NAMESPACE::gam
