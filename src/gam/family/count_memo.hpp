// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Caches a value for each count below a limit, since the same counts occur in many rows. The values are the
/// same as without the cache. Not thread-safe.
template <class Value>
class CountMemo {
 public:
  /// Returns `compute(y)`, from the cache if y is a count below the limit.
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
