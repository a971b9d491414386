// SPDX-License-Identifier: Apache-2.0
// The sums over counts are those of lgamma, digamma and trigamma.
#include "gam/many/count_tail.hpp"

#include <gtest/gtest.h>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>

#include <cmath>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

TEST(CountTail, AgreesWithGammaFunctions) {
  const std::vector<double> counts = {0, 1, 1, 2, 7, 8, 9, 100, 1023, 1024, 1025, 5000, 5000, 1e6};
  const std::vector<double> weights = {1, 1, 2, 1, 0.5, 1, 1, 3, 1, 1, 1, 1, 2, 1};
  CountTail tail;
  for (std::size_t i = 0; i < counts.size(); ++i) tail.add(counts[i], weights[i]);
  tail.finish();
  for (const double theta : {0.01, 0.7, 3.0, 250.0, 1e5}) {
    long double sum = 0;
    long double slope = 0;
    long double curvature = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const long double t = theta;
      const long double y = counts[i];
      const long double first = boost::math::digamma(y + t) - boost::math::digamma(t);
      sum += weights[i] * (std::lgamma(y + t) - std::lgamma(t) - y * std::log(t));
      slope += weights[i] * (t * first - y);
      curvature +=
          weights[i] * (t * first + t * t * (boost::math::trigamma(y + t) - boost::math::trigamma(t)));
    }
    const CountTail::Value found = tail.at(theta);
    EXPECT_NEAR(found.sum, static_cast<double>(sum), 1e-11 * std::abs(static_cast<double>(sum))) << theta;
    EXPECT_NEAR(found.slope, static_cast<double>(slope), 1e-10 * std::abs(static_cast<double>(slope)))
        << theta;
    EXPECT_NEAR(found.curvature, static_cast<double>(curvature), 1e-9 * std::abs(static_cast<double>(slope)))
        << theta;
  }
}

TEST(CountTail, KeepsTheDigitsOfALargeTheta) {
  CountTail tail;
  tail.add(3, 1);
  tail.finish();
  const double theta = 1e9;
  EXPECT_NEAR(tail.at(theta).sum, 3 / theta - 2.5 / (theta * theta), 1e-15 / theta);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
