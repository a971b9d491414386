// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/frame/number_scan.hpp"

#include <tessera/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A range of keys (`base::ordered_key`), with both ends.
struct KeySpan {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;

  void add(std::uint64_t key) {
    first = std::min(first, key);
    last = std::max(last, key);
  }
  bool operator==(const KeySpan&) const = default;
};

/// Numbers of values below a range and in it.
struct Bounded {
  std::int64_t below;
  std::int64_t inside;
};

/// The values of a column in a range of keys, and how many are below it, as one thread has found them.
struct BoundedValues {
  KeySpan range{};
  std::int64_t below = 0;
  std::vector<double> inside{};
  bool all_kept = true;  ///< false: there were more than `most` in the range

  /// Those that are no NaN.
  void add(std::span<const double> values, std::size_t most);
  /// The same, and `scan(values)`, while they are in the cache.
  [[nodiscard]] NumberScan add_and_scan(std::span<const double> values, std::size_t most);
  /// What was found in other rows, and leaves nothing there.
  void take(BoundedValues& other, std::size_t most);
  /// Nothing was found.
  void clear() noexcept;

 private:
  void keep(const double* found, const Bounded& bounded, std::size_t most);
};

/// Values that a thread keeps at most of so many rows: ranges that hold more than one in eight, as where many
/// are equal, are scanned again.
inline std::size_t most_kept_of_thread(std::size_t rows, std::size_t threads) {
  constexpr std::size_t share = 8;
  return std::max(rows / share / threads, std::size_t{512});
}

/// Values that `find_in_range` takes at most.
inline constexpr std::size_t bounded_at_once = 512;

/// Copies the values of the range to `found`, which has room for `bounded_at_once`.
Bounded find_in_range(std::span<const double> values, KeySpan range, double* found);

}  // namespace TESSERA_NAMESPACE::gam
