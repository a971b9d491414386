// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/binomial.hpp"
#include "gam/family/poisson.hpp"

/// Families of which only mean and variance are known, the latter up to a scale that is estimated: fitted by
/// the quasi-likelihood of the family whose variance it is. There is no likelihood, and so no AIC.
namespace tessera::gam {

template <class F>
struct Quasi : F {
  static constexpr bool scale_is_known = false;
  static double minus_two_log_likelihood(double, double, double, double) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  static bool likelihood_rounds(double, double) { return false; }
};

/// V(mu) = mu, with the log link.
struct QuasiPoisson : Quasi<Poisson> {
  static constexpr char name[] = "quasipoisson";
};

/// V(mu) = mu (1 - mu), with the logit link.
struct QuasiBinomial : Quasi<Binomial> {
  static constexpr char name[] = "quasibinomial";
};

}  // namespace tessera::gam
