// SPDX-License-Identifier: Apache-2.0
// The results of many models in HDF5: each response is a model, with or without covariances.
#include "gam/model/model.hpp"
#include "support/design_support.hpp"
#include "support/many_model.hpp"
#include "support/on_cpu.hpp"
#include "support/table_support.hpp"
#include "support/well_formed.hpp"

#include <tessera/gam/anova.hpp>
#include <tessera/gam/fit.hpp>
#include <tessera/gam/many.hpp>
#include <tessera/gam/posterior.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/gam/report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <variant>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr int observations = 150;

std::string results_covariates(const std::string& responses = {}) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::string text = fmt::format("t,f,o,l1,l2{}\n", responses);
  for (int i = 0; i < observations; ++i) {
    const double t = uniform(random);
    text += fmt::format("{},{},{},{},{}", t, "abc"[i % 3], 0.2 * uniform(random), i % 2, 1 - i % 2);
    if (!responses.empty()) text += fmt::format(",{}", std::sin(5 * t) + 0.3 * (i % 3) + uniform(random));
    text += '\n';
  }
  return text;
}

class ManyResultsInFiles : public OverRanks {
 protected:
  void fit(const std::string& family_name, const std::string& terms, const std::string& responses,
           bool covariances = true) {
    counts.write(responses);
    static_cast<void>(fit_many(job, terms, Table{covariates.path()}, {.path = counts.path()},
                               {.family = family(family_name), .covariances = covariances},
                               {.fits = fits.path()}));
    comm.barrier();
  }
  [[nodiscard]] Model model(const std::string& response) const {
    return load_model(fits.path() + ":" + response);
  }
  [[nodiscard]] Predictions predicted(const Model& of, PredictOptions options = {}) {
    return predict(job, of, Table{covariates.path()}, options);
  }

  Job job{comm, on_cpu(2)};
  SharedFile covariates{comm, "covariates.csv", results_covariates()};
  SharedFile counts{comm, "counts.csv"};
  SharedFile fits{comm, "fits.h5"};
};

TEST_F(ManyResultsInFiles, OfAGaussianResponseAreTheModelOfAFit) {
  covariates.write(results_covariates(",y"));
  const std::string terms = "f + log(t + 1) + s(t, bs = \"cr\", k = 6) + offset(o)";
  const Model alone = gam::fit(job, parse_formula("y ~ " + terms), Table{covariates.path()}).model;
  std::string text = "y,other\n";
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < observations; ++i) {
    const double t = uniform(random);
    uniform(random);
    text += fmt::format("{},{}\n", std::sin(5 * t) + 0.3 * (i % 3) + uniform(random), i % 7);
  }
  fit("gaussian", terms, text);
  const Model one = model("y");
  EXPECT_TRUE(one.converged());
  EXPECT_EQ(one.rows(), observations);
  EXPECT_NEAR(one.edf(), alone.edf(), 1e-6);
  if (comm.rank() == 0) {
    EXPECT_NEAR(one.scale(), alone.covariance_scale(), 1e-8);
  }
  const PredictOptions wanted{.standard_errors = true};
  const Predictions expected = predicted(alone, wanted);
  const Predictions found = predicted(one, wanted);
  for (const char* const column : {"fit", "se"}) {
    ASSERT_EQ(found[column].size(), expected[column].size());
    for (std::size_t i = 0; i < found[column].size(); ++i)
      EXPECT_NEAR(found[column][i], expected[column][i], 1e-7) << column;
  }
  EXPECT_EQ(one.response().name, "y");
  EXPECT_EQ(one.covariance().size(), one.coefficients().size() * one.coefficients().size());
  // What takes a model takes a response.
  EXPECT_NEAR(anova(one).parametric.front().p_value, 0, 1e-3);
  EXPECT_FALSE(smooth_estimates(job, one).columns.empty());
  EXPECT_NE(summary(one).find("`y`"), std::string::npos) << summary(one);
  PredictOptions unconditional = wanted;
  unconditional.unconditional = true;
  const Predictions wider = predicted(one, unconditional);
  for (const double se : wider["se"]) EXPECT_TRUE(std::isfinite(se));
}

