// SPDX-License-Identifier: Apache-2.0
// The models of mgcv's gam(method = "REML"): tests/data/many/make_gam.R.
#include "gam/many/response_results.hpp"
#include "support/design_support.hpp"
#include "support/many_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

using nlohmann::json;

const json& gam_cases() {
  static const json all = test_data("many/gam.json");
  return all;
}

ManyFamily family_named(const std::string& name) {
  if (name == "nb") return ManyFamily::nb;
  if (name.ends_with("poisson")) return ManyFamily::poisson;
  if (name.ends_with("binomial")) return ManyFamily::binomial;
  return name == "gaussian" ? ManyFamily::gaussian : ManyFamily::gamma;
}

std::vector<double> numbers_of(const json& value) {
  if (value.is_null()) return {};
  return value.is_array() ? value.get<std::vector<double>>() : std::vector<double>{value.get<double>()};
}

/// A case, and whether its weights and offsets are those of each response in place of the design's.
class GamCase : public ::testing::TestWithParam<std::tuple<std::size_t, bool>> {};

TEST_P(GamCase, HasTheSameModels) {
  const auto& [index, own] = GetParam();
  const json& one = gam_cases()["cases"][index];
  const json& table = gam_cases()["table"];
  const auto rows = static_cast<std::int64_t>(table["x"].size());
  const bool weighted = one["weights"].get<bool>();
  auto terms = one["terms"].get<std::string>();
  const std::string offset = " + offset(o)";
  const bool shifted = terms.ends_with(offset);
  if (own && !weighted && !shifted) GTEST_SKIP() << "neither weights nor offsets";
  if (own && shifted) terms.resize(terms.size() - offset.size());
  const ManyModel model(columns_of(table), rows, terms, weighted && !own ? "w" : "");
  const auto weights = weighted && own ? numbers_of(table["w"]) : std::vector<double>();
  const auto offsets = shifted && own ? numbers_of(table["o"]) : std::vector<double>();
  const auto family = one["family"].get<std::string>();
  const ManyEstimator estimator{.family = family_named(family), .quasi = family.starts_with("quasi")};
  const ResponseResults results(model.design(), model.model(), estimator, {});
  ResponseFitter fitter(model.design(), estimator);
  std::vector<ResponseFit> fits;
  double constant = -std::numeric_limits<double>::infinity();
  for (const json& expected : one["responses"]) {
    fits.push_back(fitter.fit(expected["y"].get<std::vector<double>>(), {weights, offsets}));
    if (expected["reml"].is_number())
      constant = std::max(constant, fits.back().criterion - expected["reml"].get<double>());
  }
  int compared = 0;
  for (std::size_t response = 0; response < fits.size(); ++response) {
    const json& expected = one["responses"][response];
    const ResponseFit& fit = fits[response];
    // The criterion is gam's and one constant; where gam stops before a limit, or at another minimum, ours is
    // lower.
    constexpr double before_a_limit = 2e-6;
    if (expected["reml"].is_number() &&
        fit.criterion - expected["reml"].get<double>() < constant - before_a_limit)
      continue;
    ++compared;
    const ResponseRow row = results.row_of(fit);
    const auto columns = results.columns(std::span(&row, 1));
    const auto value = [&](const std::string& name) {
      const auto found = std::ranges::find(columns, name, &OutputColumn::name);
      EXPECT_NE(found, columns.end()) << name;
      return found->values.numbers[0];
    };
    EXPECT_EQ(row.status, ManyStatus::converged);
    const std::vector<double> coef = numbers_of(expected["coef"]);
    const std::vector<double> se = numbers_of(expected["se"]);
    const std::vector<std::string> names = model.design().design.coef_names();
    ASSERT_EQ(names.size(), coef.size());
    double size = 0;
    for (const double b : coef) size = std::max(size, std::abs(b));
    const double largest_se = *std::ranges::max_element(se);
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_NEAR(value(names[i]), coef[i], 1e-5 * size) << names[i];
      EXPECT_NEAR(value("se:" + names[i]), se[i], 2e-5 * largest_se) << names[i];
    }
    EXPECT_NEAR(value("edf"), expected["edf"].get<double>(), 1e-4);
    EXPECT_NEAR(value("deviance"), expected["deviance"].get<double>(), 1e-6 * value("deviance"));
    EXPECT_NEAR(value("deviance_explained"), expected["deviance_explained"].get<double>(), 1e-6);
    if (estimator.quasi) {
      EXPECT_TRUE(std::isnan(value("aic")));
    } else {
      EXPECT_NEAR(value("aic"), expected["aic"].get<double>(), 1e-4);
    }
    if (expected["theta"].is_number() && std::isfinite(fit.theta)) {
      EXPECT_NEAR(fit.theta, expected["theta"].get<double>(), 1e-5 * fit.theta);
    }
    EXPECT_NEAR(fit.scale, expected["scale"].get<double>(), 1e-6 * fit.scale);
    std::vector<double> p_values = numbers_of(expected["p_coefficients"]);
    // Of a term of one coefficient gam has that coefficient's test.
    const std::size_t smooths = numbers_of(expected["p_smooths"]).size();
    for (std::size_t i = p_values.size(); i + smooths < results.tests().size(); ++i)
      p_values.push_back(expected["p_terms"][results.tests()[i]]);
    const std::vector<double> of_smooths = numbers_of(expected["p_smooths"]);
    p_values.insert(p_values.end(), of_smooths.begin(), of_smooths.end());
    ASSERT_EQ(row.p_values.size(), p_values.size());
    for (std::size_t i = 0; i < p_values.size(); ++i) EXPECT_NEAR(row.p_values[i], p_values[i], 1e-4);
  }
  EXPECT_GE(compared, 1);
}

INSTANTIATE_TEST_SUITE_P(Gam, GamCase,
                         ::testing::Combine(::testing::Range<std::size_t>(0, gam_cases()["cases"].size()),
                                            ::testing::Bool()));

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
