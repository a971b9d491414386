// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/jet.hpp"
#include "gam/family/links.hpp"

/// Functions of user expressions that C++ lacks, for numbers and `Jet`, on the host and in kernels.
namespace TESSERA_NAMESPACE::gam {

inline double custom_power(double base, double exponent) {
  return exponent == 2 ? base * base : pow(base, exponent);
}
inline double custom_normal_density(double x) {
  return normal_density(x);
}
/// Like R's pmin: NaN if an argument is NaN.
inline double custom_least(double a, double b) {
  return a != a ? a : b < a || b != b ? b : a;
}

template <int P>
Jet<P> custom_power(const Jet<P>& base, double exponent) {
  if (exponent == 0 || exponent == 1) return exponent == 0 ? Jet<P>(1) : base;
  if (exponent == 2) return base * base;
  return Jet<P>::chain(base, pow(base.value, exponent), exponent * pow(base.value, exponent - 1),
                       exponent * (exponent - 1) * pow(base.value, exponent - 2));
}
template <int P>
Jet<P> custom_power(const Jet<P>& base, const Jet<P>& exponent) {
  return exponent.is_constant() ? custom_power(base, exponent.value) : exp(exponent * log(base));
}
template <int P>
Jet<P> custom_power(double base, const Jet<P>& exponent) {
  return custom_power(Jet<P>(base), exponent);
}
template <int P>
Jet<P> custom_normal_density(const Jet<P>& x) {
  const double y = custom_normal_density(x.value);
  return Jet<P>::chain(x, y, -x.value * y, (x.value * x.value - 1) * y);
}
template <int P>
Jet<P> custom_least(const Jet<P>& a, const Jet<P>& b) {
  return a.value != a.value ? a : b.value < a.value || b.value != b.value ? b : a;
}
template <int P>
Jet<P> custom_least(const Jet<P>& a, double b) {
  return custom_least(a, Jet<P>(b));
}
template <int P>
Jet<P> custom_least(double a, const Jet<P>& b) {
  return custom_least(Jet<P>(a), b);
}
template <class A, class B>
auto custom_greatest(const A& a, const B& b) {
  return -custom_least(-a, -b);
}

}  // namespace TESSERA_NAMESPACE::gam
