// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/philox.hpp"
#include "gam/family/family.hpp"

#include <array>
#include <memory>

namespace TESSERA_NAMESPACE::gam {

/// The randomised quantile residual of a response: the normal quantile of a probability between P(Y < y) and
/// P(Y <= y), chosen by the random bits `drawn`. NaN if these are NaN. Source: Dunn and Smyth, JCGS 5 (1996).
[[nodiscard]] double quantile_residual(const ResponseProbabilities& of, std::uint64_t drawn);

/// The distribution of a new response, with prior weight 1 (one trial for a binomial family) unless a weight
/// is given.
class ResponseDistribution {
 public:
  /// Throws `Error(usage)` for a family with only a variance function, such as quasipoisson or a custom one.
  ResponseDistribution(Family family, double scale);

  /// P(Y <= y) at a mean.
  [[nodiscard]] double cumulative(double y, double mean) const;
  /// Probabilities of a response at a mean with a prior weight, which is the number of trials for a binomial
  /// family. NaN if the weight is 0, or if it is not 1 in a family without a scale: there is no distribution
  /// then. Of a censored response they are those of its limits.
  [[nodiscard]] ResponseProbabilities probabilities(Response y, double mean, double weight) const;
  /// P(Y = 0) at a mean, for counts and Tweedie responses. NaN for other families: their responses are never
  /// 0, or 0 is one of only two values.
  [[nodiscard]] double probability_of_zero(double mean) const;
  /// The p-quantile of a response whose linear predictor is normal with standard deviation `error`: a mixture
  /// of the family's distributions. Accurate to 1e-6 of the spread; 0 < p < 1; NaN if an argument is NaN.
  /// Cost: some hundred calls of `cumulative`, more if `error` far exceeds the spread of responses.
  [[nodiscard]] double quantile(double p, double predictor, double error) const;
  /// Draws a response at a mean. `weight`: prior weight, which divides the scale. For a binomial response it
  /// is the number of trials, a whole number, and the result is the proportion of successes; poisson, nb,
  /// scat, betar, ocat and ziP ignore it, as mgcv does. NaN if the mean is NaN. Cost: some hundred
  /// nanoseconds.
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

  /// The linear predictors of ziplss that give the distribution of ziP at its linear predictor `gamma`.
  [[nodiscard]] std::array<double, 2> predictors_of(double gamma) const;

  Family family_;
  std::shared_ptr<const SeveralFamily> two_predictors_;  ///< ziplss, for ziP
  double scale_;
  double parameter_ = 0;  ///< theta of nb, nu of scat, p of tw or phi of betar
  Kind kind_ = Kind::gaussian;
  bool inverse_gaussian_ = false;
};

}  // namespace TESSERA_NAMESPACE::gam
