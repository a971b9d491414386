// SPDX-License-Identifier: Apache-2.0
// Families with several linear predictors: location, scale and shape, and classes.
#include "gam/linalg/linalg.hpp"
#include "support/errors.hpp"
#include "support/fit_support.hpp"
#include "support/table_support.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <tessera/gam/check.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/gam/report.hpp>
#include <tessera/gam/residuals.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

const std::string several_data = TESSERA_TEST_DATA "/several/data.csv";

Table several_table() {
  return testing::in_blocks(several_data, 40);
}

Model several_model(Job& job, const std::string& family_text, const std::string& formula) {
  return fit(job, parse_formula(formula), several_table(), {.family = family(family_text)}).model;
}

std::vector<nlohmann::json> several_cases() {
  std::ifstream file(TESSERA_TEST_DATA "/several/several.json");
  return nlohmann::json::parse(file);
}

/// The largest difference of a column of predictions from mgcv's, in every eighth row, over its range there.
double difference_of(const Predictions& found, const std::string& column, const nlohmann::json& rows,
                     std::size_t c) {
  double most = 0;
  double low = 1e300;
  double high = -1e300;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double wanted = rows[i][c];
    most = std::max(most, std::abs(found[column][8 * i] - wanted));
    low = std::min(low, wanted);
    high = std::max(high, wanted);
  }
  return most / std::max(high - low, 1e-3);
}

TEST(Several, AgreeWithMgcvAtGivenSmoothingParameters) {
  Job job = testing::cpu_job(testing::world());
  for (const nlohmann::json& one : several_cases()) {
    SCOPED_TRACE(one.at("name").get<std::string>());
    const Model model = several_model(job, one.at("family"), one.at("formula"));
    const FittedModel& fitted = model.fitted();
    EXPECT_TRUE(fitted.converged) << fitted.why_not_converged;
    EXPECT_EQ(fitted.design.coef_names(), one.at("names").get<std::vector<std::string>>());
    EXPECT_NEAR(fitted.edf_total, one.at("edf"), 1e-7);
    EXPECT_NEAR(fitted.aic / one.at("aic").get<double>(), 1, 1e-9);
    EXPECT_NEAR(fitted.deviance / one.at("deviance").get<double>(), 1, 1e-7);
    if (one.at("null").is_null()) {
      EXPECT_TRUE(std::isnan(fitted.null_deviance));
    } else {
      EXPECT_NEAR(fitted.null_deviance / one.at("null").get<double>(), 1, 1e-7);
    }
    if (job.comm().rank() == 0) {
      EXPECT_NEAR(fitted.reml / one.at("reml").get<double>(), 1, 1e-9);
    }

    const Predictions links = predict(job, model, several_table(), {.standard_errors = true});
    const Predictions responses =
        predict(job, model, several_table(), {.type = PredictionType::response, .standard_errors = true});
    if (job.comm().size() > 1) continue;  // the rows of one rank only
    const std::size_t predictors = one.at("fit")[0].size();
    for (std::size_t p = 0; p < predictors; ++p) {
      const std::string suffix = p == 0 ? "" : "." + std::to_string(p);
      EXPECT_LE(difference_of(links, "fit" + suffix, one.at("fit"), p), 1e-7);
      EXPECT_LE(difference_of(links, "se" + suffix, one.at("se"), p), 1e-6);
    }
    const std::size_t columns = one.at("response")[0].size();
    ASSERT_EQ(responses.columns.size(), 2 * columns);
    for (std::size_t c = 0; c < columns; ++c)
      EXPECT_LE(difference_of(responses, responses.columns[2 * c].name, one.at("response"), c), 1e-7);
  }
}

TEST(Several, PenaliseNullSpacesAsGamDoes) {
  std::ifstream file(TESSERA_TEST_DATA "/several/selected.json");
  const nlohmann::json selected = nlohmann::json::parse(file);
  Job job = testing::cpu_job(testing::world());
  const FitResult fitted =
      fit(job, parse_formula(selected.at("formula").get<std::string>()), several_table(),
          {.family = family("gaulss"), .sp = selected.at("sp").get<std::vector<double>>(), .select = true});
  const Predictions found = predict(job, fitted.model, several_table(), {});
  if (job.comm().size() > 1) return;  // the rows of one rank only
  EXPECT_LE(difference_of(found, "fit", selected.at("fit"), 0), 1e-7);
  EXPECT_LE(difference_of(found, "fit.1", selected.at("fit"), 1), 1e-7);
}

