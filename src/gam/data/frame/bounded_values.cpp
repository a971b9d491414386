// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/bounded_values.hpp"

#include "base/ordered_key.hpp"
#include "base/vectors.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <array>

namespace TESSERA_NAMESPACE::gam {
namespace {

#define TESSERA_TEXT "gam/data/frame/bounds_text.hpp"
#include "base/each_width.hpp"

}  // namespace

Bounded find_in_range(std::span<const double> values, KeySpan range, double* found) {
  return TESSERA_AT_WIDTH(find_bounded(values.data(), values.size(), base::value_of_key(range.first),
                                       base::value_of_key(range.last), found));
}

void BoundedValues::keep(const double* found, const Bounded& bounded, std::size_t most) {
  below += bounded.below;
  if (inside.size() < most)
    inside.insert(inside.end(), found, found + bounded.inside);
  else if (bounded.inside > 0)
    all_kept = false;
}

void BoundedValues::add(std::span<const double> values, std::size_t most) {
  std::array<double, bounded_at_once> found;
  for (std::size_t begin = 0; begin < values.size(); begin += bounded_at_once) {
    const auto some = values.subspan(begin, std::min(bounded_at_once, values.size() - begin));
    keep(found.data(), find_in_range(some, range, found.data()), most);
  }
}

NumberScan BoundedValues::add_and_scan(std::span<const double> values, std::size_t most) {
  constexpr std::size_t widest = 8;
  std::array<double, bounded_at_once + widest> found;
  NumberScan scanned;
  for (std::size_t begin = 0; begin < values.size(); begin += bounded_at_once) {
    const auto some = values.subspan(begin, std::min(bounded_at_once, values.size() - begin));
    const Bounded bounded =
        TESSERA_AT_WIDTH(scan_bounded(some.data(), some.size(), base::value_of_key(range.first),
                                      base::value_of_key(range.last), found.data(), scanned));
    keep(found.data(), bounded, most);
  }
  return scanned;
}

void BoundedValues::take(BoundedValues& other, std::size_t most) {
  below += other.below;
  all_kept = all_kept && other.all_kept;
  if (inside.size() < most)
    inside.insert(inside.end(), other.inside.begin(), other.inside.end());
  else if (!other.inside.empty())
    all_kept = false;
  other.clear();
}

void BoundedValues::clear() noexcept {
  below = 0;
  inside.clear();
  all_kept = true;
}

}  // namespace TESSERA_NAMESPACE::gam
