// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/links.hpp"

#include <tessera/version.hpp>

#include <cmath>

namespace TESSERA_NAMESPACE::gam {

/// Second-order forward-mode automatic differentiation: a value with its first and second derivatives with
/// respect to P variables. `second` is the upper triangle, row by row. S is a double or a SIMD packet of
/// rows. Source: Griewank and Walther, Evaluating Derivatives (2008), ch. 3 and 13.
template <int P, class S = double>
struct Jet {
  static constexpr int pairs = P * (P + 1) / 2;

  S value = S(0.0);
  S first[P] = {};
  S second[pairs] = {};

  Jet() = default;
  explicit Jet(const S& constant) : value(constant) {}
  static Jet variable(const S& value, int index) {
    Jet x(value);
    x.first[index] = S(1.0);
    return x;
  }

  [[nodiscard]] bool is_constant() const {
    for (const S& one : first)
      if (one != 0) return false;
    for (const S& one : second)
      if (one != 0) return false;
    return true;
  }

  /// Chain rule for f(x); `f`, `slope` and `curvature` are f, f' and f'' at x.value.
  static Jet chain(const Jet& x, const S& f, const S& slope, const S& curvature) {
    Jet y(f);
    for (int i = 0, k = 0; i < P; ++i) {
      y.first[i] = slope * x.first[i];
      for (int j = i; j < P; ++j, ++k)
        y.second[k] = slope * x.second[k] + curvature * x.first[i] * x.first[j];
    }
    return y;
  }
  /// Chain rule for f(x, z); `f` to `by_zz` are f and its partial derivatives at x.value and z.value.
  static Jet chain(const Jet& x, const Jet& z, const S& f, const S& by_x, const S& by_z, const S& by_xx,
                   const S& by_xz, const S& by_zz) {
    Jet y(f);
    for (int i = 0, k = 0; i < P; ++i) {
      y.first[i] = by_x * x.first[i] + by_z * z.first[i];
      for (int j = i; j < P; ++j, ++k)
        y.second[k] = by_x * x.second[k] + by_z * z.second[k] + by_xx * x.first[i] * x.first[j] +
                      by_xz * (x.first[i] * z.first[j] + z.first[i] * x.first[j]) +
                      by_zz * z.first[i] * z.first[j];
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
  friend Jet operator*(const S& factor, Jet a) {
    a.value *= factor;
    for (S& one : a.first) one *= factor;
    for (S& one : a.second) one *= factor;
    return a;
  }
  friend Jet operator*(const Jet& a, const S& factor) { return factor * a; }
  friend Jet operator+(Jet a, const S& constant) {
    a.value += constant;
    return a;
  }
  friend Jet operator+(const S& constant, const Jet& a) { return a + constant; }
  friend Jet operator-(const Jet& a, const S& constant) { return a + -constant; }
  friend Jet operator-(const S& constant, const Jet& a) { return -a + constant; }
  friend Jet operator/(const S& factor, const Jet& a) { return factor * inverse(a); }
  friend Jet operator-(const Jet& a) { return -1.0 * a; }
  friend Jet operator-(Jet a, const Jet& b) {
    a.value -= b.value;
    for (int i = 0; i < P; ++i) a.first[i] -= b.first[i];
    for (int k = 0; k < pairs; ++k) a.second[k] -= b.second[k];
    return a;
  }
  friend Jet operator/(const Jet& a, const S& divisor) { return 1 / divisor * a; }
  friend Jet operator/(const Jet& a, const Jet& b) { return a * inverse(b); }
  friend Jet inverse(const Jet& x) {
    const S y = 1 / x.value;
    return chain(x, y, -y * y, 2 * y * y * y);
  }

  template <class Mask>
  friend Jet choose(const Mask& where, const Jet& a, const Jet& b) {
    Jet y(choose(where, a.value, b.value));
    for (int i = 0; i < P; ++i) y.first[i] = choose(where, a.first[i], b.first[i]);
    for (int k = 0; k < pairs; ++k) y.second[k] = choose(where, a.second[k], b.second[k]);
    return y;
  }

  // Hidden friends: found by ADL only, so that they do not hide the overloads for double.
  friend Jet exp(const Jet& x) {
    const S y = exp(x.value);
    return chain(x, y, y, y);
  }
  friend Jet log(const Jet& x) { return chain(x, log(x.value), 1 / x.value, -1 / (x.value * x.value)); }
  friend Jet log1p(const Jet& x) {
    const S slope = 1 / (1 + x.value);
    return chain(x, log1p(x.value), slope, -slope * slope);
  }
  friend Jet expm1(const Jet& x) {
    const S slope = exp(x.value);
    return chain(x, expm1(x.value), slope, slope);
  }
  friend Jet log2(const Jet& x) { return 0x1.71547652b82fep+0 * log(x); }
  friend Jet log10(const Jet& x) { return 0x1.bcb7b1526e50ep-2 * log(x); }
  friend Jet sqrt(const Jet& x) {
    const S y = sqrt(x.value);
    return chain(x, y, 0.5 / y, -0.25 / (x.value * y));
  }
  friend Jet sin(const Jet& x) {
    const S y = sin(x.value);
    return chain(x, y, cos(x.value), -y);
  }
  friend Jet cos(const Jet& x) {
    const S y = cos(x.value);
    return chain(x, y, -sin(x.value), -y);
  }
  friend Jet tan(const Jet& x) {
    const S y = tan(x.value);
    const S slope = 1 + y * y;
    return chain(x, y, slope, 2 * y * slope);
  }
  /// The standard normal distribution function, with CUDA's name.
  friend Jet normcdf(const Jet& x) {
    const S slope = normal_density(x.value);
    return chain(x, normal_probability(x.value), slope, -x.value * slope);
  }
  friend Jet fabs(const Jet& x) { return x.value < 0 ? -x : x; }
  friend Jet floor(const Jet& x) { return Jet(floor(x.value)); }
  friend Jet ceil(const Jet& x) { return Jet(ceil(x.value)); }
  friend Jet trunc(const Jet& x) { return Jet(trunc(x.value)); }
  friend Jet sinh(const Jet& x) {
    const S y = sinh(x.value);
    return chain(x, y, cosh(x.value), y);
  }
  friend Jet asinh(const Jet& x) {
    const S slope = 1.0 / sqrt(1.0 + x.value * x.value);
    return chain(x, asinh(x.value), slope, -x.value * slope * slope * slope);
  }
};

/// Type of the response for linear predictors of type T: the number type of a `Jet`, otherwise T.
template <class T>
struct NumberOfType {
  using Type = double;
};
template <FormulaNumber T>
struct NumberOfType<T> {
  using Type = T;
};
template <int P, class S>
struct NumberOfType<Jet<P, S>> {
  using Type = S;
};
template <class T>
using NumberOf = typename NumberOfType<T>::Type;

}  // namespace TESSERA_NAMESPACE::gam