TEST(Several, AFamilyOfTheUsersOwnIsTheBuiltInOneOfItsLogLikelihood) {
  const std::string toml =
      "name = 'normal'\npredictors = 2\n"
      "log_likelihood = '-((y - eta1) / (exp(eta2) + 0.01))^2 / 2 - log(exp(eta2) + 0.01) - "
      "0.91893853320467274'\n"
      "start = ['mean', 'log(deviation)']\nresponse = ['eta1', '1 / (exp(eta2) + 0.01)']\n"
      "quantile = 'eta1 + p - 0.5'\n";
  const std::string formula = "list(normal ~ s(x) + g, ~ s(z))";
  Job job = testing::cpu_job(testing::world());
  const ResponseFamily family(std::make_shared<const Family>(own_family(toml, "normal.toml")));
  const Model own = fit(job, parse_formula(formula), several_table(), {.family = family}).model;
  const Model built_in = several_model(job, "gaulss", formula);
  ASSERT_EQ(own.coefficients().size(), built_in.coefficients().size());
  for (std::size_t i = 0; i < own.coefficients().size(); ++i)
    EXPECT_NEAR(own.coefficients()[i], built_in.coefficients()[i], 1e-7);
  EXPECT_NEAR(own.aic(), built_in.aic(), 1e-7);

  const Predictions found = predict(job, own, several_table(), {.type = PredictionType::response});
  const Predictions wanted = predict(job, built_in, several_table(), {.type = PredictionType::response});
  for (const char* column : {"fit", "fit.1"}) {
    for (std::size_t i = 0; i < found[column].size(); ++i)
      EXPECT_NEAR(found[column][i], wanted[column][i], 1e-6);
  }
  expect_error(ErrorCode::usage, "the file of the family normal does not define both", [&] {
    static_cast<void>(residuals(job, own, several_table(), {.type = ResidualType::pearson}));
  });
  if (job.comm().rank() != 0) return;
  const std::string text = to_json(own);
  EXPECT_EQ(nlohmann::json::parse(text).at("family_toml"), toml);
  EXPECT_EQ(to_json(model_from_json(text)), text);
}

TEST(Several, TellsTheFirstRowWhoseLogLikelihoodIsNotFinite) {
  const ResponseFamily lognormal(std::make_shared<const Family>(
      own_family("name = 'lognormal'\npredictors = 2\n"
                 "log_likelihood = '-log(y) - eta2 - ((log(y) - eta1) / exp(eta2))^2 / 2'\n",
                 "lognormal.toml")));
  Job job = testing::cpu_job(testing::world());
  expect_error(ErrorCode::not_converged,
               "in data row 9 the log likelihood of the family lognormal is not a number, at a response of "
               "-0.94807 and linear predictors of 0, 0",
               [&] {
                 static_cast<void>(fit(job, parse_formula("list(normal ~ s(x), ~ 1)"), several_table(),
                                       {.family = lognormal}));
               });
}

TEST(Several, RefuseAResponseOutsideOfTheSupportBeforeTheFit) {
  const ResponseFamily lognormal(std::make_shared<const Family>(
      own_family("name = 'lognormal'\npredictors = 2\nsupport = 'y > 0'\n"
                 "log_likelihood = '-log(y) - eta2 - ((log(y) - eta1) / exp(eta2))^2 / 2'\n",
                 "lognormal.toml")));
  Job job = testing::cpu_job(testing::world());
  expect_error(ErrorCode::input,
               "response 'normal' is -0.94807 in data row 9: for the lognormal family it must have y > 0",
               [&] {
                 static_cast<void>(fit(job, parse_formula("list(normal ~ s(x), ~ 1)"), several_table(),
                                       {.family = lognormal}));
               });
}

