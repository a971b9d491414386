// SPDX-License-Identifier: Apache-2.0
// Dense linear algebra: what its functions promise of their results, and the same bits at every width of
// registers.
#include "gam/linalg/linalg.hpp"
#include "support/each_width.hpp"
#include "support/random_matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

std::mt19937_64& source() {
  static std::mt19937_64 random(17);
  return random;
}
Matrix drawn(int rows, int columns) {
  return testing::random_matrix(source(), rows, columns);
}
std::vector<double> drawn(int count) {
  const Matrix a = drawn(count, 1);
  return {a.values().begin(), a.values().end()};
}
Matrix drawn_covariance(int n) {
  return testing::random_covariance(source(), n);
}

double distance(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(std::pair(a.rows(), a.cols()), std::pair(b.rows(), b.cols()));
  return largest(difference(a.values(), b.values()));
}
Matrix lower_part(Matrix a) {
  clear_upper(a);
  return a;
}
Matrix scaled_columns(Matrix a, const std::vector<double>& scale) {
  for (int j = 0; j < a.cols(); ++j) {
    for (double& value : a.column(j)) value *= scale[static_cast<std::size_t>(j)];
  }
  return a;
}

/// a b, by sums of more digits.
Matrix exact_product(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows(), b.cols());
  for (int j = 0; j < c.cols(); ++j) {
    for (int i = 0; i < c.rows(); ++i) {
      long double sum = 0;
      for (int l = 0; l < a.cols(); ++l) sum += static_cast<long double>(a(i, l)) * b(l, j);
      c(i, j) = static_cast<double>(sum);
    }
  }
  return c;
}

template <class Compute>
void expect_same_at_every_width(const Compute& compute) {
  const auto result = compute();
  rows_test::at_each_width([&] { EXPECT_EQ(compute(), result); });
}

struct Shape {
  int rows, inner, columns;
};
void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.rows << 'x' << shape.inner << 'x' << shape.columns;
}
/// Shapes without elements, of parts of tiles, and of more than one block or panel.
class Products : public ::testing::TestWithParam<Shape> {};

TEST_P(Products, AreRightWhicheverFactorIsTransposed) {
  const auto [rows, inner, columns] = GetParam();
  const Matrix a = drawn(rows, inner);
  const Matrix b = drawn(inner, columns);
  const Matrix expected = exact_product(a, b);
  const double bound = (inner + 1) * epsilon;
  EXPECT_LE(distance(multiply(a, b), expected), bound);
  EXPECT_EQ(multiply_tn(transpose(a), b), multiply(a, b));
  EXPECT_EQ(multiply_nt(a, transpose(b)), multiply(a, b));
  Matrix parts(rows, columns);
  const int cut = columns / 3;
  multiply_columns(a, b, 0, cut, parts);
  multiply_columns(a, b, cut, columns, parts);
  EXPECT_EQ(parts, multiply(a, b));
  expect_same_at_every_width([&] { return multiply(a, b); });
}

TEST_P(Products, OfAVectorAreThoseOfAColumn) {
  const auto [rows, inner, columns] = GetParam();
  const Matrix a = drawn(rows, inner);
  const std::vector<double> x = drawn(inner);
  const std::vector<double> y = drawn(rows);
  Matrix x_column(inner, 1);
  std::ranges::copy(x, x_column.data());
  Matrix y_column(rows, 1);
  std::ranges::copy(y, y_column.data());
  const Matrix expected = exact_product(a, x_column);
  const Matrix expected_t = exact_product(transpose(a), y_column);
  EXPECT_LE(largest(difference(multiply(a, x), expected.values())), (inner + 1) * epsilon);
  EXPECT_LE(largest(difference(multiply_t(a, y), expected_t.values())), (rows + 1) * epsilon);
  expect_same_at_every_width([&] { return std::pair(multiply(a, x), multiply_t(a, y)); });
}

INSTANTIATE_TEST_SUITE_P(Shapes, Products,
                         ::testing::Values(Shape{0, 3, 2}, Shape{3, 0, 2}, Shape{2, 3, 0}, Shape{1, 1, 1},
                                           Shape{3, 5, 2}, Shape{8, 8, 4}, Shape{9, 7, 5}, Shape{24, 16, 8},
                                           Shape{25, 17, 9}, Shape{97, 257, 33}, Shape{130, 600, 70},
                                           Shape{40, 30, 515}));

TEST(Products, WithOneselfAreSymmetric) {
  const Matrix a = drawn(301, 77);
  const Matrix square = multiply_tn(a, a);
  EXPECT_EQ(square, transpose(square));
}

/// Sizes below and above those of one block of a recursion.
class Triangles : public ::testing::TestWithParam<int> {};

TEST_P(Triangles, FactorAndSolve) {
  const int n = GetParam();
  const Matrix a = drawn_covariance(n);
  const double bound = 4 * epsilon * (n + 1) * largest(a.values());
  const Matrix lower = cholesky(a).value();
  EXPECT_EQ(lower, lower_part(lower));
  EXPECT_LE(distance(multiply_nt(lower, lower), a), bound);
  EXPECT_LE(distance(multiply(a, cholesky_inverse(lower)), identity(n)), bound);
  for (const int columns : {1, 5, 70}) {
    const Matrix b = drawn(n, columns);
    EXPECT_LE(distance(multiply(lower, triangular_solve(lower, b, false)), b), bound) << columns;
    EXPECT_LE(distance(multiply_tn(lower, triangular_solve(lower, b, true)), b), bound) << columns;
  }
  expect_same_at_every_width([&] { return std::pair(cholesky(a), cholesky_inverse(lower)); });
}

