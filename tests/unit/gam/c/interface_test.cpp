// SPDX-License-Identifier: Apache-2.0
// The C interface refuses invalid calls, and gives the same bits as the engine.
#include <tessera/tessera_gam.h>
#include <tessera/gam/gam.hpp>

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iomanip>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "gam/c/structures.hpp"
#include "support/on_cpu.hpp"
#include "temporary_folder.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

/// A table with numbers and a factor, and its response.
struct Data {
  std::vector<double> x, y;
  std::vector<std::int32_t> codes;
  std::vector<const char*> levels{"north", "south"};

  explicit Data(std::size_t rows = 400) {
    for (std::size_t i = 0; i < rows; ++i) {
      x.push_back(std::fmod(0.618034 * static_cast<double>(i), 1));
      codes.push_back(static_cast<std::int32_t>(i % 2));
      y.push_back(std::sin(6 * x.back()) + 0.3 * codes.back() +
                  std::fmod(0.754878 * static_cast<double>(i), 0.5));
    }
  }
  [[nodiscard]] tessera_gam_table table() const {
    tessera_gam_table table = 0;
    EXPECT_EQ(tessera_gam_table_open(static_cast<std::int64_t>(x.size()), nullptr, &table), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_table_add_numbers(table, "x", x.data(), x.size()), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_table_add_numbers(table, "y", y.data(), y.size()), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_table_add_factor(table, "side", codes.data(), codes.size(), levels.data(), 2,
                                           TESSERA_GAM_LEVELS_SORTED),
              TESSERA_GAM_OK);
    return table;
  }
  [[nodiscard]] Table of_engine() const {
    return {Plan::over_hosts(static_cast<std::int64_t>(x.size()), 1, TableOptions{}.block_rows),
            {{"x", x}, {"y", y}, {"side", Factor{codes, {"north", "south"}}}}};
  }
};

constexpr const char* formula = "y ~ side + s(x, k=8)";

/// The arguments of a call with options; the call refers to this object.
class Given {
 public:
  Given(std::initializer_list<tessera_gam_option> options) : options_(options) {
    options_.push_back({"threads", "1"});
    options_.push_back({"device", "cpu"});
    call.options = options_.data();
    call.option_count = options_.size();
  }
  tessera_gam_call call = TESSERA_GAM_CALL;

 private:
  std::vector<tessera_gam_option> options_;
};

void expect_refusal(int status, const std::string& text, int expected = TESSERA_GAM_USAGE) {
  EXPECT_EQ(status, expected) << tessera_gam_error();
  EXPECT_NE(std::string(tessera_gam_error()).find(text), std::string::npos) << tessera_gam_error();
}

tessera_gam_model fitted(tessera_gam_table table, std::initializer_list<tessera_gam_option> options = {}) {
  const Given given(options);
  tessera_gam_model model = 0;
  EXPECT_EQ(tessera_gam_fit(formula, table, &given.call, &model), TESSERA_GAM_OK) << tessera_gam_error();
  return model;
}

std::vector<double> values(tessera_gam_model model, const char* name) {
  std::size_t rows = 0;
  std::size_t columns = 0;
  EXPECT_EQ(tessera_gam_model_shape(model, name, &rows, &columns), TESSERA_GAM_OK) << tessera_gam_error();
  std::vector<double> out(rows * columns);
  EXPECT_EQ(tessera_gam_model_values(model, name, out.data(), out.size()), TESSERA_GAM_OK);
  return out;
}

std::vector<double> matrix(tessera_gam_answer answer) {
  tessera_gam_answer_info info{};
  info.size = sizeof info;
  EXPECT_EQ(tessera_gam_answer_extent(answer, &info), TESSERA_GAM_OK) << tessera_gam_error();
  std::vector<double> out(info.rows * (info.columns - info.kept));
  EXPECT_EQ(tessera_gam_answer_matrix(answer, out.data(), out.size()), TESSERA_GAM_OK);
  return out;
}

std::vector<double> matrix_of(const Predictions& answer) {
  std::vector<double> all;
  for (const Predictions::Column& column : answer.columns)
    all.insert(all.end(), column.values.begin(), column.values.end());
  return all;
}

/// The same bits; NaN equals NaN.
void expect_same(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(double)), 0);
}

Job cpu_job() {
  return Job(mpi::Communicator::serial(), on_cpu(1));
}

/// A table and its model, both closed at the end.
class CInterface : public ::testing::Test {
 protected:
  void SetUp() override {
    table_ = data_.table();
    model_ = fitted(table_);
  }
  void TearDown() override {
    EXPECT_EQ(tessera_gam_table_close(table_), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_model_close(model_), TESSERA_GAM_OK);
  }

  Data data_;
  tessera_gam_table table_ = 0;
  tessera_gam_model model_ = 0;
};

TEST_F(CInterface, FitsWithTheBitsOfTheEngine) {
  Job job = cpu_job();
  const Model model = fit(job, parse_formula(formula), data_.of_engine()).model;
  expect_same(values(model_, "coefficients"), {model.coefficients().begin(), model.coefficients().end()});
  expect_same(values(model_, "covariance"), {model.covariance().begin(), model.covariance().end()});
  EXPECT_EQ(values(model_, "edf_total"), std::vector{model.edf()});
  EXPECT_EQ(values(model_, "deviance"), std::vector{model.deviance()});
  EXPECT_EQ(values(model_, "n"), std::vector{400.0});
  EXPECT_EQ(values(model_, "converged"), std::vector{1.0});
  EXPECT_EQ(values(model_, "AIC"), std::vector{figures_of(model).aic});
  EXPECT_EQ(values(model_, "sp"), std::vector{model.smoothing_parameters().at(0).value});
  const Matrix corrected = model.corrected_covariance();
  expect_same(values(model_, "Vc"), {corrected.data(), corrected.data() + 81});
  EXPECT_EQ(values(model_, "R").size(), 81U);
  EXPECT_EQ(values(model_, "edf2"), model.coefficient_edf2());
  double edf = 0;
  for (const double one : values(model_, "edf")) edf += one;
  EXPECT_NEAR(edf, model.edf(), 1e-12);

  const char* text = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(tessera_gam_model_text_count(model_, "coefficients", &count), TESSERA_GAM_OK);
  ASSERT_EQ(count, model.coefficients().size());
  ASSERT_EQ(tessera_gam_model_text(model_, "coefficients", 1, &text), TESSERA_GAM_OK);
  EXPECT_STREQ(text, "sidesouth");
  expect_refusal(tessera_gam_model_text(model_, "coefficients", count, &text),
                 "'coefficients' of the model has no element 9");
  ASSERT_EQ(tessera_gam_model_text(model_, "smooths", 0, &text), TESSERA_GAM_OK);
  EXPECT_STREQ(text, "s(x)");
  ASSERT_EQ(tessera_gam_summary(model_, TESSERA_GAM_JSON, &text, nullptr), TESSERA_GAM_OK);
  EXPECT_EQ(text, summary_json(model));
}

