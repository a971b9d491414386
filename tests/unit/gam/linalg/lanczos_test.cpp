// SPDX-License-Identifier: Apache-2.0
// Extreme eigenvalues agree with the full decomposition.
#include "gam/linalg/lanczos.hpp"

#include "gam/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

SymmetricEigen extreme_eigen_of(const Matrix& a, int count, int threads = 3) {
  HostTeam team(threads);
  return extreme_eigen(team, a.rows(), count, product_with(team, a));
}

/// The values of largest absolute value, descending.
std::vector<double> expected_values(const Matrix& a, int count) {
  std::vector<double> values = symmetric_eigen(a).values;
  std::ranges::sort(values, std::ranges::greater(), [](double value) { return std::abs(value); });
  values.resize(static_cast<std::size_t>(count));
  std::ranges::sort(values, std::ranges::greater());
  return values;
}

void expect_extreme(const Matrix& a, int count) {
  const SymmetricEigen found = extreme_eigen_of(a, count);
  const std::vector<double> expected = expected_values(a, count);
  const double scale = largest(expected);
  ASSERT_EQ(found.values.size(), expected.size());
  for (int j = 0; j < count; ++j) {
    const auto at = static_cast<std::size_t>(j);
    EXPECT_NEAR(found.values[at], expected[at], 1e-13 * scale) << j;
    std::vector<double> residual = multiply(a, found.vectors.column(j));
    add_multiple(residual, -found.values[at], found.vectors.column(j));
    EXPECT_LT(largest(residual), 1e-13 * scale) << j;
    for (int i = 0; i <= j; ++i)
      EXPECT_NEAR(dot(found.vectors.column(i), found.vectors.column(j)), i == j, 1e-13);
  }
}

Matrix random_symmetric(int size) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  Matrix a(size, size);
  for (int j = 0; j < size; ++j) {
    for (int i = 0; i <= j; ++i) a(i, j) = a(j, i) = normal(random);
  }
  return a;
}

TEST(ExtremeEigen, AreThoseOfTheWholeDecomposition) {
  const Matrix a = random_symmetric(80);
  for (const int count : {1, 7, 40, 80}) expect_extreme(a, count);
}

/// With a centre of symmetry, half of the eigenvectors are orthogonal to any symmetric vector.
TEST(ExtremeEigen, HaveEvenAndOddVectors) {
  Matrix a(101, 101);
  for (int j = 0; j < 101; ++j) {
    for (int i = 0; i < 101; ++i) a(i, j) = std::pow(std::abs(i - j) / 100.0, 3);
  }
  expect_extreme(a, 12);
}

TEST(ExtremeEigen, AreFoundAsOftenAsTheyAre) {
  Matrix a(20, 20);
  a(3, 3) = a(7, 7) = 5;
  a(11, 11) = -3;
  // A space of three dimensions has one vector for each value.
  for (const int count : {3, 4}) expect_extreme(a, count);
}

/// Large enough for all threads to have a part of each step.
TEST(ExtremeEigen, BitsDoNotDependOnTheNumberOfThreads) {
  const Matrix a = random_symmetric(700);
  const SymmetricEigen expected = extreme_eigen_of(a, 5, 1);
  for (const int threads : {2, 5}) {
    const SymmetricEigen found = extreme_eigen_of(a, 5, threads);
    EXPECT_EQ(found.values, expected.values);
    EXPECT_TRUE(std::ranges::equal(found.vectors.values(), expected.vectors.values()));
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
