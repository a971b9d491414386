// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/censored.hpp"

namespace TESSERA_NAMESPACE::gam {

struct NormalError {
  static constexpr double log_peak = -0.91893853320467274;  ///< the log density at 0
  template <FormulaNumber T>
  static ErrorLikelihood<T> at(const T& z) {
    return normal_point(z);
  }
  template <FormulaNumber T>
  static ErrorLikelihood<T> between(const T& low, const Same<T>& high, const Same<T>& width) {
    return normal_interval(low, high, width);
  }
};

struct Cnorm : CensoredLocation<NormalError> {
  using CensoredLocation::CensoredLocation;
  static constexpr char name[] = "cnorm";
  static constexpr char title[] = "cnorm(";
};

}  // namespace TESSERA_NAMESPACE::gam
