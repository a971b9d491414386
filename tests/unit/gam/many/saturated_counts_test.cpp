// SPDX-License-Identifier: Apache-2.0
// The log likelihood of counts whose means are the counts is that of lgamma, digamma and trigamma.
#include "gam/many/saturated_counts.hpp"

#include <gtest/gtest.h>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>

#include <cmath>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

TEST(SaturatedCounts, AgreeWithGammaFunctions) {
  const std::vector<double> counts = {0,  1,   1,    2,    7,    8,    9,    63, 64,
                                      65, 100, 1023, 1024, 1025, 5000, 5000, 1e6};
  const std::vector<double> weights = {1, 1, 2, 1, 0.5, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 2, 1};
  SaturatedCounts saturated;
  for (std::size_t i = 0; i < counts.size(); ++i) saturated.add(counts[i], weights[i]);
  saturated.finish();
  for (const double theta : {0.01, 0.7, 3.0, 250.0, 1e5}) {
    long double sum = 0;
    long double slope = 0;
    long double curvature = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      const long double t = theta;
      const long double y = counts[i];
      const long double first = boost::math::digamma(y + t) - boost::math::digamma(t) - std::log1p(y / t);
      sum += weights[i] * (std::lgamma(y + t) - std::lgamma(t) - std::lgamma(y + 1) + y * std::log(y / t) -
                           (y + t) * std::log1p(y / t));
      slope += weights[i] * t * first;
      curvature += weights[i] * t *
                   (first + t * (boost::math::trigamma(y + t) - boost::math::trigamma(t)) + y / (y + t));
    }
    const SaturatedCounts::Value found = saturated.at(theta);
    EXPECT_NEAR(found.sum, static_cast<double>(sum), 1e-11) << theta;
    EXPECT_NEAR(found.slope, static_cast<double>(slope), 1e-11) << theta;
    EXPECT_NEAR(found.curvature, static_cast<double>(curvature), 1e-10) << theta;
  }
}

TEST(SaturatedCounts, BecomePoissonWithoutRounding) {
  for (const double count : {3.0, 500.0}) {
    SaturatedCounts saturated;
    saturated.add(count, 1);
    saturated.finish();
    const long double y = count;
    EXPECT_NEAR(saturated.poisson(), static_cast<double>(y * std::log(y) - y - std::lgamma(y + 1)), 1e-14);
    const double theta = 1e9;
    EXPECT_NEAR(saturated.at(theta).sum - saturated.poisson(), -0.5 * std::log1p(count / theta), 4e-15);
    EXPECT_NEAR(saturated.at(theta).slope, 0.5 * count / (count + theta), 4e-15);
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