/// The derivative of the coefficients by a log smoothing parameter, by differences of whole fits, is what its
/// uncertainty moves them along.
TEST(Several, CoefficientsMoveWithTheUncertaintyOfASmoothingParameter) {
  Job job = testing::cpu_job(testing::world());
  const std::string mean = "normal ~ s(x, k=9, sp=1) + g";
  const Model model = several_model(job, "gaulss", fmt::format("list({}, ~ s(z))", mean));
  if (job.comm().size() > 1) return;  // rank 0 alone has the covariance
  const Matrix root = model.fitted().smoothing_uncertainty().root;
  ASSERT_EQ(root.cols(), 1);
  constexpr double step = 1e-3;
  const auto moved = [&](double by) {
    const double sp = std::exp(model.fitted().log_sp.at(1) + by);
    return several_model(job, "gaulss", fmt::format("list({}, ~ s(z, sp={:.17g}))", mean, sp)).fitted().coef;
  };
  const std::vector<double> above = moved(step);
  const std::vector<double> below = moved(-step);
  std::vector<double> slope;
  for (std::size_t i = 0; i < above.size(); ++i) slope.push_back((above[i] - below[i]) / (2 * step));
  double along = 0;
  double square = 0;
  for (std::size_t i = 0; i < slope.size(); ++i) {
    along += root.values()[i] * slope[i];
    square += slope[i] * slope[i];
  }
  for (std::size_t i = 0; i < slope.size(); ++i)
    EXPECT_NEAR(root.values()[i], along / square * slope[i], 1e-5 * std::sqrt(along * along / square));
}

/// A number of a fixture; NaN for null.
double number_of(const nlohmann::json& value) {
  return value.is_null() ? std::nan("") : value.get<double>();
}

TEST(Several, HaveTheResidualsOfMgcv) {
  Job job = testing::cpu_job(testing::world());
  for (const nlohmann::json& one : several_cases()) {
    SCOPED_TRACE(one.at("name").get<std::string>());
    const Model model = several_model(job, one.at("family"), one.at("formula"));
    const Predictions found = residuals(job, model, several_table(), {.type = ResidualType::all});
    ASSERT_EQ(found.columns.size(), 3U);
    EXPECT_EQ(found.columns[2].name, "response");
    EXPECT_EQ(residuals(job, model, several_table(), {.type = ResidualType::pearson})["residual"].size(),
              found["pearson"].size());
    EXPECT_THROW(static_cast<void>(residuals(job, model, several_table(), {.type = ResidualType::working})),
                 Error);
    if (job.comm().size() > 1) continue;  // the rows of one rank only
    for (std::size_t i = 0; i < one.at("residuals").size(); ++i) {
      for (std::size_t c = 0; c < 3; ++c) {
        const double wanted = number_of(one.at("residuals")[i][c]);
        const double value = found.columns[c].values[8 * i];
        EXPECT_EQ(std::isnan(value), std::isnan(wanted)) << i << ' ' << c;
        if (!std::isnan(wanted)) EXPECT_NEAR(value, wanted, 1e-6) << i << ' ' << c;
      }
    }
  }
}

TEST(Several, AreCheckedAsByMgcv) {
  Job job = testing::cpu_job(testing::world());
  for (const nlohmann::json& one : several_cases()) {
    SCOPED_TRACE(one.at("name").get<std::string>());
    const Model model = several_model(job, one.at("family"), one.at("formula"));
    const Check found = check(job, model, several_table(), {.permutations = 20});
    if (job.comm().rank() != 0) continue;
    const FittedModel& fitted = model.fitted();
    EXPECT_NEAR(found.deviance_dispersion * fitted.residual_df() / fitted.deviance, 1, 1e-9);
    const std::vector<double> indices = one.at("k_index");
    ASSERT_EQ(found.bases.size(), indices.size());
    const auto name = one.at("name").get<std::string>();
    const char* const other = name.starts_with("twlss") ? "s.2(z)" : "s.1(z)";
    EXPECT_EQ(found.bases[1].label, name == "gaulss of te" ? "te.1(x,z)" : other);
    for (std::size_t i = 0; i < indices.size(); ++i) EXPECT_NEAR(found.bases[i].k_index, indices[i], 1e-7);
    // Normal, since the models are those of the data.
    const QuantileResiduals& quantiles = found.quantile_residuals;
    ASSERT_EQ(quantiles.residuals.size(), 240U);
    for (std::size_t i = 20; i < 220; ++i)
      EXPECT_NEAR(quantiles.residuals[i], quantiles.normal[i], 0.35) << i;
    EXPECT_EQ(std::isnan(found.pearson_dispersion), model.fitted().family.classes() > 0);

    const Concurvity& concurvity = found.concurvity;
    const std::vector<double> wanted = one.at("concurvity");
    std::size_t next = 0;
    for (std::size_t i = 0; i < concurvity.labels.size(); ++i) {
      if (concurvity.labels[i].starts_with("para")) continue;
      EXPECT_NEAR(concurvity.whole[i].worst, wanted.at(next++), 1e-7);
      EXPECT_NEAR(concurvity.whole[i].observed, wanted.at(next++), 1e-7);
      EXPECT_NEAR(concurvity.whole[i].estimate, wanted.at(next++), 1e-7);
    }
    EXPECT_EQ(next, wanted.size());
    EXPECT_EQ(concurvity.labels[2], "para.1");
    EXPECT_TRUE(std::isnan(concurvity.pairwise[2].worst));
    EXPECT_EQ(concurvity.pairwise[concurvity.labels.size() + 1].worst, 1);
  }
}

