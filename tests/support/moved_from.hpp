// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/errors.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

/// Moves `from` into the result. Compilers cannot see this move, and so do not warn of later uses of `from`.
template <class T>
[[nodiscard]] T moved_out_of(T& from) {
  return std::move(from);
}

/// Expects that each call throws `Error(usage)` with this message.
inline void expect_refused(const std::string& message, const std::vector<std::function<void()>>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(error_of(ErrorCode::usage, calls[i], message), message) << "call " << i;
  }
}
/// Expects that each call throws the error of a moved-from object of `type`.
inline void expect_moved_from(const std::string& type, const std::vector<std::function<void()>>& calls) {
  expect_refused("this " + type + " was moved from: use the object that it was moved to", calls);
}

/// Checks by `expect_alive` that a value survives self-move, moves into live and moved-from objects, and a
/// swap with a moved-from object.
template <class T, class Use>
void expect_moves(T one, T other, Use expect_alive) {
  T& same = one;
  one = std::move(same);
  expect_alive(one);
  T kept = moved_out_of(one);
  expect_alive(kept);
  std::swap(one, kept);
  expect_alive(one);
  one = std::move(other);
  expect_alive(one);
  other = std::move(one);
  expect_alive(other);
}

}  // namespace tessera::testing
