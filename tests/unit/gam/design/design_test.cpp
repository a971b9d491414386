// SPDX-License-Identifier: Apache-2.0
// The model matrix agrees with mgcv's smoothCon and PredictMat, and R's model.matrix, for split rows.
#include "gam/design/build_design.hpp"

#include "gam/basis/bases.hpp"
#include "gam/design/design_json.hpp"
#include "gam/design/model_terms.hpp"
#include "gam/design/side_conditions.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/rows/row_reader.hpp"
#include "support/design_support.hpp"
#include "support/errors.hpp"
#include "support/shared_world.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

using nlohmann::json;

Frame my_frame(const json& columns, bool incomplete_rows = true) {
  return frame_of(columns, shared_world().rank(), shared_world().size(), incomplete_rows);
}

SuppliedKnots knots_of(const json& supplied) {
  SuppliedKnots knots;
  if (supplied.is_object()) knots = supplied.get<SuppliedKnots>();
  return knots;
}

std::vector<json> smooth_cases() {
  const json all = fixture("smooths.json");
  return {all.begin() + 1, all.end()};
}

json smooth_tables() {
  return fixture("smooths.json")[0];
}

double largest(const json& matrix) {
  double value = 0;
  for (const auto& row : matrix) {
    for (const auto& entry : row) value = std::max(value, std::abs(entry.get<double>()));
  }
  return value;
}

/// Compares this rank's rows of X with the rows in the fixture, relative to its largest entry.
void expect_rows(const std::vector<std::vector<double>>& mine, std::int64_t first, const json& expected,
                 double relative = 2e-12) {
  const double tolerance = relative * largest(expected);
  for (std::size_t i = 0;
       i < mine.size() && first + static_cast<std::int64_t>(i) < static_cast<std::int64_t>(expected.size());
       ++i) {
    const auto row = expected[static_cast<std::size_t>(first) + i].get<std::vector<double>>();
    ASSERT_EQ(mine[i].size(), row.size());
    for (std::size_t j = 0; j < row.size(); ++j) ASSERT_NEAR(mine[i][j], row[j], tolerance) << i << ", " << j;
  }
}

/// mgcv's Lanczos method gives eight digits or more of a thin plate spline's eigenvectors.
double precision_of(const json& expected) {
  const auto call = expected["call"].get<std::string>();
  const auto names = {"\"tp\"", "\"ts\"", "\"ds\"", "\"gp\""};
  return std::ranges::any_of(names, [&](const char* name) { return call.find(name) != std::string::npos; })
             ? 1e-8
             : 1e-12;
}

/// The blocks of the smooth; the intercept goes first.
std::vector<CoefBlock> smooth_blocks(const Design& design) {
  EXPECT_EQ(design.blocks[0].label, "(Intercept)");
  return {design.blocks.begin() + 1, design.blocks.end()};
}

TEST(SmoothsAgainstMgcv, BasisPenaltyAndKnotsBeforeTheConstraint) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  for (const json& expected : smooth_cases()) {
    SCOPED_TRACE(expected["call"].get<std::string>());
    const FormulaTerms formula = parse_terms("y ~ " + expected["call"].get<std::string>());
    HostTeam team(2);
    const DesignDraft draft =
        draft_design({shared_world(), team}, formula, frame, knots_of(expected["supplied"]));
    EXPECT_TRUE(draft.design.blocks.empty());
    ASSERT_EQ(draft.blocks.size(), expected["X"].size() + 1);
    for (std::size_t b = 0; b < expected["X"].size(); ++b) {
      const CoefBlock& block = draft.blocks[b + 1].block;
      EXPECT_EQ(block.label, expected["labels"][b].get<std::string>());
      expect_rows(block_rows(draft.design, block, frame), frame.rows.begin, expected["X"][b],
                  2 * precision_of(expected));
      const auto scale = expected["S_scale"].get<std::vector<double>>();
      ASSERT_EQ(block.s_scale.size(), scale.size());
      ASSERT_EQ(block.penalty->count(), scale.size());
      for (std::size_t j = 0; j < scale.size(); ++j) {
        EXPECT_NEAR(block.s_scale[j], scale[j], precision_of(expected) * scale[j]);
        const json& s = expected["S"][j];
        const double tolerance = precision_of(expected) * largest(s);
        const Matrix matrix = block.penalty->matrix(j);
        for (int i = 0; i < matrix.rows(); ++i) {
          for (int k = 0; k < matrix.cols(); ++k) {
            ASSERT_NEAR(matrix(i, k),
                        s[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)].get<double>(), tolerance);
          }
        }
      }
      ASSERT_EQ(block.knots.size(), expected["knots"].size());
      for (std::size_t m = 0; m < block.knots.size(); ++m) {
        const auto knots = expected["knots"][m].get<std::vector<double>>();
        ASSERT_EQ(block.knots[m].size(), knots.size());
        for (std::size_t i = 0; i < knots.size(); ++i) EXPECT_NEAR(block.knots[m][i], knots[i], 1e-13);
      }
    }
  }
}

TEST(SmoothsAgainstMgcv, ConstrainedColumnsAndPredictionsBeyondTheData) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  const Frame fresh = my_frame(smooth_tables()["new"], false);
  for (const json& expected : smooth_cases()) {
    SCOPED_TRACE(expected["call"].get<std::string>());
    const Design design = design_of(shared_world(), "y ~ " + expected["call"].get<std::string>(), frame,
                                    knots_of(expected["supplied"]));
    const Design moved = reindexed(design, fresh);
    const auto blocks = smooth_blocks(design);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      EXPECT_EQ(blocks[b].label, expected["labels"][b].get<std::string>());
      expect_rows(block_rows(design, blocks[b], frame), frame.rows.begin, expected["X_constrained"][b],
                  2 * precision_of(expected));
      expect_rows(block_rows(moved, blocks[b], fresh), fresh.rows.begin, expected["predicted"][b],
                  2 * precision_of(expected));
    }
  }
}

