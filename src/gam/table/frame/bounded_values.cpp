// SPDX-License-Identifier: Apache-2.0
#include "gam/table/frame/bounded_values.hpp"

#include "base/at.hpp"
#include "base/ordered_key.hpp"
#include "base/vectors.hpp"

#include <array>

namespace TESSERA_NAMESPACE::gam {
namespace {

#define TESSERA_TEXT "gam/table/frame/bounds_text.hpp"
#include "base/each_width.hpp"

}  // namespace

Bounded find_in_range(std::span<const double> values, KeySpan range, double* found) {
  return TESSERA_AT_WIDTH(find_bounded(values.data(), values.size(), base::value_of_key(range.first),
                                       base::value_of_key(range.last), found));
}

void BoundedValues::add(std::span<const double> values, std::size_t most) {
  std::array<double, bounded_at_once> found;
  for (std::size_t begin = 0; begin < values.size(); begin += bounded_at_once) {
    const auto some = values.subspan(begin, std::min(bounded_at_once, values.size() - begin));
    const Bounded bounded = find_in_range(some, range, found.data());
    below += bounded.below;
    if (inside.size() < most)
      inside.insert(inside.end(), found.begin(), found.begin() + bounded.inside);
    else if (bounded.inside > 0)
      all_kept = false;
  }
}

}  // namespace TESSERA_NAMESPACE::gam
