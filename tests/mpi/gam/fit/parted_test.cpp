// SPDX-License-Identifier: Apache-2.0
// Random effects with a sparse covariance give the same model as with a dense one.
#include "support/fit_support.hpp"
#include "support/shared_world.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <tessera/gam/anova.hpp>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t table_rows = 900;
constexpr int level_count = 40;

/// x, and twice_x, which it determines; z, which is far from zero; a factor g of 40 levels and h of 7, both
/// with effects on y. `renamed`: the levels of g have each other's names, in reverse, and h has an empty
/// level.
Table grouped_table(const Plan& plan, Range mine, bool renamed = false) {
  std::mt19937_64 random(20261123);
  std::normal_distribution<double> normal;
  std::vector<double> effect(level_count);
  for (double& value : effect) value = 0.6 * normal(random);
  Factor g;
  Factor h;
  for (int i = 0; i < level_count; ++i)
    g.levels.push_back("g" + std::to_string(100 + (renamed ? level_count - 1 - i : i)));
  for (int i = 0; i < 7; ++i) h.levels.push_back("h" + std::to_string(i));
  std::vector<double> y;
  std::vector<double> x;
  std::vector<double> twice_x;
  std::vector<double> z;
  for (std::int64_t row = 0; row < table_rows; ++row) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    const int group = static_cast<int>(random() % level_count);
    const int other = static_cast<int>(random() % 7);
    const double far = 5000 + 10 * normal(random);
    const double mean = std::sin(6 * u) + effect[static_cast<std::size_t>(group)] + 0.2 * (other - 3) +
                        0.05 * (far - 5000) * u;
    const double value = std::exp(0.3 * mean) + 0.3 * std::abs(normal(random));
    if (row < mine.begin || row >= mine.end) continue;
    y.push_back(value);
    x.push_back(u);
    twice_x.push_back(2 * u);
    z.push_back(far);
    g.codes.push_back(group);
    h.codes.push_back(other);
  }
  return {plan, {{"y", y}, {"x", x}, {"twice_x", twice_x}, {"z", z}, {"g", g}, {"h", h}}};
}

struct PartedFit {
  Model model;
  Predictions predictions;
};

PartedFit parted_fit(const std::string& formula, const std::string& family_name, int largest_tested,
                     const mpi::Communicator& comm = testing::shared_world(), int threads = 2,
                     bool renamed = false) {
  Job job = testing::cpu_job(comm, threads);
  const Plan plan = job.plan(table_rows, 64);
  const Table data = grouped_table(plan, job.local_range(plan), renamed);
  FitOptions options{.family = family(family_name), .largest_tested_effect = largest_tested};
  Model model = fit(job, parse_formula(formula), data, options).model;
  Predictions predictions = predict(job, model, data, {.standard_errors = true});
  return {std::move(model), std::move(predictions)};
}

void expect_all_near(std::span<const double> a, std::span<const double> b, double tolerance,
                     const char* what) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], tolerance * std::max(1.0, std::abs(b[i]))) << what << ' ' << i;
}

struct PartedCase {
  const char* name;
  const char* formula;
  const char* family;
  int largest_tested = level_count - 1;
  int in_part = level_count;
};

class Parted : public ::testing::TestWithParam<PartedCase> {};

