// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cmath>

namespace TESSERA_NAMESPACE::gam {

/// A function's value with its first and second derivatives by P variables: automatic differentiation in
/// forward mode, so that the log likelihood of a family is written once, as a formula. `second` is the upper
/// triangle, row by row. Source: Griewank and Walther, Evaluating Derivatives (2008), ch. 3 and 13.
template <int P>
struct Jet {
  static constexpr int pairs = P * (P + 1) / 2;

  double value = 0;
  double first[P] = {};
  double second[pairs] = {};

  Jet() = default;
  /// A constant function.
  explicit Jet(double constant) : value(constant) {}
  /// The variable with this index.
  static Jet variable(double value, int index) {
    Jet x(value);
    x.first[index] = 1;
    return x;
  }

  /// f(x), for f with these values and derivatives at x.
  static Jet chain(const Jet& x, double f, double slope, double curvature) {
    Jet y(f);
    for (int i = 0, k = 0; i < P; ++i) {
      y.first[i] = slope * x.first[i];
      for (int j = i; j < P; ++j, ++k)
        y.second[k] = slope * x.second[k] + curvature * x.first[i] * x.first[j];
    }
    return y;
  }

  friend Jet operator+(Jet a, const Jet& b) {
    a.value += b.value;
    for (int i = 0; i < P; ++i) a.first[i] += b.first[i];
    for (int k = 0; k < pairs; ++k) a.second[k] += b.second[k];
    return a;
  }
  friend Jet operator*(const Jet& a, const Jet& b) {
    Jet y(a.value * b.value);
    for (int i = 0, k = 0; i < P; ++i) {
      y.first[i] = a.first[i] * b.value + a.value * b.first[i];
      for (int j = i; j < P; ++j, ++k)
        y.second[k] =
            a.second[k] * b.value + a.value * b.second[k] + a.first[i] * b.first[j] + a.first[j] * b.first[i];
    }
    return y;
  }
  friend Jet operator*(double factor, Jet a) {
    a.value *= factor;
    for (double& one : a.first) one *= factor;
    for (double& one : a.second) one *= factor;
    return a;
  }
  friend Jet operator*(const Jet& a, double factor) { return factor * a; }
  friend Jet operator+(Jet a, double constant) {
    a.value += constant;
    return a;
  }
  friend Jet operator+(double constant, const Jet& a) { return a + constant; }
  friend Jet operator-(const Jet& a, double constant) { return a + -constant; }
  friend Jet operator-(double constant, const Jet& a) { return -a + constant; }
  friend Jet operator/(double factor, const Jet& a) { return factor * inverse(a); }
  friend Jet operator-(const Jet& a) { return -1.0 * a; }
  friend Jet operator-(Jet a, const Jet& b) {
    a.value -= b.value;
    for (int i = 0; i < P; ++i) a.first[i] -= b.first[i];
    for (int k = 0; k < pairs; ++k) a.second[k] -= b.second[k];
    return a;
  }
  friend Jet operator/(const Jet& a, const Jet& b) { return a * inverse(b); }
  friend Jet inverse(const Jet& x) {
    const double y = 1 / x.value;
    return chain(x, y, -y * y, 2 * y * y * y);
  }

  // Friends, so that these names hide no function of double.
  friend Jet exp(const Jet& x) {
    const double y = exp(x.value);
    return chain(x, y, y, y);
  }
  friend Jet log(const Jet& x) { return chain(x, log(x.value), 1 / x.value, -1 / (x.value * x.value)); }
  friend Jet log1p(const Jet& x) {
    const double slope = 1 / (1 + x.value);
    return chain(x, log1p(x.value), slope, -slope * slope);
  }
  friend Jet sinh(const Jet& x) {
    const double y = sinh(x.value);
    return chain(x, y, cosh(x.value), y);
  }
  friend Jet asinh(const Jet& x) {
    const double slope = 1 / hypot(1, x.value);
    return chain(x, asinh(x.value), slope, -x.value * slope * slope * slope);
  }
};

}  // namespace TESSERA_NAMESPACE::gam