TEST_F(CInterface, FitsLinearPredictorsThatShareTerms) {
  const char* const shared = "list(y ~ side, ~ 1, 1 + 2 ~ s(x, k=5) - 1)";
  Job job = cpu_job();
  const Model model = fit(job, parse_formula(shared), data_.of_engine(), {.family = family("gaulss")}).model;
  const Given given{{"family", "gaulss"}};
  tessera_gam_model fitted = 0;
  ASSERT_EQ(tessera_gam_fit(shared, table_, &given.call, &fitted), TESSERA_GAM_OK) << tessera_gam_error();
  expect_same(values(fitted, "coefficients"), {model.coefficients().begin(), model.coefficients().end()});
  const char* text = nullptr;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.coefficients().size(); ++i) {
    ASSERT_EQ(tessera_gam_model_text(fitted, "coefficients", i, &text), TESSERA_GAM_OK);
    names.emplace_back(text);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"(Intercept)", "sidesouth", "(Intercept).1", "s.2(x).1",
                                             "s.2(x).2", "s.2(x).3", "s.2(x).4"}));
  ASSERT_EQ(tessera_gam_model_text(fitted, "formula", 0, &text), TESSERA_GAM_OK);
  EXPECT_STREQ(text, shared);

  // The curve is one column of terms, and adds to both predictors.
  const auto predicted = [&](const char* type) {
    const Given options{{"type", type}};
    tessera_gam_answer answer = 0;
    EXPECT_EQ(tessera_gam_predict(fitted, table_, &options.call, &answer), TESSERA_GAM_OK)
        << tessera_gam_error();
    const std::vector<double> found = matrix(answer);
    EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
    return found;
  };
  const std::vector<double> link = predicted("link");
  const std::vector<double> terms = predicted("terms");
  ASSERT_EQ(link.size(), 800U);
  ASSERT_EQ(terms.size(), 800U);
  const double constant = values(fitted, "coefficients")[2];
  for (std::size_t row = 0; row < 400; ++row)
    EXPECT_NEAR(link[400 + row], constant + terms[400 + row], 1e-12);
  EXPECT_EQ(tessera_gam_model_close(fitted), TESSERA_GAM_OK);
}

TEST_F(CInterface, ReadsOptionsByName) {
  Job job = cpu_job();
  FitOptions options{.family = family("Gamma(inverse)"), .gamma = 1.4};
  options.knots = {{"x", {-0.1, 1.1}}};
  options.sp = {0.5};
  options.subset = "x < 0.9";
  Table table = data_.of_engine();
  for (double& y : std::get<std::vector<double>>(table.columns[1].values)) y += 3;
  const Model model = fit(job, parse_formula("y ~ s(x, bs='cc', k=8)"), table, options).model;

  Data data = data_;
  for (double& y : data.y) y += 3;
  const tessera_gam_table of_c = data.table();
  const Given given{{"link", "inverse"},     {"Family", "Gamma"},   {"gamma", "1.4"},   {"sp", "0.5"},
                    {"knots", "x=-0.1,1.1"}, {"subset", "x < 0.9"}, {"method", "fREML"}};
  tessera_gam_model fitted = 0;
  ASSERT_EQ(tessera_gam_fit("y ~ s(x, bs='cc', k=8)", of_c, &given.call, &fitted), TESSERA_GAM_OK)
      << tessera_gam_error();
  expect_same(values(fitted, "coefficients"), {model.coefficients().begin(), model.coefficients().end()});
  EXPECT_EQ(tessera_gam_model_close(fitted), TESSERA_GAM_OK);

  tessera_gam_model none = 0;
  const auto refused = [&](tessera_gam_option option, const std::string& text) {
    const Given call{option};
    expect_refusal(tessera_gam_fit(formula, of_c, &call.call, &none), text);
  };
  refused({"gama", "1"}, "there is no option 'gama' (did you mean 'gamma'?)");
  refused({"new-levels", "na"}, "tessera_gam_fit has no option 'new-levels'");
  refused({"gamma", "much"}, "gamma 'much': 'much' is not a finite number");
  refused({"select", "maybe"}, "give true or false");
  refused({"device", "tpu"}, "device 'tpu': give one of auto, gpu, cpu");
  refused({"method", "GCV.Cp"}, "the only method is fREML");
  refused({"link", "sqrt"}, "the family gaussian does not have this link");
  refused({"memory", "2X"}, "give a size");
  refused({"threads", "-1"}, "from 0 to 4096");
  refused({nullptr, "1"}, "an option's name is null");
  refused({"gamma", nullptr}, "an option's value is null");
  refused({"weights", "\xff"}, "not valid UTF-8");
  EXPECT_EQ(none, 0U);
  EXPECT_EQ(tessera_gam_table_close(of_c), TESSERA_GAM_OK);
}

TEST_F(CInterface, PredictsEveryTypeWithTheBitsOfTheEngine) {
  const char* json = nullptr;
  std::size_t length = 0;
  ASSERT_EQ(tessera_gam_model_to_json(model_, &json, &length), TESSERA_GAM_OK);
  const Model model = model_from_json({json, length});
  Job job = cpu_job();
  const Table rows = data_.of_engine();
  const auto compare = [&](const PredictOptions& options, std::initializer_list<tessera_gam_option> given) {
    const Given call(given);
    tessera_gam_answer answer = 0;
    ASSERT_EQ(tessera_gam_predict(model_, table_, &call.call, &answer), TESSERA_GAM_OK)
        << tessera_gam_error();
    expect_same(matrix(answer), matrix_of(predict(job, model, rows, options)));
    EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
  };
  PredictOptions options{.standard_errors = true};
  compare(options, {{"se.fit", "TRUE"}});
  options.type = PredictionType::response;
  options.interval = 0.9;
  options.prediction_interval = 0.8;
  compare(options,
          {{"type", "response"}, {"se", "true"}, {"interval", "0.9"}, {"prediction.interval", "0.8"}});
  options = {.type = PredictionType::terms};
  compare(options, {{"type", "terms"}});
  options.terms = {"s(x)"};
  options.type = PredictionType::iterms;
  options.standard_errors = true;
  options.unconditional = true;
  compare(options, {{"type", "iterms"}, {"terms", "s(x)"}, {"se", "true"}, {"unconditional", "true"}});
  options = {.type = PredictionType::lpmatrix};
  compare(options, {{"type", "lpmatrix"}});
  options = {};
  options.exclude = {"side", "(Intercept)"};
  compare(options, {{"exclude", "side"}, {"exclude", "(Intercept)"}});
}

/// `y ~ 0` has none.
TEST_F(CInterface, AModelWithoutCoefficientsAnswers) {
  const Given given{};
  tessera_gam_model model = 0;
  ASSERT_EQ(tessera_gam_fit("y ~ 0", table_, &given.call, &model), TESSERA_GAM_OK) << tessera_gam_error();
  EXPECT_TRUE(values(model, "covariance").empty());
  // By reference: the call that makes the status also makes the answer, in any order of arguments.
  const auto expect_extent = [](int status, const tessera_gam_answer& answer, std::size_t rows,
                                std::size_t columns) {
    ASSERT_EQ(status, TESSERA_GAM_OK) << tessera_gam_error();
    tessera_gam_answer_info info{};
    info.size = sizeof info;
    ASSERT_EQ(tessera_gam_answer_extent(answer, &info), TESSERA_GAM_OK);
    EXPECT_EQ(info.rows, rows);
    EXPECT_EQ(info.columns, columns);
    for (const double one : matrix(answer)) EXPECT_TRUE(std::isfinite(one));
    EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
  };
  tessera_gam_answer answer = 0;
  for (const auto& [type, columns] : std::initializer_list<std::pair<const char*, std::size_t>>{
           {"link", 1}, {"response", 1}, {"terms", 0}, {"iterms", 0}, {"lpmatrix", 0}}) {
    const Given of_type{{"type", type}};
    expect_extent(tessera_gam_predict(model, table_, &of_type.call, &answer), answer, 400, columns);
  }
  const Given errors{{"se", "true"}, {"interval", "0.9"}};
  const Given of_terms{{"type", "iterms"}, {"se", "true"}};
  expect_extent(tessera_gam_predict(model, table_, &of_terms.call, &answer), answer, 400, 0);
  expect_extent(tessera_gam_predict(model, table_, &errors.call, &answer), answer, 400, 4);
  const Given drawn{{"draws", "3"}};
  expect_extent(tessera_gam_predict(model, table_, &drawn.call, &answer), answer, 400, 3);
  expect_extent(tessera_gam_simulate_responses(model, table_, &drawn.call, &answer), answer, 400, 3);
  expect_extent(tessera_gam_simulate_coefficients(model, &drawn.call, &answer), answer, 3, 0);
  expect_extent(tessera_gam_simulate_smooths(model, &drawn.call, &answer), answer, 0, 4);
  expect_extent(tessera_gam_smooths(model, &drawn.call, &answer), answer, 0, 7);
  expect_extent(tessera_gam_table_differences(model, table_, table_, nullptr, &answer), answer, 400, 2);
  expect_refusal(tessera_gam_derivatives(model, nullptr, &answer),
                 "derivatives need a smooth of a numeric variable");
  expect_refusal(tessera_gam_level_differences(model, nullptr, &answer), "no smooth by levels");
  const char* text = nullptr;
  for (const std::int32_t form : {TESSERA_GAM_TEXT, TESSERA_GAM_JSON, TESSERA_GAM_BOTH}) {
    EXPECT_EQ(tessera_gam_summary(model, form, &text, nullptr), TESSERA_GAM_OK) << tessera_gam_error();
    EXPECT_EQ(tessera_gam_anova(&model, 1, "auto", form, &text, nullptr), TESSERA_GAM_OK)
        << tessera_gam_error();
    EXPECT_EQ(tessera_gam_check(model, table_, nullptr, form, &text, nullptr), TESSERA_GAM_OK)
        << tessera_gam_error();
  }
  tessera_gam_table slice = 0;
  ASSERT_EQ(tessera_gam_slice(model, "", &slice, &text), TESSERA_GAM_OK) << tessera_gam_error();
  expect_extent(tessera_gam_predict(model, slice, nullptr, &answer), answer, 1, 1);
  EXPECT_EQ(tessera_gam_table_close(slice), TESSERA_GAM_OK);
  ASSERT_EQ(tessera_gam_model_to_json(model, &text, nullptr), TESSERA_GAM_OK);
  const std::string json = text;
  tessera_gam_model again = 0;
  ASSERT_EQ(tessera_gam_model_from_json(json.data(), json.size(), &again), TESSERA_GAM_OK)
      << tessera_gam_error();
  const Given rows{{"type", "lpmatrix"}};
  expect_extent(tessera_gam_predict(again, table_, &rows.call, &answer), answer, 400, 0);
  EXPECT_EQ(tessera_gam_model_close(again), TESSERA_GAM_OK);
  EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
}