/// log|S|+ from its pieces equals that from the eigenvalues of the assembled penalty.
TEST(Penalty, LogDeterminantFromItsPieces) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  std::mt19937 random(11);
  std::uniform_real_distribution<double> log_lambda(-4, 4);
  for (const json& expected : smooth_cases()) {
    SCOPED_TRACE(expected["call"].get<std::string>());
    const Design design = design_of(shared_world(), "y ~ " + expected["call"].get<std::string>(), frame,
                                    knots_of(expected["supplied"]));
    for (const CoefBlock& block : smooth_blocks(design)) {
      const Penalty& penalty = *block.penalty;
      if (!penalty.commutes()) continue;
      ASSERT_EQ(penalty.eigenvalues.cols(), static_cast<int>(penalty.count()));
      for (int trial = 0; trial < 3; ++trial) {
        Matrix sum(block.coef_size, block.coef_size);
        std::vector<double> lambda;
        for (std::size_t j = 0; j < penalty.count(); ++j) {
          const Matrix matrix = penalty.matrix(j);
          lambda.push_back(std::exp(log_lambda(random)));
          for (std::size_t i = 0; i < sum.values().size(); ++i) {
            sum.values()[i] += lambda.back() * matrix.values()[i];
          }
        }
        double pieces = penalty.log_det_constant;
        for (int i = 0; i < penalty.rank(); ++i) {
          double eigenvalue = 0;
          for (int j = 0; j < penalty.eigenvalues.cols(); ++j) {
            eigenvalue += lambda[static_cast<std::size_t>(j)] * penalty.eigenvalues(i, j);
          }
          pieces += std::log(eigenvalue);
        }
        const auto eigen = symmetric_eigen(sum);
        const auto null_size = static_cast<std::size_t>(block.coef_size - penalty.rank());
        double whole = 0;
        for (std::size_t i = 0; i < eigen.values.size(); ++i) {
          if (i < null_size) {
            EXPECT_NEAR(eigen.values[i] / eigen.values.back(), 0, 1e-12);
          } else {
            whole += std::log(eigen.values[i]);
          }
        }
        EXPECT_NEAR(pieces, whole, 1e-8 * (1 + std::abs(whole)));
      }
    }
  }
}

TEST(Penalty, ThatSeesAllFunctionsHasARankLessUnderAConstraint) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  const Design single = design_of(shared_world(), R"(y ~ s(x, bs="ts", k=6) + s(v, bs="cs", k=5))", frame);
  EXPECT_EQ(single.null_space(), 1);
  EXPECT_EQ(single.blocks[1].penalty->rank(), 5);
  const Design product = design_of(shared_world(), R"(y ~ te(x, v, bs=c("cs", "cr"), k=c(4, 5)))", frame);
  EXPECT_EQ(product.null_space(), 1);
  const Penalty& penalty = *product.blocks[1].penalty;
  EXPECT_EQ(penalty.set_ranks, (std::vector<int>{0, 19, 12, 19}));
  for (std::size_t j = 0; j < 2; ++j) {
    const std::vector<double> values = symmetric_eigen(penalty.matrices[j]).values;
    EXPECT_EQ(std::ranges::count_if(values, [&](double v) { return v > 1e-9 * values.back(); }),
              penalty.set_ranks[std::size_t{1} << j]);
  }
}

/// The design of a formula whose smooths may be dropped.
Design selecting(const std::string& formula, const Frame& frame) {
  FormulaTerms terms = parse_terms(formula);
  for (SmoothSpec& smooth : terms.smooths) smooth.select = true;
  HostTeam team(1);
  const DesignDraft draft = draft_design({shared_world(), team}, terms, frame, {});
  return finish_design(draft, raw_column_sums(shared_world(), draft.design, frame), 1000);
}

TEST(Penalty, OfANullSpaceIsDiagonalWithTheOthers) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  const Design design = selecting(
      R"(y ~ s(x, bs="cr", k=6) + s(z, bs="ts", k=5) + te(x, z, bs="cr", k=4) + s(x, by=z, bs="ps", k=5) + s(f, bs="re") + s(v, fx=TRUE, k=5))",
      frame);
  std::vector<std::string> labels;
  std::vector<int> ranks;
  for (const CoefBlock& block : design.blocks) {
    if (!block.penalty) continue;
    const Penalty& penalty = *block.penalty;
    labels.insert(labels.end(), penalty.labels.begin(), penalty.labels.end());
    if (penalty.is_ridge()) continue;
    ranks.push_back(penalty.rank());
    if (penalty.count() < 2) continue;
    const Matrix& t = penalty.eigenvectors;
    for (std::size_t j = 0; j < penalty.count(); ++j) {
      const Matrix turned = multiply_tn(t, multiply(penalty.matrices[j], t));
      for (int a = 0; a < turned.cols(); ++a) {
        for (int b = 0; b < turned.rows(); ++b)
          EXPECT_NEAR(turned(b, a), a == b ? penalty.eigenvalues(a, static_cast<int>(j)) : 0,
                      1e-9 * largest(turned.values()))
              << block.label << j;
      }
    }
  }
  EXPECT_EQ(labels, (std::vector<std::string>{"s(x)1", "s(x)2", "s(z)", "te(x,z)1", "te(x,z)2", "te(x,z)3",
                                              "s(x):z1", "s(x):z2", "s(f)"}));
  EXPECT_EQ(ranks, (std::vector<int>{5, 4, 15, 5, 0}));
  EXPECT_EQ(design.null_space(), 1 + 4);
}

TEST(Penalty, RanksMakeTheUnpenalisedSpace) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  // Intercept, slope of s(x), slope of s(z) and the three of te.
  EXPECT_EQ(design_of(shared_world(), "y ~ s(x, bs=\"ps\", k=6) + s(z, bs=\"cr\", k=5)", frame).null_space(),
            3);
  EXPECT_EQ(design_of(shared_world(), "y ~ te(x, z, bs=\"ps\", k=c(4,5))", frame).null_space(), 4);
  EXPECT_EQ(design_of(shared_world(), "y ~ s(f, bs=\"re\") + s(x, bs=\"cc\", k=5)", frame).null_space(), 1);
  EXPECT_EQ(design_of(shared_world(), "y ~ f + s(x, by=f, bs=\"ps\", k=6)", frame).null_space(), 6);
}

