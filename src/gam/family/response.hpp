// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/arithmetic.hpp"

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::gam {

/// A response, possibly censored. As in mgcv, `limit` equals `value` if the response is known. Otherwise the
/// response is between `value` and `limit`, which may be infinite. Uncensored families use `value` only. T is
/// a double or a SIMD packet of rows.
template <class T>
struct ResponseOf {
  // NOLINTNEXTLINE(google-explicit-constructor): most families know only this number
  constexpr ResponseOf(const T& y) : value(y), limit(y) {}
  constexpr ResponseOf(const T& y, const T& second) : value(y), limit(second) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator T() const { return value; }

  [[nodiscard]] auto is_known() const { return limit == value; }
  [[nodiscard]] bool is_censored() const { return !is_known(); }
  [[nodiscard]] T lower() const { return choose(limit < value, limit, value); }
  [[nodiscard]] T upper() const { return choose(limit > value, limit, value); }

  friend constexpr ResponseOf operator*(const T& factor, const ResponseOf& y) {
    return {factor * y.value, factor * y.limit};
  }

  T value;
  T limit;
};
using Response = ResponseOf<double>;

}  // namespace TESSERA_NAMESPACE::gam
