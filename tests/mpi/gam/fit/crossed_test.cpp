// SPDX-License-Identifier: Apache-2.0
// Crossed random effects agree with lme4::lmer, also in a prediction for levels that do not occur together.
#include "support/fit_support.hpp"
#include "support/shared_world.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <tessera/tessera.hpp>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t crossed_rows = 5000;

/// The generator of Park and Miller. Its products fit a double, so R computes the same numbers.
class ParkMiller {
 public:
  double uniform() {
    state_ = state_ * 16807 % 2147483647;
    return static_cast<double>(state_) / 2147483647.0;
  }
  double normal() {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum - 6;
  }

 private:
  std::int64_t state_ = 20261124;
};

/// 120 levels of a and 90 of b, where one of a meets seven of b, and few rows have the last levels of a; and
/// 6 levels of c.
Table crossed_table(const Plan& plan, Range mine) {
  ParkMiller random;
  std::vector<double> of_a(120);
  std::vector<double> of_b(90);
  for (double& effect : of_a) effect = 0.8 * random.normal();
  for (double& effect : of_b) effect = 0.5 * random.normal();
  Factor a;
  Factor b;
  Factor c;
  for (int i = 0; i < 120; ++i) a.levels.push_back("a" + std::to_string(1000 + i));
  for (int i = 0; i < 90; ++i) b.levels.push_back("b" + std::to_string(1000 + i));
  for (int i = 0; i < 6; ++i) c.levels.push_back("c" + std::to_string(i));
  std::vector<double> y;
  for (std::int64_t row = 0; row < crossed_rows; ++row) {
    const double v = random.uniform();
    const int i = static_cast<int>(120 * v * v);
    const int j = (i * 90 / 120 + static_cast<int>(7 * random.uniform())) % 90;
    const int k = static_cast<int>(6 * random.uniform());
    const double mean = 2 + of_a[static_cast<std::size_t>(i)] + of_b[static_cast<std::size_t>(j)] + 0.1 * k;
    const double value = mean + random.normal();
    if (row < mine.begin || row >= mine.end) continue;
    y.push_back(value);
    a.codes.push_back(i);
    b.codes.push_back(j);
    c.codes.push_back(k);
  }
  return {plan, {{"y", y}, {"a", a}, {"b", b}, {"c", c}}};
}

Model crossed_model(Job& job, int largest_tested) {
  const Plan plan = job.plan(crossed_rows, 512);
  FitOptions options{.largest_tested_effect = largest_tested};
  return fit(job, parse_formula("y ~ s(a, bs=\"re\") + s(b, bs=\"re\") + s(c, bs=\"re\")"),
             crossed_table(plan, job.local_range(plan)), options)
      .model;
}

// lme4 1.1-31, REML, with the tolerances of its optimiser at 1e-12.
TEST(CrossedEffects, AreThoseOfLmer) {
  Job job = testing::cpu_job(testing::shared_world(), 2);
  const Model model = crossed_model(job, 10);
  const FittedModel& fit = model.fitted();
  EXPECT_EQ(fit.design.parted_columns.size(), 210);
  EXPECT_NEAR(fit.coef[0], 2.5081506052, 1e-6);
  EXPECT_NEAR(fit.scale, 1.00137492594, 1e-6);
  const double variances[] = {0.74369129238, 0.261432270559, 0.02955130494};
  for (std::size_t j = 0; j < 3; ++j)
    EXPECT_NEAR(fit.scale / std::exp(fit.log_sp[j]), variances[j], 1e-5 * variances[j]);
  const std::pair<std::size_t, double> effects[] = {
      {1, -1.05169854146},    {60, -0.216452931726}, {120, 0.321207085206},  {121, 0.280660646461},
      {165, -0.220458538704}, {210, 0.111854144925}, {211, -0.211989617969}, {216, 0.252108020296}};
  for (const auto& [place, effect] : effects) EXPECT_NEAR(fit.coef[place], effect, 1e-5) << place;
  if (testing::shared_world().rank() == 0) {
    EXPECT_NEAR(2 * fit.reml, 14819.2390773, 1e-6);
  }
}

TEST(CrossedEffects, HaveNoStandardErrorWhereLevelsHaveNotMet) {
  Job job = testing::cpu_job(testing::shared_world(), 2);
  const Model parted = crossed_model(job, 10);
  const Model whole = crossed_model(job, 1000);
  // The first row's levels occur together in the data, those of the second do not, and the third has no known
  // level.
  const Plan plan = job.plan(3, 1);
  const Range mine = job.local_range(plan);
  Factor a;
  Factor b;
  Factor c;
  a.levels = {"a1000", "a1119", "new"};
  b.levels = {"b1000", "b1050"};
  c.levels = {"c0"};
  const std::int32_t codes[] = {0, 0, 2};
  const std::int32_t of_b[] = {0, 1, 1};
  for (std::int64_t row = mine.begin; row < mine.end; ++row) {
    a.codes.push_back(codes[row]);
    b.codes.push_back(of_b[row]);
    c.codes.push_back(0);
  }
  const Table data{plan, {{"a", a}, {"b", b}, {"c", c}}};
  const Predictions found = predict(job, parted, data, {.standard_errors = true});
  const Predictions expected = predict(job, whole, data, {.standard_errors = true});
  for (std::int64_t row = mine.begin; row < mine.end; ++row) {
    const auto i = static_cast<std::size_t>(row - mine.begin);
    EXPECT_NEAR(found["fit"][i], expected["fit"][i], 1e-6) << row;
    if (row == 1) {
      EXPECT_TRUE(std::isnan(found["se"][i]));
    } else {
      EXPECT_NEAR(found["se"][i], expected["se"][i], 1e-6) << row;
    }
  }
}

TEST(CrossedEffects, AreRefusedFromAFileThatNoFitWrote) {
  Job job = testing::cpu_job(testing::shared_world(), 2);
  const Model model = crossed_model(job, 10);
  if (testing::shared_world().rank() != 0) return;
  const TemporaryFolder folder;
  const std::string path = (folder / "model.json").string();
  save_model(model, path);
  EXPECT_EQ(load_model(path).fitted().covariance, model.fitted().covariance);
  std::stringstream whole;
  whole << std::ifstream(path).rdbuf();
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = whole.str();
    const std::size_t place = text.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    std::ofstream(path) << text.replace(place, from.size(), to);
    EXPECT_THROW(static_cast<void>(load_model(path)), Error) << to;
  };
  const std::string pairs = std::to_string(model.fitted().covariance.beside.size());
  refused("\"pairs\": " + pairs, "\"pairs\": 1" + pairs);
  // The same number of values, but the pattern at the end belongs to another division of the part.
  refused("\"size\": 120", "\"size\": 119");
  refused("\"runs\"", "\"walks\"");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