TEST_F(CInterface, AModelWithoutCoefficientsHasAScaleInRange) {
  const std::vector<double> huge{1e300, 2e299, 4e299};
  tessera_gam_table table = 0;
  ASSERT_EQ(tessera_gam_table_open(3, nullptr, &table), TESSERA_GAM_OK);
  ASSERT_EQ(tessera_gam_table_add_numbers(table, "y", huge.data(), 3), TESSERA_GAM_OK);
  const Given given{};
  tessera_gam_model model = 0;
  expect_refusal(tessera_gam_fit("y ~ 0", table, &given.call, &model), "the scale overflows",
                 TESSERA_GAM_INPUT);
  EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
}

/// Like the option `ordered`; predictions know the levels, in any order.
TEST_F(CInterface, OrderedFactorsHavePolynomialContrasts) {
  Data data(90);
  data.levels = {"low", "mid, or so", "high"};
  for (std::size_t i = 0; i < 90; ++i) data.codes[i] = static_cast<std::int32_t>(i % 3);
  const auto json_of = [&](std::int32_t order, std::initializer_list<tessera_gam_option> options,
                           const char* of_dose) {
    tessera_gam_table table = 0;
    EXPECT_EQ(tessera_gam_table_open(90, nullptr, &table), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_table_add_numbers(table, "y", data.y.data(), 90), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_table_add_numbers(table, "x", data.x.data(), 90), TESSERA_GAM_OK);
    EXPECT_EQ(
        tessera_gam_table_add_factor(table, "dose", data.codes.data(), 90, data.levels.data(), 3, order),
        TESSERA_GAM_OK);
    const Given given(options);
    tessera_gam_model model = 0;
    EXPECT_EQ(tessera_gam_fit(of_dose, table, &given.call, &model), TESSERA_GAM_OK) << tessera_gam_error();
    const char* text = "";
    EXPECT_EQ(tessera_gam_model_to_json(model, &text, nullptr), TESSERA_GAM_OK);
    const std::string json = text;
    const std::vector<std::int32_t> codes{1, 0};
    const char* const turned[] = {"high", "low"};
    tessera_gam_table two = 0;
    EXPECT_EQ(tessera_gam_table_open(2, nullptr, &two), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_table_add_numbers(two, "x", data.x.data(), 2), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_table_add_factor(two, "dose", codes.data(), 2, turned, 2, order), TESSERA_GAM_OK);
    tessera_gam_answer answer = 0;
    EXPECT_EQ(tessera_gam_predict(model, two, nullptr, &answer), TESSERA_GAM_OK) << tessera_gam_error();
    for (const double one : matrix(answer)) EXPECT_TRUE(std::isfinite(one)) << of_dose;
    for (const std::uint64_t closed : {table, two})
      EXPECT_EQ(tessera_gam_table_close(closed), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
    return json;
  };
  for (const char* const one :
       {"y ~ dose", "y ~ dose + s(x, by=dose, k=5)", "y ~ dose*x", "y ~ (dose > 'low') + x"}) {
    EXPECT_EQ(json_of(TESSERA_GAM_LEVELS_ORDERED, {}, one),
              json_of(TESSERA_GAM_LEVELS_GIVEN, {{"ordered", "dose"}}, one));
  }
  const std::string ordered = json_of(TESSERA_GAM_LEVELS_ORDERED, {}, "y ~ dose");
  EXPECT_NE(ordered.find("\"dose.L\""), std::string::npos);
  EXPECT_NE(ordered.find("\"dose.Q\""), std::string::npos);
  EXPECT_NE(json_of(TESSERA_GAM_LEVELS_GIVEN, {}, "y ~ dose"), ordered);
  // An ordered factor that only the condition of `subset` uses.
  EXPECT_NE(
      json_of(TESSERA_GAM_LEVELS_ORDERED, {{"subset", "dose >= 'mid, or so'"}}, "y ~ x").find("\"n\": 60,"),
      std::string::npos);
  // A level that the option omits is missing; the others remain steps of the scale.
  const std::string two = json_of(TESSERA_GAM_LEVELS_ORDERED, {{"levels", "dose=high,low"}}, "y ~ dose");
  EXPECT_NE(two.find("\"dose.L\""), std::string::npos);
  EXPECT_EQ(two.find("\"dose.Q\""), std::string::npos);
}

/// Draws that exceed memory are refused before they are computed.
TEST_F(CInterface, CountsTheMemoryOfDraws) {
  const Data many(100'000);
  const tessera_gam_table rows = many.table();
  const Given draws{{"draws", "100000000"}};
  tessera_gam_answer answer = 0;
  expect_refusal(tessera_gam_simulate_responses(model_, rows, &draws.call, &answer),
                 "100000000 draws of 100000 responses need ", TESSERA_GAM_INPUT);
  expect_refusal(tessera_gam_predict(model_, rows, &draws.call, &answer),
                 "100000000 columns of 100000 rows need ", TESSERA_GAM_INPUT);
  EXPECT_EQ(tessera_gam_table_close(rows), TESSERA_GAM_OK);
  const Given smooths{{"draws", "100000000"}, {"points", "100000"}};
  expect_refusal(tessera_gam_simulate_smooths(model_, &smooths.call, &answer),
                 "100000000 draws of smooths need ", TESSERA_GAM_INPUT);
  tessera_gam_model model = 0;
  const Given given{};
  std::vector<double> z = data_.x;
  std::ranges::rotate(z, z.begin() + 7);
  ASSERT_EQ(tessera_gam_table_add_numbers(table_, "z", z.data(), z.size()), TESSERA_GAM_OK);
  ASSERT_EQ(tessera_gam_fit("y ~ te(x, z, k=3)", table_, &given.call, &model), TESSERA_GAM_OK)
      << tessera_gam_error();
  const Given points{{"points", "100000"}};
  expect_refusal(tessera_gam_smooths(model, &points.call, &answer), "the grid of te(x,z) has 1e+10 points");
  EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
}

TEST_F(CInterface, KeepsColumnsAndTellsOfUnseenLevels) {
  Data data(10);
  data.levels = {"south", "west"};
  const tessera_gam_table table = data.table();
  const Given given{{"keep", "side,x"}};
  tessera_gam_answer answer = 0;
  ASSERT_EQ(tessera_gam_predict(model_, table, &given.call, &answer), TESSERA_GAM_OK) << tessera_gam_error();
  tessera_gam_answer_info extent{};
  extent.size = sizeof extent;
  ASSERT_EQ(tessera_gam_answer_extent(answer, &extent), TESSERA_GAM_OK);
  EXPECT_EQ(extent.rows, 10U);
  EXPECT_EQ(extent.columns, 3U);
  EXPECT_EQ(extent.kept, 2U);
  ASSERT_EQ(extent.remarks, 1U);
  const char* text = nullptr;
  ASSERT_EQ(tessera_gam_answer_remark(answer, 0, &text), TESSERA_GAM_OK);
  EXPECT_NE(std::string(text).find("west"), std::string::npos) << text;
  expect_refusal(tessera_gam_answer_remark(answer, 1, &text), "remark index 1 is out of range");

  tessera_gam_column_info column{};
  column.size = sizeof column;
  ASSERT_EQ(tessera_gam_answer_column(answer, 1, &column), TESSERA_GAM_OK);
  EXPECT_STREQ(column.name, "side");
  EXPECT_EQ(column.is_factor, 1);
  ASSERT_EQ(column.levels, 2U);
  std::vector<std::int32_t> codes(10);
  ASSERT_EQ(tessera_gam_answer_codes(answer, 1, codes.data(), 10), TESSERA_GAM_OK);
  ASSERT_EQ(tessera_gam_answer_level(answer, 1, static_cast<std::size_t>(codes[1]), &text), TESSERA_GAM_OK);
  EXPECT_STREQ(text, "west");
  expect_refusal(tessera_gam_answer_level(answer, 1, 2, &text), "no level with index 2");
  std::vector<double> numbers(10);
  ASSERT_EQ(tessera_gam_answer_numbers(answer, 2, numbers.data(), 10), TESSERA_GAM_OK);
  expect_same(numbers, data.x);
  ASSERT_EQ(tessera_gam_answer_numbers(answer, 0, numbers.data(), 10), TESSERA_GAM_OK);
  EXPECT_TRUE(std::isnan(numbers[1]));
  EXPECT_FALSE(std::isnan(numbers[0]));

  expect_refusal(tessera_gam_answer_numbers(answer, 0, numbers.data(), 9), "9 elements, but needs 10");
  expect_refusal(tessera_gam_answer_numbers(answer, 1, numbers.data(), 10), "is a factor");
  expect_refusal(tessera_gam_answer_codes(answer, 2, codes.data(), 10), "is numeric");
  expect_refusal(tessera_gam_answer_numbers(answer, 3, numbers.data(), 10), "column index 3 is out of range");
  expect_refusal(tessera_gam_answer_matrix(answer, numbers.data(), 20), "has 20 elements, but needs 10");
  expect_refusal(tessera_gam_answer_numbers(answer, 0, nullptr, 10), "values is null");
  EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
  EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
}

TEST_F(CInterface, AnswersWhatTheEngineDoes) {
  const char* text = nullptr;
  ASSERT_EQ(tessera_gam_model_to_json(model_, &text, nullptr), TESSERA_GAM_OK);
  const Model model = model_from_json(text);
  Job job = cpu_job();
  const Table rows = data_.of_engine();
  const auto compare = [&](const Predictions& expected, int status, tessera_gam_answer answer) {
    ASSERT_EQ(status, TESSERA_GAM_OK) << tessera_gam_error();
    expect_same(matrix(answer), matrix_of(expected));
    EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
  };
  tessera_gam_answer answer = 0;
  const Given smooths{{"points", "7"}, {"draws", "50"}, {"seed", "3"}};
  SmoothOptions of_smooths{.points = 7, .draws = 50, .seed = 3};
  int status = tessera_gam_smooths(model_, &smooths.call, &answer);
  compare(smooth_estimates(job, model, of_smooths), status, answer);
  const Given derived{{"points", "7"}, {"draws", "0"}, {"order", "2"}};
  DerivativeOptions of_derivatives;
  of_derivatives.points = 7;
  of_derivatives.draws = 0;
  of_derivatives.order = 2;
  status = tessera_gam_derivatives(model_, &derived.call, &answer);
  compare(derivatives(job, model, of_derivatives), status, answer);
  const Given drawn{{"draws", "3"}, {"seed", "5"}};
  SimulateOptions of_draws{.draws = 3, .seed = 5};
  status = tessera_gam_simulate_coefficients(model_, &drawn.call, &answer);
  compare(simulate_coefficients(job, model, of_draws), status, answer);
  status = tessera_gam_simulate_smooths(model_, &drawn.call, &answer);
  compare(simulate_smooths(job, model, of_draws), status, answer);
  status = tessera_gam_simulate_responses(model_, table_, &drawn.call, &answer);
  Predictions responses;
  static_cast<void>(simulate_responses(
      job, model, rows, [&](const Predictions& part) { responses = part; }, of_draws));
  compare(responses, status, answer);
  status = tessera_gam_table_differences(model_, table_, table_, nullptr, &answer);
  ASSERT_EQ(status, TESSERA_GAM_OK) << tessera_gam_error();
  for (const double one : matrix(answer)) EXPECT_EQ(one, 0);
  EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
  const TemporaryFolder folder;
  const std::string path = (folder / "data.csv").string();
  {
    std::ofstream csv(path);
    csv << "x,side\n" << std::setprecision(17);
    for (std::size_t i = 0; i < data_.x.size(); ++i)
      csv << data_.x[i] << ',' << data_.levels[static_cast<std::size_t>(data_.codes[i])] << '\n';
  }
  tessera_gam_table file = 0;
  ASSERT_EQ(tessera_gam_table_of_file(path.c_str(), nullptr, &file), TESSERA_GAM_OK) << tessera_gam_error();
  for (const auto& [minuend, subtrahend] : {std::pair{table_, file}, std::pair{file, table_}}) {
    status = tessera_gam_table_differences(model_, minuend, subtrahend, nullptr, &answer);
    ASSERT_EQ(status, TESSERA_GAM_OK) << tessera_gam_error();
    for (const double one : matrix(answer)) EXPECT_EQ(one, 0);
    EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
  }
  EXPECT_EQ(tessera_gam_table_close(file), TESSERA_GAM_OK);
  expect_refusal(tessera_gam_level_differences(model_, nullptr, &answer), "no smooth by levels");

  tessera_gam_table slice = 0;
  ASSERT_EQ(tessera_gam_slice(model_, "x=0.25,0.5;side=south", &slice, &text), TESSERA_GAM_OK)
      << tessera_gam_error();
  ASSERT_EQ(tessera_gam_predict(model_, slice, nullptr, &answer), TESSERA_GAM_OK) << tessera_gam_error();
  EXPECT_EQ(matrix(answer).size(), 2U);
  EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
  EXPECT_EQ(tessera_gam_table_close(slice), TESSERA_GAM_OK);
  expect_refusal(tessera_gam_slice(model_, "x", &slice, &text), "'x' does not have the form name=values");

  const char* const columns[] = {"side"};
  ASSERT_EQ(tessera_gam_columns(table_, columns, 1, nullptr, TESSERA_GAM_JSON, &text, nullptr),
            TESSERA_GAM_OK)
      << tessera_gam_error();
  EXPECT_EQ(text, columns_json(describe_columns(job, rows, {"side"})));
  ASSERT_EQ(tessera_gam_columns(table_, nullptr, 0, nullptr, TESSERA_GAM_TEXT, &text, nullptr),
            TESSERA_GAM_OK);
  EXPECT_EQ(text, columns_text(describe_columns(job, rows)));
  expect_refusal(tessera_gam_columns(table_, nullptr, 1, nullptr, TESSERA_GAM_TEXT, &text, nullptr),
                 "columns");

  const Given checked{{"seed", "7"}};
  ASSERT_EQ(tessera_gam_check(model_, table_, &checked.call, TESSERA_GAM_JSON, &text, nullptr),
            TESSERA_GAM_OK)
      << tessera_gam_error();
  CheckOptions of_check{.seed = 7};
  EXPECT_EQ(text, check_json(check(job, model, rows, of_check), of_check));
  ASSERT_EQ(tessera_gam_check(model_, table_, &checked.call, TESSERA_GAM_BOTH, &text, nullptr),
            TESSERA_GAM_OK)
      << tessera_gam_error();
  const std::string of_both(text);
  EXPECT_TRUE(of_both.starts_with(R"({"text": ")"));
  EXPECT_NE(of_both.find(R"(\n)"), std::string::npos);
  EXPECT_TRUE(
      of_both.ends_with(R"("data": )" + check_json(check(job, model, rows, of_check), of_check) + "}"));
  for (const char* type : {"deviance", "pearson", "response", "working", "partial", "fitted"}) {
    const Given of_type{{"type", type}, {"variables", "true"}};
    ASSERT_EQ(tessera_gam_residuals(model_, table_, &of_type.call, &answer), TESSERA_GAM_OK)
        << tessera_gam_error();
    const std::vector<double> found = matrix(answer);
    const std::vector<double> fit = predict(job, model, rows).columns.front().values;
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], type == std::string("fitted") ? fit[i] : data_.y[i] - fit[i], 1e-12) << type;
    tessera_gam_answer_info extent{.size = sizeof extent};
    EXPECT_EQ(tessera_gam_answer_extent(answer, &extent), TESSERA_GAM_OK);
    EXPECT_EQ(extent.rows, data_.y.size());
    EXPECT_EQ(extent.kept, 2U);
    EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
  }
  const Given of_all{{"type", "all"}};
  ASSERT_EQ(tessera_gam_residuals(model_, table_, &of_all.call, &answer), TESSERA_GAM_OK)
      << tessera_gam_error();
  const std::vector<double> whole = matrix(answer);
  EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
  ASSERT_EQ(whole.size(), 7 * data_.y.size());
  const Given of_fit{{"type", "fit"}};
  ASSERT_EQ(tessera_gam_residuals(model_, table_, &of_fit.call, &answer), TESSERA_GAM_OK)
      << tessera_gam_error();
  EXPECT_TRUE(std::ranges::equal(matrix(answer), std::span(whole).first(4 * data_.y.size())));
  EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
  auto next = whole.begin();
  for (const char* type :
       {"fitted", "linear-predictor", "working-weight", "deviance", "pearson", "response", "working"}) {
    const Given of_type{{"type", type}};
    ASSERT_EQ(tessera_gam_residuals(model_, table_, &of_type.call, &answer), TESSERA_GAM_OK)
        << tessera_gam_error();
    const std::vector<double> column = matrix(answer);
    EXPECT_TRUE(std::ranges::equal(column, std::vector(next, next + std::ssize(column)))) << type;
    next += std::ssize(column);
    EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
  }
  const tessera_gam_model smaller = fitted(table_, {{"sp", "100"}});
  const std::vector<tessera_gam_model> both{smaller, model_};
  ASSERT_EQ(tessera_gam_anova(both.data(), 2, "auto", TESSERA_GAM_TEXT, &text, nullptr), TESSERA_GAM_OK)
      << tessera_gam_error();
  EXPECT_NE(std::string(text).find("Pr(>F)"), std::string::npos) << text;
  expect_refusal(tessera_gam_anova(both.data(), 2, "t", TESSERA_GAM_TEXT, &text, nullptr),
                 "unknown test 't'");
  expect_refusal(tessera_gam_anova(both.data(), 0, "auto", TESSERA_GAM_TEXT, &text, nullptr), "no model");
  expect_refusal(tessera_gam_summary(model_, 3, &text, nullptr), "unknown form 3");
  EXPECT_EQ(tessera_gam_model_close(smaller), TESSERA_GAM_OK);
}

TEST_F(CInterface, CountsTheRowsInWhichQuantilesCross) {
  const tessera_gam_model low = fitted(table_, {{"family", "elf(qu=0.2, lsig=-3, co=0.05)"}});
  const tessera_gam_model high = fitted(table_, {{"family", "elf(qu=0.8, lsig=-3, co=0.05)"}});
  const std::vector<tessera_gam_model> models{low, high, low};
  std::int64_t rows = -1;
  ASSERT_EQ(tessera_gam_crossing_rows(models.data(), 2, table_, nullptr, &rows), TESSERA_GAM_OK)
      << tessera_gam_error();
  EXPECT_EQ(rows, 0);
  ASSERT_EQ(tessera_gam_crossing_rows(models.data(), 3, table_, nullptr, &rows), TESSERA_GAM_OK);
  EXPECT_EQ(rows, 400);
  expect_refusal(tessera_gam_crossing_rows(models.data(), 0, table_, nullptr, &rows), "no model");
  for (const tessera_gam_model model : {low, high}) EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
}

TEST_F(CInterface, ModelsAreTextsAndFiles) {
  const char* text = nullptr;
  std::size_t length = 0;
  ASSERT_EQ(tessera_gam_model_to_json(model_, &text, &length), TESSERA_GAM_OK);
  const std::string first(text, length);
  tessera_gam_model again = 0;
  ASSERT_EQ(tessera_gam_model_from_json(first.data(), first.size(), &again), TESSERA_GAM_OK);
  ASSERT_EQ(tessera_gam_model_to_json(again, &text, nullptr), TESSERA_GAM_OK);
  EXPECT_EQ(text, first);
  EXPECT_EQ(tessera_gam_model_close(again), TESSERA_GAM_OK);
  expect_refusal(tessera_gam_model_from_json("{}", 2, &again), "is not a model", TESSERA_GAM_INPUT);

  const TemporaryFolder folder;
  const std::string path = (folder.path() / "model.json").string();
  ASSERT_EQ(tessera_gam_model_save(model_, path.c_str()), TESSERA_GAM_OK) << tessera_gam_error();
  ASSERT_EQ(tessera_gam_model_load(path.c_str(), &again), TESSERA_GAM_OK) << tessera_gam_error();
  expect_same(values(again, "covariance"), values(model_, "covariance"));
  EXPECT_EQ(tessera_gam_model_close(again), TESSERA_GAM_OK);
  expect_refusal(tessera_gam_model_load("/no/such/model", &again), "/no/such/model", TESSERA_GAM_INPUT);
}

/// The covariances of large random effects, which model files have in a separate file.
TEST(CInterfaceModels, AreTextsWithAllThatIsInFiles) {
  for (const std::string version : {"version_4", "version_5"}) {
    tessera_gam_model model = 0;
    const std::string path = TESSERA_TEST_DATA "/models/" + version + ".json";
    ASSERT_EQ(tessera_gam_model_load(path.c_str(), &model), TESSERA_GAM_OK) << tessera_gam_error();
    const char* text = nullptr;
    ASSERT_EQ(tessera_gam_model_to_json(model, &text, nullptr), TESSERA_GAM_OK) << tessera_gam_error();
    const std::string first = text;
    tessera_gam_model again = 0;
    ASSERT_EQ(tessera_gam_model_from_json(first.data(), first.size(), &again), TESSERA_GAM_OK)
        << tessera_gam_error();
    expect_same(values(again, "covariance"), values(model, "covariance"));
    EXPECT_TRUE(values(again, "Ve").empty());
    ASSERT_EQ(tessera_gam_model_to_json(again, &text, nullptr), TESSERA_GAM_OK);
    EXPECT_TRUE(text == first);
    EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_model_close(again), TESSERA_GAM_OK);
  }
  // A text cannot refer to a file.
  const std::string text =
      R"({"format": "tessera-fit model", "version": 3, "formula": "y ~ 1", "family": "gaussian",
    "link": "identity", "n": 1, "rows_dropped": 0, "coefficients": [{"name": "a", "value": 1}],
    "covariance": {"suffix": ".cov-00000000", "rows": 1, "crc32": "00000000"}})";
  tessera_gam_model model = 0;
  expect_refusal(tessera_gam_model_from_json(text.data(), text.size(), &model),
                 "a model given as text cannot have a second file", TESSERA_GAM_INPUT);
}

