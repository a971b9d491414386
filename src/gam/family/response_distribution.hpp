// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/philox.hpp"
#include "gam/family/family.hpp"

namespace TESSERA_NAMESPACE::gam {

/// The distribution of a new response; of prior weight 1, and of one trial for a binomial family, but where a
/// weight is given.
class ResponseDistribution {
 public:
  /// Throws `Error(usage)` for a family that is known by its variance alone, as quasipoisson or a custom one.
  ResponseDistribution(Family family, double scale);

  /// P(Y <= y) at a mean.
  [[nodiscard]] double cumulative(double y, double mean) const;
  /// Of a response at a mean with a prior weight, which is the number of trials for a binomial family. NaN
  /// for a weight that tells no distribution: 0, or other than 1 of a family that has no scale.
  struct Probabilities {
    double below = 0;  ///< P(Y < y)
    double up_to = 0;  ///< P(Y <= y)
  };
  [[nodiscard]] Probabilities probabilities(double y, double mean, double weight) const;
  /// The randomised quantile residual: the normal quantile of the probability from P(Y < y) to P(Y <= y) that
  /// the random bits `drawn` choose. NaN where these are. Source: Dunn and Smyth, JCGS 5 (1996).
  [[nodiscard]] double quantile_residual(double y, double mean, double weight, std::uint64_t drawn) const;
  /// P(Y = 0) at a mean, of counts and of Tweedie responses; NaN for others, which have no zeros beside other
  /// numbers, or no other numbers than 0 and 1.
  [[nodiscard]] double probability_of_zero(double mean) const;
  /// The p-quantile of a response whose linear predictor is normal: of the mixture of the family's
  /// distributions over it, to 1e-6 of its spread. 0 < p < 1; NaN where the predictor or its error is no
  /// number. Cost: some hundred values of `cumulative`, but where the error is far greater than the spread of
  /// responses about their mean.
  [[nodiscard]] double quantile(double p, double predictor, double error) const;
  /// A response at a mean. `weight`: prior weight, by which the scale is divided; of a binomial response the
  /// trials, a whole number, of which it is the proportion of successes; poisson, nb, scat and betar ignore
  /// it, as mgcv does. NaN where the mean is. Cost: some hundred nanoseconds.
  [[nodiscard]] double draw(double mean, double weight, base::RandomPlace& random) const;

 private:
  enum class Kind { gaussian, scaled_t, beta, positive, tweedie, count, one_trial };
  struct Mixture;
  [[nodiscard]] double cumulative_at(double y, double mean, double scale) const;
  [[nodiscard]] double continuous(double p, Mixture& mixture) const;
  [[nodiscard]] double whole(double p, Mixture& mixture) const;

  Family family_;
  double scale_;
  double parameter_ = 0;  ///< theta, nu, p or phi
  Kind kind_ = Kind::gaussian;
  bool inverse_gaussian_ = false;
};

}  // namespace TESSERA_NAMESPACE::gam
