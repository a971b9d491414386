// SPDX-License-Identifier: Apache-2.0
// Variables that depend on the columns' types or on all rows: two spellings of one model agree, and so do
// rows and levels. reference_test.cpp compares with mgcv.
#include "support/fit_support.hpp"
#include "support/table_support.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/gam.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr int typed_rows = 240;

struct TypedRow {
  double x, z;
  std::string f, dose;
  bool flag;
  double y;
};

TypedRow typed_row(int i) {
  TypedRow row;
  row.x = std::fmod(i * 0.6180339887498949, 1.0);
  row.z = std::fmod(i * 0.7548776662466927, 1.0) * 4 - 1;
  row.f = std::string(1, static_cast<char>('a' + i % 3));
  row.dose = std::vector<std::string>{"low", "mid", "high"}[static_cast<std::size_t>(i / 5) % 3];
  row.flag = i % 7 < 3;
  row.y = std::sin(5 * row.x) + 0.3 * row.z + (row.f == "b" ? 0.5 : 0) + (row.flag ? row.x : 0) +
          std::fmod(i * 0.5698402909980532, 1.0) / 5;
  return row;
}

std::string typed_table(const std::function<bool(const TypedRow&)>& wanted = [](const TypedRow&) {
  return true;
}) {
  std::string text = "y,x,z,f,dose,flag\n";
  for (int i = 0; i < typed_rows; ++i) {
    const TypedRow row = typed_row(i);
    if (wanted(row))
      text += fmt::format("{},{},{},\"{}\",\"{}\",{}\n", row.y, row.x, row.z, row.f, row.dose,
                          row.flag ? "TRUE" : "FALSE");
  }
  return text;
}

struct Spelling {
  std::string formula;
  FitOptions options{};
};

FitOptions changed(const std::function<void(FitOptions&)>& change) {
  FitOptions options;
  change(options);
  return options;
}

using Expressions = OverRanks;

TEST_F(Expressions, AreTheSameModelInOtherWords) {
  const SharedFile file(comm, "t.csv", typed_table());
  const std::vector<std::pair<Spelling, Spelling>> pairs{
      {{"y ~ s(x, by=as.numeric(flag), bs='cr', k=6)"}, {"y ~ s(x, by=ifelse(flag, 1, 0), bs='cr', k=6)"}},
      {{"y ~ . - z + s(z, bs='cr', k=5)"}, {"y ~ x + f + dose + flag + s(z, bs='cr', k=5)"}},
      {{"y ~ (.)^2 - dose:flag"}, {"y ~ (x + z + f + dose + flag)^2 - dose:flag"}},
      {{"y ~ f*dose", changed([](auto& o) {
          o.ordered["dose"] = {"low", "mid", "high"};
        })},
       {"y ~ f*ordered(dose, levels = c('low', 'mid', 'high'))"}},
      {{"y ~ x", changed([](auto& o) { o.offset = "log(z + 2)"; })}, {"y ~ x + offset(log(z + 2))"}},
      {{"y ~ x + z", changed([](auto& o) { o.weights = "ifelse(flag, 2, 1)"; })},
       {"y ~ x + z", changed([](auto& o) { o.weights = "as.numeric(flag) + 1"; })}},
      {{"y ~ f == 'b'"}, {"y ~ factor(f %in% 'b')"}}};
  for (const auto& [one, other] : pairs) {
    const FittedModel a = fitted(comm, one.formula, in_blocks(file.path(), 16), one.options, 2);
    const FittedModel b = fitted(comm, other.formula, in_blocks(file.path(), 16), other.options, 2);
    EXPECT_EQ(a.coef, b.coef) << one.formula;
    EXPECT_EQ(a.deviance, b.deviance) << one.formula;
  }
}

TEST_F(Expressions, OfAnOrderedByHaveNoSmoothForTheFirstLevel) {
  const SharedFile file(comm, "t.csv", typed_table());
  const FittedModel model = fitted(comm, "y ~ s(x, bs='cr', k=5) + s(x, by=dose, bs='cr', k=5)",
                                   in_blocks(file.path(), 16), changed([](auto& o) {
                                     o.ordered["dose"] = {"high", "low", "mid"};
                                   }));
  std::vector<std::string> labels;
  for (const CoefBlock& block : model.design.blocks) labels.push_back(block.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"(Intercept)", "s(x)", "s(x):doselow", "s(x):dosemid"}));
}

TEST_F(Expressions, LeaveOutTheRowsThatASubsetHasNot) {
  const SharedFile all(comm, "t.csv", typed_table());
  const SharedFile some(comm, "t.csv",
                        typed_table([](const TypedRow& row) { return row.x > 0.2 && row.f != "c"; }));
  const std::string formula = "y ~ f + s(z, bs='cr', k=6)";
  const FittedModel a = fitted(comm, formula, in_blocks(all.path(), 16),
                               changed([](auto& o) { o.subset = "x > 0.2 & f != \"c\""; }), 2);
  const FittedModel b = fitted(comm, formula, in_blocks(some.path(), 16), {}, 2);
  EXPECT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.coef.size(), b.coef.size());
  for (std::size_t i = 0; i < a.coef.size(); ++i) EXPECT_NEAR(a.coef[i], b.coef[i], 1e-8);
}

TEST_F(Expressions, KeepLevelsThatNoRowHasIfTheyAreToldTo) {
  const SharedFile file(comm, "t.csv", typed_table());
  const auto fit_with = [&](bool drop) {
    return fitted(comm, "y ~ s(f, bs='re')", in_blocks(file.path(), 16), changed([&](auto& o) {
                    o.subset = "f != 'b'";
                    o.drop_unused_levels = drop;
                  }));
  };
  EXPECT_EQ(fit_with(true).coef.size(), 3U);
  const FittedModel kept = fit_with(false);
  ASSERT_EQ(kept.coef.size(), 4U);
  EXPECT_NEAR(kept.coef[2], 0, 1e-12);
}