TEST(Design, ASmoothIsZeroAtItsPoint) {
  json table = smooth_tables()["data"];
  table["x"][0] = 0.3;
  table["z"][0] = 0.45;
  const Frame frame = my_frame(table);
  for (const std::string smooth :
       {R"(te(x, z, bs="ps", k=4, pc=c(0.3, 0.45)))", R"(te(x, z, k=4, pc=list(z=0.45, x=0.3)))",
        R"(s(x, bs="cs", k=5, pc=0.3))", R"(s(x, z, k=8, pc=c(0.3, 0.45)))",
        R"(s(z, by=v, bs="cr", k=5, pc=0.45))"}) {
    const Design design = design_of(shared_world(), "y ~ " + smooth, frame);
    const CoefBlock& block = design.blocks[1];
    EXPECT_EQ(block.coef_size, block.map.cols());
    if (frame.rows.begin > 0) continue;
    const auto rows = block_rows(design, block, frame);
    for (const double value : rows.front()) EXPECT_NEAR(value, 0, 1e-12) << smooth;
    EXPECT_GT(largest(rows.back()), 1e-3) << smooth;
  }
}

TEST(SmoothNames, AreThoseOfMgcv) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  const Design design =
      design_of(shared_world(), "y ~ f + s(x, by=f, bs=\"ps\", k=4) + te(x, z, bs=\"cr\", k=3)", frame);
  const auto names = design.coef_names();
  EXPECT_EQ(static_cast<int>(names.size()), design.coef_size);
  EXPECT_EQ((std::vector<std::string>(names.begin(), names.begin() + 7)),
            (std::vector<std::string>{"(Intercept)", "fb", "fc", "s(x):fa.1", "s(x):fa.2", "s(x):fa.3",
                                      "s(x):fb.1"}));
  EXPECT_EQ(names.back(), "te(x,z).8");
  EXPECT_EQ(design.blocks[3].by_level, "b");
  EXPECT_EQ(design.blocks[3].variables, (std::vector<std::string>{"x", "f"}));
  EXPECT_EQ(design.blocks[3].penalty->labels, std::vector<std::string>{"s(x):fb"});
  EXPECT_EQ(design.blocks.back().penalty->labels, (std::vector<std::string>{"te(x,z)1", "te(x,z)2"}));
}

TEST(ParametricAgainstR, ColumnsAndNames) {
  const json all = fixture("parametric.json");
  const Frame frame = my_frame(all[0]["table"]);
  for (std::size_t c = 1; c < all.size(); ++c) {
    SCOPED_TRACE(all[c]["formula"].get<std::string>());
    const Design design = design_of(shared_world(), all[c]["formula"].get<std::string>(), frame, {}, 1000);
    EXPECT_EQ(json(design.coef_names()), all[c]["names"]);
    std::vector<std::vector<double>> rows;
    for (const CoefBlock& block : design.blocks) {
      const auto part = block_rows(design, block, frame);
      rows.resize(part.size());
      for (std::size_t i = 0; i < part.size(); ++i)
        rows[i].insert(rows[i].end(), part[i].begin(), part[i].end());
    }
    expect_rows(rows, frame.rows.begin, all[c]["X"]);
  }
}

/// The raw layout and M together give X, as passes over the rows assume.
TEST(Design, MapTakesRawColumnsToCoefficients) {
  const Frame frame = my_frame(smooth_tables()["data"], false);
  const Design design =
      design_of(shared_world(),
                "y ~ f * w + s(x, by=f, bs=\"ps\", k=4) + te(x, v, bs=c(\"cp\",\"cr\"), k=c(3,3))", frame);
  const Matrix map = design.map();
  ASSERT_EQ(map.rows(), design.raw_size);
  ASSERT_EQ(map.cols(), design.coef_size);
  for (std::size_t row = 0; row < frame.complete.size(); ++row) {
    const auto raw = raw_row(design, frame, row);
    const auto x = multiply_t(map, raw);
    for (const CoefBlock& block : design.blocks) {
      const auto part = block_rows(design, block, frame)[row];
      for (int j = 0; j < block.coef_size; ++j) {
        EXPECT_NEAR(x[static_cast<std::size_t>(block.coef_begin + j)], part[static_cast<std::size_t>(j)],
                    1e-13);
      }
    }
    const auto nonzero =
        static_cast<std::size_t>(std::count_if(raw.begin(), raw.end(), [](double v) { return v != 0; }));
    std::size_t most = 0;
    for (const RawTerm& term : design.terms) most += static_cast<std::size_t>(term.nonzeros);
    EXPECT_LE(nonzero, most);
  }
}

/// Rows for predictions, including the extrapolation beyond the data, agree with mgcv.
TEST(Design, RowsOfPredictionsAreThoseOfMgcv) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  const Frame fresh = my_frame(smooth_tables()["new"], false);
  for (const json& expected : smooth_cases()) {
    SCOPED_TRACE(expected["call"].get<std::string>());
    const Design design = reindexed(design_of(shared_world(), "y ~ " + expected["call"].get<std::string>(),
                                              frame, knots_of(expected["supplied"])),
                                    fresh);
    std::vector<double> x(static_cast<std::size_t>(design.coef_size));
    RowReader reader(fresh, design);
    for (std::size_t b = 1; b < design.blocks.size(); ++b) {
      std::vector<std::vector<double>> rows;
      for (std::size_t row = 0; row < fresh.complete.size(); ++row) {
        reader.coefficient_row(row, x);
        const auto first = x.begin() + design.blocks[b].coef_begin;
        rows.emplace_back(first, first + design.blocks[b].coef_size);
      }
      expect_rows(rows, fresh.rows.begin, expected["predicted"][b - 1], 2 * precision_of(expected));
    }
  }
}

void expect_same(const Margin& a, const Margin& b) {
  EXPECT_EQ(a.breaks, b.breaks);
  EXPECT_EQ(a.cells, b.cells);
  EXPECT_EQ(a.uniform, b.uniform);
  EXPECT_EQ(a.cyclic, b.cyclic);
  EXPECT_EQ(a.stride, b.stride);
}

