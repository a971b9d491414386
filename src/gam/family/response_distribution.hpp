// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/philox.hpp"
#include "gam/family/family.hpp"

#include <array>
#include <memory>

namespace TESSERA_NAMESPACE::gam {

/// Randomised quantile residual: the normal quantile of a probability between P(Y < y) and P(Y <= y). The
/// random bits `drawn` choose the probability. NaN if a probability is NaN. Source: Dunn and Smyth, JCGS 5
/// (1996).
[[nodiscard]] double quantile_residual(const ResponseProbabilities& of, std::uint64_t drawn);

/// The distribution of a new response. The prior weight is 1 (one binomial trial) unless given.
class ResponseDistribution {
 public:
  /// Throws `Error(usage)` for a family without a likelihood, e.g. quasipoisson, elf or a custom family, and
  /// for families with several linear predictors.
  ResponseDistribution(Family family, double scale);

  [[nodiscard]] double cumulative(double y, double mean) const;
  /// P(Y < y) and P(Y <= y); for a censored response, P(Y <= lower limit) and P(Y <= upper limit). The prior
  /// weight of a binomial response is the number of trials. NaN if the weight is 0, or is not 1 in a family
  /// without a scale.
  [[nodiscard]] ResponseProbabilities probabilities(Response y, double mean, double weight) const;
  /// P(Y = 0), for counts and Tweedie responses. NaN for other families.
  [[nodiscard]] double probability_of_zero(double mean) const;
  /// The p-quantile, 0 < p < 1, of a response whose linear predictor is normal with standard deviation
  /// `error`: a mixture of the family's distributions. Accurate to 1e-6 of the spread. NaN if an argument is
  /// NaN. Cost: some hundred calls of `cumulative`, more if `error` far exceeds the spread of responses.
  [[nodiscard]] double quantile(double p, double predictor, double error) const;
  /// Draws a response. The prior weight divides the scale. For a binomial family `weight` is the integer
  /// number of trials, and the result is a proportion. As in mgcv, poisson, nb, scat, betar, ocat and ziP
  /// ignore the weight. NaN if the mean is NaN. Cost: some hundred nanoseconds.
  [[nodiscard]] double draw(double mean, double weight, base::RandomPlace& random) const;

 private:
  enum class Kind {
    gaussian,
    logistic,
    scaled_t,
    beta,
    positive,
    tweedie,
    count,
    one_trial,
    ordered,
    zero_inflated
  };
  struct Mixture;
  [[nodiscard]] double cumulative_at(double y, double mean, double scale) const;
  [[nodiscard]] double continuous(double p, Mixture& mixture) const;
  [[nodiscard]] double whole(double p, Mixture& mixture) const;

  /// The linear predictors of ziplss that reproduce ziP at its linear predictor `gamma`.
  [[nodiscard]] std::array<double, 2> predictors_of(double gamma) const;

  Family family_;
  std::shared_ptr<const SeveralFamily> two_predictors_;  ///< ziplss, for ziP
  double scale_;
  double parameter_ = 0;  ///< theta of nb, nu of scat, p of tw, phi of betar, sigma of cnorm and clog
  Kind kind_ = Kind::gaussian;
  bool inverse_gaussian_ = false;
};

}  // namespace TESSERA_NAMESPACE::gam
