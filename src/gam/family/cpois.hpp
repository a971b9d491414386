// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"
#include "gam/family/polygamma.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Censored Poisson counts, whose limits are not whole numbers. The weight of a row is its observed
/// information on log(mu), divided by mu^2, which for a count is 1/mu: without censoring the family is
/// poisson. (The information on mu, mgcv's, is 0 for a count of 0, whose score is not.)
struct Cpois : UsualLink<Link::log> {
  static constexpr char name[] = "cpois";
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
    return up_to(y) > below(y) ? nullptr : "must have limits with a count between them";
  }
  static double first_mean(double y, double) { return (y > 0 ? y : 0) + 0.1; }

  static RowStep<double> step(Response y, double mu, double prior) {
    const Counts at = y.is_censored() ? between(below(y), up_to(y), mu) : Counts{0, y.value - mu, mu};
    // A row whose limits are far from the mean carries no information.
    const double residual = at.information > 0 ? mu * at.slope / at.information : 0 * at.slope;
    return {prior * at.information / (mu * mu), residual,
            2 * prior * (y.is_censored() ? log_of_likeliest(y) - at.log : y_log_y(y, mu) - (y - mu))};
  }
  static double deviance(Response y, double mu, double prior) { return step(y, mu, prior).deviance; }
  static double minus_two_log_likelihood(Response y, double mu, double weight, double) {
    return -2 * weight * (y.is_censored() ? between(below(y), up_to(y), mu).log : log_probability(y, mu));
  }

 private:
  /// The log probability of some counts; and, for log(mu), its derivative and minus the second one.
  struct Counts {
    double log, slope, information;
  };
  /// The largest count below the limits, -1 if there is none.
  static double below(Response y) { return y.lower() < 0 ? -1 : floor(y.lower()); }
  /// The largest count between the limits.
  static double up_to(Response y) { return floor(y.upper()); }

  static double log_probability(double count, double mu) {
    constexpr double half_log_two_pi = 0.91893853320467274;
    if (count == 0) return -mu;
    return count - mu - count * log(count / mu) - 0.5 * log(count) - half_log_two_pi -
           stirling_rest(count).value;
  }

  /// Sums of j^k, k = 0, 1, 2, times the probability of first + j or first - j, relative to that of `first`,
  /// over j below `count`. The mean is on the other side of `first`, so that the probabilities decrease.
  struct Moments {
    Moments(double first, bool up, double count, double mu) {
      double term = 1;
      for (double j = 1; j < count; ++j) {
        term *= up ? mu / (first + j) : (first - j + 1) / mu;
        sum += term;
        sum_of_j += j * term;
        sum_of_squares += j * j * term;
        if (!(j * j * term > 1e-17 * (sum + sum_of_squares))) break;
      }
    }
    double sum = 1;
    double sum_of_j = 0;
    double sum_of_squares = 0;
  };

  /// The log probability of the counts above `below`, up to `up_to`. The derivatives are E K - mu and mu -
  /// Var K, K being Poisson within the limits; beyond the mean they are those of its distance from the nearer
  /// limit.
  static Counts between(double below, double up_to, double mu) {
    constexpr double all = std::numeric_limits<double>::infinity();
    const bool above_mean = mu <= below + 1;
    if (above_mean || mu >= up_to + 1) {
      const double first = above_mean ? below + 1 : up_to;
      const Moments at(first, above_mean, up_to - below, mu);
      const double mean = at.sum_of_j / at.sum;
      const double information = mu - (at.sum_of_squares / at.sum - mean * mean);
      return {log_probability(first, mu) + log(at.sum), first - mu + (above_mean ? mean : -mean),
              information > 0 ? information : 0};
    }
    const double at_below = below < 0 ? 0 : exp(log_probability(below, mu));
    const double at_top = up_to < all ? exp(log_probability(up_to, mu)) : 0;
    double outside = below < 0 ? 0 : at_below * Moments(below, false, all, mu).sum;
    if (up_to < all) outside += at_top * mu / (up_to + 1) * Moments(up_to + 1, true, all, mu).sum;
    double inside = 1 - outside;
    if (outside >= 0.5) {
      const double middle = floor(mu) <= up_to ? floor(mu) : up_to;
      inside = exp(log_probability(middle, mu)) * (Moments(middle, true, up_to - middle + 1, mu).sum +
                                                   Moments(middle, false, middle - below, mu).sum - 1);
    }
    const double low = mu * at_below / inside;
    const double high = mu * at_top / inside;
    const double slope = low - high;
    return {outside < 0.5 ? log1p(-outside) : log(inside), slope,
            slope * slope + low * (mu - 1 - below) + (high > 0 ? high * (up_to + 1 - mu) : 0)};
  }
  /// The log probability at the likeliest mean. With two limits, it is the mean at which the counts beside
  /// both are equally likely; with one limit, it is beyond all counts.
  static double log_of_likeliest(Response y) {
    const double low = below(y);
    const double high = up_to(y);
    if (low < 0 || !(high < std::numeric_limits<double>::infinity())) return 0;
    return between(low, high, exp((log_gamma(high + 1) - log_gamma(low + 1)) / (high - low))).log;
  }
};

}  // namespace TESSERA_NAMESPACE::gam
