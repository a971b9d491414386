// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/binomial.hpp"
#include "gam/family/inverse_gaussian.hpp"
#include "gam/family/poisson.hpp"

/// Quasi-likelihood families: a link and a variance function, with an estimated scale. They have no
/// likelihood and no AIC.
namespace TESSERA_NAMESPACE::gam {

template <class F>
struct WithoutLikelihood : F {
  static constexpr bool scale_is_known = false;
  static double minus_two_log_likelihood(double, double, double, double) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  static bool likelihood_rounds(double, double) { return false; }
};

struct QuasiPoisson : WithoutLikelihood<Poisson> {
  static constexpr char name[] = "quasipoisson";
};

struct QuasiBinomial : WithoutLikelihood<Binomial> {
  static constexpr char name[] = "quasibinomial";
};

/// quasi(): one of R's variance functions, with any link.
struct Quasi : UsualParts {
  enum Variance { constant, mu, mu_2, mu_3, mu_1_mu };

  static constexpr char name[] = "quasi";
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::identity,       Link::inverse, Link::log,
                                   Link::inverse_square, Link::sqrt,    Link::logit,
                                   Link::probit,         Link::cloglog, Link::cauchit};
  static constexpr bool scale_is_known = false;
  static constexpr char residuals[] = " Those of this family need not be close to normal.";

  static constexpr int constant_count = 1;
  static constexpr const char* choices[] = {"constant", "mu", "mu^2", "mu^3", "mu(1-mu)"};
  static const char* parameter_name(int) { return "variance"; }
  static double first_constant(int) { return constant; }
  static double working(int, double value) {
    return value == floor(value) && value >= 0 && value <= static_cast<int>(mu_1_mu)
               ? value
               : std::numeric_limits<double>::quiet_NaN();
  }
  static double parameter_at(int, double working) { return working; }

  constexpr explicit Quasi(const double* values)
      : which(static_cast<Variance>(static_cast<int>(values[0]))),
        limits(which == mu_1_mu ? Limits{0, 1} : Limits{}) {}
  [[nodiscard]] double parameter(int) const { return which; }

  [[nodiscard]] const char* response_fault(double y) const {
    switch (which) {
      case constant: return nullptr;
      case mu:
      case mu_2: return y < 0 ? "must not be negative" : nullptr;
      case mu_3: return InverseGaussian::response_fault(y);
      case mu_1_mu: break;
    }
    return Binomial::response_fault(y);
  }
  template <FormulaNumber T>
  [[nodiscard]] T link(const T& mean) const {
    return link_of(linked, mean);
  }
  template <FormulaNumber T>
  [[nodiscard]] T mean(const T& eta) const {
    return mean_of(linked, eta);
  }
  template <FormulaNumber T>
  [[nodiscard]] T derivative(const T& eta) const {
    return derivative_of(linked, eta);
  }
  template <FormulaNumber T>
  [[nodiscard]] T variance(const T& mean) const {
    switch (which) {
      case constant: return 1;
      case mu: return mean;
      case mu_2: return mean * mean;
      case mu_3: return mean * mean * mean;
      case mu_1_mu: break;
    }
    return mean * (1 - mean);
  }
  template <FormulaNumber T>
  [[nodiscard]] T weight(const Same<T>& prior, const T& mean, const Same<T>& slope) const {
    return prior * slope * slope / variance(mean);
  }
  /// NaN for an invalid mean, so that the fit halves the step.
  template <FormulaNumber T>
  [[nodiscard]] T deviance(const Same<T>& y, const T& mean, const Same<T>& prior) const {
    const T outside(std::numeric_limits<double>::quiet_NaN());
    switch (which) {
      case constant: return prior * (y - mean) * (y - mean);
      case mu: return choose(mean > 0.0, Poisson::deviance(y, mean, prior), outside);
      // For y = 0 the term log(y) is omitted, as in R.
      case mu_2:
        return choose(mean > 0.0,
                      -2 * prior * (log(choose(y > 0.0, T(y), T(1.0)) / mean) - (y - mean) / mean), outside);
      case mu_3: return InverseGaussian::deviance(y, mean, prior);
      case mu_1_mu: break;
    }
    const T inside = choose(mean < 1.0, Binomial::deviance(y, mean, prior), outside);
    return choose(mean > 0.0, inside, outside);
  }
  template <FormulaNumber T>
  [[nodiscard]] T first_mean(const T& y, const Same<T>&) const {
    if (which == mu_1_mu) return within(0.001, y, 0.999);
    return which == constant ? y : choose(y == 0.0, T(0.1), y);
  }
  static double minus_two_log_likelihood(double, double, double, double) {
    return std::numeric_limits<double>::quiet_NaN();
  }

  Variance which;
  Limits limits;
  Link linked = Link::identity;
  Start start = Start::response;
};

/// The mean has a limit at an infinite linear predictor if V = mu (1 - mu), or if V = mu with the log link.
template <>
struct Linked<Quasi> : Quasi {
  constexpr Linked(Quasi quasi, Link link, double side_of_means) : Quasi(quasi), side(side_of_means) {
    linked = link;
    if (which == constant && linked != Link::inverse) start = Start::mean;
    if (which == mu_1_mu) limits = limits_of_proportions(link);
    if (which == mu && link == Link::log) limits = {.lower = 0};
  }
  template <FormulaNumber T>
  [[nodiscard]] T deviance(const Same<T>& y, const T& mean, const Same<T>& prior) const {
    return choose(side * mean < 0.0, T(std::numeric_limits<double>::quiet_NaN()),
                  Quasi::deviance(y, mean, prior));
  }
  template <FormulaNumber T>
  [[nodiscard]] T first_mean(const T& y, const Same<T>& prior) const {
    return off_pole(linked, Quasi::first_mean(y, prior), side);
  }

  double side;
};

}  // namespace TESSERA_NAMESPACE::gam
