// SPDX-License-Identifier: Apache-2.0
// Elimination of a sparse part agrees with dense algebra.
#include "gam/linalg/elimination.hpp"

#include "gam/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Crossed effects of `first` and `second` levels, with `core` other coefficients, the last of them sparse,
/// in `rows` rows.
struct CrossedShape {
  const char* name;
  int first, second, core;
  int rows;
  int reach;  ///< levels of the second that one of the first meets are so near; 0: any
};

class Crossed : public ::testing::TestWithParam<CrossedShape> {
 protected:
  Crossed() {
    const auto [name, first, second, core, rows, reach] = GetParam();
    // The core's first coefficient is before the part, the others are between its runs and after them.
    const int before = core > 0 ? 1 : 0;
    const int between = core > 2 ? 1 : 0;
    part_.add(before, first);
    part_.add(before + first + between, second);
    const int size = core + first + second;
    whole_ = Matrix(size, size);
    std::set<std::pair<int, int>> met;
    for (int row = 0; row < rows; ++row) {
      const int a = static_cast<int>(random_() % static_cast<unsigned>(first));
      // The last level of the first effect has no row, and all rows of the second one's first level have the
      // same level of the first.
      const int own = a == first - 1 ? 0 : a;
      const int near =
          reach == 0
              ? static_cast<int>(random_() % static_cast<unsigned>(second))
              : (own * second / first + static_cast<int>(random_() % static_cast<unsigned>(reach))) % second;
      const int b = near == 0 ? second - 1 : near;
      std::vector<double> x(static_cast<std::size_t>(size));
      for (int i = 0; i < size; ++i) {
        if (!part_.has(i)) x[static_cast<std::size_t>(i)] = i + 1 == size && row % 40 != 0 ? 0.0 : value();
      }
      const int i = part_.runs()[0].begin + own;
      const int j = part_.runs()[1].begin + b;
      x[static_cast<std::size_t>(i)] = x[static_cast<std::size_t>(j)] = 1;
      met.emplace(own, first + b);
      for (int c = 0; c < size; ++c) {
        for (int r = 0; r < size; ++r)
          whole_(r, c) += x[static_cast<std::size_t>(r)] * x[static_cast<std::size_t>(c)];
      }
    }
    for (int i = 0; i < size; ++i) {
      ridge_.push_back(part_.has(i) ? 0.7 : 0.01);
      if (!part_.has(i)) whole_(i, i) += 0.01;
    }
    auto pattern = std::make_shared<SparsePattern>();
    for (int j = 0; j < first + second; ++j) {
      for (auto pair = met.lower_bound({j, 0}); pair != met.end() && pair->first == j; ++pair)
        pattern->rows.push_back(pair->second);
      pattern->begins.push_back(std::ssize(pattern->rows));
    }
    gram_ = PartedMatrix(size, part_, pattern);
    for (int j = 0; j < size; ++j) {
      for (int i = 0; i <= j; ++i) {
        if (gram_.has(i, j)) gram_.set(i, j, whole_(i, j));
      }
    }
    for (int i = 0; i < size; ++i) {
      if (part_.has(i)) whole_(i, i) += 0.7;
    }
    inverse_ = cholesky_inverse(*cholesky(whole_));
  }

  double value() { return static_cast<double>(random_() >> 11) * 0x1p-52 - 1; }

