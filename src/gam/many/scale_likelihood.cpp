// SPDX-License-Identifier: Apache-2.0
#include "gam/many/scale_likelihood.hpp"

#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>

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
      sum.value += 0.5 * rows * std::log(weight / (2 * M_PI * phi));
      sum.slope -= 0.5 * rows;
      continue;
    }
    // The log likelihood is a log(a) - a - log Gamma(a), where a is the shape.
    const double a = weight / phi;
    const double slope = std::log(a) - boost::math::digamma(a);
    sum.value += rows * (a * std::log(a) - a - std::lgamma(a));
    sum.slope -= rows * a * slope;
    sum.curvature += rows * (a * slope + a - a * a * boost::math::trigamma(a));
  }
  return sum;
}

}  // namespace TESSERA_NAMESPACE::gam