TEST_P(Parted, IsTheSameModel) {
  const auto [name, formula, family, largest_tested, in_part] = GetParam();
  const PartedFit whole = parted_fit(formula, family, 1000);
  const PartedFit parted = parted_fit(formula, family, largest_tested);
  const FittedModel& a = parted.model.fitted();
  const FittedModel& b = whole.model.fitted();
  EXPECT_EQ(a.design.parted_columns.size(), in_part);
  EXPECT_EQ(b.design.parted_columns.size(), 0);
  EXPECT_EQ(a.design.left_out, b.design.left_out);
  EXPECT_EQ(a.design.left_out.empty(), name != std::string("determined"));
  expect_all_near(a.coef, b.coef, 1e-6, "coefficient");
  ASSERT_EQ(a.log_sp.size(), b.log_sp.size());
  for (std::size_t j = 0; j < b.log_sp.size(); ++j) {
    // V is flat towards infinity.
    if (std::min(a.log_sp[j], b.log_sp[j]) < 15) {
      EXPECT_NEAR(a.log_sp[j], b.log_sp[j], 1e-5 * std::max(1.0, std::abs(b.log_sp[j]))) << j;
    }
  }
  EXPECT_NEAR(a.edf_total, b.edf_total, 1e-5);
  expect_all_near(parted.predictions["fit"], whole.predictions["fit"], 1e-6, "prediction");
  expect_all_near(parted.predictions["se"], whole.predictions["se"], 1e-6, "error");
  if (testing::shared_world().rank() != 0) return;

  expect_all_near(a.edf, b.edf, 1e-5, "edf");
  EXPECT_NEAR(a.reml, b.reml, 1e-7 * std::abs(b.reml));
  const Part part = a.design.parted_coefficients();
  const int size = static_cast<int>(a.coef.size());
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      if (!a.covariance.has(i, j)) {
        EXPECT_TRUE(part.has(i) && part.has(j));
        EXPECT_TRUE(std::isnan(parted.model.covariance(i, j)));
      } else {
        const double scale = std::sqrt(b.covariance(i, i) * b.covariance(j, j));
        EXPECT_NEAR(parted.model.covariance(i, j), whole.model.covariance(i, j), 1e-6 * scale + 1e-10);
      }
    }
  }
  EXPECT_TRUE(parted.model.covariance().empty());
  for (std::size_t i = 0; i < b.coefficient_tests.size(); ++i)
    EXPECT_NEAR(a.coefficient_tests[i].statistic, b.coefficient_tests[i].statistic, 1e-5);
  for (std::size_t i = 0; i < b.smooth_tests.size(); ++i) {
    EXPECT_NEAR(a.smooth_tests[i].edf, b.smooth_tests[i].edf, 1e-5);
    if (std::isnan(a.smooth_tests[i].p_value)) continue;
    EXPECT_NEAR(a.smooth_tests[i].reference_df, b.smooth_tests[i].reference_df, 1e-5);
    EXPECT_NEAR(a.smooth_tests[i].statistic, b.smooth_tests[i].statistic, 1e-5 * b.smooth_tests[i].statistic);
    EXPECT_NEAR(a.smooth_tests[i].p_value, b.smooth_tests[i].p_value, 1e-6);
  }
  const auto untested =
      std::ranges::count_if(a.smooth_tests, [](const SmoothTest& test) { return std::isnan(test.p_value); });
  EXPECT_EQ(untested, std::ssize(part.runs()));
}

// Results that need the covariance between all levels of an effect are computed for one effect, and refused
// for several.
TEST_P(Parted, TellsWhatNeedsTheWholeCovariance) {
  const auto [name, formula, family, largest_tested, in_part] = GetParam();
  const mpi::Communicator alone = testing::shared_world().split(testing::shared_world().rank());
  if (testing::shared_world().rank() != 0) return;
  const bool follows = in_part == level_count;
  const Model parted = parted_fit(formula, family, largest_tested, alone).model;
  const Model whole = follows ? parted_fit(formula, family, 1000, alone).model : parted;
  Job job = testing::cpu_job(alone, 2);
  const Plan plan = job.plan(table_rows, 64);
  const Table data = grouped_table(plan, job.local_range(plan));
  // Second derivatives of REML lose digits of the covariance of coefficients that are far from zero.
  const double of_derivatives = name == std::string("far") ? 1e-4 : 1e-6;
  for (const bool unconditional : {false, true}) {
    for (const PredictionType type : {PredictionType::iterms, PredictionType::link}) {
      if (type == PredictionType::link && !unconditional) continue;
      const PredictOptions options{.type = type, .standard_errors = true, .unconditional = unconditional};
      if (!follows) {
        EXPECT_THROW((void)predict(job, parted, data, options), Error);
        continue;
      }
      const Predictions expected = predict(job, whole, data, options);
      const Predictions found = predict(job, parted, data, options);
      for (const Predictions::Column& column : expected.columns)
        expect_all_near(found[column.name], column.values, unconditional ? of_derivatives : 1e-6,
                        column.name.c_str());
    }
  }
  const double edf2 = figures_of(parted).edf2;
  EXPECT_EQ(std::isnan(edf2), !follows);
  if (follows) {
    EXPECT_NEAR(edf2, figures_of(whole).edf2, 10 * of_derivatives);
  }
}

TEST_P(Parted, IsReadAsItWasWritten) {
  const PartedFit parted = parted_fit(GetParam().formula, GetParam().family, GetParam().largest_tested);
  const FittedModel& model = parted.model.fitted();
  if (testing::shared_world().rank() != 0) return;
  const TemporaryFolder folder;
  const std::string path = (folder / "model.json").string();
  save_model(model, path);
  const FittedModel read = read_model(path);
  EXPECT_EQ(read.covariance, model.covariance);
  EXPECT_EQ(read.centring.covariance, model.centring.covariance);
  EXPECT_EQ(read.coef, model.coef);
  EXPECT_EQ(read.design.parted_columns, model.design.parted_columns);
}

