// SPDX-License-Identifier: Apache-2.0
#include "gam/many/response_constants.hpp"

#include "base/math/elementary.hpp"
#include "gam/family/polygamma.hpp"

#include <cmath>
#include <cstddef>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Binomial log likelihood of `weight` trials at probability `share`, the proportion of successes.
double saturated_trials(double share, double weight) {
  const double successes = weight * share;
  const double failures = weight * (1 - share);
  if (weight == 1 || successes == 0 || failures == 0) return 0;
  return stirling_rest(weight).value - stirling_rest(successes).value - stirling_rest(failures).value -
         0.5 * base::log(2 * M_PI * share * failures);
}

}  // namespace

ResponseConstants constants_of(ManyFamily family, std::span<const double> y,
                               std::span<const double> weights) {
  ResponseConstants sums;
  if (family == ManyFamily::nb || family == ManyFamily::poisson) return sums;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (weights[i] == 0) continue;
    sums.rows += 1;
    sums.weight += weights[i];
    sums.log_weight += weights[i] == 1 ? 0 : base::log(weights[i]);
    if (family == ManyFamily::binomial) sums.log_likelihood += saturated_trials(y[i], weights[i]);
    if (family != ManyFamily::gamma) continue;
    sums.log_response += weights[i] * base::log(y[i]);
    sums.log_likelihood -= base::log(y[i]);
  }
  return sums;
}

double log_likelihood_of(ManyFamily family, const ResponseConstants& constants, double saturated, double loss,
                         double deviance, double phi) {
  switch (family) {
    case ManyFamily::gaussian:
      return -0.5 * constants.rows * (base::log(2 * M_PI * deviance / constants.rows) + 1) +
             0.5 * constants.log_weight;
    case ManyFamily::gamma: {
      const double shape = 1 / phi;
      return constants.weight * (0.5 * base::log(shape / (2 * M_PI)) - stirling_rest(shape).value) -
             shape * loss - constants.log_response;
    }
    default: return constants.log_likelihood + saturated - loss;
  }
}

}  // namespace TESSERA_NAMESPACE::gam