struct ColumnNotes : FitObserver {
  void note(std::string_view what) override { said += std::string(what) + '\n'; }
  std::string said;
};

TEST_F(Expressions, TellTheRowsThatTheyHaveNoNumberFor) {
  const SharedFile file(comm, "t.csv", typed_table());
  std::int64_t negative = 0;
  for (int i = 0; i < typed_rows; ++i) negative += typed_row(i).z < 0 ? 1 : 0;
  for (const std::string formula : {"y ~ sqrt(z)", "y ~ sqrt(z) + I(f == 'a')"}) {
    ColumnNotes notes;
    Job job = cpu_job(comm, 2);
    static_cast<void>(fit(job, parse_formula(formula), in_blocks(file.path(), 16), {}, &notes));
    EXPECT_NE(notes.said.find(fmt::format("sqrt(z): numbers, {} missing", negative)), std::string::npos)
        << notes.said;
  }
}

TEST_F(Expressions, AreMissingWhereRHasNoNumber) {
  const SharedFile file(comm, "t.csv", typed_table());
  std::int64_t positive = 0;
  for (int i = 0; i < typed_rows; ++i) positive += typed_row(i).z >= 0 ? 1 : 0;
  for (const std::string formula :
       {"y ~ sqrt(z)", "y ~ sqrt(z) + I(f == 'a')", "y ~ cut(z, c(-0.00000001, 2, 9))"})
    EXPECT_EQ(fitted(comm, formula, in_blocks(file.path(), 16)).rows, positive) << formula;
  EXPECT_THROW(static_cast<void>(fitted(comm, "y ~ I(1/(z - z)) + I(f == 'a')", in_blocks(file.path(), 16))),
               Error);
}

TEST_F(Expressions, OfAPredictionAreThoseOfTheFit) {
  const SharedFile file(comm, "t.csv", typed_table());
  // Other values, other levels, and numbers instead of texts: cut, poly and factors are defined by the model.
  const SharedFile other(
      comm, "t.csv",
      "x,z,f,dose,flag\n0.5,1,\"b\",\"mid\",TRUE\n0.6,2,\"q\",\"mid\",TRUE\n0.7,2.5,\"a\",\"huge\",TRUE\n"
      "0.8,NA,\"a\",\"low\",TRUE\n");
  const auto predicted = [&](const std::string& formula) {
    const FittedModel model = fitted(comm, formula, in_blocks(file.path(), 16));
    Job job = cpu_job(comm);
    return predicted_from_file(job, model, other.path()).fit;
  };
  const auto numbers = [](const std::vector<double>& fit) {
    std::string found;
    for (const double value : fit) found += std::isnan(value) ? '-' : '+';
    return found;
  };
  // A comparison of an unseen level with a level of the fit is FALSE; a factor has no coefficient for it.
  EXPECT_EQ(numbers(predicted("y ~ I(f == 'b') + cut(z, 3) + poly(x, 2)")), "+++-");
  EXPECT_EQ(numbers(predicted("y ~ f + I(dose == 'low')")), "+-++");
  EXPECT_EQ(numbers(predicted("y ~ relevel(f, ref = 'b') + scale(x)")), "+-++");
  EXPECT_EQ(numbers(predicted("y ~ ordered(dose)")), "++-+");
  EXPECT_EQ(numbers(predicted("y ~ s(f, bs='re') + I(flag & x > 0.5)")), "++++");
  EXPECT_EQ(numbers(predicted("y ~ factor(round(z))")), "+++-");
}

TEST_F(Expressions, AreRefusedWhereTheColumnsDoNotSuitThem) {
  const SharedFile file(comm, "t.csv", typed_table());
  const std::vector<std::pair<Spelling, std::string>> cases{
      {{"y ~ I(f + 1 > 2)"}, "needs numbers"},
      {{"y ~ I(f > 'a')"}, "an unordered factor cannot be compared by order"},
      {{"y ~ relevel(f, ref = 'zz')"}, "'zz' is not a level of f; its levels are a, b and c"},
      {{"y ~ relevel(x, ref = 'zz')"}, "x is not an unordered factor"},
      {{"y ~ s(factor(f), bs='cr')"}, "has levels"},
      {{"y ~ poly(f == 'a', 3)"}, "give a degree below this number"},
      {{"y ~ ifelse(f == 'a', f, 'x')"}, "write as.character(f)"},
      {{"y ~ x", changed([](auto& o) { o.ordered["q"] = {}; })}, "'q'"},
      {{"y ~ s(x, bs='cr')", changed([](auto& o) { o.ordered["x"] = {}; })},
       "the model needs numbers in this column"},
      {{"y ~ x", changed([](auto& o) { o.subset = "x > 5"; })}, "subset 'x > 5' selects no row"},
      {{"y ~ x", changed([](auto& o) { o.levels["q"] = {"a"}; })}, "levels of 'q'"},
      {{"y ~ f", changed([](auto& o) {
          o.levels["f"] = o.ordered["f"] = {"a", "b"};
        })},
       "remove one of the two"}};
  for (const auto& [spelling, expected] : cases) {
    try {
      static_cast<void>(fitted(comm, spelling.formula, in_blocks(file.path(), 16), spelling.options));
      ADD_FAILURE() << spelling.formula << " was fitted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos)
          << spelling.formula << "\n  gave: " << error.what();
    }
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