TEST_F(CInterface, RefusesHandlesThatAreNone) {
  const char* text = nullptr;
  expect_refusal(tessera_gam_summary(0, TESSERA_GAM_TEXT, &text, nullptr), "the handle of the model is 0");
  expect_refusal(tessera_gam_summary(table_, TESSERA_GAM_TEXT, &text, nullptr),
                 "the handle is for a table, but the call needs a handle for a model");
  expect_refusal(tessera_gam_summary(model_ + 1, TESSERA_GAM_TEXT, &text, nullptr), "model");
  expect_refusal(tessera_gam_summary(model_ ^ (std::uint64_t{1} << 30), TESSERA_GAM_TEXT, &text, nullptr),
                 "not an open model");
  expect_refusal(tessera_gam_summary(~std::uint64_t{0}, TESSERA_GAM_TEXT, &text, nullptr), "not a handle");
  // The handle of the open table, if it were a model's.
  expect_refusal(tessera_gam_summary(table_ ^ (std::uint64_t{3} << 56), TESSERA_GAM_TEXT, &text, nullptr),
                 "not an open model");
  const Data three(3);
  const tessera_gam_table first = three.table();
  ASSERT_EQ(tessera_gam_table_close(first), TESSERA_GAM_OK);
  expect_refusal(tessera_gam_table_close(first), "was closed");
  const tessera_gam_table second = three.table();  // replaces the first
  EXPECT_NE(first, second);
  expect_refusal(tessera_gam_table_close(first), "was closed");
  EXPECT_EQ(tessera_gam_table_close(second), TESSERA_GAM_OK);
}