TEST_P(Parted, HasTheSameBitsOnAnyRanksAndThreads) {
  const mpi::Communicator& world = testing::shared_world();
  const auto [name, formula, family, largest_tested, in_part] = GetParam();
  const Model first = parted_fit(formula, family, largest_tested).model;
  const mpi::Communicator alone = world.split(world.rank());
  const Model second = parted_fit(formula, family, largest_tested, alone, 1).model;
  EXPECT_EQ(first.fitted().coef, second.fitted().coef);
  EXPECT_EQ(first.fitted().log_sp, second.fitted().log_sp);
  if (world.rank() == 0) {
    EXPECT_EQ(first.fitted().covariance, second.fitted().covariance);
  }
}

TEST(FactorSmooths, DoNotDependOnTheOrderOfLevels) {
  for (const int largest_tested : {100, 1000}) {
    const char* const formula = "y ~ s(x, g, bs=\"fs\", k=5) + s(x, h, bs=\"fs\", xt=\"cr\", k=4)";
    const PartedFit plain = parted_fit(formula, "gaussian", largest_tested);
    const PartedFit other = parted_fit(formula, "gaussian", largest_tested, testing::shared_world(), 2, true);
    expect_all_near(other.predictions["fit"], plain.predictions["fit"], 1e-7, "prediction");
    expect_all_near(other.predictions["se"], plain.predictions["se"], 1e-6, "error");
    EXPECT_NEAR(other.model.fitted().edf_total, plain.model.fitted().edf_total, 1e-5);
  }
}

// A random slope; two effects, one or none tested; three, two with the same levels; a smooth by a number that
// is far from zero, which changes its coordinates, and a dependent column; factor smooths: by themselves,
// with others, in the part too, and with by variables.
INSTANTIATE_TEST_SUITE_P(
    Models, Parted,
    ::testing::Values(
        PartedCase{"slope", "y ~ z + s(x, bs=\"ps\", k=8) + s(g, x, bs=\"re\")", "gaussian"},
        PartedCase{"two", "y ~ s(x, bs=\"ps\", k=8) + s(g, bs=\"re\") + s(h, bs=\"re\")", "gamma"},
        PartedCase{"far", "y ~ s(x, bs=\"ps\", k=6) + s(x, by=z, bs=\"ps\", k=6) + s(g, bs=\"re\") + h",
                   "gaussian"},
        PartedCase{"determined", "y ~ s(g, bs=\"re\") + twice_x + s(x, k=8, bs=\"ps\")", "gaussian"},
        PartedCase{"crossed", "y ~ s(g, bs=\"re\") + s(x, bs=\"ps\", k=8) + s(h, bs=\"re\")", "gamma", 6, 47},
        PartedCase{"three",
                   "y ~ s(h, bs=\"re\") + z + s(g, x, bs=\"re\") + s(x, bs=\"ps\", k=8) + s(g, bs=\"re\")",
                   "gaussian", 6, 87},
        PartedCase{
            "crossed_far",
            "y ~ s(x, bs=\"ps\", k=6) + s(h, bs=\"re\") + s(x, by=z, bs=\"ps\", k=6) + s(g, bs=\"re\")",
            "gaussian", 6, 47},
        PartedCase{"curves", "y ~ z + s(x) + s(x, g, bs=\"fs\", xt=\"cr\", k=5)", "gaussian", 199, 400},
        PartedCase{"thin_plate_curves", "y ~ s(g, x, bs=\"fs\", k=5) + s(h, bs=\"re\")", "gamma", 199, 320},
        PartedCase{"curves_by_factor", "y ~ h + s(x, g, by=h, bs=\"fs\", xt=\"cr\", k=3)", "gaussian", 119,
                   1680},
        PartedCase{"curves_by_number",
                   "y ~ s(x, h, bs=\"fs\", k=4) + s(x, g, by=twice_x, bs=\"fs\", xt=\"ps\", k=5)", "gaussian",
                   99, 200},
        PartedCase{"two_curves", "y ~ s(x, g, bs=\"fs\", k=5) + z + s(twice_x, h, bs=\"fs\", xt=\"cr\", k=4)",
                   "gaussian", 20, 376},
        PartedCase{"curves_and_effects",
                   "y ~ s(h, bs=\"re\") + s(x, bs=\"ps\", k=8) + s(g, x, bs=\"fs\", xt=\"ps\", k=4) + s(g, "
                   "z, bs=\"re\")",
                   "gaussian", 6, 207},
        PartedCase{"one_tested", "y ~ s(h, bs=\"re\") + s(g, bs=\"re\") + s(g, x, bs=\"re\")", "gaussian", 7,
                   80}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
