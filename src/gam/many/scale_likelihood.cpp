// SPDX-License-Identifier: Apache-2.0
#include "gam/many/scale_likelihood.hpp"

#include "base/math/elementary.hpp"
#include "gam/family/polygamma.hpp"

#include <cmath>
#include <map>

namespace TESSERA_NAMESPACE::gam {

ScaleLikelihood::ScaleLikelihood(ManyFamily family, std::span<const double> weights) : family_(family) {
  if (family != ManyFamily::gaussian && family != ManyFamily::gamma) return;
  std::map<double, double> rows;
  double last = 0;
  double* count = nullptr;
  for (const double weight : weights) {
    if (weight == 0) continue;
    if (count == nullptr || weight != last) count = &rows[weight];
    last = weight;
    *count += 1;
  }
  weights_.assign(rows.begin(), rows.end());
}

ScaleLikelihood::Value ScaleLikelihood::at(double phi) const {
  Value sum;
  for (const auto& [weight, rows] : weights_) {
    if (family_ == ManyFamily::gaussian) {
      sum.value += 0.5 * rows * base::log(weight / (2 * M_PI * phi));
      sum.slope -= 0.5 * rows;
      continue;
    }
    // a log(a) - a - log gamma(a) for the shape a, by the remainder of Stirling's formula.
    const double a = weight / phi;
    const StirlingRest rest = stirling_rest(a);
    sum.value += rows * (0.5 * base::log(a / (2 * M_PI)) - rest.value);
    sum.slope -= rows * (0.5 + a * rest.first);
    sum.curvature += rows * a * (rest.first - a * rest.second);
  }
  return sum;
}

}  // namespace TESSERA_NAMESPACE::gam