TEST_F(CInterface, RefusesColumnsThatAreNotTheTables) {
  const std::vector<double> numbers(5);
  const std::vector<std::int32_t> codes{0, 1, 2, -1, 0};
  const std::vector<const char*> levels{"a", "b"};
  tessera_gam_table table = 0;
  expect_refusal(tessera_gam_table_open(0, nullptr, &table), "cannot have 0 rows");
  expect_refusal(tessera_gam_table_open(-1, nullptr, &table), "cannot have -1 rows");
  expect_refusal(tessera_gam_table_open(INT64_MAX, nullptr, &table), "more than memory can hold");
  expect_refusal(tessera_gam_table_open(1, nullptr, nullptr), "table is null");
  ASSERT_EQ(tessera_gam_table_open(5, nullptr, &table), TESSERA_GAM_OK);
  expect_refusal(tessera_gam_table_add_numbers(table, "x", numbers.data(), 4), "'x' has 4 rows");
  expect_refusal(tessera_gam_table_add_numbers(table, "x", numbers.data(), SIZE_MAX), "rows");
  expect_refusal(tessera_gam_table_add_numbers(table, nullptr, numbers.data(), 5), "name is null");
  expect_refusal(tessera_gam_table_add_numbers(table, "\xc3", numbers.data(), 5), "not valid UTF-8");
  expect_refusal(tessera_gam_table_add_numbers(table, "x", nullptr, 5), "values is null");
  ASSERT_EQ(tessera_gam_table_add_numbers(table, "x", numbers.data(), 5), TESSERA_GAM_OK);
  expect_refusal(tessera_gam_table_add_numbers(table, "x", numbers.data(), 5), "already has a column 'x'");
  expect_refusal(
      tessera_gam_table_add_factor(table, "f", codes.data(), 5, nullptr, 2, TESSERA_GAM_LEVELS_SORTED),
      "levels is null");
  ASSERT_EQ(
      tessera_gam_table_add_factor(table, "f", codes.data(), 5, levels.data(), 2, TESSERA_GAM_LEVELS_SORTED),
      TESSERA_GAM_OK);
  expect_refusal(tessera_gam_table_add_factor(table, "g", codes.data(), 5, levels.data(), 2, 3),
                 "unknown order of levels 3");
  // More than the memory of a machine has.
  expect_refusal(tessera_gam_table_add_factor(table, "g", codes.data(), 5, levels.data(), SIZE_MAX,
                                              TESSERA_GAM_LEVELS_SORTED),
                 "levels has 18446744073709551615 elements, which is more than memory can hold");
  tessera_gam_model model = 0;
  expect_refusal(tessera_gam_fit("x ~ f", table, nullptr, &model), "'f' has the code 2");
  EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
  ASSERT_EQ(tessera_gam_table_of_file("none.csv", nullptr, &table), TESSERA_GAM_OK);
  expect_refusal(tessera_gam_table_add_numbers(table, "x", numbers.data(), 5),
                 "to a table that is read from a file");
  expect_refusal(tessera_gam_fit("x ~ f", table, nullptr, &model), "none.csv", TESSERA_GAM_INPUT);
  EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
}

