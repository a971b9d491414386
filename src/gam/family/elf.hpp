// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Quantile regression for the quantile `qu`, by the extended log-F density of Fasiolo, Wood, Zaffran,
/// Nedellec and Goude, JASA 116 (2021). Minus the log likelihood is the pinball loss, smoothed over the width
/// `co` and divided by the learning rate exp(lsig). A NaN `lsig` lets the fit calibrate the learning rate. If
/// `co` is 0, the fit chooses the width: by `err`, a bound on the smoothing error, or by least error if `err`
/// is 0. Before calibration, the learning rate and the width are 1.
struct Elf : UsualLink<Link::identity> {
  static constexpr char name[] = "elf";
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::identity};
  static constexpr bool scale_is_known = true;
  static constexpr Start start = Start::response;
  static constexpr bool null_is_likeliest = true;
  static constexpr bool saturated_is_constant = true;
  static constexpr bool square_is_deviance = true;
  static constexpr char residuals[] = " A share qu of them is below 0.";

  enum { at_qu, at_lsig, at_err, at_co };
  static constexpr int constant_count = 4;
  static constexpr int shown_count = 1;
  static constexpr char title[] = "elf(qu=";
  static const char* parameter_name(int i) {
    return i == at_qu ? "qu" : i == at_lsig ? "lsig" : i == at_err ? "err" : "co";
  }
  static double first_constant(int i) {
    return i == at_lsig ? std::numeric_limits<double>::quiet_NaN() : 0;  // invalid: qu must be given
  }
  static double working(int i, double value) {
    if (i == at_lsig) return value == value ? value : 0;
    const bool valid = i == at_qu ? value > 0 && value < 1 : value >= 0 && (i == at_co || value <= 1);
    return valid ? value : std::numeric_limits<double>::quiet_NaN();
  }
  static double parameter_at(int, double working) { return working; }

  constexpr explicit Elf(const double* values) : values_(values) {}
  [[nodiscard]] double parameter(int i) const { return values_[i]; }

  static const char* response_fault(double) { return nullptr; }

  /// A Newton step. Far from the quantile the density underflows, but the score does not.
  template <FormulaNumber T>
  [[nodiscard]] RowStep<T> step(const Same<T>& y, const T& eta, const Same<T>& prior) const {
    constexpr double least_density = 1e-150;
    const T x = (y - eta) / width();
    const T ratio = exp(-fabs(x));
    const T smaller = ratio / (1 + ratio);
    const T density = within(least_density, smaller / (1 + ratio), 1);
    const T score = choose(x > 0.0, values_[at_qu] - smaller, smaller - (1 - values_[at_qu]));
    return {prior * density / (width() * rate()), score * width() / density, deviance(y, eta, prior)};
  }
  template <FormulaNumber T>
  [[nodiscard]] T deviance(const Same<T>& y, const T& mu, const Same<T>& prior) const {
    const T x = (y - mu) / width();
    const T slope = choose(x > 0.0, T(values_[at_qu]), T(values_[at_qu] - 1));
    return 2 * prior * width() / rate() * (slope * x + log1p(exp(-fabs(x))) - entropy());
  }
  template <FormulaNumber T>
  static T first_mean(const T& y, const Same<T>&) {
    return y;
  }
  /// The mean at which the deviance is 0.
  [[nodiscard]] double likeliest_mean(double y) const {
    return y - width() * log((1 - values_[at_qu]) / values_[at_qu]);
  }
  [[nodiscard]] double minus_two_log_likelihood(double y, double mu, double weight, double) const {
    const double shape = width() / rate();
    const double log_beta =
        lgamma((1 - values_[at_qu]) * shape) + lgamma(values_[at_qu] * shape) - lgamma(shape);
    return deviance(y, mu, weight) + 2 * weight * (log(width()) + log_beta + shape * entropy());
  }

 private:
  [[nodiscard]] double rate() const {
    return values_[at_lsig] == values_[at_lsig] ? exp(values_[at_lsig]) : 1;
  }
  [[nodiscard]] double width() const { return values_[at_co] > 0 ? values_[at_co] : 1; }
  [[nodiscard]] double entropy() const {
    const double qu = values_[at_qu];
    return -qu * log(qu) - (1 - qu) * log1p(-qu);
  }

  const double* values_;  ///< qu, lsig, err and co
};

}  // namespace TESSERA_NAMESPACE::gam
