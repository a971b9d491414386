// SPDX-License-Identifier: Apache-2.0
#include "gam/family/saturated_sum.hpp"

#include "gam/family/visit.hpp"

namespace TESSERA_NAMESPACE::gam {

template <class F>
double SaturatedSum::saturated(const F& family, Response y, double weight) {
  if constexpr (requires { family.has_series(); }) {
    const auto series = [this](double c, double s) { return series_.at(c, s); };
    if (family.has_series()) return -2 * weight * family.saturated(y, scale_, series);
  }
  if constexpr (requires { family.deviance_is_whole; }) return 0;
  if constexpr (is_censored_family<F>)
    return family.minus_two_log_likelihood(y, y.value, weight, scale_) - family.deviance(y, y.value, weight);
  return family.minus_two_log_likelihood(y, saturated_mean(family, y), weight, scale_);
}

double SaturatedSum::add(double sum, std::span<const double> responses, std::span<const double> weights,
                         const std::function<double(std::size_t)>& predictor,
                         std::span<const double> limits) {
  visit(*family_, [&](const auto& family) {
    for (std::size_t i = 0; i < responses.size(); ++i) {
      const Response y = limits.empty() ? Response(responses[i]) : Response(responses[i], limits[i]);
      const double weight = weights.empty() ? 1 : weights[i];
      if (!(weight > 0)) continue;
      if (family.likelihood_rounds(y, weight)) {
        const double mu = family.mean(predictor(i));
        sum +=
            family.minus_two_log_likelihood(y, mu, weight, scale_) - family.deviance(y, mu, weight) / scale_;
      } else if (weights.empty() && limits.empty()) {
        // The cache is about 100 times as fast as the likelihood.
        sum += counts_(y, [&](double count) { return saturated(family, count, 1); });
      } else {
        sum += saturated(family, y, weight);
      }
    }
  });
  return sum;
}

}  // namespace TESSERA_NAMESPACE::gam
