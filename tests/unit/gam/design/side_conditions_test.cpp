// SPDX-License-Identifier: Apache-2.0
// Side conditions of nested smooths: the compared smooths, the dropped columns, and the other penalties.
#include "gam/design/side_conditions.hpp"

#include "gam/linalg/linalg.hpp"
#include "gam/reml/penalty_basis.hpp"
#include "support/dense_model.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using testing::DenseModel;

CoefBlock smooth(const std::string& label, std::vector<std::string> variables, const std::string& by = "",
                 const std::string& level = "", const std::string& kind = "cr") {
  CoefBlock block;
  block.label = label;
  block.kind = kind;
  block.knots.resize(variables.size());
  block.variables = std::move(variables);
  if (!by.empty()) block.variables.push_back(by);
  block.by_level = level;
  block.penalty.emplace();
  return block;
}

/// "te(x,z): s(x) s(z); …"
std::string compared(const Design& design) {
  std::string text;
  for (const NestedSmooth& one : nested_smooths(design)) {
    text += (text.empty() ? "" : "; ") + design.blocks[static_cast<std::size_t>(one.block)].label + ":";
    for (const int before : one.before) text += " " + design.blocks[static_cast<std::size_t>(before)].label;
  }
  return text;
}

TEST(NestedSmooths, AreThoseOfMoreVariablesAndThoseThatComeLater) {
  Design design;
  design.blocks = {smooth("te(x,z)", {"x", "z"}), smooth("s(x)", {"x"}), smooth("te(x,w)", {"x", "w"}),
                   smooth("s(z)", {"z"}), smooth("te(x,z,w)", {"x", "z", "w"})};
  EXPECT_EQ(compared(design),
            "te(x,z): s(x) s(z); te(x,w): s(x) te(x,z); te(x,z,w): s(x) s(z) te(x,z) te(x,w)");
}

TEST(NestedSmooths, HaveTheSameByVariableAndLevel) {
  Design design;
  design.blocks = {smooth("s(x)", {"x"}), smooth("s(x):fA", {"x"}, "f", "A"),
                   smooth("s(x):fB", {"x"}, "f", "B"), smooth("s(x):w", {"x"}, "w"),
                   smooth("te(x,z):fB", {"x", "z"}, "f", "B")};
  EXPECT_EQ(compared(design), "te(x,z):fB: s(x):fB");
}

TEST(NestedSmooths, AreNoRandomEffects) {
  Design design;
  design.blocks = {smooth("s(g)", {"g"}, "", "", "re"), smooth("te(g,x)", {"g", "x"}, "", "", "te"),
                   smooth("s(g):x", {"g"}, "x", "", "re")};
  EXPECT_EQ(compared(design), "");
}

/// Sums of a matrix that is its own sketch.
ColumnSums column_sums_of(const Matrix& x) {
  const std::vector<double> ones(static_cast<std::size_t>(x.rows()), 1.0);
  return {.gram = multiply_tn(x, x),
          .sums = multiply_t(x, ones),
          .rows = x.rows(),
          .sketch = x,
          .sketched_ones = ones};
}

/// Two smooths of one variable: columns of the second equal those of the first plus `apart` times noise.
struct Pair {
  explicit Pair(double apart, int rows = 60) {
    Matrix x(rows, 8);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < 4; ++j) x(i, j) = std::sin(1.7 * (i + 1) * (j + 1));
      for (int j = 0; j < 4; ++j) x(i, 4 + j) = std::cos(0.9 * (i + 1) * (j + 2));
      x(i, 6) = x(i, 0) - 2 * x(i, 3) + apart * std::cos(2.3 * i);
    }
    columns = column_sums_of(x);
    design.blocks = {smooth("s(x)", {"x"}), smooth("te(x,z)", {"x", "z"})};
    for (CoefBlock& block : design.blocks) {
      block.coef_size = 4;
      block.raw_size = 4;
      block.map = identity(4);
    }
    design.count_coefficients();
  }
  [[nodiscard]] std::vector<std::vector<int>> dropped() const {
    return dependent_columns(design, nested_smooths(design), columns, false);
  }
  Design design;
  ColumnSums columns;
};