TEST_P(Triangles, OfWhatIsNotPositiveDefiniteDoNotExist) {
  const int n = GetParam();
  for (const int bad : {0, n / 2, n - 1}) {
    Matrix a = drawn_covariance(n);
    a(bad, bad) = -1;
    EXPECT_FALSE(cholesky(a)) << bad;
    a(bad, bad) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(cholesky(a)) << bad;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Triangles, ::testing::Values(1, 2, 7, 32, 33, 40, 64, 65, 100, 257));

/// Tall, wide and square matrices.
class Decompositions : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Decompositions, OfAnyShapeArePartsOfTheMatrix) {
  const auto [m, n] = GetParam();
  const Matrix a = drawn(m, n);
  const double bound = 20 * epsilon * std::max(m, n);
  const int least = std::min(m, n);
  const Matrix q = full_q(a);
  EXPECT_LE(distance(multiply_tn(q, q), identity(m)), bound);
  const Matrix r = triangle_of(a);
  EXPECT_EQ(std::pair(r.rows(), r.cols()), std::pair(least, n));
  EXPECT_LE(distance(multiply_tn(r, r), multiply_tn(a, a)), bound * m);

  const PivotedQr pivoted = pivoted_qr(a);
  Matrix taken(m, n);
  for (int j = 0; j < n; ++j)
    std::ranges::copy(a.column(pivoted.pivots[static_cast<std::size_t>(j)]), taken.column(j).begin());
  EXPECT_LE(distance(multiply_tn(pivoted.r, pivoted.r), multiply_tn(taken, taken)), bound * m);
  for (int j = 1; j < least; ++j) EXPECT_LE(std::abs(pivoted.r(j, j)), std::abs(pivoted.r(j - 1, j - 1)));

  const std::vector<double> values = singular_values(a);
  const RightSingular right = right_singular(a);
  ASSERT_EQ(values.size(), static_cast<std::size_t>(least));
  EXPECT_TRUE(std::ranges::is_sorted(values, std::ranges::greater()));
  EXPECT_LE(largest(difference(values, right.values)), bound);
  EXPECT_LE(distance(multiply_tn(right.vectors, right.vectors), identity(n)), bound);
  const Matrix along = multiply(a, right.vectors);
  for (int j = 0; j < n; ++j) {
    const double expected = j < least ? values[static_cast<std::size_t>(j)] : 0;
    EXPECT_NEAR(std::sqrt(dot(along.column(j), along.column(j))), expected, bound);
  }
}

TEST_P(Decompositions, LeaveWhatIsUnexplained) {
  const auto [m, n] = GetParam();
  const Matrix a = drawn(m, n);
  const Matrix b = drawn(m, 3);
  const Matrix rest = unexplained(a, b);
  ASSERT_EQ(rest.rows(), std::max(0, m - n));
  if (m <= n || n == 0) return;
  // The squares of the residuals of a regression.
  const auto coefficients = solve(multiply_tn(a, a), multiply_tn(a, b));
  ASSERT_TRUE(coefficients);
  Matrix residuals = b;
  const Matrix fitted = multiply(a, *coefficients);
  for (int j = 0; j < 3; ++j) add_multiple(residuals.column(j), -1, fitted.column(j));
  EXPECT_LE(distance(multiply_tn(rest, rest), multiply_tn(residuals, residuals)), 1e-11);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Decompositions,
                         ::testing::Values(std::pair(0, 0), std::pair(4, 0), std::pair(1, 1), std::pair(5, 5),
                                           std::pair(60, 60), std::pair(70, 20), std::pair(20, 70),
                                           std::pair(2, 3)));

TEST(Decompositions, OfSymmetricAndSquareMatrices) {
  for (const int n : {1, 2, 30, 90}) {
    const Matrix a = drawn_covariance(n);
    const double bound = 20 * epsilon * n * largest(a.values());
    const SymmetricEigen eigen = symmetric_eigen(lower_part(a));
    EXPECT_TRUE(std::ranges::is_sorted(eigen.values));
    EXPECT_LE(distance(multiply_tn(eigen.vectors, eigen.vectors), identity(n)), bound);
    EXPECT_LE(distance(multiply_nt(scaled_columns(eigen.vectors, eigen.values), eigen.vectors), a), bound);
    double log_det = 0;
    for (const double value : eigen.values) log_det += std::log(value);
    EXPECT_NEAR(log_abs_determinant(a), log_det, n * 1e-13);
    const Matrix b = drawn(n, 4);
    EXPECT_LE(distance(multiply(a, solve(a, b).value()), b), n * 1e-13);
    EXPECT_LE(distance(multiply(after_inverse(transpose(b), a), a), transpose(b)), n * 1e-13);
  }
}

TEST(Decompositions, OfSingularMatricesSaySo) {
  const Matrix zero(3, 3);
  EXPECT_FALSE(solve(zero, identity(3)));
  EXPECT_EQ(log_abs_determinant(zero), -std::numeric_limits<double>::infinity());
  EXPECT_THROW((void)after_inverse(identity(3), zero), std::logic_error);
  Matrix unknown = identity(3);
  unknown(1, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((void)symmetric_eigen(unknown), std::logic_error);
}

TEST(Dense, ThreadsComputeWhatOneDoes) {
  constexpr int threads = 4;
  constexpr int repeats = 100;
  const Matrix a = drawn_covariance(70);
  const auto compute = [&] {
    return std::tuple(triangle_of(a), cholesky(a), multiply(a, a), symmetric_eigen(a).vectors);
  };
  const auto alone = compute();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      for (int repeat = 0; repeat < repeats; ++repeat) wrong += compute() == alone ? 0 : 1;
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(wrong, 0) << "of " << threads * repeats;
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
