// SPDX-License-Identifier: Apache-2.0
// Products with a sparse border equal those with the dense matrix.
#include "gam/linalg/border.hpp"

#include "gam/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::uint64_t border_seed = 11;

double value_of(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-52 - 1;
}

/// Rows of a border: some dense columns; in the others one element in `sparsity`.
Matrix random_border(int rows, int columns, int dense, int sparsity, std::mt19937_64& random) {
  Matrix border(rows, columns);
  for (int j = 0; j < columns; ++j) {
    // Dense columns lie between the others.
    const bool is_dense = j % 3 == 1 && j / 3 < dense;
    for (int i = 0; i < rows; ++i)
      if (is_dense || random() % static_cast<unsigned>(sparsity) == 0) border(i, j) = value_of(random);
  }
  return border;
}

void expect_near_matrix(const Matrix& found, const Matrix& expected) {
  ASSERT_EQ(found.rows(), expected.rows());
  ASSERT_EQ(found.cols(), expected.cols());
  const double tolerance = 1e-13 * (1 + largest(expected.values())) * expected.rows();
  for (std::size_t i = 0; i < found.values().size(); ++i)
    ASSERT_NEAR(found.values()[i], expected.values()[i], tolerance) << "value " << i;
}

struct BorderShape {
  int rows;
  int columns;
  int dense;
  int sparsity;
};

class Borders : public ::testing::TestWithParam<BorderShape> {
 protected:
  Borders() {
    for (int i = 0; i < GetParam().rows; ++i) weights_.push_back(1.5 + value_of(random_));
    Matrix half(columns(), columns());
    for (double& value : half.values()) value = value_of(random_);
    symmetric_ = multiply_tn(half, half);
  }
  [[nodiscard]] static int columns() { return GetParam().columns; }
  /// C' diag(weights) C
  [[nodiscard]] Matrix square() const {
    Matrix weighted = dense_;
    for (int j = 0; j < weighted.cols(); ++j)
      for (int i = 0; i < weighted.rows(); ++i) weighted(i, j) *= weights_[static_cast<std::size_t>(i)];
    return multiply_tn(dense_, weighted);
  }

  std::mt19937_64 random_{border_seed};
  Matrix dense_ =
      random_border(GetParam().rows, GetParam().columns, GetParam().dense, GetParam().sparsity, random_);
  Border border_{dense_};
  std::vector<double> weights_;
  Matrix symmetric_;
};

TEST_P(Borders, HaveTheWeightedSquareOfTheDenseMatrix) {
  expect_near_matrix(border_.weighted_square(weights_, HostAlgebra()), square());
}

TEST_P(Borders, HaveTheSandwichOfTheDenseMatrix) {
  expect_near_matrix(border_.sandwich(symmetric_, weights_, HostAlgebra()), multiply(symmetric_, square()));
}

TEST_P(Borders, HaveTheQuadraticFormsOfTheirRows) {
  const std::vector<double> forms = border_.forms(symmetric_, HostAlgebra());
  ASSERT_EQ(std::ssize(forms), GetParam().rows);
  const Matrix through = multiply(symmetric_, transpose(dense_));
  for (int i = 0; i < GetParam().rows; ++i) {
    double expected = 0;
    for (int j = 0; j < columns(); ++j) expected += dense_(i, j) * through(j, i);
    ASSERT_NEAR(forms[static_cast<std::size_t>(i)], expected, 1e-11 * (1 + std::abs(expected))) << i;
  }
}

TEST_P(Borders, GiveTheSameBitsOnAnyNumberOfThreads) {
  const HostAlgebra alone;
  const HostAlgebra many(3);
  EXPECT_EQ(border_.forms(symmetric_, many), border_.forms(symmetric_, alone));
  const auto equal = [](const Matrix& a, const Matrix& b) {
    return std::ranges::equal(a.values(), b.values());
  };
  EXPECT_TRUE(
      equal(border_.sandwich(symmetric_, weights_, many), border_.sandwich(symmetric_, weights_, alone)));
  EXPECT_TRUE(equal(border_.weighted_square(weights_, many), border_.weighted_square(weights_, alone)));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Borders,
                         ::testing::Values(BorderShape{300, 201, 0, 60},  // strips of columns, the last short
                                           BorderShape{300, 201, 2, 60},  // with dense columns
                                           BorderShape{150, 40, 5, 8},    // by the dense product
                                           BorderShape{65, 12, 4, 1000},  // only the dense columns
                                           BorderShape{1, 33, 0, 2}));    // one row

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