  /// The factors, with the inverse of the Schur complement.
  struct Result {
    OrderedMatrix a;
    EliminatedBlock block;
    Matrix outer_inverse;
    double log_det;
  };
  [[nodiscard]] std::unique_ptr<Result> result(const Algebra& algebra) const {
    const auto order = std::make_shared<const EliminationOrder>(gram_, std::vector<bool>());
    auto out = std::make_unique<Result>();
    out->a = in_order(gram_, order, {});
    std::vector<double> diagonal = out->a.diagonal;
    for (double& d : diagonal) d += 0.7;
    auto block = eliminate(out->a, diagonal, algebra);
    EXPECT_TRUE(block);
    out->block = std::move(*block);
    Matrix s = out->a.outer;
    for (int i = 0; i < order->left(); ++i) s(i, i) += 0.7;
    std::vector<double> weights;
    double log_det = 0;
    for (const double d : out->block.diagonal) {
      weights.push_back(1 / d);
      log_det += std::log(d);
    }
    add_multiple(s.values(), -1, out->block.border(out->a).weighted_square(weights, algebra).values());
    const Matrix lower = *cholesky(s);
    for (int i = 0; i < lower.rows(); ++i) log_det += 2 * std::log(lower(i, i));
    out->log_det = log_det;
    out->outer_inverse = cholesky_inverse(lower);
    return out;
  }
  std::mt19937_64 random_{20261124};
  Part part_;
  PartedMatrix gram_;
  Matrix whole_;
  std::vector<double> ridge_;
  Matrix inverse_;
};

TEST_P(Crossed, HaveTheDeterminantOfTheDenseMatrix) {
  const auto found = result(HostAlgebra());
  EXPECT_NEAR(found->log_det, log_abs_determinant(whole_), 1e-10 * whole_.rows());
}

TEST_P(Crossed, HaveTheSelectedInverseOfTheDenseMatrix) {
  const HostAlgebra algebra;
  const auto found = result(algebra);
  const EliminationOrder& order = *found->a.order;
  const SelectedInverse z = selected_inverse(found->a, found->block, found->outer_inverse, algebra);
  const int first = order.eliminated();
  std::vector<int> original(order.order.size() + static_cast<std::size_t>(gram_.core.rows()));
  for (int i = 0, core = 0; i < gram_.size(); ++i) {
    const int to = part_.has(i) ? order.place[static_cast<std::size_t>(part_.in_part(i))]
                                : static_cast<int>(order.order.size()) + core++;
    original[static_cast<std::size_t>(to)] = i;
  }
  const auto expected = [&](int i, int j) {
    return inverse_(original[static_cast<std::size_t>(i)], original[static_cast<std::size_t>(j)]);
  };
  const double tolerance = 1e-11;
  const SelectedInverse diagonal =
      selected_inverse(found->a, found->block, found->outer_inverse, algebra, true);
  for (int j = 0; j < first; ++j) {
    ASSERT_NEAR(z.diagonal[static_cast<std::size_t>(j)], expected(j, j), tolerance) << j;
    ASSERT_NEAR(diagonal.diagonal[static_cast<std::size_t>(j)], expected(j, j), tolerance) << j;
    for (const int i : order.lower.rows_of(j))
      ASSERT_NEAR(z.lower[static_cast<std::size_t>(order.lower.find(i, j))], expected(i, j), tolerance);
    for (const int k : order.beside.rows_of(j))
      ASSERT_NEAR(z.border(j, k), expected(j, first + k), tolerance);
    for (const int k : order.dense) ASSERT_NEAR(z.border(j, k), expected(j, first + k), tolerance);
  }
}

TEST_P(Crossed, HaveTheInverseOfTheDenseMatrixWhereItIsKept) {
  const HostAlgebra algebra;
  const auto found = result(algebra);
  const PartedMatrix inverse = parted_inverse(gram_, found->a, found->block, found->outer_inverse, algebra);
  int kept = 0;
  for (int j = 0; j < gram_.size(); ++j) {
    for (int i = 0; i < gram_.size(); ++i) {
      if (!gram_.has(i, j)) continue;
      EXPECT_NEAR(inverse(i, j), inverse_(i, j), 1e-11);
      ++kept;
    }
  }
  EXPECT_LT(kept, gram_.size() * gram_.size());
}

