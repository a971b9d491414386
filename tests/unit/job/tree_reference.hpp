// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::testing {

/// Neither associative nor commutative: its value shows the whole tree.
struct Shape {
  using Value = std::uint64_t;
  static constexpr Value identity() { return 0; }
  static constexpr Value combine(Value left, Value right) {
    return (left * 0x9e3779b97f4a7c15 ^ right) * 0xbf58476d1ce4e5b9 + 1;
  }
};

/// The values of blocks combined as `Reducer` says, one level of the tree after another.
template <class R>
[[nodiscard]] typename R::Value combined_in_tree(std::vector<typename R::Value> values) {
  if (values.empty()) return R::identity();
  while (values.size() > 1) {
    std::vector<typename R::Value> above;
    for (std::size_t i = 0; i < values.size(); i += 2)
      above.push_back(i + 1 < values.size() ? R::combine(values[i], values[i + 1]) : values[i]);
    values = above;
  }
  return values.front();
}

}  // namespace tessera::testing
