// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/number_scan.hpp"

#include <tessera/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A closed range of keys (`base::ordered_key`).
struct KeySpan {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;

  void add(std::uint64_t key) {
    first = std::min(first, key);
    last = std::max(last, key);
  }
  bool operator==(const KeySpan&) const = default;
};

/// Numbers of values below and within a range.
struct Bounded {
  std::int64_t below;
  std::int64_t inside;
};

/// The values of a column in a range of keys, and the number below it, as found by one thread.
struct BoundedValues {
  KeySpan range{};
  std::int64_t below = 0;
  std::vector<double> inside{};
  bool all_kept = true;  ///< false: there were more than `most` in the range

  /// Adds values, ignoring NaN.
  void add(std::span<const double> values, std::size_t most);
  /// Adds values as `add` does, and returns `scan(values)`, in one pass through the cache.
  [[nodiscard]] NumberScan add_and_scan(std::span<const double> values, std::size_t most);
  /// Moves the findings of other rows here.
  void take(BoundedValues& other, std::size_t most);
  /// Resets to no findings.
  void clear() noexcept;

 private:
  void keep(const double* found, const Bounded& bounded, std::size_t most);
};

/// Maximum number of values that a thread stores for this many rows: ranges with more than one in eight, for
/// example with many ties, are scanned again.
inline std::size_t most_kept_of_thread(std::size_t rows, std::size_t threads) {
  constexpr std::size_t share = 8;
  return std::max(rows / share / threads, std::size_t{512});
}

/// Maximum number of values per call of `find_in_range`.
inline constexpr std::size_t bounded_at_once = 512;

/// Copies the values within the range to `found`, which has room for `bounded_at_once`.
Bounded find_in_range(std::span<const double> values, KeySpan range, double* found);

}  // namespace TESSERA_NAMESPACE::gam
