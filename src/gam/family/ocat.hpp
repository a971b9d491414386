// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Ordered classes 1 to R: a response is in class k if its linear predictor plus a logistic error is between
/// thresholds k - 1 and k. The parameters are thresholds 1 to R - 1; on the working scale the first, and the
/// log of the distance of each other from the one before. Threshold 1 of a model is -1, since the intercept
/// moves all of them. A search over the parameters moves threshold 1 too, and then shifts all thresholds, and
/// the intercept with them. If threshold 1 were held, only rows of class 1 would determine the intercept,
/// which takes hundreds of iterations where they are few. The mean is the linear predictor. With x and u the
/// upper and the lower threshold less the predictor, the likelihood F(x) - F(u), F logistic, is the product
/// F(x) (1 - F(u)) (1 - exp(u - x)), which does not cancel.
struct Ocat : UsualLink<Link::identity> {
  static constexpr char name[] = "ocat";
  static constexpr bool in_packets = true;
  static constexpr Link links[] = {Link::identity};
  static constexpr bool scale_is_known = true;
  static constexpr Start start = Start::adjusted;
  static constexpr bool null_is_likeliest = true;
  static constexpr bool deviance_is_whole = true;
  static constexpr char residuals[] = " Those of a class lie on one curve.";

  static constexpr int parameter_count = 99;  ///< the most
  static constexpr int first_class = 1;
  static constexpr int least_classes = 3;
  static constexpr int most_classes = parameter_count + 1;
  static constexpr char title[] = "Ordered Categorical(";
  static constexpr char at_limit[] = "a class is hardly ever the likeliest";
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
  /// mgcv's theta: the distance of threshold i + 1 from the one before.
  [[nodiscard]] double theta(int i) const { return threshold(i + 1) - threshold(i); }
  /// The thresholds, with as many decimals as mgcv prints.
  [[nodiscard]] double shown(int i) const { return nearbyint(100 * threshold(i + 1)) / 100; }

  [[nodiscard]] const char* response_fault(double y) const {
    return y >= 1 && y <= classes() && y == floor(y) ? nullptr : "must be a whole number from 1 to R";
  }

  /// A step of Newton's method, with the observed information, as in mgcv.
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
  /// As in mgcv: midway between the thresholds of the class; those of the outer classes are 1 further out.
  template <FormulaNumber T>
  [[nodiscard]] T first_mean(const T& y, const Same<T>&) const {
    return each(y, [&](double one) {
      const int own = class_of(one);
      const double lower = own == 1 ? threshold(1) - 1 : threshold(own - 1);
      return (lower + (own == classes() ? threshold(own - 1) + 1 : threshold(own))) / 2;
    });
  }

  /// The thresholds of a class.
  template <class T>
  struct Thresholds {
    T lower, upper;
  };
  /// P(Y = k), and its derivative by the predictor.
  struct Probability {
    double value, slope;
  };
  [[nodiscard]] Probability probability(int k, double eta) const {
    const Place<double> at(*this, k, eta);
    const double value = at.upper.below * at.lower.above * -expm1(-at.width);
    return {value, value * at.score()};
  }
  /// P(Y <= y).
  [[nodiscard]] double up_to(double y, double eta) const {
    return y < 1 ? 0 : Logistic<double>(threshold(class_of(floor(y))) - eta).below;
  }
  /// The class between whose thresholds the predictor is.
  [[nodiscard]] int class_at(double eta) const {
    int own = 1;
    while (own < classes() && eta > threshold(own)) ++own;
    return own;
  }
  /// Its sign is that of the residual of a class, as in mgcv.
  [[nodiscard]] double residual_side(double y, double eta) const {
    const int own = class_of(y);
    return (threshold(own - 1) + threshold(own)) / 2 - eta;
  }

  template <FormulaNumber T>
  void likelihood_terms(const Same<T>& y, const T& eta, T* terms) const {
    const Place<T> at(*this, y, eta);
    // The parameter that is the class's upper threshold.
    const T own = each(T(y), [&](double one) { return class_of(one) - 1.0; });
    const T closeness = at.closeness();
    terms[0] = -at.log_probability();
    T* second = terms + 1 + count_;
    for (int i = 0; i < count_; ++i) {
      // Both thresholds of the class move with the parameters below `own`; only the upper one moves with
      // parameter `own`.
      const double step =
          i == 0 ? 1 : theta(i);  // by how much a change of the working parameter moves the thresholds
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
  /// The logistic distribution at x.
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
    T larger;  ///< of the next two
    T below;   ///< F(x)
    T above;   ///< 1 - F(x)
  };
  /// The thresholds of a class, seen from a linear predictor.
  template <class T>
  struct Place {
    /// A response that is not finite gives no finite number.
    Place(const Ocat& family, const T& y, const T& eta) : Place(family.limits_of(y), eta + 0.0 * y) {}
    Place(const Ocat& family, int own, const T& eta)
        : Place(Thresholds<T>{family.threshold(own - 1), family.threshold(own)}, eta) {}
    Place(const Thresholds<T>& of_class, const T& eta)
        : upper(of_class.upper - eta), lower(of_class.lower - eta), width(of_class.upper - of_class.lower) {}
    [[nodiscard]] T log_probability() const {
      const T tails = choose(upper.x < 0.0, upper.x, T(0.0)) - choose(lower.x > 0.0, lower.x, T(0.0));
      return tails + log(upper.larger * lower.larger * -expm1(-width));
    }
    // The derivative of the log probability by the predictor, and minus the second one.
    [[nodiscard]] T score() const { return lower.below - upper.above; }
    [[nodiscard]] T information() const { return upper.density() + lower.density(); }
    /// The derivative of log(1 - exp(-width)) by the width.
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
  /// Between 1 and R for any number.
  [[nodiscard]] int class_of(double y) const {
    return y > 1 ? static_cast<int>(within(1, y, static_cast<double>(classes()))) : 1;
  }

  const double* thresholds_;
  int count_;
};

}  // namespace TESSERA_NAMESPACE::gam