TEST_F(CInterface, RefusesCommunicatorsWithoutMpi) {
  const Data data;
  const tessera_gam_table table = data.table();
  tessera_gam_model model = 0;
  const bool has_mpi = std::string(tessera_gam_mpi_version()) != "";
  const Given given({{"comm", "0"}});
  expect_refusal(tessera_gam_fit(formula, table, &given.call, &model),
                 has_mpi ? "comm is given, but MPI is not initialised"
                         : "comm is given, but this library is built without MPI");
  EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
}

TEST_F(CInterface, RefusesStructuresOfNoVersion) {
  tessera_gam_model model = 0;
  tessera_gam_call call = TESSERA_GAM_CALL;
  call.size = 0;
  expect_refusal(tessera_gam_fit(formula, table_, &call, &model), "call has size 0");
  call.size = SIZE_MAX;
  expect_refusal(tessera_gam_fit(formula, table_, &call, &model), "call has size");
  call = TESSERA_GAM_CALL;
  call.option_count = 1;
  expect_refusal(tessera_gam_fit(formula, table_, &call, &model), "the list of options is null");
  const tessera_gam_option option{"threads", "1"};
  call.options = &option;
  call.option_count = SIZE_MAX;
  expect_refusal(tessera_gam_fit(formula, table_, &call, &model), "more than memory can hold");
  struct {
    tessera_gam_call known = TESSERA_GAM_CALL;
    std::int64_t later = 0;
  } longer;
  longer.known.size = sizeof longer;
  ASSERT_EQ(tessera_gam_fit(formula, table_, &longer.known, &model), TESSERA_GAM_OK) << tessera_gam_error();
  EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
  longer.later = 1;
  expect_refusal(tessera_gam_fit(formula, table_, &longer.known, &model), "this version of the library");
  tessera_gam_error_info info{};
  expect_refusal(tessera_gam_last_error(&info), "info has size 0");
}