TEST(DesignJson, KeepsEveryBit) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  for (const json& expected : smooth_cases()) {
    SCOPED_TRACE(expected["call"].get<std::string>());
    const Design design = design_of(shared_world(), "y ~ f + w:f + " + expected["call"].get<std::string>(),
                                    frame, knots_of(expected["supplied"]), 1000);
    const files::JsonFile file = files::JsonFile::parsed(to_json(design).dump(), "design", "a design");
    const Design read = reindexed(design_from_json(file.root(), design.coef_size), frame);
    EXPECT_EQ(read.variables, design.variables);
    EXPECT_EQ(read.raw_size, design.raw_size);
    EXPECT_EQ(read.coef_size, design.coef_size);
    ASSERT_EQ(read.terms.size(), design.terms.size());
    for (std::size_t t = 0; t < read.terms.size(); ++t) {
      EXPECT_EQ(read.terms[t].raw_begin, design.terms[t].raw_begin);
      EXPECT_EQ(read.terms[t].raw_size, design.terms[t].raw_size);
      EXPECT_EQ(read.terms[t].nonzeros, design.terms[t].nonzeros);
      ASSERT_EQ(read.terms[t].components.size(), design.terms[t].components.size());
      for (std::size_t c = 0; c < read.terms[t].components.size(); ++c) {
        const Component& mine = read.terms[t].components[c];
        const Component& theirs = design.terms[t].components[c];
        EXPECT_EQ(mine.kind, theirs.kind);
        EXPECT_EQ(mine.variable, theirs.variable);
        EXPECT_EQ(mine.levels, theirs.levels);
        expect_same(mine.margin, theirs.margin);
      }
    }
    ASSERT_EQ(read.blocks.size(), design.blocks.size());
    for (std::size_t b = 0; b < read.blocks.size(); ++b) {
      const CoefBlock& mine = read.blocks[b];
      const CoefBlock& theirs = design.blocks[b];
      EXPECT_EQ(mine.label, theirs.label);
      EXPECT_EQ(mine.kind, theirs.kind);
      EXPECT_EQ(mine.names, theirs.names);
      EXPECT_EQ(mine.raw_begin, theirs.raw_begin);
      EXPECT_EQ(mine.raw_size, theirs.raw_size);
      EXPECT_EQ(mine.coef_begin, theirs.coef_begin);
      EXPECT_EQ(mine.coef_size, theirs.coef_size);
      EXPECT_EQ(mine.map, theirs.map);
      EXPECT_EQ(mine.knots, theirs.knots);
      EXPECT_EQ(mine.s_scale, theirs.s_scale);
      EXPECT_EQ(mine.variables, theirs.variables);
      EXPECT_EQ(mine.by_level, theirs.by_level);
      ASSERT_EQ(mine.penalty.has_value(), theirs.penalty.has_value());
      if (!mine.penalty) continue;
      EXPECT_EQ(mine.penalty->matrices, theirs.penalty->matrices);
      EXPECT_EQ(mine.penalty->ridge, theirs.penalty->ridge);
      EXPECT_EQ(mine.penalty->eigenvalues, theirs.penalty->eigenvalues);
      EXPECT_EQ(mine.penalty->log_det_constant, theirs.penalty->log_det_constant);
      EXPECT_EQ(mine.penalty->labels, theirs.penalty->labels);
    }
  }
}

TEST(DesignJson, RefusesWhatIsDamaged) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  const Design design = design_of(shared_world(), "y ~ f + s(x, bs=\"ps\", k=5)", frame);
  const json whole = to_json(design);
  const std::vector<std::pair<const char*, json>> damages = {{"/terms/2/0/variable", "nobody"},
                                                             {"/blocks/2/raw_begin", 5},
                                                             {"/blocks/2/raw_begin", -1},
                                                             {"/blocks/2/names", json::array()},
                                                             {"/terms/2/0/margin/breaks", {0, 1}},
                                                             {"/terms/2/0/margin/stride", 0},
                                                             {"/blocks/2/map/rows", -3},
                                                             {"/blocks/2/map/rows", 6},
                                                             {"/blocks", 3}};
  for (const auto& [place, value] : damages) {
    json damaged = whole;
    damaged[json::json_pointer(place)] = value;
    const files::JsonFile file = files::JsonFile::parsed(damaged.dump(), "design", "a design");
    EXPECT_THROW(static_cast<void>(design_from_json(file.root(), design.coef_size)), Error)
        << place << " = " << value;
  }
}

/// A design whose smooths have no constraint.
Design factor_smooth_design(const std::string& formula, Frame frame) {
  HostTeam team(1);
  const Workers workers{shared_world(), team};
  const FormulaTerms terms = model_terms(workers, parse_terms(formula), frame);
  const DesignDraft draft = draft_design(workers, terms, frame, {});
  return finish_design(draft, std::vector<double>(static_cast<std::size_t>(draft.design.raw_size)), 1000);
}

DesignDraft draft_of(const std::string& formula, const Frame& frame) {
  HostTeam team(1);
  return draft_design({shared_world(), team}, parse_terms(formula), frame, {});
}

TEST(BasisSize, TellsTheNullSpaceOfThePenalty) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  for (const char* const smooth :
       {"s(x, bs='cr')", "s(x, bs='cs')", "s(x, bs='cc')", "s(x, bs='cp')", "s(x, bs='ps')",
        "s(x, bs='ps', m=c(2,0))", "s(x, bs='ps', m=c(2,3))", "s(x, bs='bs', m=c(3,1))", "s(x)", "s(x, m=1)",
        "s(x, m=3)", "s(x, m=c(2,0))", "s(x, z, k=12)", "s(x, bs='ts')", "s(x, z, bs='ds', m=c(1,.5), k=9)",
        "s(x, bs='gp')", "s(x, z, bs='gp', m=-2, k=9)"}) {
    const FormulaTerms terms = parse_terms(std::string("y ~ ") + smooth);
    const MarginSpec& margin = terms.smooths[0].margins[0];
    EXPECT_EQ(draft_of(std::string("y ~ ") + smooth, frame).blocks[1].null_space.cols(),
              basis_of(margin.basis).size(margin).free)
        << smooth;
  }
}

struct SpacesCase {
  const char* smooth;
  std::vector<std::string> labels;  ///< those of mgcv
  std::vector<int> ranks;
  int free;  ///< without a penalty, before a constraint
};

