// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/coordinates/by_centring.hpp"

#include "gam/design/build_design.hpp"
#include "gam/design/standardise.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/reml/reml.hpp"
#include "gam/rows/row_reader.hpp"
#include "support/design_support.hpp"
#include "support/shared_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <random>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t row_count = 400;

/// z and t are far from zero, and w is not.
Frame table() {
  std::mt19937_64 random(5);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  Frame frame;
  frame.file_rows = frame.complete_rows = row_count;
  frame.rows = {0, row_count};
  frame.complete.own().assign(row_count, 1);
  for (const char* name : {"y", "x", "v", "z", "t", "w"})
    frame.variables.push_back({name, false, {}, {}, {}});
  frame.variables.push_back({"f", true, {}, {}, {"a", "b", "c"}});
  for (std::int64_t row = 0; row < row_count; ++row) {
    const std::vector<double> values{
        uniform(),      uniform(), 100 + 50 * uniform(), 5.5e6 + 2000 * uniform(), -3e5 + 400 * uniform(),
        uniform() - 0.3};
    for (std::size_t i = 0; i < values.size(); ++i) frame.variables[i].numbers.own().push_back(values[i]);
    frame.variables[6].codes.own().push_back(static_cast<int>(random() % 3));
  }
  return frame;
}

struct Designs {
  Design formula;
  std::optional<ChangedDesign> centred;
};

Designs designs_of(const std::string& formula, const Frame& frame) {
  const FormulaTerms parsed = parse_terms(formula);
  HostTeam team(1);
  const Standards standards = standards_of(testing::shared_world(), parsed, frame, 32, team);
  const DesignDraft draft = draft_design({testing::shared_world(), team}, parsed, frame, {}, standards);
  Designs designs;
  designs.formula = finish_design(
      draft, testing::raw_column_sums(testing::shared_world(), draft.design, frame), frame.complete_rows);
  designs.centred = centre_by_variables(designs.formula, standards);
  return designs;
}

Matrix columns_of(const Design& design, const Frame& frame) {
  Matrix x(static_cast<int>(row_count), design.coef_size);
  std::vector<double> one(static_cast<std::size_t>(design.coef_size));
  RowReader reader(frame, design);
  for (int row = 0; row < x.rows(); ++row) {
    reader.coefficient_row(static_cast<std::size_t>(row), one);
    for (int j = 0; j < x.cols(); ++j) x(row, j) = one[static_cast<std::size_t>(j)];
  }
  return x;
}

/// All penalties with a factor of 1, and of 2 for the next penalty of each term.
Matrix penalties_of(const Design& design) {
  Matrix sum(design.coef_size, design.coef_size);
  for (const CoefBlock& block : design.blocks) {
    if (!block.penalty) continue;
    double factor = 1;
    for (std::size_t k = 0; k < block.penalty->count(); ++k) {
      const Matrix s = block.penalty->matrix(k);
      for (int j = 0; j < s.cols(); ++j) {
        for (int i = 0; i < s.rows(); ++i)
          sum(block.coef_begin + i, block.coef_begin + j) += factor * s(i, j);
      }
      ++factor;
    }
  }
  return sum;
}

double largest(const Matrix& a) {
  double size = 0;
  for (const double value : a.values()) size = std::max(size, std::abs(value));
  return size;
}

double difference(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.cols(), b.cols());
  double size = 0;
  for (std::size_t i = 0; i < a.values().size(); ++i)
    size = std::max(size, std::abs(a.values()[i] - b.values()[i]));
  return size;
}

/// The unpenalised functions of a design, as columns over the rows.
Matrix unpenalised(const Design& design, const Matrix& columns) {
  Matrix out(columns.rows(), design.null_space());
  int place = 0;
  for (const CoefBlock& block : design.blocks) {
    Matrix own = submatrix(columns, 0, columns.rows(), block.coef_begin, block.coef_size);
    if (block.penalty) own = multiply(own, block.penalty->null_space);
    assign(out, 0, place, own);
    place += own.cols();
  }
  EXPECT_EQ(place, out.cols());
  return out;
}

/// The minimum residual length of a column, given the others.
double least_left(Matrix columns) {
  for (int j = 0; j < columns.cols(); ++j) {
    const double length = std::sqrt(dot(columns.column(j), columns.column(j)));
    for (double& value : columns.column(j)) value /= length;
  }
  const SymmetricEigen eigen = symmetric_eigen(multiply_tn(columns, columns));
  return std::sqrt(std::max(0.0, eigen.values.front()));
}

struct Case {
  std::string formula;
  int exchanged;  ///< functions
  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.formula; }
};

class ByCentringOfSmooth : public ::testing::TestWithParam<Case> {};

