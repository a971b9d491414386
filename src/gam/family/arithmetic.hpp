// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cmath>

#ifndef __CUDACC__
#include "base/math/elementary.hpp"
#include "base/math/gamma.hpp"
#include "base/math/normal.hpp"
#include "base/math/trigonometric.hpp"
#endif

/// Elementary functions for the formulas of families. T is a double or, on the host, a SIMD packet of rows;
/// `choose` replaces branches. In kernels the functions are CUDA's.
namespace TESSERA_NAMESPACE::gam {

/// Number type of a formula. Integers are excluded, because integer arithmetic would truncate.
#ifdef __CUDACC__
template <class T>
inline constexpr bool is_double = false;
template <>
inline constexpr bool is_double<double> = true;
template <class T>
concept FormulaNumber = is_double<T>;
inline double choose(bool where, double a, double b) {
  return where ? a : b;
}
inline bool any(bool where) {
  return where;
}
template <class Function>
double each(double a, const Function& function) {
  return function(a);
}
inline double normal_probability(double x) {
  return 0.5 * erfc(-x * 0.70710678118654752);
}
#else
template <class T>
concept FormulaNumber = base::PacketOrDouble<T>;
using base::any;
using base::asinh;
using base::atan;
using base::choose;
using base::cos;
using base::cosh;
using base::each;
using base::erfc;
using base::exp;
using base::expm1;
using base::fabs;
using base::floor;
using base::lgamma;
using base::log;
using base::log10;
using base::log1p;
using base::log2;
using base::normal_probability;
using base::pow;
using base::sin;
using base::sinh;
using base::sqrt;
using base::tan;
using base::tanh;
#endif

template <class T>
struct SameType {
  using Type = T;
};
/// T in a non-deduced context: the argument converts to the T deduced from another argument.
template <class T>
using Same = typename SameType<T>::Type;

/// x clamped to [low, high].
template <class T>
T within(double low, const T& x, double high) {
  return choose(x < low, T(low), choose(x > high, T(high), x));
}

}  // namespace TESSERA_NAMESPACE::gam