TEST(ProductOfSpaces, HasThePenaltiesOfMgcv) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  const std::vector<SpacesCase> cases{
      {"t2(x,z)", {"rr", "nr", "rn"}, {9, 6, 6}, 4},
      {"t2(x,z,full=TRUE)", {"rr", "1r", "2r", "r1", "r2"}, {9, 3, 3, 3, 3}, 4},
      {"t2(x,z,bs=c('cc','tp'),full=TRUE)", {"rr", "1r", "r1", "r2"}, {9, 3, 3, 3}, 2},
      {"t2(x,f,bs=c('tp','re'),full=TRUE)", {"rr", "1r", "2r"}, {9, 3, 3}, 0},
      {"t2(f,x,bs=c('re','tp'),full=TRUE)", {"rr", "r1", "r2"}, {9, 3, 3}, 0},
      {"t2(x,z,bs=c('ts','cr'))", {"rr", "rn"}, {15, 10}, 0},
      {"t2(x,z,ord=c(0,2))", {""}, {9}, 4},
      {"t2(x,z,ord=1)", {"nr", "rn"}, {6, 6}, 0},
      {"t2(x,z,v,k=3)", {"rrr", "nrr", "rnr", "nnr", "rrn", "nrn", "rnn"}, {1, 2, 2, 4, 2, 4, 4}, 8},
      {"t2(x,z,v,k=3,full=TRUE)",
       {"rrr", "1rr", "2rr", "r1r", "r2r", "11r", "12r", "21r", "22r", "rr1", "rr2", "1r1", "1r2", "2r1",
        "2r2", "r11", "r12", "r21", "r22"},
       std::vector<int>(19, 1),
       8},
      {"t2(x)", {""}, {3}, 2}};
  for (const SpacesCase& tested : cases) {
    SCOPED_TRACE(tested.smooth);
    const DesignDraft draft = draft_of(std::string("y ~ ") + tested.smooth, frame);
    const DraftBlock& made = draft.blocks[1];
    const Penalty& before = *made.block.penalty;
    EXPECT_EQ(made.constrained, tested.free > 0);
    ASSERT_EQ(made.null_space.cols(), tested.free);
    ASSERT_EQ(before.count(), tested.ranks.size());
    EXPECT_EQ(made.block.map.cols(), std::accumulate(tested.ranks.begin(), tested.ranks.end(), tested.free));
    for (std::size_t j = 0; j < before.count(); ++j)
      EXPECT_EQ(before.ranks_of_sets()[std::size_t{1} << j], tested.ranks[j]) << j;
    // Each coefficient has one penalty, with the same factor; those of the null space come last.
    for (int i = 0; i < made.block.map.cols(); ++i) {
      double sum = 0;
      int own = 0;
      for (const Matrix& matrix : before.matrices) {
        own += matrix(i, i) != 0 ? 1 : 0;
        for (int k = 0; k < matrix.rows(); ++k) sum += std::abs(matrix(k, i));
      }
      const bool free = i >= made.block.map.cols() - tested.free;
      EXPECT_EQ(own, free ? 0 : 1);
      EXPECT_NEAR(sum * made.block.s_scale[0], free ? 0 : 1, 1e-12);
    }
    const Design design = design_of(shared_world(), std::string("y ~ ") + tested.smooth, frame);
    const CoefBlock& block = design.blocks[1];
    std::vector<std::string> labels;
    for (const std::string& name : tested.labels) labels.push_back(block.label + name);
    EXPECT_EQ(block.kind, "t2");
    EXPECT_EQ(block.penalty->labels, labels);
    EXPECT_EQ(block.penalty->null_space.cols(), std::max(0, tested.free - 1));
    const files::JsonFile file = files::JsonFile::parsed(to_json(design).dump(), "design", "a design");
    const Design read = design_from_json(file.root(), design.coef_size);
    EXPECT_EQ(read.blocks[1].penalty->matrices, block.penalty->matrices);
    EXPECT_EQ(read.blocks[1].penalty->labels, block.penalty->labels);
  }
}

TEST(ProductOfSpaces, HasNamesForThePenaltiesThatAreLeft) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  const Design design = design_of(shared_world(), "y ~ t2(x,z,k=3,ord=1:2)", frame);
  ASSERT_EQ(design.blocks[1].penalty->labels,
            (std::vector<std::string>{"t2(x,z)rr", "t2(x,z)nr", "t2(x,z)rn"}));
  // The product of both penalised spaces has one column, the first of the smooth.
  const Design less = without_columns(design, {{}, {0}});
  EXPECT_EQ(less.blocks[1].penalty->labels, (std::vector<std::string>{"t2(x,z)nr", "t2(x,z)rn"}));

  const Design large = design_of(shared_world(), "y ~ t2(x,z,v,k=3,full=TRUE)", frame);
  EXPECT_THROW(static_cast<void>(without_columns(large, {{}, {25}})), Error);
}

