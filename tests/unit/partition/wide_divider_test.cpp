// SPDX-License-Identifier: Apache-2.0
#include "partition/wide_divider.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace tessera::inline TESSERA_ABI::detail {
namespace {

TEST(WideDivider, AgreesWithTheCompilersDivision) {
  constexpr std::uint64_t seed = 3;
  std::mt19937_64 random(seed);
  constexpr auto highest = std::numeric_limits<std::uint64_t>::max();
  for (int round = 0; round < 200'000; ++round) {
    // Of all lengths; powers of two and their neighbours too, where estimates go wrong.
    std::uint64_t divisor =
        round % 3 == 0 ? std::uint64_t{1} << (random() % 64) : random() >> (random() % 64);
    if (round % 3 == 0) divisor += random() % 3 - 1;
    if (divisor == 0) divisor = highest;
    const Wide limit = Wide{divisor} << 64;
    Wide dividend = (Wide{random()} << 64 | random()) % limit;
    if (round % 5 == 0) dividend = limit - 1 - round % 7;
    if (round % 7 == 0) dividend -= dividend % divisor;
    const auto result = WideDivider(divisor).divide(dividend);
    ASSERT_EQ(result.quotient, static_cast<std::uint64_t>(dividend / divisor)) << "seed " << seed;
    ASSERT_EQ(result.remainder, static_cast<std::uint64_t>(dividend % divisor)) << "seed " << seed;
  }
}

static_assert(WideDivider(7).divide(100).quotient == 14);
static_assert(WideDivider(1).divide(0).quotient == 0);

}  // namespace
}  // namespace tessera::inline TESSERA_ABI::detail
