// SPDX-License-Identifier: Apache-2.0
// Fits of many responses that compare formulas: without a term, and with other numbers of basis functions.
#include "support/design_support.hpp"
#include "support/errors.hpp"
#include "support/many_model.hpp"
#include "support/on_cpu.hpp"
#include "support/shared_world.hpp"

#include <tessera/gam/many.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

using Numbers = std::vector<double>;
using nlohmann::json;

constexpr std::int64_t subjects = 150;
constexpr std::int64_t voxels = 12;

const Numbers& numbers_of(const std::vector<Table::Column>& columns, const std::string& name) {
  const auto found = std::ranges::find(columns, name, &Table::Column::name);
  if (found == columns.end()) throw std::invalid_argument(name);
  return std::get<Numbers>(found->values);
}

class ManyTerms : public OverRanks {
 protected:
  ManyTerms() {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> uniform;
    Numbers age, motion;
    Factor sex{{}, {"f", "m"}, LevelOrder::given};
    for (std::int64_t i = 0; i < subjects; ++i) {
      age.push_back(uniform(random));
      motion.push_back(i % 50 == 7 ? std::numeric_limits<double>::quiet_NaN() : uniform(random));
      sex.codes.push_back(static_cast<std::int32_t>(i % 2));
    }
    for (std::int64_t g = 0; g < voxels; ++g) {
      for (std::int64_t i = 0; i < subjects; ++i) {
        const auto r = static_cast<std::size_t>(i);
        const double mean =
            1 + std::sin(5 * age[r]) + (i % 2 == 0 ? 0 : 0.1 * static_cast<double>(g)) + age[r];
        values.push_back(std::poisson_distribution<int>(mean)(random));
      }
    }
    columns = {{"age", age}, {"motion", motion}, {"sex", sex}};
  }
  [[nodiscard]] Responses responses() const {
    return {.in = ResponsesIn::columns,
            .matrix =
                ResponseMatrix{DenseMatrix{std::span<const double>(values), subjects, voxels, 1, subjects}}};
  }
  [[nodiscard]] ManyResults fit(const std::string& formula, const ManyOptions& options) {
    return fit_many(job, formula, Table{Plan::over_hosts(subjects, 1), columns}, responses(), options);
  }

  Numbers values;
  std::vector<Table::Column> columns;
  Job job{comm, on_cpu(2)};
};

TEST_F(ManyTerms, HavePartialR2OfTheFitsWithoutThem) {
  for (const char* name : {"gaussian", "poisson", "nb(theta=3)"}) {
    ManyOptions options{.family = family(name)};
    options.drop = {"s(age)", "sex"};
    const ManyResults all = fit("s(age, k = 4) + sex + motion", options);
    // The rows are those that have motion, also where the term without which a fit is made has it.
    ManyOptions of_motion = options;
    of_motion.drop = {"motion"};
    const Numbers without_motion =
        numbers_of(fit("s(age, k = 4) + sex + motion", of_motion).fits, "partial_r2:motion");
    options.drop.clear();
    const Numbers& deviance = numbers_of(all.fits, "deviance");
    const auto expect = [&](const Numbers& found, const std::string& formula) {
      const Numbers reduced = numbers_of(fit(formula, options).fits, "deviance");
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], 1 - deviance[i] / reduced[i], 1e-10) << name << i;
    };
    expect(numbers_of(all.fits, "partial_r2:s(age)"), "sex + motion");
    expect(numbers_of(all.fits, "partial_r2:sex"), "s(age, k = 4) + motion");
    expect(without_motion, "s(age, k = 4) + sex + offset(0 * motion)");
  }
  const auto refuse = [&](const std::string& words, const char* of_family, const std::string& term) {
    ManyOptions options{.family = family(of_family)};
    options.drop = {term};
    expect_error(ErrorCode::usage, words, [&] { static_cast<void>(fit("s(age, k = 4) + sex", options)); });
  };
  refuse("drop: the formula has no term 's(motion)' (it has 'sex', 's(age)')", "gaussian", "s(motion)");
  refuse("drop: deviances of fits with different theta cannot be compared", "nb", "sex");
}

