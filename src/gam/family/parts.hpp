// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/links.hpp"
#include "gam/family/response.hpp"

#include <cmath>
#include <limits>

/// The members of a family. A family is a type in its own file, such as gaussian.hpp. A type that lacks a
/// required member does not compile (`BuiltInFamily`). Host and kernels compile the same source. In kernels
/// only the functions here and the parts of the standard library from `standard_headers()` are available. A
/// family with parameters, such as nb.hpp, stores their values. The family object is constructed on use from
/// an array of values, which is an argument of the kernel.
namespace TESSERA_NAMESPACE::gam {

/// The means at which a fit starts.
enum class Start {
  response,  ///< the rows' responses
  adjusted,  ///< the responses, moved off the limits of the means
  mean,      ///< the mean of all responses, as a constant predictor
};

/// Limits of the mean at an infinite linear predictor; infinite if there is no limit. If responses are at a
/// limit, the likelihood may increase without bound.
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

/// Contribution of one row to a PIRLS step.
template <class T>
struct RowStep {
  T weight;    ///< w = prior (dmu/deta)^2 / V(mu), the expected information
  T residual;  ///< working residual: (y - mu) deta/dmu, or mean_step(y, mu) deta/dmu. The working response
               ///< is eta - offset + residual
  T deviance;  ///< unit deviance times prior weight
};

/// A family that computes weight, residual and deviance of a row itself, e.g. with the observed information.
template <class F>
concept StepFamily = requires(const F& family, double x) {
  {RowStep<double>(family.step(x, x, x))};  // arguments: response, mean and prior weight
  // `square_is_deviance`, if present: sums of w r^2 use the deviance instead, because r diverges as w
  // vanishes. With a known scale these sums only shift REML by a constant.
};

/// A family that uses `Response::limit`.
template <class F>
constexpr bool is_censored_family = requires {
  F::is_censored;
};

/// The members that a pass over the rows needs.
template <class F>
concept RowFamily = requires(const F& family, double x) {
  {+family.linear};  // bool: identity link and constant variance, so that one step is exact
  {Start(family.start)};
  {+family.mean(x)};            // mean at a linear predictor
  {+family.derivative(x)};      // derivative of the mean with respect to the predictor
  {+family.deviance(x, x, x)};  // deviance of a row; arguments: response, mean and prior weight
  // `joint_step(y, mu, prior)`, if present: the `RowStep` for dmu/deta = 1; only for families without limits.
  // `mean_step(y, mu)`, if present: the Fisher scoring step of the mean, used instead of y - mu; V is then
  // the inverse of the expected information about the mean.
}
&&(StepFamily<F> || requires(const F& family, double x) {
  {+family.weight(x, x, x)};  // prior (dmu/deta)^2 / V(mu); arguments: prior weight, mean and derivative
});

/// Number of likelihood parameters besides the mean.
template <class F>
constexpr int parameter_count_of() {
  if constexpr (requires { F::parameter_count; }) {
    return F::parameter_count;
  } else {
    return 0;
  }
}

/// A family whose number of parameters, `count()`, depends on its classes; `parameter_count` is the maximum.
/// Its constructor takes the parameters and their number. It has no constants.
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

/// Number of leading parameters that R's argument theta sets; later parameters are always estimated.
template <class F>
constexpr int theta_count_of() {
  if constexpr (requires { F::theta_count; }) {
    return F::theta_count;
  } else {
    return parameter_count_of<F>();
  }
}

/// Number of constants in a call, such as the bounds of a parameter.
template <class F>
constexpr int constant_count_of() {
  if constexpr (requires { F::constant_count; }) {
    return F::constant_count;
  } else {
    return 0;
  }
}

/// Number of constructor values: parameters, then constants.
template <class F>
constexpr int value_count_of() {
  return parameter_count_of<F>() + constant_count_of<F>();
}

template <class F>
constexpr int value_count_of(const F& family) {
  return parameter_count_of(family) + constant_count_of<F>();
}

/// Number of outputs of `likelihood_terms`.
constexpr int likelihood_term_count(int parameters) {
  return 1 + parameters + parameters * (parameters + 1) / 2;
}

/// Additional members of a family with parameters or constants, and a constructor from an array of both.
template <class F>
concept ValuedFamily = RowFamily<F> &&(value_count_of<F>() > 0) && requires(const F& family, double x) {
  {+family.parameter(0)};     // the value with this index
  {F::parameter_name(0)[0]};  // R's name
  {+family.working(0, x)};    // the value on its working scale; not finite if invalid. On the working scale
                              // of a parameter every number is valid; the search uses this scale
  {+family.parameter_at(0, x)};  // the inverse of `working`
  // `first_working(i)`: the initial estimate of a parameter. `first_constant(i)`: R's default of a constant.
  // `theta_is_working`, if present: R's theta is on the working scale and fixes the parameters. `choices`, if
  // present: names for the values of a constant; the constant is an index into them. `title` and
  // `shown_count`, if present: reports print `title`, the first `shown_count` values and a closing bracket,
  // e.g. Negative Binomial(2.1).
};

/// Additional members of a family with likelihood parameters.
template <class F>
concept ParametricFamily = ValuedFamily<F> && requires(const F& family, double x, double* out) {
  {+F::parameter_count};
  {+F::first_working(0)};
  {F::title[0]};
  {F::at_limit[0]};  // for messages: explains a likelihood that rises towards a limit of the first parameter
  {family.likelihood_terms(x, x, out)};  // at y and mu, for prior weight 1: minus the log likelihood,
                                         // without terms free of parameters; first derivatives by the
                                         // working parameters; second derivatives, upper triangle row by row
  // `scale()`, if present: phi, one of the parameters. `null_is_likeliest`, if present: the null model's mean
  // is the maximum likelihood estimate, not the mean response. `saturated_mean(y)`, if present: the maximum
  // likelihood mean of one response; the deviance then omits the saturated log likelihood.
  // `deviance_is_whole`, if present: the deviance is -2 log likelihood.
};

/// A family without values, or with all members that its values require.
template <class F>
concept ParametricOrNot = (value_count_of<F>() == 0) ||
                          (ValuedFamily<F> && (parameter_count_of<F>() == 0 || ParametricFamily<F>));

/// The remaining members of a built-in family.
template <class F>
concept BuiltInFamily = RowFamily<F> && ParametricOrNot<F> && requires(const F& family, double x) {
  {family.name[0]};          // R's name; also accepted in lower case
  {Link(family.links[0])};   // the default link first; other links need `variance(mu)`
  {+family.scale_is_known};  // bool: phi is 1 by definition
  {Limits(family.limits)};
  {+family.two_levels};          // bool: accepts a factor of two levels as 0 and 1
  {family.residuals[0]};         // for reports: the pattern of residuals under the model; may be ""
  {family.response_fault(x)};    // why a finite number is invalid ("must not be negative"), or nullptr
  {+family.link(x)};             // linear predictor of a mean
  {+family.first_mean(x, x)};    // initial mean of a row; arguments: response and prior weight (see `Start`)
  {+family.aic_scale(x, x, x)};  // scale in AIC's likelihood; arguments: deviance, rows and scale
  {+family.minus_two_log_likelihood(x, x, x, x)};  // of y, mu, prior weight > 0 and scale, like family()$aic
  {+family.likelihood_rounds(x, x)};               // bool: the likelihood rounds y or the prior weight
  // Valid responses form an interval, except for classes and censored responses. `saturated_is_constant`, if
  // present: the saturated log likelihood does not depend on the response. `likeliest_mean(y)`, if present:
  // the mean with deviance 0 if it differs from y. `least_maximum`, if present: a fit needs a response of at
  // least this. `respond(eta)`, if present: the mean response and its derivative, for a family whose `mean`
  // is the linear predictor.
};

/// Default members of families.
struct UsualParts {
  static constexpr bool linear = false;
  static constexpr Limits limits{};
  static constexpr bool two_levels = false;
  static double aic_scale(double, double, double) { return 1; }
  static bool likelihood_rounds(double, double) { return false; }
};

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

/// Log link for means of any unit: the lower bound is the smallest normal number, not R's epsilon.
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

template <BuiltInFamily... F>
struct FamilyList {};

/// Constructs a family; both arguments are ignored if it has no values.
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

/// A mean closer to a limit than this counts as at the limit. For counts and proportions only.
inline constexpr double near_end = 1e-8;

/// Limits of a proportion's mean at an infinite linear predictor.
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

/// Moves an initial mean off the pole of the inverse link, as mgcv does for scat.
template <FormulaNumber T>
T off_pole(Link link, const T& mean, double side) {
  return link == Link::inverse ? choose(mean == 0.0, T(side < 0 ? -0.1 : 0.1), mean) : mean;
}

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
  /// NaN for an invalid mean, so that the fit halves the step.
  template <class Y, FormulaNumber T>
  [[nodiscard]] T deviance(const Y& y, const T& mu, const Same<T>& prior) const {
    const T outside(std::numeric_limits<double>::quiet_NaN());
    T value = F::deviance(y, mu, prior);
    if constexpr (F::limits.has_lower()) value = choose(mu > F::limits.lower, value, outside);
    if constexpr (F::limits.has_upper()) value = choose(mu < F::limits.upper, value, outside);
    return choose(side * mu < 0.0, outside, value);
  }
  /// Whether a mean is within `near_end` of a limit; only counts and proportions have an absolute scale.
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
  /// Sign of all means, 1 or -1, if the link has a pole. 0: no pole, or undecided.
  double side = 0;
  Start start = F::start == Start::response && F::links[0] == Link::identity && which != Link::inverse
                    ? Start::mean
                    : F::start;
  Limits limits = F::limits.has_upper() ? limits_of_proportions(which) : Limits{};
};

/// The family at `index` of the list, with its link at index `link`.
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

/// y log(y/mu), continued by 0 at y = 0.
template <FormulaNumber T>
T y_log_y(const Same<T>& y, const T& mu) {
  return choose(y > 0.0, y * log(y / mu), T(0.0));
}

/// x log(p); 0 at x = 0 for any p.
template <FormulaNumber T>
T x_log_p(const Same<T>& x, const T& p) {
  return choose(x == 0.0, T(0.0), x * log(p));
}

/// Whether x is an integer within R's tolerance.
inline bool is_integer(double x) {
  const double size = fabs(x);
  return fabs(x - nearbyint(x)) <= 1e-7 * (size > 1.0 ? size : 1.0);
}

}  // namespace TESSERA_NAMESPACE::gam
