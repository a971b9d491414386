// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Cache of a function of a count, because many rows have the same count. Counts from 2^16 are not cached.
/// The cache does not change results. Not thread-safe.
template <class Value>
class CountMemo {
 public:
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