TEST_F(ManyResultsInFiles, WithoutCovariancesPredictMeansOnly) {
  std::string text = "a\n";
  for (int i = 0; i < observations; ++i) text += fmt::format("{}\n", i * i % 7);
  fit("nb", "f + s(t, k = 5)", text, false);
  const Model one = model("a");
  const Predictions means = predicted(one, {.type = PredictionType::response});
  for (const double value : means["fit"]) EXPECT_GT(value, 0);
  const std::string why = "fits.h5 contains no covariances: fit again with covariances";
  expect_error(ErrorCode::usage, why, [&] { static_cast<void>(predicted(one, {.standard_errors = true})); });
  expect_error(ErrorCode::usage, why, [&] { static_cast<void>(smooth_estimates(job, one)); });
  expect_error(ErrorCode::usage, why, [&] { static_cast<void>(anova(one)); });
  double edf = 0;
  for (const double value : one.coefficient_edf()) edf += value;
  EXPECT_NEAR(one.edf(), edf, 1e-8);
}

TEST_F(ManyResultsInFiles, AtLimitsAreExact) {
  // Counts in one lineage only, and a response without them; counts that vary less than Poisson counts.
  std::string text = "absent,line,none\n";
  for (int i = 0; i < observations; ++i)
    text += fmt::format("{},{},0\n", i % 2 == 1 ? 1 + i % 5 : 0, 2 + i % 3 % 2);
  fit("nb", "s(t, by = l1, bs = \"cr\", k = 5) + s(t, by = l2, bs = \"cr\", k = 5) - 1", text);
  const Model absent = model("absent");
  const Predictions link = predicted(absent, {.standard_errors = true});
  const Predictions mean = predicted(absent, {.type = PredictionType::response, .interval = 0.9});
  const Predictions by_term = predicted(absent, {.type = PredictionType::terms});
  const Range mine = job.local_range(link.plan);
  for (std::int64_t row = mine.begin; row < mine.end; ++row) {
    const auto i = static_cast<std::size_t>(row - mine.begin);
    const bool is_absent = row % 2 == 0;
    EXPECT_EQ(std::isinf(link["fit"][i]), is_absent);
    EXPECT_EQ(std::isnan(link["se"][i]), is_absent);
    EXPECT_EQ(mean["fit"][i] == 0, is_absent);
    EXPECT_EQ(std::isnan(mean["upper"][i]), is_absent);
    EXPECT_EQ(std::isnan(by_term["s(t):l2"][i]), is_absent);
    if (!is_absent) {
      EXPECT_LT(std::abs(link["fit"][i]), 3);
    }
  }
  // The smooth at minus infinity has no curve.
  for (const auto& kept : smooth_estimates(job, absent).kept) {
    if (const auto* const factor = std::get_if<Factor>(&kept.values)) {
      EXPECT_EQ(std::ranges::find(factor->levels, "s(t):l2"), factor->levels.end());
    }
  }
  // As a text and as a file too.
  const SharedFile file(comm, "model.json");
  if (comm.rank() == 0) static_cast<void>(save_model(absent, file.path()));
  comm.barrier();
  for (const Model& again : {model_from_json(to_json(absent)), load_model(file.path())}) {
    EXPECT_EQ(summary(again), summary(absent));
    const Predictions found = predicted(again, {.standard_errors = true});
    for (std::size_t i = 0; i < found["fit"].size(); ++i) {
      EXPECT_EQ(found["fit"][i], link["fit"][i]);
      EXPECT_TRUE(found["se"][i] == link["se"][i] ||
                  (std::isnan(found["se"][i]) && std::isnan(link["se"][i])));
    }
  }
  EXPECT_EQ(model("line").family().name(), "poisson");
  expect_error(ErrorCode::usage, "the response 'none' has no fit (status all_zero)",
               [&] { static_cast<void>(model("none")); });
  expect_error(ErrorCode::input, "has no response 'lime' (did you mean 'line'?)",
               [&] { static_cast<void>(model("lime")); });
  expect_error(ErrorCode::input, "the file contains many models: name a response",
               [&] { static_cast<void>(load_model(fits.path())); });
}

TEST_F(ManyResultsInFiles, PredictTheOtherLevelsIfThatOfTheInterceptIsAbsent) {
  std::string text = "a\n";
  double counts_of_b = 0;
  for (int i = 0; i < observations; ++i) {
    const int count = i % 3 == 0 ? 0 : 1 + i * i % 5;
    text += fmt::format("{}\n", count);
    counts_of_b += i % 3 == 1 ? count : 0;
  }
  fit("poisson", "f + s(t, by = f, bs = \"cr\", k = 5)", text);
  const Model one = model("a");
  EXPECT_TRUE(std::isnan(one.coefficients()[0]));
  const Predictions link = predicted(one, {.standard_errors = true});
  const Predictions mean = predicted(one, {.type = PredictionType::response});
  const Range mine = job.local_range(link.plan);
  double means_of_b = 0;
  for (std::int64_t row = mine.begin; row < mine.end; ++row) {
    const auto i = static_cast<std::size_t>(row - mine.begin);
    EXPECT_EQ(std::isinf(link["fit"][i]), row % 3 == 0);
    EXPECT_EQ(std::isnan(link["se"][i]), row % 3 == 0);
    if (row % 3 == 1) {
      means_of_b += mean["fit"][i];
      EXPECT_GT(link["se"][i], 0.01);
    }
  }
  // Means of an unpenalised level have the sum of its counts.
  EXPECT_NEAR(comm.allreduce(means_of_b, mpi::Reduction::sum), counts_of_b, 1e-6);
  expect_error(ErrorCode::usage, "the term 'f' cannot be excluded",
               [&] { static_cast<void>(predicted(one, {.exclude = {"f"}})); });
}