TEST(DependentColumns, AreThoseThatTheSmallerSmoothExplains) {
  EXPECT_EQ(Pair(0).dropped(), (std::vector<std::vector<int>>{{}, {2}}));
  EXPECT_EQ(Pair(1e-3).dropped(), (std::vector<std::vector<int>>{{}, {}}));
}

TEST(DependentColumns, AreNotThoseThatOnlyTheCrossproductTakesForDependent) {
  // X'X has half the digits: it cannot distinguish 1e-7 from zero, and the QR of the sketch can.
  EXPECT_EQ(Pair(1e-7).dropped(), (std::vector<std::vector<int>>{{}, {}}));
  EXPECT_EQ(Pair(1e-10).dropped(), (std::vector<std::vector<int>>{{}, {2}}));
}

TEST(DependentColumns, AreJudgedInTheUsersUnits) {
  // The smooth's columns have units of 1024, and those of the earlier one units of 1.
  Pair pair(1e-7);
  const double unit = std::ldexp(1.0, -10);
  pair.design.blocks[1].by_scale = unit;
  for (int j = 4; j < 8; ++j) {
    for (double& value : pair.columns.sketch.column(j)) value *= unit;
    for (int i = 0; i < 8; ++i) {
      pair.columns.gram(i, j) *= unit;
      pair.columns.gram(j, i) *= unit;
    }
    pair.columns.sums[static_cast<std::size_t>(j)] *= unit;
  }
  EXPECT_EQ(pair.dropped(), (std::vector<std::vector<int>>{{}, {}}));
}

/// T_1 … T_count of a skewed variable's position in its range: functions of a wide smooth, which are
/// combinations of the powers in a narrow one with factors of up to 2^(2 count).
struct Polynomials {
  Polynomials(int count, int others, int rows = 400) {
    Matrix x(rows, 2 * count + others);
    for (int i = 0; i < rows; ++i) {
      const double u = (i + 0.5) / rows;
      const double t = std::pow(u, 6);
      double power = 1;
      for (int j = 0; j < count; ++j) x(i, j) = power *= t;
      for (int j = 0; j < count; ++j) x(i, count + j) = std::cos((j + 1) * std::acos(2 * t - 1));
      for (int j = 0; j < others; ++j) x(i, 2 * count + j) = 0.01 * std::sin(29 * (j + 1) * u);
    }
    columns = column_sums_of(x);
    design.blocks = {smooth("s(x)", {"x"}), smooth("te(x,z)", {"x", "z"})};
    design.blocks[0].coef_size = count;
    design.blocks[1].coef_size = count + others;
    for (CoefBlock& block : design.blocks) {
      block.raw_size = block.coef_size;
      block.map = identity(block.coef_size);
    }
    design.count_coefficients();
  }
  Design design;
  ColumnSums columns;
};

TEST(DependentColumns, AreAsManyAsDependWhereTheCrossproductHasLostThem) {
  for (const int count : {3, 6, 8}) {
    SCOPED_TRACE(count);
    const Polynomials skewed(count, 3);
    const auto dropped =
        dependent_columns(skewed.design, nested_smooths(skewed.design), skewed.columns, true)[1];
    EXPECT_EQ(dropped.size(), static_cast<std::size_t>(count));
  }
}

TEST(DependentColumns, MayNotBeAll) {
  Pair pair(0);
  pair.design.blocks[1].coef_size = 1;
  pair.design.blocks[1].coef_begin = 6;
  EXPECT_THROW((void)pair.dropped(), Error);
}

/// A te without every third column, with the coefficients that each set of its penalties affects.
Design dropped_te() {
  std::vector<double> x;
  std::vector<double> z;
  for (int i = 0; i < 200; ++i) {
    x.push_back(std::fmod(0.618034 * i, 1.0));
    z.push_back(std::fmod(0.414214 * i, 1.0));
  }
  DenseModel model(200);
  model.add_intercept();
  model.add_te("te(x,z)", x, 6, z, 5);
  std::vector<int> gone;
  for (int i = 1; i < model.design().blocks[1].coef_size; i += 3) gone.push_back(i);
  Design design = model.design();
  design.blocks[1].s_scale = {1, 1};
  return without_columns(std::move(design), {{}, gone});
}