TEST_F(CInterface, TellsWhatMgcvsObjectsNeed) {
  EXPECT_EQ(values(model_, "rank"), std::vector{6.0});
  EXPECT_EQ(values(model_, "null_space_dim"), std::vector{1.0});
  EXPECT_EQ(values(model_, "block_terms"), (std::vector{0.0, 1.0, 2.0}));
  EXPECT_EQ(values(model_, "reml_hessian").size(), 4U);
  EXPECT_NEAR(values(model_, "reml_hessian")[3], (400 - 3) / 2.0, 1e-9);
  EXPECT_EQ(values(model_, "reml_gradient").size(), 1U);
  EXPECT_EQ(values(model_, "select"), std::vector{0.0});
  EXPECT_TRUE(values(model_, "given_sp").empty());
  EXPECT_TRUE(values(model_, "sample").empty());
  const char* text = nullptr;
  ASSERT_EQ(tessera_gam_model_text(model_, "response", 0, &text), TESSERA_GAM_OK);
  EXPECT_STREQ(text, "y");
  ASSERT_EQ(tessera_gam_model_text(model_, "response_type", 0, &text), TESSERA_GAM_OK);
  EXPECT_STREQ(text, "number");
  std::size_t count = 1;
  ASSERT_EQ(tessera_gam_model_text_count(model_, "response_levels", &count), TESSERA_GAM_OK);
  EXPECT_EQ(count, 0U);

  const tessera_gam_model given = fitted(
      table_,
      {{"select", "true"}, {"sp", "-1,0.5"}, {"knots", "x=0,0.1,0.25,0.4,0.5,0.6,0.8,1"}, {"sample", "300"}});
  EXPECT_EQ(values(given, "select"), std::vector{1.0});
  EXPECT_EQ(values(given, "given_sp"), (std::vector{-1.0, 0.5}));
  EXPECT_EQ(values(given, "rank"), (std::vector{6.0, 1.0}));
  EXPECT_EQ(values(given, "null_space_dim"), std::vector{0.0});
  ASSERT_EQ(tessera_gam_model_text(given, "knots", 0, &text), TESSERA_GAM_OK);
  EXPECT_STREQ(text, "x=0,0.1,0.25,0.4,0.5,0.6,0.8,1");
  EXPECT_EQ(values(given, "sample").size(), 900U);
  ASSERT_EQ(tessera_gam_model_text_count(given, "sample", &count), TESSERA_GAM_OK);
  EXPECT_EQ(count, 3U);
  EXPECT_EQ(tessera_gam_model_close(given), TESSERA_GAM_OK);

  // A model of before has what follows from the rest.
  tessera_gam_model earlier = 0;
  ASSERT_EQ(tessera_gam_model_load(TESSERA_TEST_DATA "/models/version_6.json", &earlier), TESSERA_GAM_OK);
  EXPECT_FALSE(values(earlier, "rank").empty());
  EXPECT_TRUE(values(earlier, "reml_hessian").empty());
  ASSERT_EQ(tessera_gam_model_text(earlier, "response", 0, &text), TESSERA_GAM_OK);
  EXPECT_STREQ(text, "");
  EXPECT_EQ(tessera_gam_model_close(earlier), TESSERA_GAM_OK);
}

/// The weights of Poisson rows are w mu, and those of their residuals too.
TEST_F(CInterface, HasTheWorkingWeightsOfAllRows) {
  Data counts;
  for (double& y : counts.y) y = std::round(3 * y);
  std::vector<double> prior(counts.y.size());
  for (std::size_t i = 0; i < prior.size(); ++i) prior[i] = 1 + static_cast<double>(i % 3);
  for (double& y : counts.y) y = std::max(y, 0.0);
  counts.y[5] = std::nan("");
  const tessera_gam_table table = counts.table();
  ASSERT_EQ(tessera_gam_table_add_numbers(table, "prior", prior.data(), prior.size()), TESSERA_GAM_OK);
  const tessera_gam_model model = fitted(table, {{"family", "poisson"}, {"weights", "prior"}});
  const Given of_all{{"type", "all"}};
  tessera_gam_answer answer = 0;
  ASSERT_EQ(tessera_gam_residuals(model, table, &of_all.call, &answer), TESSERA_GAM_OK)
      << tessera_gam_error();
  const std::vector<double> all = matrix(answer);
  const std::size_t rows = prior.size();
  for (std::size_t i = 0; i < rows; ++i) {
    const double mu = all[i];
    if (i == 5) {
      for (std::size_t c = 0; c < 7; ++c) EXPECT_TRUE(std::isnan(all[c * rows + i]));
      continue;
    }
    EXPECT_NEAR(std::exp(all[rows + i]), mu, 1e-12 * mu);
    EXPECT_NEAR(all[2 * rows + i], prior[i] * mu, 1e-12 * mu);
    EXPECT_NEAR(all[4 * rows + i], (counts.y[i] - mu) * std::sqrt(prior[i] / mu), 1e-12);
    EXPECT_NEAR(all[5 * rows + i], counts.y[i] - mu, 1e-12);
    EXPECT_NEAR(all[6 * rows + i], (counts.y[i] - mu) / mu, 1e-12);
  }
  EXPECT_EQ(tessera_gam_answer_close(answer), TESSERA_GAM_OK);
  EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
  EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
}

TEST_F(CInterface, ReadsWholeNumbersAsNumbers) {
  Data data;
  std::vector<std::int32_t> integers;
  for (std::size_t i = 0; i < data.x.size(); ++i) {
    integers.push_back(i % 17 == 3 ? INT32_MIN : static_cast<std::int32_t>(7 * i % 101) - 40);
    data.x[i] = integers.back() == INT32_MIN ? std::nan("") : integers.back();
  }
  const tessera_gam_table doubles = data.table();
  tessera_gam_table table = 0;
  ASSERT_EQ(tessera_gam_table_open(400, nullptr, &table), TESSERA_GAM_OK);
  ASSERT_EQ(tessera_gam_table_add_integers(table, "x", integers.data(), integers.size()), TESSERA_GAM_OK);
  ASSERT_EQ(tessera_gam_table_add_numbers(table, "y", data.y.data(), data.y.size()), TESSERA_GAM_OK);
  ASSERT_EQ(tessera_gam_table_add_factor(table, "side", data.codes.data(), 400, data.levels.data(), 2,
                                         TESSERA_GAM_LEVELS_SORTED),
            TESSERA_GAM_OK);
  const tessera_gam_model model = fitted(table);
  const tessera_gam_model expected = fitted(doubles);
  EXPECT_EQ(values(model, "n"), std::vector{376.0});
  expect_same(values(model, "coefficients"), values(expected, "coefficients"));
  expect_same(values(model, "covariance"), values(expected, "covariance"));
  // As the levels of a factor, too.
  for (const char* text : {"y ~ factor(x)", "y ~ log(x + 50)"}) {
    tessera_gam_model one = 0;
    tessera_gam_model other = 0;
    ASSERT_EQ(tessera_gam_fit(text, table, nullptr, &one), TESSERA_GAM_OK) << tessera_gam_error();
    ASSERT_EQ(tessera_gam_fit(text, doubles, nullptr, &other), TESSERA_GAM_OK) << tessera_gam_error();
    expect_same(values(one, "coefficients"), values(other, "coefficients"));
    EXPECT_EQ(tessera_gam_model_close(one), TESSERA_GAM_OK);
    EXPECT_EQ(tessera_gam_model_close(other), TESSERA_GAM_OK);
  }
  expect_refusal(tessera_gam_table_add_integers(table, "n", integers.data(), 5), "'n' has 5 rows");
  expect_refusal(tessera_gam_table_add_integers(table, "n", nullptr, 400), "values is null");
  EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
  EXPECT_EQ(tessera_gam_model_close(expected), TESSERA_GAM_OK);
  EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
  EXPECT_EQ(tessera_gam_table_close(doubles), TESSERA_GAM_OK);
}

TEST_F(CInterface, ListsTheValuesOfAModel) {
  std::size_t count = 0;
  for (const char* const* name = tessera_gam_model_names(); *name != nullptr; ++name, ++count) {
    std::size_t rows = 0;
    std::size_t columns = 0;
    EXPECT_EQ(tessera_gam_model_shape(model_, *name, &rows, &columns), TESSERA_GAM_OK) << *name;
  }
  EXPECT_GT(count, 20U);
}