/// tests/data/many/make_gam.R: predict(type = "link", se.fit = TRUE) and summary of mgcv.
TEST_F(ManyResultsInFiles, PredictAndAreTestedAsByGam) {
  const nlohmann::json all = test_data("many/gam.json");
  const auto data_rows = static_cast<std::int64_t>(all["table"]["x"].size());
  const Table data{Plan::over_hosts(data_rows, 1), columns_of(all["table"])};
  std::string text = "x,z,f,o,x1,x2,l1,l2\n";
  const nlohmann::json& grid = all["grid"];
  for (std::size_t i = 0; i < grid["x"].size(); ++i) {
    for (const char* const name : {"x", "z", "f", "o", "x1", "x2", "l1"}) text += grid[name][i].dump() + ",";
    text += grid["l2"][i].dump() + "\n";
  }
  covariates.write(text);
  int compared = 0;
  for (const nlohmann::json& one : all["cases"]) {
    SCOPED_TRACE(one["family"].dump() + one["terms"].dump());
    std::vector<double> values;
    for (const nlohmann::json& response : one["responses"])
      for (const nlohmann::json& y : response["y"]) values.push_back(y);
    const auto count = std::ssize(one["responses"]);
    const DenseMatrix matrix{values, data_rows, count, 1, data_rows};
    static_cast<void>(fit_many(job, one["terms"], data, {.matrix = ResponseMatrix{matrix}},
                               {.family = family(one["family"].get<std::string>()),
                                .weights = one["weights"].get<bool>() ? "w" : "",
                                .covariances = true},
                               {.fits = fits.path()}));
    comm.barrier();
    std::vector<Model> models;
    double constant = -std::numeric_limits<double>::infinity();
    for (const nlohmann::json& response : one["responses"]) {
      models.push_back(model(std::to_string(models.size() + 1)));
      if (response["reml"].is_number())
        constant = std::max(constant, models.back().reml() - response["reml"].get<double>());
    }
    comm.barrier();  // before the next file
    for (std::size_t i = 0; i < models.size(); ++i) {
      const nlohmann::json& expected = one["responses"][i];
      // Where gam stops before a limit, or at another minimum, our criterion is lower.
      constexpr double before_a_limit = 2e-6;
      if (expected["reml"].is_number() &&
          models[i].reml() - expected["reml"].get<double>() < constant - before_a_limit)
        continue;
      ++compared;
      const auto numbers_of = [&](const char* name) {
        return expected[name].is_array() ? expected[name].get<std::vector<double>>()
                                         : std::vector{expected[name].get<double>()};
      };
      const auto link = expected["link"].get<std::vector<double>>();
      const auto errors = expected["link_se"].get<std::vector<double>>();
      const auto [least, most] = std::ranges::minmax(link);
      const double largest_error = std::ranges::max(errors);
      // At a limit gam has some large smoothing parameter.
      const bool at_limit = !expected["sp"].empty() && std::ranges::max(numbers_of("sp")) > 1e6;
      const double tolerance = at_limit ? 1e-5 : 1e-6;
      const Predictions found = predicted(models[i], {.standard_errors = true});
      const Range mine = job.local_range(found.plan);
      for (std::int64_t row = mine.begin; row < mine.end; ++row) {
        const auto own = static_cast<std::size_t>(row - mine.begin);
        const auto at = static_cast<std::size_t>(row);
        EXPECT_NEAR(found["fit"][own], link[at], tolerance * (most - least));
        EXPECT_NEAR(found["se"][own], errors[at], 2e-5 * largest_error);
      }
      const std::vector<SmoothTest> smooths = models[i].tests().smooths;
      for (std::size_t s = 0; s < smooths.size(); ++s) {
        EXPECT_NEAR(smooths[s].p_value, numbers_of("p_smooths").at(s), 1e-4);
        EXPECT_NEAR(smooths[s].reference_df, numbers_of("ref_df").at(s), 1e-4);
        EXPECT_GT(smooths[s].statistic, 0);
      }
    }
  }
  EXPECT_GE(compared, 30);
}

