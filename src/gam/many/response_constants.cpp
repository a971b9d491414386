// SPDX-License-Identifier: Apache-2.0
#include "gam/many/response_constants.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace TESSERA_NAMESPACE::gam {
namespace {

double y_log_y(double y) {
  return y > 0 ? y * std::log(y) : 0;
}

/// The loss of a row with prior weight 1 whose mean equals the response.
double saturated_loss_of(ManyFamily family, double theta, double y) {
  switch (family) {
    case ManyFamily::nb: return (y + theta) * std::log1p(y / theta) - y_log_y(y);
    case ManyFamily::poisson: return y - y_log_y(y);
    case ManyFamily::binomial: return -y_log_y(y) - y_log_y(1 - y);
    case ManyFamily::gamma: return 1 + std::log(y);
    case ManyFamily::gaussian: return 0;
  }
  return 0;
}

/// log(count!).
double log_factorial(double count) {
  static const auto small = [] {
    std::array<double, 1024> table{};
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = std::lgamma(static_cast<double>(i) + 1);
    return table;
  }();
  return count < static_cast<double>(small.size()) ? small[static_cast<std::size_t>(count)]
                                                   : std::lgamma(count + 1);
}

/// The term of a row's log likelihood that its loss lacks.
double constant_of(ManyFamily family, double y, double weight) {
  switch (family) {
    case ManyFamily::binomial:
      return weight == 1
                 ? 0
                 : std::lgamma(weight + 1) - std::lgamma(weight * y + 1) - std::lgamma(weight * (1 - y) + 1);
    case ManyFamily::gamma: return -std::log(y);
    default: return 0;
  }
}

bool is_of_counts(ManyFamily family) {
  return family == ManyFamily::nb || family == ManyFamily::poisson;
}

}  // namespace

ResponseConstants constants_of(ManyFamily family, std::span<const double> y, std::span<const double> weights,
                               const CountTail& counts) {
  ResponseConstants sums;
  if (is_of_counts(family)) {
    // Families of counts need no other constant.
    sums.log_likelihood = -counts.sum_of(log_factorial);
    return sums;
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (weights[i] == 0) continue;
    sums.rows += 1;
    sums.weight += weights[i];
    sums.log_weight += weights[i] == 1 ? 0 : std::log(weights[i]);
    if (family == ManyFamily::gamma) sums.log_response += weights[i] * std::log(y[i]);
    if (y[i] != 0) sums.log_likelihood += constant_of(family, y[i], weights[i]);
  }
  return sums;
}

double saturated_loss(ManyFamily family, double theta, std::span<const double> y,
                      std::span<const double> weights, const CountTail& counts) {
  // A zero count has no loss.
  if (is_of_counts(family))
    return counts.sum_of([&](double count) { return saturated_loss_of(family, theta, count); });
  double sum = 0;
  if (family == ManyFamily::gaussian) return sum;
  for (std::size_t i = 0; i < y.size(); ++i) {
    // A zero response has no loss.
    if (weights[i] != 0 && y[i] != 0) sum += weights[i] * saturated_loss_of(family, theta, y[i]);
  }
  return sum;
}

double log_likelihood_of(ManyFamily family, const ResponseConstants& constants, double loss, double deviance,
                         double phi) {
  switch (family) {
    case ManyFamily::gaussian:
      return -0.5 * constants.rows * (std::log(2 * M_PI * deviance / constants.rows) + 1) +
             0.5 * constants.log_weight;
    case ManyFamily::gamma: {
      const double shape = 1 / phi;
      return constants.weight * (shape * std::log(shape) - std::lgamma(shape)) - shape * loss +
             (shape - 1) * constants.log_response;
    }
    default: return constants.log_likelihood - loss;
  }
}

}  // namespace TESSERA_NAMESPACE::gam
