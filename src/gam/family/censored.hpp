// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/normal_interval.hpp"
#include "gam/family/parts.hpp"
#include "gam/family/response.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Location model y = mu + sigma error with censored responses. A prior weight divides sigma^2. `Error`
/// computes the log likelihood of a standardised error at a point (`at`) and in an interval (`between`). As
/// in mgcv, the weight of a row is the observed information about mu. The deviance is relative to the maximum
/// of the row's likelihood over mu.
template <class Error>
struct CensoredLocation : UsualLink<Link::identity> {
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::identity, Link::log, Link::sqrt};
  static constexpr bool scale_is_known = true;
  static constexpr Start start = Start::response;
  static constexpr bool null_is_likeliest = true;
  static constexpr bool is_censored = true;
  static constexpr char residuals[] = " Those of censored rows are of their limits.";

  static constexpr int parameter_count = 1;
  static constexpr int shown_count = 1;
  static constexpr char at_limit[] =
      "the model may fit the uncensored rows exactly, or every row is censored";
  static const char* parameter_name(int) { return "sigma"; }
  static double first_working(int) { return 0; }
  static double working(int, double value) { return log(value); }
  static double parameter_at(int, double working) { return exp(working); }

  constexpr explicit CensoredLocation(const double* values) : sigma(values[0]) {}
  [[nodiscard]] double parameter(int) const { return sigma; }

  static const char* response_fault(double) { return nullptr; }
  template <FormulaNumber T>
  static T first_mean(const T& y, const Same<T>&) {
    return y;
  }

  template <FormulaNumber T>
  [[nodiscard]] RowStep<T> step(const ResponseOf<Same<T>>& y, const T& mu, const Same<T>& prior) const {
    const auto has_none = prior == 0.0;
    const T unit = sigma / sqrt(choose(has_none, T(1.0), prior));
    const ErrorLikelihood<T> at = likelihood(y, mu, unit);
    // at.information underflows to 0 if the mean is far inside the interval.
    const T residual = choose(at.information > 0.0, unit * at.slope / at.information, 0 * at.slope);
    const auto unless_none = [&](const T& number) { return choose(has_none, T(0.0), number); };
    return {unless_none(at.information / (unit * unit)), unless_none(residual),
            unless_none(2 * (log_of_likeliest(y, unit) - at.log))};
  }
  template <FormulaNumber T>
  [[nodiscard]] T deviance(const ResponseOf<Same<T>>& y, const T& mu, const Same<T>& prior) const {
    return step(y, mu, prior).deviance;
  }
  [[nodiscard]] double minus_two_log_likelihood(Response y, double mu, double weight, double) const {
    const double unit = sigma / sqrt(weight);
    return -2 * (likelihood(y, mu, unit).log + (y.is_censored() ? 0 : Error::log_peak - log(unit)));
  }

  template <FormulaNumber T>
  void likelihood_terms(const ResponseOf<Same<T>>& y, const T& mu, T* terms) const {
    set_terms(y, mu, T(sigma), terms);
  }
  /// `likelihood_terms` for a prior weight other than 1; `prior` > 0.
  template <FormulaNumber T>
  void weighted_terms(const ResponseOf<Same<T>>& y, const T& mu, const Same<T>& prior, T* terms) const {
    set_terms(y, mu, sigma / sqrt(prior), terms);
  }

  double sigma;

 private:
  template <class T>
  static void set_terms(const ResponseOf<T>& y, const T& mu, const T& unit, T* terms) {
    const ErrorLikelihood<T> at = likelihood(y, mu, unit);
    terms[0] = choose(y.is_known(), log(unit), T(0.0)) - at.log;
    terms[1] = -at.by_log_scale;
    terms[2] = -at.by_log_scale_twice;
  }
  template <class T>
  static ErrorLikelihood<T> likelihood(const ResponseOf<T>& y, const T& mu, const T& unit) {
    const auto known = y.is_known();
    const ErrorLikelihood<T> at = Error::at((y.value - mu) / unit);
    const T censored = choose(known, T(0.0), T(1.0));
    if (!any(censored > 0.0)) return at;
    const auto end = [&](const T& limit, double of_known) { return choose(known, T(of_known), limit); };
    return choose(known, at,
                  Error::between(end((y.lower() - mu) / unit, -1), end((y.upper() - mu) / unit, 1),
                                 end((y.upper() - y.lower()) / unit, 2)));
  }
  /// Maximum of the log likelihood over the mean: at the midpoint of two finite limits; otherwise 0.
  template <class T>
  static T log_of_likeliest(const ResponseOf<T>& y, const T& unit) {
    const T width = (y.upper() - y.lower()) / unit;
    const auto has_two = (width > 0.0) & (width < std::numeric_limits<double>::infinity());
    if (!any(has_two)) return T(0.0);
    const T inner = choose(has_two, width, T(1.0));
    return choose(has_two, Error::between(-inner / 2, inner / 2, inner).log, T(0.0));
  }
};

}  // namespace TESSERA_NAMESPACE::gam