TEST_F(ManyTerms, ConvergeWhereTheSearchIsHard) {
  const auto lambda_of = [&](const Table& table, const std::string& formula, const std::string& of_family,
                             const Numbers& y) {
    const auto rows = std::ssize(y);
    const ManyResults found =
        fit_many(job, formula, table,
                 {.in = ResponsesIn::columns,
                  .matrix = ResponseMatrix{DenseMatrix{std::span<const double>(y), rows, 1, 1, rows}}},
                 {.family = family(of_family)});
    const auto& status =
        std::get<Factor>(std::ranges::find(found.fits, "status", &Table::Column::name)->values);
    EXPECT_EQ(status.levels[static_cast<std::size_t>(status.codes[0])], "converged") << of_family;
    return numbers_of(found.fits, "lambda:s(age)")[0];
  };
  // At the edge between responses whose best curve is a line and others, the criterion falls to that of the
  // line faster than by 1 / lambda.
  const Table table{Plan::over_hosts(subjects, 1), columns};
  const Numbers& age = std::get<Numbers>(columns[0].values);
  double line = 0;
  double curve = 1;
  for (int halving = 0; halving < 45; ++halving) {
    const double share = (line + curve) / 2;
    Numbers y;
    for (std::size_t i = 0; i < age.size(); ++i)
      y.push_back(age[i] + share * std::sin(5 * age[i]) + 0.2 * std::sin(1000 * age[i]));
    (std::isinf(lambda_of(table, "s(age, k = 4)", "gaussian", y)) ? line : curve) = share;
  }
  EXPECT_GT(line, 0);
  EXPECT_LT(curve, 1);
  // Simulated responses: the criterion has a maximum at the start of the search, or two points between which
  // Newton steps go to and fro.
  for (const json& hard : test_data("many/hard_searches.json")) {
    const auto rows = std::ssize(hard["y"]);
    static_cast<void>(lambda_of(Table{Plan::over_hosts(rows, 1), columns_of(hard["table"])},
                                hard["formula"].get<std::string>(), hard["family"].get<std::string>(),
                                hard["y"].get<Numbers>()));
  }
}

TEST_F(ManyTerms, KeepTheirTestsForModels) {
  for (const char* name : {"gaussian", "poisson", "nb"}) {
    const ManyResults found = fit("s(age, k = 4) + sex", {.family = family(name), .covariances = true});
    const Numbers& p_values = numbers_of(found.tests, "p:s(age)");
    const Numbers& lambda = numbers_of(found.fits, "lambda:s(age)");
    for (int i = 0; i < voxels; ++i) {
      const auto response = static_cast<std::size_t>(i);
      EXPECT_EQ(found.matrices.at("smooth_tests")(2, i), p_values[response]) << name << i;
      if (std::isfinite(lambda[response])) {
        EXPECT_DOUBLE_EQ(std::exp(found.matrices.at("log_lambda")(0, i)), lambda[response]) << name << i;
      }
    }
  }
}

TEST_F(ManyTerms, HaveTheAicOfEachNumberOfBasisFunctions) {
  const ManyOptions options{.family = family("nb")};
  const Table table{Plan::over_hosts(subjects, 1), columns};
  Responses sample = responses();
  sample.sample = 5;
  sample.seed = 3;
  const Predictions found = evaluate_k(job, "sex + s(age, k = 9, bs = 'cr')", table, sample, options, {3, 6});
  // R: set.seed(3); sort(sample(12, 5)).
  const std::vector<std::int32_t> drawn{1, 3, 4, 6, 9};
  const auto& names = std::get<Factor>(found.kept.at(0).values);
  const Range mine = job.local_range(found.plan);
  ASSERT_EQ(found.table_rows, std::ssize(drawn));
  for (const int k : {3, 6}) {
    const std::string size = std::to_string(k);
    const ManyResults expected = fit("sex + s(age, k = " + size + ", bs = 'cr')", options);
    const Numbers& aic = numbers_of(expected.fits, "aic");
    for (std::int64_t i = mine.begin; i < mine.end; ++i) {
      const auto own = static_cast<std::size_t>(i - mine.begin);
      const std::int32_t response = drawn[static_cast<std::size_t>(i)];
      EXPECT_EQ(names.levels[static_cast<std::size_t>(names.codes[own])], std::to_string(response + 1));
      EXPECT_EQ(found["aic:k=" + size][own], aic[static_cast<std::size_t>(response)]);
    }
  }
  ASSERT_EQ(found.remarks.size(), 1U);
  EXPECT_TRUE(found.remarks[0].starts_with(
      "mean of AIC minus the smallest AIC of the response, over 5 responses: k=3 "));
  const auto refuse = [&](const std::string& words, const std::string& formula,
                          const std::vector<int>& sizes) {
    expect_error(ErrorCode::usage, words,
                 [&] { static_cast<void>(evaluate_k(job, formula, table, sample, options, sizes)); });
  };
  refuse("the formula has no smooth of one numeric variable", "sex + te(age, motion)", {3});
  refuse("evaluate-k: give numbers of basis functions of at least 3", "s(age)", {3, 2});
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
