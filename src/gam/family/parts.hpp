// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/links.hpp"
#include "gam/family/response.hpp"

#include <cmath>
#include <limits>

/// The parts of a family. A family is one type in its own file, such as gaussian.hpp; a type that lacks a
/// part does not compile (`BuiltInFamily`). Host and kernels use the same source for its functions, which may
/// use the functions here, and the parts of the standard library that `standard_headers()` provides. A family
/// with parameters, such as nb.hpp, has them as members. It is constructed where it is used, from an array of
/// the parameters; in a kernel this array is an argument.
namespace TESSERA_NAMESPACE::gam {

/// The means from which the first step of a fit starts.
enum class Start {
  response,  ///< the rows' responses
  adjusted,  ///< the responses, moved off the limits of the means
  mean,      ///< the mean of all responses, as a constant predictor
};

/// Limits of the mean at an infinite predictor. If responses lie at a limit, the likelihood may increase
/// without bound. Infinite: there is no such limit.
struct Limits {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();

  [[nodiscard]] constexpr bool any() const { return has_lower() || has_upper(); }
  [[nodiscard]] constexpr bool has_lower() const { return lower > -std::numeric_limits<double>::infinity(); }
  [[nodiscard]] constexpr bool has_upper() const { return upper < std::numeric_limits<double>::infinity(); }
  [[nodiscard]] constexpr bool has(double y) const {
    return (has_lower() && y == lower) || (has_upper() && y == upper);
  }
};

/// Contribution of one row to a step of performance iteration.
template <class T>
struct RowStep {
  T weight;    ///< w = prior (dmu/deta)^2 / V(mu), Fisher
  T residual;  ///< working residual: (y - mu) dη/dμ, or mean_step(y, mu) dη/dμ; the working response
               ///< is eta - offset + this
  T deviance;  ///< deviance of this row, with its prior weight
};

/// A family that gives a row's whole step of the mean, such as one with the observed information.
template <class F>
concept StepFamily = requires(const F& family, double x) {
  {RowStep<double>(family.step(x, x, x))};  // arguments: response, mean and prior weight
  // `square_is_deviance`, if present: the deviance replaces w r^2 in the sums. With a known scale these sums
  // only shift REML, and where w vanishes r is huge.
};

/// A family that takes the second number of a `Response`.
template <class F>
constexpr bool is_censored_family = requires {
  F::is_censored;
};

/// The parts of a family that a pass over the rows needs.
template <class F>
concept RowFamily = requires(const F& family, double x) {
  {+family.linear};             // bool: identity link and constant variance, so that one step is exact
  {Start(family.start)};        // Start
  {+family.mean(x)};            // mean at a linear predictor
  {+family.derivative(x)};      // derivative of the mean with respect to the predictor
  {+family.deviance(x, x, x)};  // deviance of a row; arguments: response, mean and prior weight
  // `joint_step(y, mu, prior)`, if present: the parts below together, for a derivative of 1; such a family
  // has no limits. `mean_step(y, mu)`, if present, is the Fisher scoring step of the mean, used in place of y
  // - mu. V is then the inverse of the expected information on the mean.
}
&&(StepFamily<F> || requires(const F& family, double x) {
  {+family.weight(x, x, x)};  // prior (dmu/deta)^2 / V(mu); arguments: prior weight, mean and derivative
});

/// Number of parameters of a family's likelihood, in addition to the mean.
template <class F>
constexpr int parameter_count_of() {
  if constexpr (requires { F::parameter_count; }) {
    return F::parameter_count;
  } else {
    return 0;
  }
}

/// A family whose number of parameters, `count()`, depends on its classes; `parameter_count` is then the
/// most. It is constructed from its parameters and their number, and has no constants.
template <class F>
concept CountedFamily = requires(const F& family) {
  {+family.count()};
};

template <class F>
constexpr int parameter_count_of([[maybe_unused]] const F& family) {
  if constexpr (CountedFamily<F>) {
    return family.count();
  } else {
    return parameter_count_of<F>();
  }
}

/// Number of leading parameters that R's argument theta sets; later ones are always estimated.
template <class F>
constexpr int theta_count_of() {
  if constexpr (requires { F::theta_count; }) {
    return F::theta_count;
  } else {
    return parameter_count_of<F>();
  }
}

/// Number of constants that a call of the family sets, such as the bounds of a parameter.
template <class F>
constexpr int constant_count_of() {
  if constexpr (requires { F::constant_count; }) {
    return F::constant_count;
  } else {
    return 0;
  }
}

/// Number of values from which a family is constructed: its parameters, then its constants.
template <class F>
constexpr int value_count_of() {
  return parameter_count_of<F>() + constant_count_of<F>();
}

template <class F>
constexpr int value_count_of(const F& family) {
  return parameter_count_of(family) + constant_count_of<F>();
}

/// Number of terms that `likelihood_terms` returns for this many parameters.
constexpr int likelihood_term_count(int parameters) {
  return 1 + parameters + parameters * (parameters + 1) / 2;
}

/// The parts that a family with values has, in addition to a constructor from an array of its values.
template <class F>
concept ValuedFamily = RowFamily<F> &&(value_count_of<F>() > 0) && requires(const F& family, double x) {
  {+family.parameter(0)};     // the first value
  {F::parameter_name(0)[0]};  // R's name
  {+family.working(0, x)};    // the first value on its working scale, not finite if it is invalid. Parameters
                              // are estimated on working scales, where every number is valid
  {+family.parameter_at(0, x)};  // the inverse of `working`: a parameter from its working scale
  // `first_working(i)`: the initial estimate of a parameter; `first_constant(i)`: R's default of a constant.
  // `theta_is_working`, if present: R's theta has the parameters on their working scales, and fixes them.
  // `choices`, if present: words for the values of a constant, which is then an index among them. `title` and
  // `shown_count`, if present: a report prints `title`, the first `shown_count` values and a closing bracket,
  // e.g. Negative Binomial(2.1).
};

/// The parts that a family with parameters of its likelihood has in addition.
template <class F>
concept ParametricFamily = ValuedFamily<F> && requires(const F& family, double x, double* out) {
  {+F::parameter_count};
  {+F::first_working(0)};
  {F::title[0]};
  {F::at_limit[0]};  // for messages: what it means that the likelihood rises towards a limit of the first
                     // parameter
  {family.likelihood_terms(x, x, out)};  // at y and mu, for a prior weight of 1: minus the log likelihood,
                                         // without terms that have no parameter; then its first derivatives
                                         // by the working parameters; then its second derivatives, upper
                                         // triangle row by row
  // `scale()`, if present: phi, which is one of the parameters. `null_is_likeliest`, if present: the constant
  // mean of the null model is that of maximum likelihood, not the mean of the responses. `saturated_mean(y)`,
  // if present: the mean of maximum likelihood for one response, for a family whose deviance lacks the
  // saturated model's likelihood; for other families this mean is the response. `deviance_is_whole`, if
  // present: the deviance is -2 log likelihood.
};

/// A family without values, or one with all parts that its values and parameters need.
template <class F>
concept ParametricOrNot = (value_count_of<F>() == 0) ||
                          (ValuedFamily<F> && (parameter_count_of<F>() == 0 || ParametricFamily<F>));

/// The remaining parts of a built-in family.
template <class F>
concept BuiltInFamily = RowFamily<F> && ParametricOrNot<F> && requires(const F& family, double x) {
  {family.name[0]};              // R's name; also accepted in lower case
  {Link(family.links[0])};       // the default link; then the other links, which need `variance(mu)`
  {+family.scale_is_known};      // bool: phi is 1 by definition
  {Limits(family.limits)};       // Limits
  {+family.two_levels};          // bool: a factor of two levels is a response of 0 and 1
  {family.residuals[0]};         // for reports: the pattern of residuals if the model is right; may be ""
  {family.response_fault(x)};    // why a finite number is no response ("must not be negative"), or nullptr
  {+family.link(x)};             // predictor of a mean
  {+family.first_mean(x, x)};    // first mean of a row; arguments: response and prior weight (see `Start`)
  {+family.aic_scale(x, x, x)};  // scale of AIC's likelihood; arguments: deviance, rows and scale
  {+family.minus_two_log_likelihood(x, x, x, x)};  // of y, mu, prior weight > 0 and scale, like family()$aic
  {+family.likelihood_rounds(x, x)};               // bool: this likelihood rounds the response or the weight
  // Valid responses form an interval, except those of classes and censored ones. `saturated_is_constant`, if
  // present: the saturated model's likelihood does not depend on the response. `likeliest_mean(y)`, if
  // present: the mean of deviance 0, if it is not the response. `least_maximum`, if present: the largest
  // response of a fit is at least this. `respond(eta)`, if present: the mean of a response and its
  // derivative, for a family whose `mean` is the linear predictor.
};

/// The parts that most families share.
struct UsualParts {
  static constexpr bool linear = false;
  static constexpr Limits limits{};
  static constexpr bool two_levels = false;
  static double aic_scale(double, double, double) { return 1; }
  static bool likelihood_rounds(double, double) { return false; }
};

/// The same, with the link that is the family's default.
template <Link usual>
struct UsualLink : UsualParts {
  template <FormulaNumber T>
  static T link(const T& mu) {
    return link_of(usual, mu);
  }
  template <FormulaNumber T>
  static T mean(const T& eta) {
    return mean_of(usual, eta);
  }
  template <FormulaNumber T>
  static T derivative(const T& eta) {
    return derivative_of(usual, eta);
  }
};

/// The log link of means that may have any unit: the lower bound is the smallest normal number.
struct LogLinkOfAnyUnit : UsualLink<Link::log> {
  template <FormulaNumber T>
  static T mean(const T& eta) {
    return exp_at_least(eta, 2.2250738585072014e-308);
  }
  template <FormulaNumber T>
  static T derivative(const T& eta) {
    return mean(eta);
  }
};

/// The available families: `BuiltInFamilies`, in list.hpp.
template <BuiltInFamily... F>
struct FamilyList {};

/// A family made from its values and their number, which are ignored if it has none.
template <class F>
constexpr F family_of([[maybe_unused]] const double* parameters, [[maybe_unused]] int count) {
  if constexpr (CountedFamily<F>) {
    return F(parameters, count);
  } else if constexpr (value_count_of<F>() > 0) {
    return F(parameters);
  } else {
    return F{};
  }
}

/// The mean of the saturated model for a response.
template <class F>
double saturated_mean([[maybe_unused]] const F& family, double y) {
  if constexpr (requires { family.saturated_mean(y); }) {
    return family.saturated_mean(y);
  } else if constexpr (requires { family.likeliest_mean(y); }) {
    return family.likeliest_mean(y);
  } else {
    return y;
  }
}

/// A row counts as at the limit if its mean is closer to the limit than this, for counts and proportions.
inline constexpr double near_end = 1e-8;

/// The limits of proportions for an infinite predictor.
constexpr Limits limits_of_proportions(Link link) {
  switch (link) {
    case Link::logit:
    case Link::probit:
    case Link::cloglog:
    case Link::cauchit: return {0, 1};
    case Link::log: return {.lower = 0};
    default: return {};
  }
}

/// The first mean of a row, moved away from the pole of an inverse link, as mgcv does for scat.
template <FormulaNumber T>
T off_pole(Link link, const T& mean, double side) {
  return link == Link::inverse ? choose(mean == 0.0, T(side < 0 ? -0.1 : 0.1), mean) : mean;
}

/// A family with a link other than its default.
template <class F>
struct Linked : F {
  static constexpr bool linear = false;

