// SPDX-License-Identifier: Apache-2.0
// Fits whose columns are far from zero, or in units that are far from 1.
#include "gam/family/list.hpp"
#include "gam/fit/fit.hpp"
#include "gam/fit/predict.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/rows/row_pass.hpp"
#include "support/reference_case.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace tessera::gam {
namespace {

using testing::relative_to_range;

const mpi::Communicator& world() {
  static const mpi::Communicator comm = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  return comm;
}

JobOptions on_the_cpu() {
  JobOptions options;
  options.policy = Policy::cpu;
  options.threads = 2;
  return options;
}

double largest_relative(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(a[i] / b[i] - 1));
  return largest;
}

/// tests/data/units/make_units.R: R's fits, where it can be in variables that are centred and scaled by hand.
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
  FitOptions options;
  options.family = *parse_family(expected.at("family").get<std::string>());
  options.weights = expected.value("weights", "");
  options.block_rows = 64;
  Job job(world(), on_the_cpu());
  Progress silent(false, stderr);
  std::vector<PhaseTime> phases;
  Plan plan;
  const Model model = fit_file(job, data, parse_formula(expected.at("formula").get<std::string>()), options,
                               silent, phases, plan);
  EXPECT_TRUE(model.converged);

  const std::string folder = std::filesystem::temp_directory_path() /
                             world().broadcast_text("tessera-units-" + std::to_string(::getpid()), 0);
  if (world().rank() == 0) {
    std::filesystem::create_directory(folder);
    save_model(model, folder + "/model.json", GetParam() == "utm" ? 1 : 512);
  }
  world().barrier();
  PredictOptions predict_options;
  predict_options.standard_errors = true;
  predict_options.out = folder + "/predicted.csv";
  predict_file(job, load_model(folder + "/model.json"), data, predict_options, silent);
  world().barrier();
  if (world().rank() != 0) return;

  std::vector<double> fit;
  std::vector<double> se;
  std::ifstream file(predict_options.out);
  std::string line;
  for (std::getline(file, line); std::getline(file, line);) {
    std::size_t end = 0;
    fit.push_back(std::stod(line, &end));
    se.push_back(std::stod(line.substr(end + 1)));
  }
  std::filesystem::remove_all(folder);
  const std::vector<double> expected_fit = expected.at("fit").get<std::vector<double>>();
  // bam's own iteration ends before ours where it has several steps.
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
  Family family;
  const char* column;  ///< whose unit changes
  double ten;          ///< the powers of ten of that: 10^ten and 10^-ten
};

/// A table of 200 rows with one column in another unit. This rank's rows of it.
Frame table(const UnitCase& one, double unit, Range range) {
  std::mt19937_64 random(7);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  Frame frame;
  frame.file_rows = 200;
  frame.complete_rows = 200;
  frame.rows = range;
  frame.complete.assign(static_cast<std::size_t>(range.size()), 1);
  for (const char* name : {"y", "x", "z", "v", "w"}) frame.variables.push_back({name, false, {}, {}, {}});
  for (std::int64_t row = 0; row < frame.file_rows; ++row) {
    const double x = uniform();
    const double z = 1 + 2 * uniform();
    const double v = uniform() - 0.5;
    const double w = 0.5 + uniform();
    const double noise = uniform() + uniform() + uniform() - 1.5;
    const double eta = std::sin(6 * x) + 0.3 * z + 0.5 * v * z;
    const double y = one.family.name() == "Gamma" ? std::exp(eta + noise) : eta + noise;
    if (row < range.begin || row >= range.end) continue;
    const std::vector<double> values{y, x, z, v, w};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool other = frame.variables[i].name == one.column;
      frame.variables[i].numbers.push_back(other ? values[i] * unit : values[i]);
    }
  }
  return frame;
}

struct Fitted {
  bool converged;
  double edf;
  std::vector<double> eta;  ///< over all rows, on every rank
};

