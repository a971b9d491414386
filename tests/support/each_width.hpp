// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/vectors.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rows_test {

/// Calls `check` for each SIMD width that this CPU supports.
template <class Check>
void at_each_width(const Check& check) {
  const int widest = tessera::base::register_width();
  for (int width = 2; width <= widest; width *= 2) {
    SCOPED_TRACE("registers of " + std::to_string(width) + " doubles");
    tessera::base::register_width() = width;
    check();
  }
}

}  // namespace rows_test
