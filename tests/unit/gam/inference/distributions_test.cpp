// SPDX-License-Identifier: Apache-2.0
// Distribution functions agree with R 4.2.2 (pt, pnorm, pf, pchisq) and mgcv 1.8-41 (psum.chisq).
#include "gam/inference/distributions.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

void expect_relative(double value, double expected, double tolerance = 1e-11) {
  EXPECT_NEAR(value, expected, tolerance * std::abs(expected));
}

TEST(Distributions, StudentAndNormal) {
  expect_relative(student_two_sided(-2.5, 7.5), 0.03882025827362551);
  expect_relative(student_two_sided(40, 130), 6.225160456744401e-75);
  expect_relative(student_two_sided(0.3, 1e7), 0.7641771618577856, 1e-7);
  EXPECT_EQ(student_two_sided(0, 5), 1);
  expect_relative(normal_two_sided(1.3), 0.1936009691712207);
  expect_relative(normal_two_sided(-20), 5.507248237212467e-89);
}

TEST(Distributions, F) {
  expect_relative(f_tail(3.2, 2.5, 117.3), 0.03382352566701009);
  expect_relative(f_tail(50, 5, 2000), 6.287632824445356e-49);
  expect_relative(f_tail(1e-3, 1, 10), 0.975395135839122);
  expect_relative(f_tail(0.9, 200.5, 30), 0.6746084810432157);
  expect_relative(f_tail(0.7, 12, 1e8), 0.7531428832580666, 1e-6);
  EXPECT_EQ(f_tail(0, 3, 10), 1);
}

TEST(Distributions, ChiSquared) {
  expect_relative(chi_squared_tail(3.84, 1), 0.05004352124870522);
  expect_relative(chi_squared_tail(0.01, 0.3), 0.5162044656981468);
  expect_relative(chi_squared_tail(300, 20), 8.082849629775909e-52);
  expect_relative(chi_squared_tail(95, 100.5), 0.6360756929477076);
  expect_relative(chi_squared_tail(1e4, 1e4), 0.4981193659661827, 1e-10);
  EXPECT_EQ(chi_squared_tail(0, 4), 1);
}

TEST(Distributions, NoncentralChiSquared) {
  expect_relative(chi_squared_tail(12, 3.3, 4.2), 0.1636985250857749);
  expect_relative(chi_squared_tail(400, 5, 300), 0.005054481257360965, 1e-9);
  expect_relative(chi_squared_tail(0.5, 2, 0.1), 0.7883258910048478);
}

std::vector<ChiSquaredTerm> ones(const std::vector<double>& weights) {
  std::vector<ChiSquaredTerm> terms;
  for (const double weight : weights) terms.push_back({weight, 1});
  return terms;
}

TEST(Distributions, WeightedSumOfChiSquared) {
  const double same = 1e-8;  // the same algorithm, so far closer than its accuracy
  expect_relative(weighted_chi_squared_tail(10, ones({1, 1, 1.7, .3})), 0.05275884578868373, same);
  expect_relative(weighted_chi_squared_tail(31, ones({1, 1, 1, 1, 1, 1.6, .2})), 0.0001752041791739378, same);
  const std::vector<ChiSquaredTerm> mixed{{6, 1}, {3, 2}, {1, 5}};
  expect_relative(weighted_chi_squared_tail(5, mixed), 0.9432272651501521, same);
  const std::vector<ChiSquaredTerm> signs{{3, 2}, {-1, 3}};
  expect_relative(weighted_chi_squared_tail(2, signs), 0.4654010804162363, same);
  expect_relative(weighted_chi_squared_tail(1, ones({1})), 0.317312208922101, same);
  expect_relative(weighted_chi_squared_tail(0.02, ones({1, 1e-6})), 0.8875405359602088, same);
  expect_relative(weighted_chi_squared_tail(8, ones({5, .001, .0001})), 0.2059363458946496, same);
  EXPECT_THROW(static_cast<void>(weighted_chi_squared_tail(1, ones({0, 0}))), std::logic_error);
}

TEST(Distributions, WeightedSumAgainstEstimatedScale) {
  const std::vector<ChiSquaredTerm> ratio{{1, 1}, {1, 1}, {1.5, 1}, {-20.0 / 300, 300}};
  expect_relative(weighted_chi_squared_tail(0, ratio), 0.001130834522244717, 1e-8);
  const std::vector<ChiSquaredTerm> large{{1, 1}, {1, 1}, {1, 1}, {-12.5e-6, 1'000'000}};
  expect_relative(weighted_chi_squared_tail(0, large), 0.005852564675490668, 1e-8);
}

TEST(Distributions, WeightedSumAgainstEstimatedScaleOfAResponseWithoutNoise) {
  for (double statistic = 1e3; statistic < 1e50; statistic *= 7) {
    for (const int df : {3, 300, 1'000'000}) {
      const std::vector<ChiSquaredTerm> ratio{{1, 1}, {1.5, 1}, {0.1, 1}, {-statistic / df, df}};
      EXPECT_LT(weighted_chi_squared_tail(0, ratio), statistic < 1e5 && df == 3 ? 1e-3 : 1e-7)
          << statistic << ", " << df;
    }
  }
}

TEST(Distributions, WeightedSumOfNumbersThatOverflowComesToAnEnd) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double weight : {1e-320, 1e-160, 1e155, 1e200, 1e308, infinity, std::nan("")}) {
    for (const double x : {0.0, 1.0, 1e300, infinity}) {
      for (const double sign : {-1.0, 1.0}) {
        const double p =
            weighted_chi_squared_tail(x, std::vector<ChiSquaredTerm>{{1, 1}, {sign * weight, 7}});
        EXPECT_TRUE(std::isnan(p) || (p >= 0 && p <= 1)) << weight << ", " << x;
      }
    }
  }
}

TEST(Distributions, ProbabilityBelowTheAccuracyIsZero) {
  EXPECT_EQ(weighted_chi_squared_tail(200, ones({.1, .2, .3, .4, .5, .6, .7, .8, .9, 1})), 0);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