Fitted fit_in(const UnitCase& one, double unit) {
  Job job(world(), on_the_cpu());
  const Plan plan = job.plan(200, 64);
  const Frame frame = table(one, unit, job.local_range(plan));
  FitOptions options;
  options.family = one.family;
  if (std::string(one.column) == "w") options.weights = "w";
  Progress silent(false, stderr);
  std::vector<PhaseTime> phases;
  const Model model = fit_frame(job, plan, frame, parse_formula(one.formula), options, silent, phases);
  const PredictiveModel predictive = model.predictive();
  std::vector<double> raw(static_cast<std::size_t>(predictive.design.raw_size));
  raw = multiply(predictive.design.map(), predictive.coef);
  std::vector<double> mine;
  for (std::size_t row = 0; row < frame.complete.size(); ++row)
    mine.push_back(linear_predictor(frame, predictive.design, row, raw));
  std::vector<std::size_t> counts(static_cast<std::size_t>(world().size()), mine.size());
  std::vector<double> everywhere;
  for (int rank = 0; rank < world().size(); ++rank)
    everywhere.insert(everywhere.end(), mine.begin(), mine.end());
  const auto eta = world().alltoallv(std::span<const double>(everywhere), counts);
  return {model.converged, model.edf_total, {eta.begin(), eta.end()}};
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
        eta = one.family.name() == "Gamma" ? eta - std::log(unit) : eta / unit;
    }
    // In units of powers of two even the bits are the same, but for a logarithm of the unit itself.
    const bool exact = std::exp2(std::round(std::log2(unit))) == unit && one.family.linear();
    EXPECT_NEAR(fitted.edf, plain.edf, exact ? 0 : 1e-8) << unit;
    EXPECT_LE(relative_to_range(fitted.eta, plain.eta), exact ? 0 : 1e-10) << unit;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Columns, OtherUnits,
    ::testing::Values(UnitCase{"response", "y ~ z + s(x, bs=\"ps\")", Gaussian{}, "y", 100},
                      UnitCase{"gamma_response", "y ~ z + s(x, bs=\"ps\")", Gamma{}, "y", 100},
                      UnitCase{"parametric", "y ~ z * v + s(x, bs=\"cr\")", Gaussian{}, "z", 80},
                      UnitCase{"no_intercept", "y ~ 0 + z + s(x, bs=\"cr\")", Gaussian{}, "z", 80},
                      UnitCase{"cubic_spline", "y ~ z + s(x, bs=\"cr\")", Gaussian{}, "x", 80},
                      UnitCase{"cyclic_spline", "y ~ z + s(x, bs=\"cc\")", Gaussian{}, "x", 80},
                      UnitCase{"p_spline", "y ~ z + s(x, bs=\"ps\")", Gaussian{}, "x", 100},
                      UnitCase{"tensor", "y ~ te(x, z, bs=c(\"cr\", \"cr\"), k=c(4, 4))", Gaussian{}, "x",
                               80},
                      UnitCase{"random_slope", "y ~ s(x, bs=\"cr\") + s(v, bs=\"re\")", Gaussian{}, "v", 100},
                      UnitCase{"by", "y ~ s(x, bs=\"cr\", by=v)", Gaussian{}, "v", 100},
                      UnitCase{"weights", "y ~ z + s(x, bs=\"cr\")", Gaussian{}, "w", 30},
                      UnitCase{"gamma_weights", "y ~ z + s(x, bs=\"cr\")", Gamma{}, "w", 30}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(OtherUnits, BeyondTheRangeOfNumbersAreRefused) {
  const UnitCase spline{"", "y ~ s(x, bs=\"cr\")", Gaussian{}, "x", 0};
  const UnitCase slope{"", "y ~ z + s(x, bs=\"cr\")", Gaussian{}, "z", 0};
  for (const auto& [one, unit] : {std::pair(spline, 1e120), std::pair(spline, 1e-120),
                                  std::pair(slope, 1e170), std::pair(slope, 1e-170)}) {
    try {
      fit_in(one, unit);
      ADD_FAILURE() << one.formula << " in units of " << unit;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::input);
      EXPECT_NE(std::string(error.what()).find("give the"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tessera::gam
