// SPDX-License-Identifier: Apache-2.0
// The elementary functions of eight lanes, against those of long double.
#include "base/math/lanes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace tessera::base {
namespace {

using Eight = std::array<double, lane_count>;

TESSERA_LANE_CLONES void exponentials(const Eight& x, Eight& to) {
  store_lanes(to.data(), exp_lanes(load_lanes(x.data())));
}
TESSERA_LANE_CLONES void logarithms(const Eight& x, Eight& to) {
  store_lanes(to.data(), log1p_lanes(load_lanes(x.data())));
}

/// The largest error in units of the last place, of this many random values.
template <class Function, class Exact, class Draw>
double largest_error(const Function& function, const Exact& exact, const Draw& draw) {
  constexpr int times = 20'000;
  double largest = 0;
  for (int i = 0; i < times; ++i) {
    Eight x;
    Eight found;
    for (double& one : x) one = draw();
    function(x, found);
    for (std::size_t lane = 0; lane < x.size(); ++lane) {
      const long double value = exact(static_cast<long double>(x[lane]));
      const auto nearest = static_cast<double>(value);
      const double unit =
          std::nextafter(std::abs(nearest), std::numeric_limits<double>::infinity()) - std::abs(nearest);
      largest = std::max(largest, std::abs(static_cast<double>(found[lane] - value)) / unit);
    }
  }
  return largest;
}

TEST(Lanes, HaveTheirAccuracy) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> wide(-700, 700);
  std::uniform_real_distribution<double> near(-1, 1);
  const auto exp = [](long double x) { return std::exp(x); };
  EXPECT_LT(largest_error(exponentials, exp, [&] { return wide(random); }), 1.0);
  EXPECT_LT(largest_error(exponentials, exp, [&] { return near(random); }), 1.0);
  const auto log1p = [](long double x) { return std::log1p(x); };
  EXPECT_LT(largest_error(logarithms, log1p, [&] { return std::exp(0.06 * wide(random)); }), 1.0);
}

TEST(Lanes, HaveTheirLimits) {
  Eight found;
  exponentials({-1e300, 1e300, 0, -0.0, 700, -700, 1e-300, 701}, found);
  const Eight expected{std::exp(-700), std::exp(700), 1, 1, std::exp(700), std::exp(-700), 1, std::exp(700)};
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i] / expected[i], 1, 1e-15) << i;
  logarithms({0, 1e-300, 1e300, 1, 3, 1e-20, 1e17, 7}, found);
  EXPECT_EQ(found[0], 0);
  EXPECT_EQ(found[1], 1e-300);
  EXPECT_NEAR(found[2], std::log1p(1e300), 1e-13);
}

TEST(Lanes, AreAddedInAFixedOrder) {
  const Eight x{1e16, 1, -1e16, 1, 1e16, 1, -1e16, 1};
  EXPECT_EQ(sum_of_lanes(load_lanes(x.data())),
            ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])));
}

}  // namespace
}  // namespace tessera::base
