// SPDX-License-Identifier: Apache-2.0
// The criterion, its optimum and performance iteration agree with fits of mgcv.
#include "gam/family/family.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/reml/reml.hpp"
#include "support/dense_fit.hpp"
#include "support/dense_model.hpp"
#include "support/reference_models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

void expect_reference(const DenseModel& model, const std::string& response, const Family& family,
                      const ReferenceCase& expected) {
  const DenseFit out = performance_iteration(model, expected.numbers.at(response), family);
  EXPECT_TRUE(out.fit.converged);
  const auto& ref = expected.reference;
  EXPECT_LE(relative_to_range(out.fitted, expected.fitted), 1e-6);
  const double edf = std::accumulate(out.fit.edf.begin(), out.fit.edf.end(), 0.0);
  EXPECT_NEAR(edf, ref.at("edf_total"), 1e-4 * edf);
  EXPECT_NEAR(out.fit.scale, ref.at("scale"), 1e-6 * out.fit.scale);
  if (family.linear()) {
    EXPECT_NEAR(out.fit.score, expected.gam_score, 1e-8 * std::abs(out.fit.score));
  }

  const std::vector<double> log_sp = ref.at("log_sp");
  for (std::size_t j = 0; j < log_sp.size(); ++j) {
    if (log_sp[j] < 15) {
      EXPECT_NEAR(out.fit.log_sp[j], log_sp[j], 1e-3) << "smoothing parameter " << j;
    } else {
      EXPECT_GT(out.fit.log_sp[j], 15);
    }
  }
  const std::vector<double> se = ref.at("se_link50");
  for (std::size_t i = 0; i < se.size(); ++i) {
    std::vector<double> row;
    for (int j = 0; j < model.matrix().cols(); ++j) row.push_back(model.matrix()(static_cast<int>(i), j));
    EXPECT_NEAR(std::sqrt(out.fit.scale * dot(row, multiply(out.fit.inverse, row))), se[i], 5e-5 * se[i]);
  }
}

void expect_four_smooths(const std::string& name, int k, const Family& family) {
  const ReferenceCase data = load_reference_case(name);
  expect_reference(smooths_of(data, {"x0", "x1", "x2", "x3"}, k), "y", family, data);
}

TEST(RelativeToRange, OfANaNIsInfinite) {
  EXPECT_EQ(relative_to_range({1, 2.5, 3}, {1, 2, 3}), 0.25);
  EXPECT_EQ(relative_to_range({NAN, 2, 3}, {1, 2, 3}), INFINITY);
  EXPECT_EQ(relative_to_range({1, NAN, 3.5}, {1, 2, 3}), INFINITY);
}

TEST(RemlReference, MotorcycleGaussian) {
  const ReferenceCase data = load_reference_case("c01_mcycle_gauss");
  DenseModel model(static_cast<int>(data.fitted.size()));
  model.add_intercept();
  model.add_ps("s(times)", data.numbers.at("times"), 20);
  expect_reference(model, "accel", Gaussian{}, data);
}

TEST(RemlReference, FourSmoothsGaussianOneOfThemLinear) {
  expect_four_smooths("c02_gs1_gauss", 20, Gaussian{});
}

TEST(RemlReference, FourSmoothsPoisson) {
  expect_four_smooths("c03_gs1_poisson", 20, Poisson{});
}

TEST(RemlReference, FourSmoothsBinomial) {
  expect_four_smooths("c04_gs1_binary", 15, Binomial{});
}

TEST(RemlReference, FourSmoothsGamma) {
  expect_four_smooths("c05_gs1_gamma", 12, Gamma{});
}

TEST(RemlReference, FactorByWithMainEffect) {
  const ReferenceCase data = load_reference_case("c06_gs4_by_factor");
  expect_reference(factor_by_model(data), "y", Gaussian{}, data);
}

TEST(RemlReference, RandomEffectAndSmooths) {
  const ReferenceCase data = load_reference_case("c07_gs6_re");
  DenseModel model(static_cast<int>(data.fitted.size()));
  model.add_intercept();
  model.add_re("s(fac)", data.texts.at("fac"));
  for (const std::string x : {"x0", "x1", "x2", "x3"}) {
    model.add_ps("s(" + x + ")", data.numbers.at(x), x == "x2" ? 20 : 12);
  }
  expect_reference(model, "y", Gaussian{}, data);
}

TEST(RemlReference, TensorProductWithTwoPenalties) {
  const ReferenceCase data = load_reference_case("c08b_gs2_te_default");
  DenseModel model(static_cast<int>(data.fitted.size()));
  model.add_intercept();
  model.add_te("te(x,z)", data.numbers.at("x"), 9, data.numbers.at("z"), 8);
  expect_reference(model, "y", Gaussian{}, data);
}

TEST(RemlReference, RandomEffectsPoisson) {
  const ReferenceCase data = load_reference_case("c12_bundesliga_poisson");
  DenseModel model(static_cast<int>(data.fitted.size()));
  model.add_intercept();
  model.add_ps("s(Year)", data.numbers.at("Year"), 12);
  model.add_ps("s(Round)", data.numbers.at("Round"), 10);
  model.add_re("s(HomeTeam)", data.texts.at("HomeTeam"));
  model.add_re("s(AwayTeam)", data.texts.at("AwayTeam"));
  expect_reference(model, "HomeGoals", Poisson{}, data);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