TEST(FactorSmooth, HasACurveForEachLevelInNaturalCoordinates) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  const int levels = static_cast<int>(frame.at("f").levels.size());
  for (const char* const formula :
       {"y ~ s(x, f, bs='fs', k=5, xt='cr')", "y ~ s(f, x, bs='fs', k=5)", "y ~ s(x, f, z, bs='fs', k=6)",
        "y ~ s(f, x, bs='fs', k=5, xt=list(bs='cc'))"}) {
    SCOPED_TRACE(formula);
    const Design design = factor_smooth_design(formula, frame);
    ASSERT_EQ(design.blocks.size(), 2U);
    const CoefBlock& block = design.blocks[1];
    const Penalty& penalty = *block.penalty;
    EXPECT_EQ(block.copies, levels);
    EXPECT_EQ(block.coef_size, levels * block.map.cols());
    EXPECT_EQ(penalty.rank(), block.coef_size);
    EXPECT_EQ(block.names.front(), block.label + ".1");
    EXPECT_EQ(penalty.labels.back(), block.label + std::to_string(penalty.count()));
    // Each coefficient has one penalty; that of a level's unpenalised functions applies to one coefficient.
    for (int i = 0; i < block.coef_size; ++i) {
      int own = 0;
      for (std::size_t j = 0; j < penalty.count(); ++j) own += penalty.diagonal_of(j, i) > 0 ? 1 : 0;
      EXPECT_EQ(own, 1);
    }
    // Over all levels the curves have a mean square of one, and the free functions are orthogonal.
    const int size = block.map.cols();
    const int free = static_cast<int>(penalty.count()) - 1;
    std::vector<double> sums(static_cast<std::size_t>(size * size));
    for (const std::vector<double>& row : block_rows(design, block, frame)) {
      for (int level = 0; level < levels; ++level) {
        const auto curve = std::span(row).subspan(static_cast<std::size_t>(level * size));
        for (int i = 0; i < size * size; ++i)
          sums[static_cast<std::size_t>(i)] +=
              curve[static_cast<std::size_t>(i / size)] * curve[static_cast<std::size_t>(i % size)];
      }
    }
    shared_world().allreduce(std::span(sums), mpi::Reduction::sum);
    double curves = 0;
    for (int i = 0; i < size; ++i) {
      for (int j = 0; j < size; ++j) {
        const double mean =
            sums[static_cast<std::size_t>(i * size + j)] / static_cast<double>(frame.complete_rows);
        if (i != j)
          EXPECT_NEAR(mean, 0, 1e-8) << i << ' ' << j;
        else if (i >= size - free)
          EXPECT_NEAR(mean, 1, 1e-8) << i;
        else
          curves += mean;
      }
    }
    EXPECT_NEAR(curves / (size - free), 1, 1e-8);
  }
}

/// tr(A B).
double trace_of_product(const Matrix& a, const Matrix& b) {
  return dot(a.values(), transpose(b).values());
}

TEST(LevelDeviations, AddUpToZeroOverTheLevelsOfEachFactor) {
  json table = smooth_tables()["data"];
  table["h"] = table["f"];
  for (std::size_t i = 0; i < table["h"].size(); ++i) table["h"][i] = i % 5 < 2 ? "low" : "high";
  const Frame frame = my_frame(table);
  const int levels = static_cast<int>(frame.at("f").levels.size());
  struct Deviations {
    const char* formula;
    int curves;  ///< those that are free
    int penalties;
    int k;
    int rank;  ///< of a curve's penalty
  };
  for (const Deviations& one :
       {Deviations{"y ~ s(f, x, bs='sz', xt='cr', k=5)", levels - 1, levels, 5, 3},
        Deviations{"y ~ s(x, f, bs='sz', k=6, id=1)", levels - 1, 1, 6, 4},
        Deviations{"y ~ s(f, h, x, bs='sz', k=4)", levels - 1, 2 * levels, 4, 2},
        Deviations{"y ~ s(f, x, bs='sz', k=6, m=c(2,0))", levels - 1, levels, 4, 4},
        Deviations{"y ~ s(z, f, x, bs='sz', k=9)", levels - 1, levels, 9, 6},
        Deviations{"y ~ s(f, x, by=z, bs='sz', xt='ps', k=6)", levels, levels, 6, 4}}) {
    SCOPED_TRACE(one.formula);
    const Design design = factor_smooth_design(one.formula, frame);
    ASSERT_EQ(design.blocks.size(), 2U);
    const CoefBlock& block = design.blocks[1];
    const Penalty& penalty = *block.penalty;
    EXPECT_EQ(block.kind, "sz");
    EXPECT_EQ(block.coef_size, one.curves * one.k);
    ASSERT_EQ(static_cast<int>(penalty.count()), one.penalties);
    EXPECT_EQ(penalty.rank(), one.curves * one.rank);
    EXPECT_EQ(penalty.null_space.cols(), block.coef_size - penalty.rank());
    // The raw columns of the levels have the same values: their coefficients sum to zero.
    const int raw = block.raw_size / levels;
    if (one.curves == levels - 1) {
      for (int j = 0; j < block.coef_size; ++j) {
        for (int i = 0; i < raw; ++i) {
          double sum = 0;
          for (int level = 0; level < levels; ++level) sum += block.map(level * raw + i, j);
          EXPECT_NEAR(sum, 0, 1e-12);
        }
      }
    }
    // Ranks of sets, computed without the decomposition that normally gives them.
    for (int set = 1; set < 1 << std::min(one.penalties, 6); ++set) {
      Matrix sum(block.coef_size, block.coef_size);
      std::vector<bool> marked(penalty.count());
      for (int j = 0; j < std::min(one.penalties, 6); ++j) {
        if ((set >> j & 1) == 0) continue;
        marked[static_cast<std::size_t>(j)] = true;
        for (std::size_t i = 0; i < sum.values().size(); ++i)
          sum.values()[i] += penalty.matrices[static_cast<std::size_t>(j)].values()[i];
      }
      const std::vector<double> values = symmetric_eigen(sum).values;
      EXPECT_EQ(std::ranges::count_if(values, [&](double v) { return v > 1e-9 * values.back(); }),
                penalty.rank_of(marked))
          << set;
    }
  }
}

TEST(LevelDeviations, PenaliseEachLevelAlike) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  const Design each = factor_smooth_design("y ~ s(f, x, bs='sz', xt='cr', k=5)", frame);
  const Design one = factor_smooth_design("y ~ s(f, x, bs='sz', xt='cr', k=5, id=1)", frame);
  const Penalty& penalty = *each.blocks[1].penalty;
  Matrix sum(each.blocks[1].coef_size, each.blocks[1].coef_size);
  for (const Matrix& matrix : penalty.matrices) {
    for (std::size_t i = 0; i < sum.values().size(); ++i) sum.values()[i] += matrix.values()[i];
  }
  const Matrix& shared = one.blocks[1].penalty->matrices[0];
  for (std::size_t i = 0; i < sum.values().size(); ++i)
    EXPECT_NEAR(sum.values()[i], shared.values()[i], 1e-12 * std::sqrt(trace_of_product(shared, shared)));
  std::vector<double> values(one.blocks[1].penalty->eigenvalues.values().begin(),
                             one.blocks[1].penalty->eigenvalues.values().end());
  std::ranges::sort(values);
  const std::vector<double> whole = symmetric_eigen(shared).values;
  const std::size_t free = whole.size() - values.size();
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i] / whole[free + i], 1, 1e-8);
}