TEST_P(Crossed, MultiplyAndSolveAsTheDenseMatrix) {
  const auto found = result(HostAlgebra());
  std::vector<double> x(static_cast<std::size_t>(gram_.size()));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i) + 1);
  const EliminationOrder& order = *found->a.order;
  EXPECT_EQ(from_order(in_order(x, part_, order), part_, order), x);
  Matrix without_ridge = whole_;
  for (int i = 0; i < whole_.rows(); ++i) {
    if (part_.has(i)) without_ridge(i, i) -= 0.7;
  }
  const std::vector<double> expected = multiply(without_ridge, x);
  const std::vector<double> product = from_order(found->a.times(in_order(x, part_, order)), part_, order);
  const std::vector<double> parted = multiply(gram_, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(product[i], expected[i], 1e-10);
    EXPECT_NEAR(parted[i], expected[i], 1e-10);
  }
  // (L D L')^-1 of a vector of the block, by its own product.
  std::vector<double> solved(x.begin(), x.begin() + order.eliminated());
  found->block.forward(solved);
  for (std::size_t i = 0; i < solved.size(); ++i) solved[i] /= found->block.diagonal[i];
  found->block.backward(solved);
  std::vector<double> padded = solved;
  padded.resize(x.size());
  std::vector<double> back = found->a.times(padded);
  for (std::size_t i = 0; i < solved.size(); ++i) EXPECT_NEAR(back[i] + 0.7 * solved[i], x[i], 1e-9);
}

TEST_P(Crossed, HaveTheSameBitsOnAnyThreads) {
  const HostAlgebra one;
  const HostAlgebra three(3);
  const auto a = result(one);
  const auto b = result(three);
  EXPECT_EQ(a->block.diagonal, b->block.diagonal);
  EXPECT_EQ(a->block.lower, b->block.lower);
  EXPECT_EQ(a->log_det, b->log_det);
  const SelectedInverse p = selected_inverse(a->a, a->block, a->outer_inverse, one);
  const SelectedInverse q = selected_inverse(b->a, b->block, b->outer_inverse, three);
  EXPECT_EQ(p.diagonal, q.diagonal);
  EXPECT_EQ(p.lower, q.lower);
}

TEST_P(Crossed, AreRefusedIfTheyAreNotPositiveDefinite) {
  const HostAlgebra algebra;
  const auto order = std::make_shared<const EliminationOrder>(gram_, std::vector<bool>());
  const OrderedMatrix a = in_order(gram_, order, {});
  std::vector<double> diagonal = a.diagonal;
  diagonal.back() = -1;
  EXPECT_FALSE(eliminate(a, diagonal, algebra));
}

// If levels meet near ones, most of both effects is eliminated; if many meet, one effect; if few rows leave
// isolated levels, there are many graphs.
INSTANTIATE_TEST_SUITE_P(Shapes, Crossed,
                         ::testing::Values(CrossedShape{"near", 90, 70, 4, 500, 3},
                                           CrossedShape{"dense", 60, 40, 3, 2000, 0},
                                           CrossedShape{"alone", 120, 100, 4, 60, 0},
                                           CrossedShape{"no_core", 80, 80, 0, 300, 4},
                                           CrossedShape{"second_is_larger", 30, 200, 2, 900, 0}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(EliminationOrders, EliminateFarMoreThanOneEffectWhereLevelsMeetNearOnes) {
  const int levels = 400;
  auto pattern = std::make_shared<SparsePattern>();
  for (int j = 0; j < 2 * levels; ++j) {
    if (j < levels) {
      std::set<int> rows;
      for (int k = 0; k < 3; ++k) rows.insert(levels + (j + k) % levels);
      pattern->rows.insert(pattern->rows.end(), rows.begin(), rows.end());
    }
    pattern->begins.push_back(std::ssize(pattern->rows));
  }
  Part part(0, levels);
  part.add(levels, levels);
  const EliminationOrder order(PartedMatrix(2 * levels, part, pattern), {});
  EXPECT_LT(order.left(), 40);
  EXPECT_LT(order.lower.rows.size(), std::size_t{40} * levels);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