  template <FormulaNumber T>
  [[nodiscard]] T link(const T& mu) const {
    return link_of(which, mu);
  }
  template <FormulaNumber T>
  [[nodiscard]] T mean(const T& eta) const {
    return mean_of(which, eta);
  }
  template <FormulaNumber T>
  [[nodiscard]] T derivative(const T& eta) const {
    return derivative_of(which, eta);
  }
  template <FormulaNumber T>
  [[nodiscard]] T weight(const Same<T>& prior, const T& mu, const Same<T>& slope) const {
    return prior * slope * slope / F::variance(mu);
  }
  /// NaN for an invalid mean, so that a fit halves the step that leads to it.
  template <class Y, FormulaNumber T>
  [[nodiscard]] T deviance(const Y& y, const T& mu, const Same<T>& prior) const {
    const T outside(std::numeric_limits<double>::quiet_NaN());
    T value = F::deviance(y, mu, prior);
    if constexpr (F::limits.has_lower()) value = choose(mu > F::limits.lower, value, outside);
    if constexpr (F::limits.has_upper()) value = choose(mu < F::limits.upper, value, outside);
    return choose(side * mu < 0.0, outside, value);
  }
  /// Whether a mean is nearly at a limit; only counts and proportions, which have an absolute scale, can be.
  template <FormulaNumber T>
  [[nodiscard]] auto is_at_end(const T& mu) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const bool has_upper = which == Link::log && F::limits.has_upper();
    const bool has_lower = which == Link::identity && F::scale_is_known && F::limits.has_lower();
    return (mu > (has_upper ? F::limits.upper - near_end : infinity)) |
           (mu < (has_lower ? F::limits.lower + near_end : -infinity));
  }
  template <FormulaNumber T>
  [[nodiscard]] T first_mean(const T& y, const Same<T>& prior) const {
    return off_pole(which, F::first_mean(y, prior), side);
  }