TEST(LevelDeviations, AreReadAsTheyWereWritten) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  const Design design = factor_smooth_design("y ~ s(x, f, bs='sz', k=5)", frame);
  const json whole = to_json(design);
  const auto read_from = [&](const json& text) {
    const files::JsonFile file = files::JsonFile::parsed(text.dump(), "design", "a design");
    return design_from_json(file.root(), design.coef_size);
  };
  const CoefBlock block = read_from(whole).blocks[1];
  EXPECT_EQ(block.map, design.blocks[1].map);
  EXPECT_EQ(block.penalty->matrices, design.blocks[1].penalty->matrices);
  EXPECT_EQ(block.penalty->levels, design.blocks[1].penalty->levels);
  EXPECT_EQ(block.penalty->rank(), design.blocks[1].penalty->rank());
  EXPECT_EQ(block.penalty->labels, design.blocks[1].penalty->labels);
  for (const auto& [place, value] :
       std::vector<std::pair<const char*, json>>{{"/blocks/1/penalty/labels", json::array()},
                                                 {"/blocks/1/penalty/rank_of_level", 0},
                                                 {"/blocks/1/penalty/rank_of_level", 99},
                                                 {"/blocks/1/penalty/levels/rows", 0},
                                                 {"/blocks/1/penalty/levels/cols", 1},
                                                 {"/blocks/1/penalty/of_level/rows", 2}}) {
    json damaged = whole;
    damaged[json::json_pointer(place)] = value;
    EXPECT_THROW(static_cast<void>(read_from(damaged)), Error) << place << " = " << value;
  }
}

TEST(FactorSmooth, IsReadAsItWasWritten) {
  const Frame frame = my_frame(smooth_tables()["data"]);
  const Design design = factor_smooth_design("y ~ s(x, f, bs='fs', k=5)", frame);
  const json whole = to_json(design);
  const auto read_from = [&](const json& text) {
    const files::JsonFile file = files::JsonFile::parsed(text.dump(), "design", "a design");
    return design_from_json(file.root(), design.coef_size);
  };
  const CoefBlock block = read_from(whole).blocks[1];
  EXPECT_EQ(block.copies, design.blocks[1].copies);
  EXPECT_EQ(block.raw_size, design.blocks[1].raw_size);
  EXPECT_EQ(block.map, design.blocks[1].map);
  EXPECT_TRUE(block.penalty->is_diagonal());
  EXPECT_EQ(block.penalty->eigenvalues, design.blocks[1].penalty->eigenvalues);
  EXPECT_EQ(block.penalty->labels, design.blocks[1].penalty->labels);
  for (const auto& [place, value] :
       std::vector<std::pair<const char*, json>>{{"/blocks/1/copies", 0},
                                                 {"/blocks/1/copies", 4},
                                                 {"/blocks/1/copies", 1},
                                                 {"/blocks/1/penalty/labels", json::array()},
                                                 {"/blocks/1/penalty/eigenvalues/values/0", 0},
                                                 {"/blocks/1/penalty/eigenvalues/values/0", -1}}) {
    json damaged = whole;
    damaged[json::json_pointer(place)] = value;
    EXPECT_THROW(static_cast<void>(read_from(damaged)), Error) << place << " = " << value;
  }
}

