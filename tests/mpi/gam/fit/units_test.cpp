// SPDX-License-Identifier: Apache-2.0
// Fits with columns far from zero, or in units far from 1, agree with R.
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"
#include "support/shared_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using testing::relative_to_range;

double largest_relative(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(a[i] / b[i] - 1));
  return largest;
}

/// tests/data/units/make_units.R: R's fits, where possible in centred and scaled variables.
const nlohmann::json& recorded() {
  static const nlohmann::json fits = [] {
    std::ifstream file(std::string(TESSERA_TEST_DATA) + "/units/fits.json");
    return nlohmann::json::parse(file);
  }();
  return fits;
}

class FarFromZero : public ::testing::TestWithParam<std::string> {};

TEST_P(FarFromZero, AgreesWithCentredVariables) {
  const std::string data = std::string(TESSERA_TEST_DATA) + "/units/data.csv.gz";
  const nlohmann::json& expected = recorded().at(GetParam());
  FitOptions options{.family = family(expected.at("family").get<std::string>()),
                     .weights = expected.value("weights", "")};
  Job job = testing::cpu_job(testing::shared_world(), 2);
  const FitResult result = fit(job, parse_formula(expected.at("formula").get<std::string>()),
                               testing::in_blocks(data, 64), options);
  const FittedModel& model = result.model.fitted();
  EXPECT_TRUE(model.converged);
  const auto [fit, se] = testing::predicted_from_file(job, model, data, GetParam() == "utm" ? 1 : 512);
  if (testing::shared_world().rank() != 0) return;

  const std::vector<double> expected_fit = expected.at("fit").get<std::vector<double>>();
  // bam's iteration ends earlier than ours if it has several steps.
  const double tolerance = expected.at("family") == "gaussian" ? 1e-8 : 2e-6;
  EXPECT_LE(relative_to_range(fit, expected_fit), tolerance);
  EXPECT_LE(largest_relative(se, expected.at("se").get<std::vector<double>>()), 1e-5);
  EXPECT_NEAR(model.edf_total, expected.at("edf").get<double>(),
              expected.at("family") == "gaussian" ? 1e-6 : 1e-4);
  if (!expected.contains("coef")) return;
  std::vector<double> estimates;
  std::vector<double> errors;
  for (const CoefficientTest& test : model.coefficient_tests) {
    estimates.push_back(test.estimate);
    errors.push_back(test.standard_error);
  }
  EXPECT_LE(largest_relative(estimates, expected.at("coef").get<std::vector<double>>()), 1e-6);
  EXPECT_LE(largest_relative(errors, expected.at("coef_se").get<std::vector<double>>()), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Recorded, FarFromZero,
                         ::testing::Values("northing", "years", "years_cubic", "centuries", "seconds",
                                           "julian", "utm", "three", "by_level", "by_two_factors", "nested",
                                           "curve_by_level", "no_intercept", "far_response", "far_levels",
                                           "far_offset", "tiny_weights", "poisson", "gamma", "by",
                                           "by_p_spline", "by_and_line", "by_surface", "by_beside_surface"),
                         [](const auto& tested) { return tested.param; });

struct UnitCase {
  const char* name;
  const char* formula;
  const char* family;
  const char* column;  ///< whose unit changes
  double ten;          ///< the powers of ten of that: 10^ten and 10^-ten
};

/// A table of 200 rows with one column in another unit.
Table table(const UnitCase& one, double unit, const Plan& plan, Range mine) {
  std::mt19937_64 random(7);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const std::array<std::string, 5> names{"y", "x", "z", "v", "w"};
  std::array<std::vector<double>, 5> columns;
  for (std::int64_t row = 0; row < plan.units(); ++row) {
    const double x = uniform();
    const double z = 1 + 2 * uniform();
    const double v = uniform() - 0.5;
    const double w = 0.5 + uniform();
    const double noise = uniform() + uniform() + uniform() - 1.5;
    const double eta = std::sin(6 * x) + 0.3 * z + 0.5 * v * z;
    const double y = one.family == std::string("gamma") ? std::exp(eta + noise) : eta + noise;
    if (row < mine.begin || row >= mine.end) continue;
    const std::array<double, 5> values{y, x, z, v, w};
    for (std::size_t i = 0; i < values.size(); ++i)
      columns[i].push_back(names[i] == one.column ? values[i] * unit : values[i]);
  }
  Table out{plan, {}};
  for (std::size_t i = 0; i < names.size(); ++i) out.columns.push_back({names[i], columns[i]});
  return out;
}

struct Fitted {
  bool converged;
  double edf;
  std::vector<double> eta;  ///< over all rows, on every rank
};

Fitted fit_in(const UnitCase& one, double unit) {
  Job job = testing::cpu_job(testing::shared_world(), 2);
  const Plan plan = job.plan(200, 64);
  const Table data = table(one, unit, plan, job.local_range(plan));
  FitOptions options{.family = family(one.family)};
  if (std::string(one.column) == "w") options.weights = "w";
  const Model model = fit(job, parse_formula(one.formula), data, options).model;
  const Predictions predictions = predict(job, model, data);
  return {model.converged(), model.edf(), testing::shared_world().allgatherv(predictions["fit"])};
}

class OtherUnits : public ::testing::TestWithParam<UnitCase> {};

TEST_P(OtherUnits, GiveTheSameFit) {
  const UnitCase& one = GetParam();
  const Fitted plain = fit_in(one, 1);
  ASSERT_TRUE(plain.converged);
  const int exponent = static_cast<int>(one.ten * 3);
  for (const double unit : {std::ldexp(1.0, exponent), std::ldexp(1.0, -exponent), std::pow(10, one.ten),
                            std::pow(10, -one.ten)}) {
    Fitted fitted = fit_in(one, unit);
    EXPECT_TRUE(fitted.converged) << unit;
    for (double& eta : fitted.eta) {
      if (std::string(one.column) == "y")
        eta = one.family == std::string("gamma") ? eta - std::log(unit) : eta / unit;
    }
    // In units of powers of two even the bits are the same, except in a logarithm of the unit itself.
    const bool exact =
        std::exp2(std::round(std::log2(unit))) == unit && one.family == std::string("gaussian");
    EXPECT_NEAR(fitted.edf, plain.edf, exact ? 0 : 1e-8) << unit;
    EXPECT_LE(relative_to_range(fitted.eta, plain.eta), exact ? 0 : 1e-10) << unit;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Columns, OtherUnits,
    ::testing::Values(UnitCase{"response", "y ~ z + s(x, bs=\"ps\")", "gaussian", "y", 100},
                      UnitCase{"gamma_response", "y ~ z + s(x, bs=\"ps\")", "gamma", "y", 100},
                      UnitCase{"parametric", "y ~ z * v + s(x, bs=\"cr\")", "gaussian", "z", 80},
                      UnitCase{"no_intercept", "y ~ 0 + z + s(x, bs=\"cr\")", "gaussian", "z", 80},
                      UnitCase{"cubic_spline", "y ~ z + s(x, bs=\"cr\")", "gaussian", "x", 80},
                      UnitCase{"cyclic_spline", "y ~ z + s(x, bs=\"cc\")", "gaussian", "x", 80},
                      UnitCase{"p_spline", "y ~ z + s(x, bs=\"ps\")", "gaussian", "x", 100},
                      UnitCase{"tensor", "y ~ te(x, z, bs=c(\"cr\", \"cr\"), k=c(4, 4))", "gaussian", "x",
                               80},
                      UnitCase{"random_slope", "y ~ s(x, bs=\"cr\") + s(v, bs=\"re\")", "gaussian", "v", 100},
                      UnitCase{"by", "y ~ s(x, bs=\"cr\", by=v)", "gaussian", "v", 100},
                      UnitCase{"weights", "y ~ z + s(x, bs=\"cr\")", "gaussian", "w", 30},
                      UnitCase{"gamma_weights", "y ~ z + s(x, bs=\"cr\")", "gamma", "w", 30}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(OtherUnits, BeyondTheRangeOfNumbersAreRefused) {
  const UnitCase spline{"", "y ~ s(x, bs=\"cr\")", "gaussian", "x", 0};
  const UnitCase slope{"", "y ~ z + s(x, bs=\"cr\")", "gaussian", "z", 0};
  for (const auto& [one, unit] : {std::pair(spline, 1e120), std::pair(spline, 1e-120),
                                  std::pair(slope, 1e170), std::pair(slope, 1e-170)}) {
    try {
      fit_in(one, unit);
      ADD_FAILURE() << one.formula << " in units of " << unit;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::input);
      EXPECT_NE(std::string(error.what()).find("rescale the"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