// A prior weight counts as so many rows, and leaves the distribution of a response unknown.
TEST(Several, AreCheckedWithWeights) {
  Job job = testing::cpu_job(testing::world());
  const Model model = fit(job, parse_formula("list(normal ~ s(x), ~ z)"), several_table(),
                          {.family = family("gaulss"), .weights = "ifelse(g == 'a', 4, 1)"})
                          .model;
  const Check found = check(job, model, several_table(), {.permutations = 1});
  if (job.comm().rank() != 0) return;
  const FittedModel& fitted = model.fitted();
  EXPECT_NEAR(found.deviance_dispersion * fitted.residual_df() / fitted.deviance, 1, 1e-9);
  EXPECT_NEAR(found.pearson_dispersion, found.deviance_dispersion, 1e-12);
  EXPECT_LT(found.quantile_residuals.residuals.size(), 200U);
  EXPECT_GT(found.quantile_residuals.residuals.size(), 100U);
}

TEST(Several, AreDrawnInAReport) {
  Job job = testing::cpu_job(testing::world());
  const Model model = several_model(job, "ziplss", "list(count ~ s(x) + g, ~ te(x, z, k=4))");
  const ReportRows rows = report_rows(job, model, several_table(), {.permutations = 20});
  if (job.comm().rank() != 0) return;
  const auto names_of = [](const Report& of) {
    std::vector<std::string> names;
    for (const ReportFigure& figure : of.figures) names.push_back(figure.name);
    return names;
  };
  const Report page = report(model, {.rows = rows});
  const std::vector<std::string> with_rows = names_of(page);
  for (const char* const name : {"residuals_quantiles", "residuals_predictor", "residuals_predictor_1",
                                 "residuals_histogram", "observed_fitted", "residuals_z"})
    EXPECT_NE(std::ranges::find(with_rows, name), with_rows.end()) << name;
  EXPECT_NE(page.html.find("Quantile residuals of all 240 rows"), std::string::npos);
  EXPECT_NE(page.html.find("<th scope=\"row\">para.1</th>"), std::string::npos);
  EXPECT_EQ(page.html.find("nan"), std::string::npos);
  EXPECT_NE(report_html(model).find("Deviance residuals of all 240 rows"), std::string::npos);
}

/// Where smoothing parameters are estimated: log of the ratio by which a step of Fellner and Schall would
/// change each of them. Source: Wood and Fasiolo, Biometrics 73 (2017).
std::vector<double> steps_of_fellner_schall(const FittedModel& model) {
  std::vector<double> steps;
  std::size_t sp = 0;
  for (const CoefBlock& block : model.design.blocks) {
    for (std::size_t j = 0; block.penalty && j < block.penalty->count(); ++j, ++sp) {
      const double lambda = std::exp(model.log_sp[sp]);
      const Matrix s = block.penalty->matrix(j);
      double trace = 0;
      for (int i = 0; i < s.rows(); ++i) {
        for (int k = 0; k < s.cols(); ++k)
          trace += s(i, k) * model.covariance(block.coef_begin + i, block.coef_begin + k);
      }
      const auto own =
          std::span(model.coef)
              .subspan(static_cast<std::size_t>(block.coef_begin), static_cast<std::size_t>(block.coef_size));
      // At its limit a smooth is of its null space, and the ratio is one of rounding errors.
      if (model.block_edf(block) - (block.coef_size - block.penalty->rank()) < 1e-3) continue;
      const double square = dot(own, block.penalty->times(j, own));
      steps.push_back(std::log((block.penalty->rank() / lambda - trace) / square));
    }
  }
  return steps;
}