/// A structure of version 1 with a member that a later version has added.
struct Grown {
  std::size_t size = sizeof(Grown);
  std::int64_t first = 0;
  std::int64_t later = 7;
};
constexpr std::size_t before_growth = offsetof(Grown, later);

}  // namespace
namespace c {
template <>
constexpr std::size_t first_size<Grown> = before_growth;
}  // namespace c
namespace {

TEST(CStructures, OfEarlierVersionsAreReadAndFilledAsFarAsTheyGo) {
  const Grown given{.size = before_growth, .first = 3, .later = 5};  // beyond the caller's structure
  const Grown read = c::read_structure(&given, Grown{}, "grown");
  EXPECT_EQ(read.first, 3);
  EXPECT_EQ(read.later, 7) << "the default";
  Grown filled{.size = before_growth, .later = 5};
  c::write_structure(&filled, Grown{.first = 9, .later = 11});
  EXPECT_EQ(filled.size, before_growth);
  EXPECT_EQ(filled.first, 9);
  EXPECT_EQ(filled.later, 5) << "is not the caller's";
  Grown whole;
  c::write_structure(&whole, Grown{.first = 9, .later = 11});
  EXPECT_EQ(whole.later, 11);
  const Grown shorter{.size = before_growth - 1};
  EXPECT_THROW(static_cast<void>(c::read_structure(&shorter, Grown{}, "grown")), Error);
}

TEST_F(CInterface, ErrorsHaveTheirPlace) {
  tessera_gam_model model = 0;
  ASSERT_EQ(tessera_gam_fit("y ~ s(x, bs='zz')", table_, nullptr, &model), TESSERA_GAM_USAGE);
  tessera_gam_error_info info{};
  info.size = sizeof info;
  ASSERT_EQ(tessera_gam_last_error(&info), TESSERA_GAM_OK);
  EXPECT_EQ(info.status, TESSERA_GAM_USAGE);
  EXPECT_STREQ(info.function, "tessera_gam_fit");
  EXPECT_EQ(info.position, 12) << info.message;
  EXPECT_NE(std::string(info.lines).find("^"), std::string::npos) << info.lines;
  ASSERT_EQ(tessera_gam_fit("y ~ w", table_, nullptr, &model), TESSERA_GAM_INPUT);
  ASSERT_EQ(tessera_gam_last_error(&info), TESSERA_GAM_OK);
  EXPECT_EQ(info.position, -1);
  EXPECT_STREQ(info.lines, "");
  std::thread([] { EXPECT_STREQ(tessera_gam_error(), ""); }).join();
}

/// The behaviour of a test's callbacks.
struct Listener {
  std::function<void()> on_progress = [] {};
  std::function<int()> stops = [] { return 0; };
  std::vector<std::string> texts{};
  std::thread::id thread{};
  bool has_moved = false;

  static void progress(std::int32_t /*is_line*/, const char* text, void* context) {
    auto& self = *static_cast<Listener*>(context);
    self.has_moved = self.has_moved || std::this_thread::get_id() != self.thread;
    self.texts.emplace_back(text);
    self.on_progress();
  }
  static std::int32_t cancelled(void* context) { return static_cast<Listener*>(context)->stops(); }
  void listen(tessera_gam_call& call) {
    thread = std::this_thread::get_id();
    call.progress = progress;
    call.cancelled = cancelled;
    call.context = this;
  }
};

TEST_F(CInterface, CallbacksAreOnTheCallersThread) {
  Listener listener;
  // Callbacks may use the interface.
  listener.on_progress = [&] { EXPECT_EQ(values(model_, "n"), std::vector{400.0}); };
  Given given{};
  listener.listen(given.call);
  tessera_gam_model model = 0;
  ASSERT_EQ(tessera_gam_fit(formula, table_, &given.call, &model), TESSERA_GAM_OK) << tessera_gam_error();
  EXPECT_FALSE(listener.has_moved);
  EXPECT_FALSE(listener.texts.empty());
  expect_same(values(model, "coefficients"), values(model_, "coefficients"));
  EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
}

TEST_F(CInterface, ACallEndsWhereItIsCancelled) {
  Listener listener;
  listener.stops = [] { return 1; };
  Given given{};
  listener.listen(given.call);
  tessera_gam_model model = 0;
  const Data larger(200'000);  // longer than the first look at `cancelled`
  const tessera_gam_table table = larger.table();
  expect_refusal(tessera_gam_fit("y ~ side + s(x, k=40) + s(x, by=side, k=40)", table, &given.call, &model),
                 "the caller", TESSERA_GAM_INTERRUPTED);
  EXPECT_EQ(model, 0U);
  EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
  EXPECT_EQ(values(model_, "n"), std::vector{400.0});
}

TEST_F(CInterface, AnExceptionOfACallbackEndsTheCall) {
  Listener listener;
  listener.on_progress = [] { throw std::runtime_error("thrown by the test"); };
  Given given{};
  listener.listen(given.call);
  tessera_gam_model model = 0;
  expect_refusal(tessera_gam_fit(formula, table_, &given.call, &model), "thrown by the test",
                 TESSERA_GAM_FAULT);
  EXPECT_EQ(model, 0U);
}

TEST_F(CInterface, ATableInUseIsNotChanged) {
  Listener listener;
  int status = TESSERA_GAM_OK;
  listener.on_progress = [&] { status = tessera_gam_table_add_numbers(table_, "z", data_.x.data(), 400); };
  Given given{};
  listener.listen(given.call);
  tessera_gam_model model = 0;
  ASSERT_EQ(tessera_gam_fit(formula, table_, &given.call, &model), TESSERA_GAM_OK);
  expect_refusal(status, "the table is in use by another call");
  EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
}

TEST_F(CInterface, ShutsDownOnceNoCallIsInProgress) {
  Listener listener;
  int status = TESSERA_GAM_OK;
  listener.on_progress = [&] { status = tessera_gam_shutdown(); };
  Given given{};
  listener.listen(given.call);
  tessera_gam_model model = 0;
  ASSERT_EQ(tessera_gam_fit(formula, table_, &given.call, &model), TESSERA_GAM_OK);
  expect_refusal(status, "a call of the library is in progress");
  ASSERT_EQ(tessera_gam_shutdown(), TESSERA_GAM_OK) << tessera_gam_error();
  const char* text = nullptr;
  expect_refusal(tessera_gam_summary(model, TESSERA_GAM_TEXT, &text, nullptr), "was closed");
  SetUp();  // the library can be used again
  EXPECT_EQ(values(model_, "n"), std::vector{400.0});
}

/// Runs on a thread with a stack of this many KiB; false if the system refuses such a thread, because the
/// stack is too small for thread-local storage.
bool run_on_stack(std::size_t kib, std::function<void()> work) {
  pthread_attr_t attributes;
  EXPECT_EQ(pthread_attr_init(&attributes), 0);
  EXPECT_EQ(pthread_attr_setstacksize(&attributes, kib << 10), 0);
  pthread_t thread{};
  const auto run = [](void* given) -> void* {
    (*static_cast<std::function<void()>*>(given))();
    return nullptr;
  };
  const bool is_made = pthread_create(&thread, &attributes, run, &work) == 0;
  if (is_made) {
    EXPECT_EQ(pthread_join(thread, nullptr), 0);
  }
  pthread_attr_destroy(&attributes);
  return is_made;
}

TEST(CInterfaceThreads, OfASmallStackAreRefused) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes more of the stack itself";
#endif
  const Data data;
  const tessera_gam_table table = data.table();
  const Given given{};
  for (const std::size_t kib : {64, 96, 128}) {
    tessera_gam_model model = 0;
    int status = 0;
    std::string said;
    const bool is_made = run_on_stack(kib, [&] {
      status = tessera_gam_fit(formula, table, &given.call, &model);
      said = tessera_gam_error();
    });
    if (!is_made) continue;
    EXPECT_EQ(status, TESSERA_GAM_FAULT) << kib;
    EXPECT_NE(said.find("KiB of stack on this thread"), std::string::npos) << said;
  }
  tessera_gam_model model = 0;
  EXPECT_TRUE(run_on_stack(512, [&] {
    EXPECT_EQ(tessera_gam_fit(formula, table, &given.call, &model), TESSERA_GAM_OK) << tessera_gam_error();
  }));
  EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
  EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
}

TEST(CInterfaceThreads, DoNotMeet) {
  const Data data;
  const tessera_gam_table table = data.table();
  const tessera_gam_model alone = fitted(table);
  const std::vector<double> expected = values(alone, "coefficients");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 3; ++repeat) {
        const tessera_gam_model model = fitted(table);
        expect_same(values(model, "coefficients"), expected);
        EXPECT_EQ(tessera_gam_model_close(model), TESSERA_GAM_OK);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tessera_gam_model_close(alone), TESSERA_GAM_OK);
  EXPECT_EQ(tessera_gam_table_close(table), TESSERA_GAM_OK);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
