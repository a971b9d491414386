// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/profile.hpp"

#include "base/math/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace TESSERA_NAMESPACE::gam {

double RemlProfile::value(double at) const {
  const double growth = base::expm1(at - log_sp);
  double new_deviance = deviance;
  double new_log_det = log_det;
  for (std::size_t i = 0; i < share.size(); ++i) {
    const double ratio = share[i] * growth;
    new_deviance += growth / (1 + ratio) * square[i];
    new_log_det += base::log1p(ratio);
  }
  double new_log_det_penalty = log_det_penalty;
  for (const double own : penalty_share) new_log_det_penalty += base::log1p(own * growth);
  new_deviance = std::max(smallest_deviance, new_deviance);
  const double phi = scale.value_or(new_deviance / (gamma * df));
  return (new_deviance / (phi * gamma) + df * base::log(2 * std::numbers::pi * phi) +
          unpenalised * base::log(gamma) + new_log_det - new_log_det_penalty) /
         2;
}

}  // namespace TESSERA_NAMESPACE::gam
