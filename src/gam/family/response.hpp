// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cmath>

namespace TESSERA_NAMESPACE::gam {

/// The response of a row. A censored family takes a second number, as in mgcv. It equals the first if the
/// response is known; it is another number if the response lies between the two; it is infinite if the
/// response lies beyond the first on that side. Other families take the first number alone.
struct Response {
  // NOLINTNEXTLINE(google-explicit-constructor): most families know only this number
  constexpr Response(double y) : value(y), limit(y) {}
  constexpr Response(double y, double second) : value(y), limit(second) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator double() const { return value; }

  [[nodiscard]] bool is_censored() const { return limit != value; }
  [[nodiscard]] double lower() const { return limit < value ? limit : value; }
  [[nodiscard]] double upper() const { return limit > value ? limit : value; }

  friend constexpr Response operator*(double factor, Response y) {
    return {factor * y.value, factor * y.limit};
  }

  double value;
  double limit;
};

}  // namespace TESSERA_NAMESPACE::gam