  Link which;
  /// If the link has a pole: the sign of all means, 1 or -1. 0: the link has no pole, or the sign is not
  /// decided.
  double side = 0;
  Start start = F::start == Start::response && F::links[0] == Link::identity && which != Link::inverse
                    ? Start::mean
                    : F::start;
  Limits limits = F::limits.has_upper() ? limits_of_proportions(which) : Limits{};
};

/// The family at an index of the list, with one of its links, and on one side of the link's pole.
template <int index, int link, int side, class First, class... Rest>
constexpr auto family_at(FamilyList<First, Rest...> /*list*/, const double* parameters, int count) {
  if constexpr (index > 0) {
    return family_at<index - 1, link, side>(FamilyList<Rest...>{}, parameters, count);
  } else if constexpr (link > 0) {
    return Linked<First>{family_of<First>(parameters, count), First::links[link], side};
  } else {
    return family_of<First>(parameters, count);
  }
}

/// y log(y / mu), which is 0 at y = 0.
template <FormulaNumber T>
T y_log_y(const Same<T>& y, const T& mu) {
  return choose(y > 0.0, y * log(y / mu), T(0.0));
}

/// x log(p), which is 0 at x = 0 for any p.
template <FormulaNumber T>
T x_log_p(const Same<T>& x, const T& p) {
  return choose(x == 0.0, T(0.0), x * log(p));
}

/// Whether a count is an integer within R's tolerance.
inline bool is_integer(double x) {
  const double size = fabs(x);
  return fabs(x - nearbyint(x)) <= 1e-7 * (size > 1.0 ? size : 1.0);
}

}  // namespace TESSERA_NAMESPACE::gam
