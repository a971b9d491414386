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

/// A closed range of keys (`base::ordered_key` of numbers).
struct KeySpan {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;

  void add(std::uint64_t key) {
    first = std::min(first, key);
    last = std::max(last, key);
  }
  bool operator==(const KeySpan&) const = default;
};

struct Bounded {
  std::int64_t below;
  std::int64_t inside;
};

/// One thread's values in a range of keys, and the number of its values below the range.
struct BoundedValues {
  KeySpan range{};
  std::int64_t below = 0;
  std::vector<double> inside{};
  bool all_kept = true;  ///< false: values in the range were dropped

  /// Ignores NaN. Drops further values in the range once `inside` has `most` values or more.
  void add(std::span<const double> values, std::size_t most);
  /// Like `add`; also returns `scan(values)`, in one pass over memory.
  [[nodiscard]] NumberScan add_and_scan(std::span<const double> values, std::size_t most);
  void take(BoundedValues& other, std::size_t most);
  void clear() noexcept;

 private:
  void keep(const double* found, const Bounded& bounded, std::size_t most);
};

/// Maximum number of values that each of `threads` threads keeps of a rank's `rows` rows. A range with more
/// than one row in eight, e.g. because of many ties, is scanned again.
inline std::size_t most_kept_of_thread(std::size_t rows, std::size_t threads) {
  constexpr std::size_t share = 8;
  return std::max(rows / share / threads, std::size_t{512});
}

inline constexpr std::size_t bounded_at_once = 512;

/// Copies the values in the range to `found`, which must have space for `values.size()` numbers.
Bounded find_in_range(std::span<const double> values, KeySpan range, double* found);

}  // namespace TESSERA_NAMESPACE::gam
