// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/censored.hpp"

namespace TESSERA_NAMESPACE::gam {

struct NormalError {
  static constexpr double log_peak = -0.91893853320467274;  ///< the log density at 0
  static base::ErrorLikelihood at(double z) { return base::normal_point(z); }
  static base::ErrorLikelihood between(double low, double high, double width) {
    return base::normal_interval(low, high, width);
  }
};

/// Censored normal responses.
struct Cnorm : CensoredLocation<NormalError> {
  using CensoredLocation::CensoredLocation;
  static constexpr char name[] = "cnorm";
  static constexpr char title[] = "cnorm(";
};

}  // namespace TESSERA_NAMESPACE::gam
