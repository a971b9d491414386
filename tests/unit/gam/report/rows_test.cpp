// SPDX-License-Identifier: Apache-2.0
// The data of single rows in a report agree with R's mgcv: see tests/data/effects/make_rows.R.
#include "gam/fit/row_sample.hpp"
#include "gam/report/effects.hpp"
#include "gam/report/term_plots.hpp"
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

const nlohmann::json& expected_rows() {
  static const nlohmann::json all = [] {
    std::ifstream file(TESSERA_TEST_DATA "/effects/rows.json");
    return nlohmann::json::parse(file);
  }();
  return all;
}

/// A model and the sample of its rows.
struct Sampled {
  FittedModel model;
  RowSample rows;
};
Sampled sampled(const std::string& name) {
  const auto world = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  const testing::ReferenceCase reference = testing::load_reference_case(name);
  const Table file{reference.data_path};
  Sampled out{testing::fitted(world, reference.formula, file, testing::options_of(reference)), {}};
  Job job = testing::cpu_job(world);
  FitObserver silent;
  out.rows = sample_rows(job, ModelRows(job, out.model, source_of(file), {}, silent), silent);
  return out;
}

class PartialResiduals : public ::testing::TestWithParam<std::size_t> {};

TEST_P(PartialResiduals, AreThoseOfMgcv) {
  const nlohmann::json& one = expected_rows().at("cases").at(GetParam());
  const Sampled found = sampled(one.at("case").get<std::string>());
  EXPECT_TRUE(found.rows.is_whole());
  const std::vector<Effect> effects = effects_of(found.model, {7, 7});
  for (const nlohmann::json& term : one.at("terms")) {
    const auto label = term.at("label").get<std::string>();
    const auto effect = std::ranges::find(effects, label, &Effect::label);
    ASSERT_NE(effect, effects.end()) << label;
    // The effect is given by itself, so that the panel has only its line.
    std::size_t next = 0;
    const CurvePanel panel = panel_of(std::span(&*effect, 1), next, found.model, &found.rows);
    ASSERT_EQ(panel.partial.size(), 1U);
    const auto x = term.at("x").get<std::vector<double>>();
    const auto y = term.at("y").get<std::vector<double>>();
    double largest = 0;
    for (const double value : y) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_NEAR(panel.partial[0].x[i], x[i], 1e-10 * std::abs(x[i])) << label;
      EXPECT_NEAR(panel.partial[0].y[i], y[i], 1e-5 * largest) << label << " at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, PartialResiduals, ::testing::Range(std::size_t{0}, std::size_t{4}), [](const auto& tested) {
      return expected_rows().at("cases").at(tested.param).at("case").template get<std::string>();
    });

TEST(Panels, HaveTheCurvesOfAllLevelsOfAFactor) {
  const Sampled found = sampled("c06_gs4_by_factor");
  const std::vector<Effect> effects = effects_of(found.model, {7, 7});
  std::size_t next = 1;  // after the factor itself
  const CurvePanel panel = panel_of(effects, next, found.model, &found.rows);
  EXPECT_EQ(next, 4U);
  EXPECT_EQ(panel.label, "s(x2):fac");
  ASSERT_EQ(panel.curve.lines.size(), 3U);
  EXPECT_EQ(panel.curve.lines[2].level, "L3");
  EXPECT_EQ(panel.key[0], "L1, 3.39");
  EXPECT_EQ(panel.rug.size(), found.rows.size());
  std::size_t rows = 0;
  for (const CurvePanel::Points& points : panel.partial) rows += points.x.size();
  EXPECT_EQ(rows, found.rows.size()) << "each row with its level";
  const CurvePanel other = panel_of(effects, next, found.model, nullptr);
  EXPECT_EQ(next, 5U);
  EXPECT_EQ(other.title, "s(x0,1.00)");
  EXPECT_TRUE(other.partial.empty());
}

TEST(WithoutFar, LeavesOutWhatMgcvDoes) {
  const nlohmann::json& far = expected_rows().at("far");
  const int points = far.at("points").get<int>();
  const Places places{far.at("x").get<std::vector<double>>(), far.at("z").get<std::vector<double>>()};
  const auto grid = [&](const std::vector<double>& values) {
    const auto [low, high] = std::ranges::minmax(values);
    std::vector<double> out;
    for (int i = 0; i < points; ++i) out.push_back(low + (high - low) * i / (points - 1));
    return out;
  };
  const Surface cut = without_far(
      {"x", "z", grid(places.x), grid(places.y), Matrix(points, points), Matrix(points, points)}, places);
  std::vector<int> found;
  for (int i = 0; i < points * points; ++i) {
    if (std::isnan(cut.fit.values()[static_cast<std::size_t>(i)])) found.push_back(i);
  }
  EXPECT_EQ(found, far.at("far").get<std::vector<int>>());
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