TEST(FactorSmooth, RefusesOtherVariables) {
  json table = smooth_tables()["data"];
  table["other"] = table["f"];
  const Frame frame = my_frame(table);
  for (const auto& [formula, says] : std::vector<std::pair<std::string, std::string>>{
           {"y ~ s(x, z, bs='fs')", "all its variables are numbers"},
           {"y ~ s(f, x, other, bs='fs')", "takes one factor, but f and other are both"},
           {"y ~ s(x, f, bs='fs', xt='cr', k=31)", "k = 31 is too large"},
           {"y ~ s(x, z, bs='sz')", "all its variables are numbers"},
           {"y ~ s(f, other, bs='sz')", "all its variables are factors"},
           {"y ~ s(x, z, f, bs='sz', xt='cr')", "bs=\"cr\" is a basis of one variable"},
           {"y ~ s(x, z, f, bs='sz', k=3)", "k=3 is too small"}}) {
    try {
      static_cast<void>(factor_smooth_design(formula, frame));
      ADD_FAILURE() << formula << " was accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }
}

TEST(Design, ATermOfManyVariablesDoesNotWrapTheLimitOfCoefficients) {
  // Four coefficients in each of 32 margins: their number overflows a 64-bit integer to zero.
  json columns;
  std::string list;
  for (int v = 0; v < 32; ++v) {
    const std::string name = "x" + std::to_string(v);
    list += (v == 0 ? "" : ", ") + name;
    for (int i = 0; i < 12; ++i) columns[name].push_back(i * (v + 1) % 37);
  }
  for (int i = 0; i < 12; ++i) columns["y"].push_back(i);
  const Frame frame = my_frame(columns, false);
  expect_error(ErrorCode::input, "has 65536 coefficients, more than the 20000", [&] {
    static_cast<void>(design_of(shared_world(), "y ~ te(" + list + ", k=4, np=FALSE)", frame));
  });
}

TEST(Reindexed, RefusesAnotherKindOrOtherLevels) {
  const json table = smooth_tables()["data"];
  const Design design = design_of(shared_world(), "y ~ f + s(x, bs=\"ps\", k=5)", my_frame(table));
  json numbers = table;
  numbers["f"] = table["w"];
  json text = table;
  text["x"] = table["f"];
  json levels = table;
  for (auto& value : levels["f"]) value = value == "a" ? "d" : value;
  json fewer = table;
  fewer.erase("x");
  for (const json& other : {numbers, text, levels, fewer}) {
    EXPECT_THROW(static_cast<void>(reindexed(design, my_frame(other))), Error);
  }
}

TEST(KnownLevels, AreThoseOfTheFactorsInUse) {
  json table = smooth_tables()["data"];
  table["unused"] = table["f"];
  const Design design = design_of(shared_world(), "y ~ s(x, by=f, bs=\"ps\", k=5)", my_frame(table));
  const auto levels = design.known_levels();
  ASSERT_EQ(levels.size(), 1U);
  EXPECT_EQ(levels[0].first, "f");
  EXPECT_EQ(levels[0].second, (std::vector<std::string>{"a", "b", "c"}));
}

struct Refusal {
  const char* formula;
  SuppliedKnots knots;
  ErrorCode code;
  const char* says;
};

TEST(DraftDesign, RefusesInOneClearLine) {
  json table = smooth_tables()["data"];
  json few = table["x"];
  json single = table["f"];
  for (std::size_t i = 0; i < few.size(); ++i) {
    few[i] = static_cast<double>(i % 5);
    single[i] = "only";
  }
  table["few"] = few;
  table["single"] = single;
  const Frame frame = my_frame(table);
  const std::vector<Refusal> refusals = {
      {"y ~ s(few, bs=\"ps\", k=6)", {}, ErrorCode::input, "'few' has 5 distinct values"},
      {"y ~ s(few, bs=\"cp\", k=6)", {}, ErrorCode::input, "k = 6 is too large"},
      {"y ~ s(few, bs=\"cr\", k=6)", {}, ErrorCode::input, "k = 6 is too large"},
      {"y ~ s(few, bs=\"cc\", k=6)", {}, ErrorCode::input, "k = 6 is too large"},
      {"y ~ te(x, few, bs=\"cr\", k=c(3,6))", {}, ErrorCode::input, "te(x,few): k = 6 is too large"},
      {"y ~ s(one, bs=\"ps\", k=5)", {}, ErrorCode::input, "'one' is constant (2.5)"},
      {"y ~ one", {}, ErrorCode::input, "'one' is constant (2.5)"},
      {"y ~ s(f, bs=\"ps\", k=5)", {}, ErrorCode::input, "'f' is text"},
      {"y ~ te(x, f, bs=\"cr\", k=c(3,3))", {}, ErrorCode::input, "'f' is text"},
      {"y ~ single", {}, ErrorCode::input, "factor 'single' has fewer than two levels"},
      {"y ~ x:single", {}, ErrorCode::input, "factor 'single' has fewer than two levels"},
      {"y ~ s(x, bs=\"ps\", k=8)", {{"x", {0.5, 2}}}, ErrorCode::input, "outside the knots' range"},
      {"y ~ s(x, bs=\"cp\", k=8)", {{"x", {0.5, 2}}}, ErrorCode::input, "outside the knots' range"},
      {"y ~ s(x, bs=\"cp\", k=3)", {{"x", {0, 0.2, 0.4, 0.5}}}, ErrorCode::input, "outside the knots' range"},
      {"y ~ s(x, bs=\"ps\", k=6)",
       {{"x", {-0.5, -0.4, -0.2, 0.3, 0.5, 0.6, 0.8, 1.1, 1.2, 1.3}}},
       ErrorCode::input,
       "outside the knots' range 0.3 to 0.8"},
      {"y ~ s(x, bs=\"ps\", k=8)", {{"x", {0, 0.5, 2}}}, ErrorCode::usage, "needs 2 limits or 12"},
      {"y ~ s(x, bs=\"cr\", k=8)", {{"x", {0, 1}}}, ErrorCode::usage, "k = 8 needs 8"},
      {"y ~ s(x, bs=\"cc\", k=8)", {{"x", {0, 0.5, 1}}}, ErrorCode::usage, "needs 2 limits or 8"},
      {"y ~ s(x, bs=\"cr\", k=3)", {{"x", {0, 1, 1}}}, ErrorCode::usage, "two knots of 'x' are equal"},
      {"y ~ s(x, bs=\"cr\", k=3)",
       {{"z", {0, 1}}},
       ErrorCode::usage,
       "no spline of the formula has the variable 'z'"},
      {"y ~ s(x, k=6)", {{"x", {0, 0.5, 1}}}, ErrorCode::usage, "3 points are supplied as knots, but k = 6"},
      {"y ~ s(x, z, k=4)",
       {{"x", {0, 0.5, 1, 0.2}}},
       ErrorCode::usage,
       "the same number of values for each variable"},
      {"y ~ s(x, z, k=4)",
       {{"x", {0, 0.5, 1, 0}}, {"z", {0, 0, 1, 0}}},
       ErrorCode::usage,
       "two of the points supplied as knots are equal"},
      {"y ~ s(x, sp=c(1, 2))",
       {},
       ErrorCode::usage,
       "s(x): sp= has 2 values, but the smooth has 1 smoothing parameter"},
      {"y ~ t2(x, z, v, bs='ps', k=4, m=list(c(2,3),c(2,3),c(2,3)), full=TRUE)",
       {},
       ErrorCode::input,
       "has 37 smoothing parameters, more than the 20"},
      {"y ~ t2(x, f, bs='re', ord=1)", {}, ErrorCode::input, "t2(x,f) has no penalty, because ord keeps"},
      {"y ~ t2(x, z, bs='ts', k=3, pc=c(0,1))",
       {},
       ErrorCode::usage,
       "no sum-to-zero constraint that pc can replace"},
      {"y ~ t2(x, z, sp=1)",
       {},
       ErrorCode::usage,
       "sp= has 1 value, but the smooth has 3 smoothing parameters"},
      {"y ~ s(x, bs=\"ps\", k=31)", {}, ErrorCode::input, "k = 31 is too large"},
      {"y ~ f + s(x, by=f, bs=\"ps\", k=12, fx=TRUE)",
       {},
       ErrorCode::input,
       "36 coefficients, 36 of them unpenalised, but the table has only 30 complete rows"},
  };
  for (const Refusal& refusal : refusals) {
    const std::string said = error_of(
        refusal.code,
        [&] { static_cast<void>(design_of(shared_world(), refusal.formula, frame, refusal.knots)); },
        refusal.formula);
    EXPECT_TRUE(contains(said, refusal.says));
    EXPECT_FALSE(contains(said, "\n"));
  }
}

TEST(FinishDesign, RefusesAByVariableOfZeros) {
  json table = smooth_tables()["data"];
  for (auto& value : table["one"]) value = 0.0;
  error_of(ErrorCode::input, [&] {
    static_cast<void>(design_of(shared_world(), "y ~ s(x, by=one, bs=\"ps\", k=5)", my_frame(table)));
  });
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
