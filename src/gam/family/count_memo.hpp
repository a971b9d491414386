// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A value for each count below a limit, which come again and again: computed once. The same values as
/// without this. Not thread-safe.
template <class Value>
class CountMemo {
 public:
  /// `compute(y)`, of a number that is no such count each time.
  template <class Compute>
  [[nodiscard]] Value operator()(double y, const Compute& compute) {
    constexpr double most = 1 << 16;
    if (!(y >= 0 && y < most) || y != std::nearbyint(y)) return compute(y);
    const auto i = static_cast<std::size_t>(y);
    if (i >= known_.size()) known_.resize(i + 1);
    if (!known_[i]) known_[i] = compute(y);
    return *known_[i];
  }
  void clear() { known_.clear(); }

 private:
  std::vector<std::optional<Value>> known_;
};

}  // namespace TESSERA_NAMESPACE::gam
