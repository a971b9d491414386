// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/family.hpp"

namespace tessera::gam {

/// The distribution of a new response of prior weight 1: of one trial for a binomial family.
class ResponseDistribution {
 public:
  /// Throws `Error(usage)` for a family that is known by its variance alone, as quasipoisson or a custom one.
  ResponseDistribution(Family family, double scale);

  /// P(Y <= y) at a mean.
  [[nodiscard]] double cumulative(double y, double mean) const;
  /// The p-quantile of a response whose linear predictor is normal: of the mixture of the family's
  /// distributions over it, to 1e-6 of its spread. 0 < p < 1; NaN where the predictor or its error is no
  /// number. Cost: some hundred values of `cumulative`, but where the error is far greater than the spread of
  /// responses about their mean.
  [[nodiscard]] double quantile(double p, double predictor, double error) const;

 private:
  enum class Kind { gaussian, scaled_t, beta, positive, tweedie, count, one_trial };
  struct Mixture;
  [[nodiscard]] double continuous(double p, Mixture& mixture) const;
  [[nodiscard]] double whole(double p, Mixture& mixture) const;

  Family family_;
  double scale_;
  double parameter_ = 0;  ///< theta, nu, p or phi
  Kind kind_ = Kind::gaussian;
  bool inverse_gaussian_ = false;
};

}  // namespace tessera::gam
