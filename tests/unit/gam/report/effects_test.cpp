// SPDX-License-Identifier: Apache-2.0
// The numbers of a report's plots agree with predict(type = "terms", se.fit = TRUE) of mgcv: see
// tests/data/effects/make_effects.R.
#include "gam/report/effects.hpp"
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tessera/tessera.hpp>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

FittedModel fitted(const testing::ReferenceCase& reference) {
  const auto world = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  return testing::fitted(world, reference.formula, Table{reference.data_path},
                         testing::options_of(reference));
}

const nlohmann::json& expected() {
  static const nlohmann::json cases = [] {
    std::ifstream file(TESSERA_TEST_DATA "/effects/effects.json");
    return nlohmann::json::parse(file);
  }();
  return cases;
}

/// A term's estimates in the order of R's expand.grid: the first variable is fastest.
std::vector<Estimate> estimates_of(const Effect& effect) {
  if (const auto* curve = std::get_if<Curve>(&effect.shape)) return curve->lines.front().values;
  if (const auto* levels = std::get_if<Levels>(&effect.shape)) return levels->values;
  std::vector<Estimate> out;
  const auto* surface = std::get_if<Surface>(&effect.shape);
  if (surface == nullptr) return out;
  for (std::size_t i = 0; i < surface->fit.values().size(); ++i) {
    out.push_back({surface->fit.values()[i], surface->se.values()[i]});
  }
  return out;
}

class Effects : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Effects, AreThoseOfMgcv) {
  const nlohmann::json& one = expected().at(GetParam());
  const FittedModel model = fitted(testing::load_reference_case(one.at("case").get<std::string>()));
  const std::vector<Effect> effects = effects_of(model, {7, 7});
  EXPECT_EQ(effects.size(), one.at("terms").size());
  for (const nlohmann::json& term : one.at("terms")) {
    const auto label = term.at("label").get<std::string>();
    const auto effect = std::find_if(effects.begin(), effects.end(),
                                     [&](const Effect& candidate) { return candidate.label == label; });
    ASSERT_NE(effect, effects.end()) << label;
    const std::vector<Estimate> estimates = estimates_of(*effect);
    const auto fit = term.at("fit").get<std::vector<double>>();
    const auto se = term.at("se").get<std::vector<double>>();
    ASSERT_EQ(estimates.size(), fit.size()) << label;
    double largest = 0;
    for (const double value : fit) largest = std::max(largest, std::abs(value));
    // The smoothing parameter of a straight line is large but arbitrary, and so is the remaining curvature.
    const bool straight = effect->title.find(",1.00)") != std::string::npos;
    const double fit_tolerance = (straight ? 1e-3 : 1e-5) * largest;
    const double se_slack = straight ? 0.01 * *std::max_element(se.begin(), se.end()) : 1e-12;
    for (std::size_t i = 0; i < fit.size(); ++i) {
      EXPECT_NEAR(estimates[i].fit, fit[i], fit_tolerance) << label << " at " << i;
      EXPECT_NEAR(estimates[i].se, se[i], 1e-4 * se[i] + se_slack) << label << " at " << i;
    }
    const auto names = term.at("names").get<std::vector<std::string>>();
    if (!names.empty()) {
      EXPECT_EQ(std::get<Levels>(effect->shape).names, names) << label;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Effects, ::testing::Range(std::size_t{0}, std::size_t{6}),
                         [](const auto& tested) {
                           return expected().at(tested.param).at("case").template get<std::string>();
                         });

TEST(EffectTitles, HaveTheEdfWhereMgcvHasIt) {
  const FittedModel model = fitted(testing::load_reference_case("c06_gs4_by_factor"));
  const std::vector<Effect> effects = effects_of(model, {2, 2});
  ASSERT_EQ(effects.size(), 5U);
  EXPECT_EQ(effects[0].title, "fac");
  EXPECT_EQ(effects[1].title, "s(x2,3.39):facL1");
  EXPECT_EQ(effects[4].title, "s(x0,1.00)");
}

TEST(Effects, OfAModelWithoutTheExtentOfTheDataAreOverItsCells) {
  FittedModel model = fitted(testing::load_reference_case("c01_mcycle_gauss"));
  const auto with = std::get<Curve>(effects_of(model)[0].shape);
  const VariableOutline outline = model.outline.variables.at(0);
  EXPECT_EQ(with.x.front(), outline.min);
  EXPECT_EQ(with.x.back(), outline.max);
  model.outline = {};
  const auto without = std::get<Curve>(effects_of(model)[0].shape);
  EXPECT_NEAR(without.x.front(), outline.min, 0.01 * (outline.max - outline.min));
  EXPECT_NEAR(without.x.back(), outline.max, 0.01 * (outline.max - outline.min));
}

TEST(DeviationEffects, HaveALineForEachCombinationThatAddUpToZero) {
  const FittedModel model = fitted(testing::load_reference_case("s04_sz_of_two_factors"));
  const std::vector<Effect> effects = effects_of(model, {5, 5});
  const auto effect = std::ranges::find(effects, "s(f,g,x)", &Effect::label);
  ASSERT_NE(effect, effects.end());
  const auto& curve = std::get<Curve>(effect->shape);
  EXPECT_EQ(curve.variable, "x");
  ASSERT_EQ(curve.lines.size(), 9U);
  EXPECT_EQ(curve.lines[1].level, "a : 2");
  EXPECT_EQ(curve.lines[3].level, "b : 10");
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    for (std::size_t f = 0; f < 3; ++f) {
      double over_g = 0;
      double over_f = 0;
      for (std::size_t g = 0; g < 3; ++g) {
        over_g += curve.lines[3 * f + g].values[i].fit;
        over_f += curve.lines[3 * g + f].values[i].fit;
      }
      EXPECT_NEAR(over_g, 0, 1e-12);
      EXPECT_NEAR(over_f, 0, 1e-12);
    }
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