TEST_F(ManyResultsInFiles, AreTheModelsOfResultsInMemory) {
  std::string text = "a,absent,none\n";
  for (int i = 0; i < observations; ++i)
    text += fmt::format("{},{},0\n", i * i % 7, i % 2 == 1 ? 1 + i % 5 : 0);
  const std::string terms = "s(t, by = l1, bs = \"cr\", k = 5) + s(t, by = l2, bs = \"cr\", k = 5) - 1";
  fit("nb", terms, text);
  const Responses responses{.path = counts.path()};
  ManyOptions options{.family = family("nb"), .covariances = true};
  const ManyResults results = fit_many(job, terms, Table{covariates.path()}, responses, options);
  EXPECT_EQ(results.matrices.at("covariance").rows(), 10 * 11 / 2);
  EXPECT_EQ(results.matrices.at("covariance").cols(), 3);
  for (const char* const name : {"a", "absent"}) {
    const Model of_file = model(name);
    const Model own = model_of(results, name);
    EXPECT_EQ(summary(own), summary(of_file));
    EXPECT_TRUE(std::ranges::equal(own.covariance(), of_file.covariance()));
    for (const char* const column : {"fit", "se"}) {
      const Predictions expected = predicted(of_file, {.standard_errors = true});
      const Predictions found = predicted(own, {.standard_errors = true});
      ASSERT_EQ(found[column].size(), expected[column].size());
      for (std::size_t i = 0; i < found[column].size(); ++i)
        EXPECT_TRUE(found[column][i] == expected[column][i] ||
                    (std::isnan(found[column][i]) && std::isnan(expected[column][i])));
    }
  }
  expect_error(ErrorCode::usage, "the results: the response 'none' has no fit (status all_zero)",
               [&] { static_cast<void>(model_of(results, "none")); });
  expect_error(ErrorCode::usage, "the results have no response 'non' (did you mean 'none'?)",
               [&] { static_cast<void>(model_of(results, "non")); });
  options.covariances = false;
  const ManyResults without = fit_many(job, terms, Table{covariates.path()}, responses, options);
  EXPECT_TRUE(without.matrices.empty());
  expect_error(ErrorCode::usage, "the results contain no models: fit again with covariances",
               [&] { static_cast<void>(model_of(without, "a")); });
}

TEST_F(ManyResultsInFiles, HaveCovariancesInHdf5Only) {
  expect_error(ErrorCode::usage, "covariances need HDF5: give the file of fits a name that ends in .h5", [&] {
    static_cast<void>(fit_many(job, "s(t)", Table{covariates.path()}, {.path = counts.path()},
                               {.covariances = true}, {.fits = fits.path() + ".csv"}));
  });
}

TEST_F(ManyResultsInFiles, HaveAPage) {
  std::string text = "rises,flat<&>,silent\n";
  std::mt19937_64 random(4);
  for (int i = 0; i < observations; ++i) {
    const int steady = std::poisson_distribution<int>(3)(random);
    text += fmt::format("{},{},0\n", i % 2 == 0 ? steady : 2 * steady + i % 5, steady);
  }
  fit("poisson", "f + s(t, by = l1, k = 5) + s(t, by = l2, k = 5)", text);
  const Report page = report_many(job, fits.path());
  if (comm.rank() != 0) {
    EXPECT_TRUE(page.html.empty());
  } else {
    EXPECT_EQ(xml_fault(page.html), "");
    for (const char* const words :
         {"<h1>Models of 3 responses</h1>", "<th scope=\"row\">all_zero</th><td>1</td><td>33.3%</td>",
          "<code>s(t):l1</code>: ", " of 2 tested responses have", "<code>flat&lt;&amp;&gt;</code>: "})
      EXPECT_NE(page.html.find(words), std::string::npos) << words;
    // The p values of two smooths, and the curves of two responses.
    ASSERT_EQ(page.figures.size(), 4U);
    EXPECT_EQ(page.figures.back().csv.substr(0, page.figures.back().csv.find('\n')), "curve,at,fit,low,high");
  }
  fit("poisson", "s(t)", text, false);
  expect_error(ErrorCode::input, "contains no covariances: fit again with covariances",
               [&] { static_cast<void>(report_many(job, fits.path())); });
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