Matrix weighted_sum(const Penalty& penalty, const std::vector<double>& log_sp) {
  Matrix sum(penalty.matrices[0].rows(), penalty.matrices[0].rows());
  for (std::size_t j = 0; j < log_sp.size(); ++j) {
    for (std::size_t i = 0; i < sum.values().size(); ++i) {
      sum.values()[i] += std::exp(log_sp[j]) * penalty.matrices[j].values()[i];
    }
  }
  return sum;
}

TEST(PenaltyDeterminant, OfDroppedColumnsIsTheDefinition) {
  const Design design = dropped_te();
  const Penalty& penalty = *design.blocks[1].penalty;
  EXPECT_FALSE(penalty.commutes());
  const auto bases = penalty_bases(design);
  const HostAlgebra algebra;
  for (const std::vector<double>& at : {std::vector<double>{0, 0}, {3, -2}, {-4, 5}, {9, 4}}) {
    const std::vector<double> values = symmetric_eigen(weighted_sum(penalty, at)).values;
    double expected = 0;
    for (int i = design.blocks[1].coef_size - penalty.rank(); i < design.blocks[1].coef_size; ++i) {
      expected += std::log(values[static_cast<std::size_t>(i)]);
    }
    const auto mine = penalty_determinant(bases, at, algebra);
    ASSERT_TRUE(mine.has_value());
    EXPECT_NEAR(mine->value, expected, 1e-8);
    const double step = 1e-4;
    for (std::size_t j = 0; j < 2; ++j) {
      auto up = at;
      auto down = at;
      up[j] += step;
      down[j] -= step;
      const auto above = penalty_determinant(bases, up, algebra);
      const auto below = penalty_determinant(bases, down, algebra);
      EXPECT_NEAR(mine->gradient[j], (above->value - below->value) / (2 * step), 1e-6);
      for (std::size_t k = 0; k < 2; ++k) {
        EXPECT_NEAR(mine->hessian(static_cast<int>(j), static_cast<int>(k)),
                    (above->gradient[k] - below->gradient[k]) / (2 * step), 1e-6);
      }
    }
  }
}

TEST(PenaltyDeterminant, OfDroppedColumnsHoldsWherePenaltiesAreFarApart) {
  // If they are far apart, V grows by the rank of the larger, and of the smaller on its null space.
  const Design design = dropped_te();
  const Penalty& penalty = *design.blocks[1].penalty;
  const auto bases = penalty_bases(design);
  const HostAlgebra algebra;
  for (const bool first : {true, false}) {
    const auto at = [&](double apart) {
      return *penalty_determinant(bases, first ? std::vector{apart, 0.0} : std::vector{0.0, apart}, algebra);
    };
    const int larger = penalty.set_ranks[first ? 1 : 2];
    for (const double apart : {30.0, 45.0}) {
      EXPECT_NEAR(at(apart).gradient[first ? 0 : 1], larger, 1e-6);
      EXPECT_NEAR(at(apart).gradient[first ? 1 : 0], penalty.rank() - larger, 1e-6);
      EXPECT_NEAR(at(apart + 5).value - at(apart).value, 5 * larger, 1e-6);
    }
  }
}

TEST(WithoutColumns, NamesAndNullSpaceAreThoseOfWhatIsLeft) {
  const Design design = dropped_te();
  const CoefBlock& te = design.blocks[1];
  EXPECT_EQ(te.names.back(), "te(x,z)." + std::to_string(te.coef_size));
  EXPECT_EQ(te.map.cols(), te.coef_size);
  const Matrix& free = te.penalty->null_space;
  EXPECT_EQ(free.cols(), te.coef_size - te.penalty->rank());
  for (const Matrix& s : te.penalty->matrices) {
    const Matrix product = multiply(s, free);
    for (const double value : product.values()) EXPECT_NEAR(value, 0, 1e-10);
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