TEST(Several, EstimateSmoothingParametersAtAFixedPointOfFellnerAndSchall) {
  struct Model {
    const char* family;
    const char* formula;
  };
  Job job = testing::cpu_job(testing::world());
  for (const auto& [family_text, formula] :
       {Model{"gaulss", R"(list(normal ~ s(x, k=9) + g, ~ s(z, bs="ps", k=8)))"},
        Model{"gammals", R"(list(positive ~ s(x, k=9) + g + offset(o), ~ s(z, bs="cr", k=8)))"},
        Model{"shash", R"(list(skew ~ s(x, k=9), ~ s(z, bs="ps", k=8), ~ 1, ~ 1))"},
        Model{"twlss", R"(list(rain ~ s(x, k=9) + g + offset(o), ~ x, ~ s(z, bs="ps", k=8)))"},
        Model{"multinom(K=2)", R"(list(level ~ s(x, k=9) + g, ~ s(z, bs="ps", k=8)))"}}) {
    SCOPED_TRACE(family_text);
    const FittedModel model = several_model(job, family_text, formula).fitted();
    EXPECT_TRUE(model.converged) << model.why_not_converged;
    if (job.comm().rank() != 0) continue;
    const std::vector<double> steps = steps_of_fellner_schall(model);
    EXPECT_FALSE(steps.empty());
    for (const double step : steps) EXPECT_LE(std::abs(step), 1e-5);
  }
}

TEST(Several, HaveTheClassesOfAFactorInTheOrderOfItsLevels) {
  Job job = testing::cpu_job(testing::world());
  const std::string terms = R"( ~ s(x, k=9) + g, ~ s(z, bs="ps", k=8)))";
  const Model of_numbers = several_model(job, "multinom(K=2)", "list(class" + terms);
  const Model of_levels = several_model(job, "multinom(K=2)", "list(level" + terms);
  EXPECT_EQ(of_numbers.fitted().coef, of_levels.fitted().coef);
  const Predictions shares = predict(job, of_levels, several_table(), {.type = PredictionType::response});
  ASSERT_EQ(shares.columns.size(), 3U);
  EXPECT_EQ(shares.columns[0].name, "fit.low");
  EXPECT_EQ(shares.columns[2].name, "fit.top");
  for (std::size_t i = 0; i < shares.columns[0].values.size(); ++i)
    EXPECT_NEAR(shares.columns[0].values[i] + shares.columns[1].values[i] + shares.columns[2].values[i], 1,
                1e-12);
}

// The standardised columns of each predictor.
TEST(Several, DoNotDependOnTheOriginOfACovariate) {
  Job job = testing::cpu_job(testing::world());
  const auto at = [&](const char* x) {
    return several_model(job, "gaulss", fmt::format(R"(list(normal ~ {0} + s(z, k=6), ~ {0} + g))", x));
  };
  const FittedModel near = at("x").fitted();
  const FittedModel far = at("I(x + 1e6)").fitted();
  EXPECT_NEAR(near.aic, far.aic, 1e-5);
  EXPECT_NEAR(near.edf_total, far.edf_total, 1e-5);
}

TEST(Several, NeedATermOrAnInterceptOfTheLastPredictor) {
  Job job = testing::cpu_job(testing::world());
  EXPECT_THROW(static_cast<void>(several_model(job, "gaulss", "list(normal ~ s(x), ~ 0)")), Error);
  EXPECT_TRUE(several_model(job, "gaulss", "list(normal ~ 0, ~ s(x))").fitted().converged);
}

// A column that the predictors' own terms determine is dropped from the shared ones: their constant where
// each predictor has one, a number or the linear part of a smooth that all of them have.
TEST(Several, DropWhatIsDeterminedOfSharedTerms) {
  Job job = testing::cpu_job(testing::world());
  const auto fitted = [&](const std::string& formula) {
    return several_model(job, "gaulss", formula).fitted();
  };
  const FittedModel plain = fitted("list(normal ~ x + g, ~ x, 1 + 2 ~ o - 1)");
  EXPECT_TRUE(plain.design.left_out.empty());
  EXPECT_TRUE(plain.converged);
  const FittedModel dropped = fitted("list(normal ~ x + g, ~ x, 1 + 2 ~ o + x)");
  EXPECT_EQ(dropped.design.left_out, (std::vector<std::string>{"(Intercept).2", "x.2"}));
  EXPECT_NEAR(dropped.aic, plain.aic, 1e-9);
  // One of the predictors has no constant, so that the shared one is no combination.
  EXPECT_TRUE(fitted("list(normal ~ g, ~ z - 1, 1 + 2 ~ 1)").design.left_out.empty());
  EXPECT_TRUE(fitted("list(normal ~ g, ~ 0, 1 + 2 ~ z)").converged);

  const FittedModel curves = fitted("list(normal ~ s(x), ~ s(x), 1 + 2 ~ s(x) - 1)");
  EXPECT_EQ(curves.design.left_out.size(), 1U);
  EXPECT_TRUE(curves.converged) << curves.why_not_converged;
}