TEST_P(ByCentringOfSmooth, IsTheSameModelWithIndependentColumns) {
  const Frame frame = table();
  const auto [formula, centred] = designs_of(GetParam().formula, frame);
  ASSERT_TRUE(centred);
  EXPECT_EQ(centred->design.coef_size, formula.coef_size);
  EXPECT_EQ(centred->design.null_space(), formula.null_space());
  int exchanged = 0;
  for (std::size_t b = formula.blocks.size(); b < centred->design.blocks.size(); ++b)
    exchanged += centred->design.blocks[b].coef_size;
  EXPECT_EQ(exchanged, GetParam().exchanged);

  const Matrix before = columns_of(formula, frame);
  const Matrix after = columns_of(centred->design, frame);
  const Matrix& t = centred->change.blocks.front().to_formula;
  // A centred function is a difference of much larger ones.
  EXPECT_LE(difference(multiply(before, t), after), 1e-14 * largest(t) * largest(before));

  const Matrix s = penalties_of(centred->design);
  EXPECT_LE(difference(multiply_tn(t, multiply(penalties_of(formula), t)), s), 1e-8 * largest(s));
  for (const CoefBlock& block : centred->design.blocks) {
    if (!block.penalty) continue;
    for (const Matrix& matrix : block.penalty->matrices)
      EXPECT_LE(largest(multiply(matrix, block.penalty->null_space)), 1e-9 * largest(matrix)) << block.label;
  }
  EXPECT_LT(least_left(unpenalised(formula, before)), 5e-4);
  EXPECT_GT(least_left(unpenalised(centred->design, after)), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(
    Formulas, ByCentringOfSmooth,
    ::testing::Values(Case{"y ~ s(x, by=z, bs=\"cr\")", 1}, Case{"y ~ s(x, by=z, bs=\"ps\", k=12)", 1},
                      Case{"y ~ 0 + f + s(x, by=z, bs=\"ps\")", 1}, Case{"y ~ f + s(v, by=t, bs=\"cp\")", 1},
                      Case{"y ~ x + s(x, by=z, bs=\"cr\")", 2},
                      Case{"y ~ s(v, bs=\"cr\", k=5) + te(x, v, by=z, bs=\"ps\", k=c(5, 4))", 2},
                      Case{"y ~ te(x, v, bs=\"cr\", k=c(4, 4)) + te(x, v, by=t, bs=\"cr\", k=c(4, 4))", 4},
                      Case{"y ~ s(x, by=z, bs=\"ps\") + s(v, by=t, bs=\"cr\") + s(x, by=w, bs=\"cr\")", 2}));

TEST(ByCentring, LeavesOtherDesignsAlone) {
  const Frame frame = table();
  // Near zero, without functions shared with the others, or fully penalised.
  for (const char* formula :
       {"y ~ s(x, by=w, bs=\"cr\")", "y ~ 0 + v + s(x, by=z, bs=\"cr\")", "y ~ z + s(x, bs=\"cr\")",
        "y ~ s(f, z, bs=\"re\")", "y ~ f + s(x, by=f, bs=\"ps\")"}) {
    EXPECT_FALSE(designs_of(formula, frame).centred) << formula;
  }
}

TEST(ByCentring, TurnsASolution) {
  const Frame frame = table();
  const auto [formula, centred] = designs_of("y ~ x + s(x, by=z, bs=\"ps\", k=6)", frame);
  ASSERT_TRUE(centred);
  const auto solved = [&](const Design& design) {
    const Matrix x = columns_of(design, frame);
    std::vector<double> y;
    for (int row = 0; row < x.rows(); ++row) y.push_back(std::sin(6 * frame.variables[1].numbers[row]));
    WorkingModel model;
    model.gram = multiply_tn(x, x);
    model.gradient = multiply_t(x, y);
    model.residual = dot(y, y);
    model.base.assign(static_cast<std::size_t>(design.coef_size), 0.0);
    model.rows = row_count;
    return std::pair(fit_reml(model, design, false), model.gram);
  };
  auto [turned, gram] = solved(centred->design);
  centred->change.transform_solution(turned, gram);
  // The same in the formula's columns, which lose some eight of sixteen digits.
  const auto [plain, plain_gram] = solved(formula);
  EXPECT_NEAR(turned.score, plain.score, 1e-5);
  EXPECT_LE(difference(gram.core, plain_gram.core), 1e-6 * largest(plain_gram.core));
  for (int j = 0; j < gram.size(); ++j) {
    const auto place = static_cast<std::size_t>(j);
    const double se = std::sqrt(plain.inverse(j, j) * plain.scale);
    EXPECT_NEAR(std::sqrt(turned.inverse(j, j) * turned.scale) / se, 1, 1e-5) << j;
    EXPECT_NEAR(turned.coef[place], plain.coef[place], 1e-4 * se) << j;
    EXPECT_NEAR(turned.edf[place], plain.edf[place], 1e-5) << j;
    EXPECT_NEAR(turned.edf1[place], plain.edf1[place], 1e-5) << j;
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
