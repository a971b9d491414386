// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"
#include "gam/family/polygamma.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Censored Poisson counts; limits must not be whole numbers. The weight of a row is the observed information
/// about log(mu), divided by mu^2. For an uncensored count the weight is 1/mu, as in Poisson. mgcv uses the
/// observed information about mu instead, which is 0 for a count of 0 although the score is not.
struct Cpois : UsualLink<Link::log> {
  static constexpr char name[] = "cpois";
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::log, Link::identity, Link::sqrt};
  static constexpr bool scale_is_known = true;
  static constexpr Start start = Start::adjusted;
  static constexpr Limits limits{.lower = 0};
  static constexpr bool null_is_likeliest = true;
  static constexpr bool is_censored = true;
  static constexpr char residuals[] = " Those of censored rows are of their limits.";

  static const char* response_fault(Response y) {
    if (!y.is_censored())
      return y.value >= 0 && y.value == floor(y.value) ? nullptr : "must be a whole number of 0 or more";
    if (y.lower() == floor(y.lower()) && y.lower() > -std::numeric_limits<double>::infinity())
      return "must have limits that are not whole numbers, such as 2.5 for 3 or more";
    if (y.upper() == floor(y.upper()) && y.upper() < std::numeric_limits<double>::infinity())
      return "must have limits that are not whole numbers, such as 2.5 for 2 or less";
    return up_to(y) > below(y) ? nullptr : "must have limits with a whole number between them";
  }
  template <FormulaNumber T>
  static T first_mean(const T& y, const Same<T>&) {
    return choose(y > 0.0, y, T(0.0)) + 0.1;
  }

  template <FormulaNumber T>
  static RowStep<T> step(const ResponseOf<Same<T>>& y, const T& mu, const Same<T>& prior) {
    Counts<T> at{T(0.0), y.value - mu, mu};
    T deviance = y_log_y(y.value, mu) - (y.value - mu);
    const auto known = y.is_known();
    const T censored = choose(known, T(0.0), T(1.0));
    if (any(censored > 0.0)) {
      const Counts<T> of_limits =
          between<T>(choose(known, T(0.0), below(y)), choose(known, T(1.0), up_to(y)), mu);
      at.slope = choose(known, at.slope, of_limits.slope);
      at.information = choose(known, at.information, of_limits.information);
      deviance = choose(known, deviance, log_of_likeliest(y) - of_limits.log);
    }
    // at.information underflows to 0 if the mean is far inside the interval.
    const T residual = choose(at.information > 0.0, mu * at.slope / at.information, 0 * at.slope);
    return {prior * at.information / (mu * mu), residual, 2 * prior * deviance};
  }
  template <FormulaNumber T>
  static T deviance(const ResponseOf<Same<T>>& y, const T& mu, const Same<T>& prior) {
    return step(y, mu, prior).deviance;
  }
  static double minus_two_log_likelihood(Response y, double mu, double weight, double) {
    return -2 * weight *
           (y.is_censored() ? between(below(y), up_to(y), mu).log : log_probability(y.value, mu));
  }

 private:
  /// Log probability of a set of counts, its derivative d/d log(mu), and minus the second derivative.
  template <class T>
  struct Counts {
    T log, slope, information;
  };
  /// The largest count below the interval; -1 if none.
  template <class T>
  static T below(const ResponseOf<T>& y) {
    return choose(y.lower() < 0.0, T(-1.0), floor(y.lower()));
  }
  /// The largest count in the interval.
  template <class T>
  static T up_to(const ResponseOf<T>& y) {
    return floor(y.upper());
  }

  template <FormulaNumber T>
  static T log_probability(const T& count, const Same<T>& mu) {
    constexpr double half_log_two_pi = 0.91893853320467274;
    const auto is_zero = count == 0.0;
    const T inner = choose(is_zero, T(1.0), count);
    return choose(is_zero, -mu,
                  inner - mu - inner * log(inner / mu) - 0.5 * log(inner) - half_log_two_pi -
                      stirling_rest(inner).value);
  }

  /// Sums over j < `count` of j^k P(first + j) / P(first), k = 0, 1, 2; with first - j if not `up`. The mean
  /// must be on the other side of `first`, so that the probabilities decrease in j.
  template <class T>
  struct Moments {
    template <class Mask>
    Moments(const T& first, const Mask& up, const T& count, const T& mu) {
      T term(1.0);
      auto goes_on = count > 1.0;
      for (double j = 1; any(goes_on); ++j) {
        term *= choose(up, mu / (first + j), (first - j + 1) / mu);
        const T added = choose(goes_on, term, T(0.0));
        sum += added;
        sum_of_j += j * added;
        sum_of_squares += j * j * added;
        goes_on = goes_on & (count > j + 1) & (j * j * term > 1e-17 * (sum + sum_of_squares));
      }
    }
    T sum{1.0};
    T sum_of_j{0.0};
    T sum_of_squares{0.0};
  };

  /// Log probability of the counts in (below, up_to]. With K the truncated Poisson count, `slope` is E K -
  /// mu, and `information` is mu - Var K. If mu is outside the interval, the moments are those of the
  /// distance of K from the nearer limit, which avoids cancellation.
  template <FormulaNumber T>
  static Counts<T> between(const T& below, const Same<T>& up_to, const Same<T>& mu) {
    constexpr double all = std::numeric_limits<double>::infinity();
    const auto above_mean = mu <= below + 1;
    const auto is_beyond = above_mean | (mu >= up_to + 1);
    const T first = choose(above_mean, below + 1, choose(is_beyond, up_to, T(0.0)));
    const Moments<T> at(first, above_mean, choose(is_beyond, up_to - below, T(0.0)), mu);
    const T mean = at.sum_of_j / at.sum;
    const T information = mu - (at.sum_of_squares / at.sum - mean * mean);
    const Counts<T> beyond{log_probability(first, mu) + log(at.sum),
                           first - mu + choose(above_mean, mean, -mean),
                           choose(information > 0.0, information, T(0.0))};
    const T within_limits = choose(is_beyond, T(0.0), T(1.0));
    if (!any(within_limits > 0.0)) return beyond;
    const auto has_low = (within_limits > 0.0) & (below >= 0.0);
    const auto has_top = (within_limits > 0.0) & (up_to < all);
    const T low_end = choose(has_low, below, T(0.0));
    const T top = choose(has_top, up_to, T(0.0));
    const auto is_up = (mu < 0.0) | (mu >= 0.0);    // in all rows
    const auto is_down = (mu < 0.0) & (mu >= 0.0);  // in none
    const T none(0.0);
    const T at_below = choose(has_low, exp(log_probability(low_end, mu)), none);
    const T at_top = choose(has_top, exp(log_probability(top, mu)), none);
    const T outside =
        choose(has_low, at_below * Moments<T>(low_end, is_down, choose(has_low, T(all), none), mu).sum,
               none) +
        choose(has_top,
               at_top * mu / (top + 1) * Moments<T>(top + 1, is_up, choose(has_top, T(all), none), mu).sum,
               none);
    const auto is_least = (within_limits > 0.0) & (outside >= 0.5);
    T inside = 1 - outside;
    if (any(is_least)) {
      const T floor_mu = floor(mu);
      const T middle = choose(is_least, choose(floor_mu <= up_to, floor_mu, up_to), none);
      const Moments<T> upper(middle, is_up, choose(is_least, up_to - middle + 1, none), mu);
      const Moments<T> lower(middle, is_down, choose(is_least, middle - below, none), mu);
      inside = choose(is_least, exp(log_probability(middle, mu)) * (upper.sum + lower.sum - 1), inside);
    }
    const T low = mu * at_below / inside;
    const T high = mu * at_top / inside;
    const T slope = low - high;
    const T of_high = choose(high > 0.0, high * (up_to + 1 - mu), none);
    return {choose(is_beyond, beyond.log, choose(outside < 0.5, log1p(-outside), log(inside))),
            choose(is_beyond, beyond.slope, slope),
            choose(is_beyond, beyond.information, slope * slope + low * (mu - 1 - below) + of_high)};
  }
  /// Maximum of the log probability over the mean. With two limits, P(K = low) = P(K = high) at the maximum;
  /// with one limit the maximum is 0.
  template <class T>
  static T log_of_likeliest(const ResponseOf<T>& y) {
    const auto has_two =
        (below(y) >= 0.0) & (up_to(y) < std::numeric_limits<double>::infinity()) & (up_to(y) > below(y));
    if (!any(has_two)) return T(0.0);
    const T low = choose(has_two, below(y), T(0.0));
    const T high = choose(has_two, up_to(y), T(1.0));
    const T mean = exp((lgamma(T(high + 1)) - lgamma(T(low + 1))) / (high - low));
    return choose(has_two, between(low, high, mean).log, T(0.0));
  }
};

}  // namespace TESSERA_NAMESPACE::gam