TEST(Several, HaveTheSameBitsForAnyNumberOfRanksAndThreads) {
  const auto fitted = [](const mpi::Communicator& comm, int threads) {
    Job job = testing::cpu_job(comm, threads);
    return several_model(job, "gaulss", "list(normal ~ g, ~ s(z), 1 + 2 ~ s(x) - 1)").fitted();
  };
  const FittedModel alone = fitted(mpi::Communicator::serial(), 1);
  for (const int threads : {1, 2}) {
    const FittedModel together = fitted(testing::world(), threads);
    EXPECT_EQ(together.coef, alone.coef);
    EXPECT_EQ(together.log_sp, alone.log_sp);
    EXPECT_EQ(together.null_deviance, alone.null_deviance);
  }
}

TEST(Several, PredictOwnAndSharedTermsAlone) {
  Job job = testing::cpu_job(testing::world());
  const Model model = several_model(job, "gaulss", "list(normal ~ g, ~ s(z), 1 + 2 ~ s(x) - 1)");
  const Predictions whole = predict(job, model, several_table(), {});
  const Predictions terms = predict(job, model, several_table(), {.type = PredictionType::terms});
  const Predictions without = predict(job, model, several_table(), {.exclude = {"s.2(x)"}});
  for (const char* const column : {"fit", "fit.1"}) {
    for (std::size_t i = 0; i < whole[column].size(); ++i)
      EXPECT_NEAR(whole[column][i], without[column][i] + terms["s.2(x)"][i], 1e-12);
  }
  const Predictions alone =
      predict(job, model, several_table(), {.terms = std::vector<std::string>{"s.2(x)"}});
  for (std::size_t i = 0; i < whole["fit"].size(); ++i) {
    EXPECT_EQ(alone["fit"][i], alone["fit.1"][i]);
    EXPECT_NEAR(alone["fit"][i], terms["s.2(x)"][i], 1e-12);
  }
  const Predictions first = predict(job, model, several_table(), {.terms = std::vector<std::string>{"g"}});
  EXPECT_EQ(first["fit.1"][0], 0);
}

TEST(Several, AreKeptInAModelFileWithTheirSharedTerms) {
  Job job = testing::cpu_job(testing::world());
  const Model model = several_model(job, "multinom(K=2)", "list(level ~ g, ~ s(z), 2 + 1 ~ s(x) - 1)");
  const Model constant = several_model(job, "gaulss", "list(normal ~ 0, ~ s(x))");
  if (job.comm().rank() != 0) return;
  const std::string text = to_json(model);
  EXPECT_EQ(nlohmann::json::parse(text).at("version"), 10);
  EXPECT_EQ(to_json(model_from_json(text)), text);
  nlohmann::ordered_json other = nlohmann::ordered_json::parse(text);
  other["design"]["readers"][2] = {0, 2};
  EXPECT_THROW(static_cast<void>(model_from_json(other.dump())), Error);
  const std::string without = to_json(constant);
  EXPECT_EQ(nlohmann::json::parse(without).at("version"), 9);
  EXPECT_EQ(to_json(model_from_json(without)), without);
}

TEST(Several, AreKeptInAModelFile) {
  Job job = testing::cpu_job(testing::world());
  const Model model =
      several_model(job, "gaulss(b=0.1)", R"(list(normal ~ s(x) + g + offset(o), ~ s(z) + x + offset(o)))");
  if (job.comm().rank() != 0) return;
  const std::string text = to_json(model);
  const Model again = model_from_json(text);
  EXPECT_EQ(to_json(again), text);
  EXPECT_EQ(again.fitted().design.predictors(), 2);
  EXPECT_EQ(again.fitted().family.text(), "gaulss(b=0.1)");
  std::string wrong = text;
  wrong.replace(wrong.find("gaulss(b=0.1)"), 13, "gaulss(c=0.1)");
  EXPECT_THROW(static_cast<void>(model_from_json(wrong)), Error);
  wrong = text;
  wrong.replace(wrong.find("gaulss(b=0.1)"), 13, "multinom(K=3)");
  EXPECT_THROW(static_cast<void>(model_from_json(wrong)), Error);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
