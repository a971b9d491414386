// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Ordered categorical (cumulative logit) responses 1 to R. A response is k if the linear predictor plus a
/// logistic error is between thresholds k - 1 and k. The mean is the linear predictor. The parameters are
/// thresholds 1 to R - 1. Their working scale is threshold 1, then the logs of successive distances.
/// Threshold 1 of a model is -1, because the intercept shifts all thresholds. The search still moves
/// threshold 1, and then shifts all thresholds and the intercept back. Otherwise only rows of class 1 would
/// determine the intercept; with few such rows this needs hundreds of iterations. With x and u the upper and
/// lower threshold minus the predictor, and F logistic, the likelihood F(x) - F(u) is computed as F(x) (1 -
/// F(u)) (1 - exp(u - x)), which avoids cancellation.
struct Ocat : UsualLink<Link::identity> {
  static constexpr char name[] = "ocat";
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::identity};
  static constexpr bool scale_is_known = true;
  static constexpr Start start = Start::adjusted;
  static constexpr bool null_is_likeliest = true;
  static constexpr bool deviance_is_whole = true;
  static constexpr char residuals[] = " Those of a class lie on one curve.";

  static constexpr int parameter_count = 99;  ///< the maximum
  static constexpr int first_class = 1;
  static constexpr int least_classes = 3;
  static constexpr int most_classes = parameter_count + 1;
  static constexpr char title[] = "Ordered Categorical(";
  static constexpr char at_limit[] = "one class is almost never the most probable class";
  static const char* parameter_name(int) { return "threshold."; }
  static double first_working(int i) { return i == 0 ? -1 : 0; }
  [[nodiscard]] double working(int i, double value) const {
    return i == 0 ? value : log(value - threshold(i));
  }
  [[nodiscard]] double parameter_at(int i, double working) const {
    return i == 0 ? working : threshold(i) + exp(working);
  }

  /// `thresholds` must outlive this object.
  constexpr Ocat(const double* thresholds, int count) : thresholds_(thresholds), count_(count) {}
  [[nodiscard]] constexpr int count() const { return count_; }
  [[nodiscard]] constexpr int classes() const { return count_ + 1; }
  [[nodiscard]] double parameter(int i) const { return threshold(i + 1); }
  /// mgcv's theta: threshold i + 1 minus threshold i.
  [[nodiscard]] double theta(int i) const { return threshold(i + 1) - threshold(i); }
  /// Threshold i + 1, rounded as mgcv prints it.
  [[nodiscard]] double shown(int i) const { return nearbyint(100 * threshold(i + 1)) / 100; }

  [[nodiscard]] const char* response_fault(double y) const {
    return y >= 1 && y <= classes() && y == floor(y) ? nullptr : "must be a whole number from 1 to R";
  }

  /// A Newton step, with the observed information, as in mgcv.
  template <FormulaNumber T>
  [[nodiscard]] RowStep<T> step(const Same<T>& y, const T& eta, const Same<T>& prior) const {
    const Place<T> at(*this, y, eta);
    return {prior * at.information(), at.score() / at.information(), -2 * prior * at.log_probability()};
  }
  template <FormulaNumber T>
  [[nodiscard]] T deviance(const Same<T>& y, const T& eta, const Same<T>& prior) const {
    return -2.0 * prior * Place<T>(*this, y, eta).log_probability();
  }
  [[nodiscard]] double minus_two_log_likelihood(double y, double eta, double weight, double) const {
    return deviance(y, eta, weight);
  }
  /// As in mgcv: midway between the thresholds of the class; an outer class is taken to have width 1.
  template <FormulaNumber T>
  [[nodiscard]] T first_mean(const T& y, const Same<T>&) const {
    return each(y, [&](double one) {
      const int own = class_of(one);
      const double lower = own == 1 ? threshold(1) - 1 : threshold(own - 1);
      return (lower + (own == classes() ? threshold(own - 1) + 1 : threshold(own))) / 2;
    });
  }

  template <class T>
  struct Thresholds {
    T lower, upper;
  };
  /// P(Y = k) and its derivative with respect to the predictor.
  struct Probability {
    double value, slope;
  };
  [[nodiscard]] Probability probability(int k, double eta) const {
    const Place<double> at(*this, k, eta);
    const double value = at.upper.below * at.lower.above * -expm1(-at.width);
    return {value, value * at.score()};
  }
  [[nodiscard]] double up_to(double y, double eta) const {
    return y < 1 ? 0 : Logistic<double>(threshold(class_of(floor(y))) - eta).below;
  }
  /// The class whose interval of thresholds contains the predictor.
  [[nodiscard]] int class_at(double eta) const {
    int own = 1;
    while (own < classes() && eta > threshold(own)) ++own;
    return own;
  }
  [[nodiscard]] double residual_side(double y, double eta) const {
    const int own = class_of(y);
    return (threshold(own - 1) + threshold(own)) / 2 - eta;
  }

  template <FormulaNumber T>
  void likelihood_terms(const Same<T>& y, const T& eta, T* terms) const {
    const Place<T> at(*this, y, eta);
    // Index of the parameter that is the class's upper threshold.
    const T own = each(T(y), [&](double one) { return class_of(one) - 1.0; });
    const T closeness = at.closeness();
    terms[0] = -at.log_probability();
    T* second = terms + 1 + count_;
    for (int i = 0; i < count_; ++i) {
      // Parameters below `own` shift both thresholds of the class; parameter `own` shifts only the upper one.
      const double step = i == 0 ? 1 : theta(i);  // d threshold / d working parameter
      const T of_own = choose(own == i, at.upper.above + closeness, T(0.0));
      const T slope = choose(own > i, -at.score(), of_own);
      terms[1 + i] = -step * slope;
      for (int j = i; j < count_; ++j) {
        T of_upper = at.upper.density();
        if (i == j) of_upper += closeness * (1.0 + closeness);
        T curvature = choose(own > j, at.information(), choose(own == j, of_upper, T(0.0)));
        curvature *= step * (j == 0 ? 1 : theta(j));
        *second++ = i == j && i > 0 ? curvature - step * slope : curvature;
      }
    }
  }

 private:
  /// The logistic distribution function F at x.
  template <class T>
  struct Logistic {
    explicit Logistic(const T& at) : x(at) {
      const T ratio = exp(-fabs(at));
      larger = 1.0 / (1.0 + ratio);
      below = choose(at < 0.0, ratio * larger, larger);
      above = choose(at < 0.0, larger, ratio * larger);
    }
    [[nodiscard]] T density() const { return below * above; }
    T x;
    T larger;  ///< max(F(x), 1 - F(x))
    T below;   ///< F(x)
    T above;   ///< 1 - F(x)
  };
  /// The thresholds of a class minus the linear predictor.
  template <class T>
  struct Place {
    /// A NaN or infinite y yields NaN results.
    Place(const Ocat& family, const T& y, const T& eta) : Place(family.limits_of(y), eta + 0.0 * y) {}
    Place(const Ocat& family, int own, const T& eta)
        : Place(Thresholds<T>{family.threshold(own - 1), family.threshold(own)}, eta) {}
    Place(const Thresholds<T>& of_class, const T& eta)
        : upper(of_class.upper - eta), lower(of_class.lower - eta), width(of_class.upper - of_class.lower) {}
    [[nodiscard]] T log_probability() const {
      const T tails = choose(upper.x < 0.0, upper.x, T(0.0)) - choose(lower.x > 0.0, lower.x, T(0.0));
      return tails + log(upper.larger * lower.larger * -expm1(-width));
    }
    // First derivative of the log probability with respect to the predictor, and minus the second one.
    [[nodiscard]] T score() const { return lower.below - upper.above; }
    [[nodiscard]] T information() const { return upper.density() + lower.density(); }
    /// Derivative of log(1 - exp(-width)) with respect to the width.
    [[nodiscard]] T closeness() const { return 1.0 / expm1(width); }
    Logistic<T> upper, lower;
    T width;
  };

  template <FormulaNumber T>
  [[nodiscard]] Thresholds<T> limits_of(const T& y) const {
    return {each(y, [&](double one) { return threshold(class_of(one) - 1); }),
            each(y, [&](double one) { return threshold(class_of(one)); })};
  }
  [[nodiscard]] double threshold(int k) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (k < 1) return -infinity;
    return k < classes() ? thresholds_[k - 1] : infinity;
  }
  /// Between 1 and R for any y.
  [[nodiscard]] int class_of(double y) const {
    return y > 1 ? static_cast<int>(within(1, y, static_cast<double>(classes()))) : 1;
  }

  const double* thresholds_;
  int count_;
};

}  // namespace TESSERA_NAMESPACE::gam
