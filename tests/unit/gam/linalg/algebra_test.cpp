// SPDX-License-Identifier: Apache-2.0
// Work shared by the threads of an algebra gives the results of one thread.
#include "gam/linalg/algebra.hpp"

#include "gam/linalg/linalg.hpp"
#include "support/random_matrix.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::uint64_t algebra_seed = 5;

Matrix random_square(int n) {
  std::mt19937_64 random(algebra_seed);
  return testing::random_matrix(random, n, n);
}

Matrix random_covariance(int n) {
  std::mt19937_64 random(algebra_seed);
  return testing::random_covariance(random, n);
}

double largest_difference(const Matrix& a, const Matrix& b) {
  return largest(difference(a.values(), b.values()));
}

/// Sizes below and above the minimum for several threads, of whole blocks and with a remainder.
class SharedFactors : public ::testing::TestWithParam<int> {};

TEST_P(SharedFactors, AreThoseOfOneThread) {
  const Matrix a = random_covariance(GetParam());
  const HostAlgebra algebra(2);
  const std::optional<Matrix> lower = cholesky(a, algebra);
  ASSERT_TRUE(lower);
  EXPECT_LT(largest_difference(*lower, *cholesky(a)), 1e-11);
  const Matrix inverse = cholesky_inverse(*lower, algebra);
  EXPECT_LT(largest_difference(inverse, cholesky_inverse(*lower)), 1e-11);
  EXPECT_EQ(inverse, transpose(inverse));
}

TEST_P(SharedFactors, HaveTheSameBitsOnAnyNumberOfThreads) {
  const Matrix a = random_covariance(GetParam());
  const HostAlgebra alone;
  const Matrix lower = *cholesky(a, alone);
  for (const int threads : {2, 3, 7}) {
    const HostAlgebra algebra(threads);
    EXPECT_EQ(*cholesky(a, algebra), lower) << threads << " threads";
    EXPECT_EQ(cholesky_inverse(lower, algebra), cholesky_inverse(lower, alone)) << threads << " threads";
  }
}

TEST_P(SharedFactors, OfWhatIsNotPositiveDefiniteAreNone) {
  const int n = GetParam();
  for (const int bad : {0, n / 2, n - 1}) {
    Matrix a = random_covariance(n);
    a(bad, bad) = -1;
    EXPECT_FALSE(cholesky(a, HostAlgebra(2))) << bad;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SharedFactors, ::testing::Values(1, 95, 255, 256, 288, 289, 400));

TEST(SharedTraces, AreThoseOfTheProduct) {
  for (const int n : {1, 31, 32, 100}) {
    const Matrix whole = random_square(n + 5);
    const Matrix a(whole);
    const Matrix b = transpose(whole);
    double expected = 0;
    for (int l = 0; l < a.cols(); ++l) {
      for (int i = 0; i < b.cols(); ++i) expected += a(i, l) * b(l, i);
    }
    const HostAlgebra alone;
    EXPECT_NEAR(trace_of_product(a, 0, b, 0, alone), expected, 1e-11 * n);
    EXPECT_EQ(trace_of_product(a, 0, b, 0, HostAlgebra(3)), trace_of_product(a, 0, b, 0, alone));
  }
}

/// Parts of two matrices with different row offsets.
TEST(SharedTraces, TakeRowsFromWhereTheyAreTold) {
  Matrix a(7, 3);
  Matrix b(6, 4);
  for (std::size_t i = 0; i < a.values().size(); ++i) a.values()[i] = std::cos(static_cast<double>(i));
  for (std::size_t i = 0; i < b.values().size(); ++i) b.values()[i] = std::sin(static_cast<double>(i));
  double expected = 0;
  for (int l = 0; l < 3; ++l) {
    for (int i = 0; i < 4; ++i) expected += a(2 + i, l) * b(3 + l, i);
  }
  EXPECT_NEAR(trace_of_product(a, 2, b, 3, HostAlgebra()), expected, 1e-14);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
