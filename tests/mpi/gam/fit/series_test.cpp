// SPDX-License-Identifier: Apache-2.0
// Fits with AR1 residuals agree with mgcv's bam (tests/data/series/make_series.R).
#include "gam/fit/pirls/rho_search.hpp"
#include "gam/model/model.hpp"
#include "support/fit_support.hpp"
#include "support/shared_world.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr const char* data = TESSERA_TEST_DATA "/series/data.csv.gz";

nlohmann::json fits_of_mgcv() {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(
      gzopen(TESSERA_TEST_DATA "/series/fits.json.gz", "rb"), gzclose);
  std::string text;
  std::array<char, 65536> part;
  for (int got = 0; (got = gzread(file.get(), part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  return nlohmann::json::parse(text);
}

FitOptions options_of(const nlohmann::json& mgcv) {
  FitOptions options{
      .family = family(mgcv.at("family")), .rho = mgcv.at("rho"), .ar_start = mgcv.value("start", "")};
  options.weights = mgcv.value("weights", "");
  options.offset = mgcv.value("offset", "");
  options.subset = mgcv.value("subset", "");
  return options;
}

FittedModel fitted_series(const std::string& formula, const FitOptions& options) {
  return testing::fitted(testing::shared_world(), formula, testing::in_blocks(data, 128), options, 2);
}

TEST(Series, AgreeWithMgcv) {
  for (const nlohmann::json& mgcv : fits_of_mgcv()) {
    const std::string formula = mgcv.at("formula");
    SCOPED_TRACE(formula);
    const FitOptions options = options_of(mgcv);
    const FittedModel model = fitted_series(formula, options);
    FitOptions independent = options;
    independent.rho = 0;
    independent.ar_start.clear();
    const double score = fitted_series(formula, independent).reml;
    Job job = testing::cpu_job(testing::shared_world());
    const auto predictions = testing::predicted_from_file(job, model, data);
    EXPECT_TRUE(model.converged);
    if (testing::shared_world().rank() != 0) continue;

    const auto rows = mgcv.at("rows").get<std::vector<std::size_t>>();
    const double range = mgcv.at("range");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_NEAR(predictions.fit[rows[i]], mgcv.at("link")[i].get<double>(), 1e-7 * range) << rows[i];
      EXPECT_NEAR(predictions.se[rows[i]] / mgcv.at("se")[i].get<double>(), 1, 1e-6) << rows[i];
      // All rows are sampled, and six digits are stored. mgcv's are of each seventh complete row.
      const double residual = mgcv.at("residuals")[i];
      EXPECT_NEAR(model.outline.standardised_residual[7 * i], residual, 1e-5 * (1 + std::abs(residual))) << i;
    }
    EXPECT_NEAR(model.edf_total / mgcv.at("edf").get<double>(), 1, 1e-6);
    EXPECT_NEAR(model.scale / mgcv.at("scale").get<double>(), 1, 1e-7);
    EXPECT_NEAR(model.coef[0] / mgcv.at("intercept").get<double>(), 1, 1e-5);
    const auto log_sp = mgcv.at("log_sp").get<std::vector<double>>();
    ASSERT_EQ(model.log_sp.size(), log_sp.size());
    for (std::size_t i = 0; i < log_sp.size(); ++i) EXPECT_NEAR(model.log_sp[i], log_sp[i], 1e-4) << i;
    if (mgcv.contains("aic")) {
      EXPECT_NEAR(model.aic / mgcv.at("aic").get<double>(), 1, 1e-7);
    }
    // bam's criterion differs by a constant of the model.
    if (mgcv.contains("score")) {
      EXPECT_NEAR(model.reml - score, mgcv.at("score")[0].get<double>() - mgcv.at("score")[1].get<double>(),
                  1e-6 * std::abs(score));
    }
  }
}

/// The division of the rows does not change a bit.
TEST(Series, HaveTheSameBitsOnAnyRanksAndThreads) {
  const std::string formula =
      R"(y ~ q*f + s(t, by=q, k=6) + s(x) + te(t, z, k=4) + s(h, bs="re") + s(g, bs="re"))";
  FitOptions options{.rho = 0.6, .ar_start = "start"};
  options.weights = "w";
  const mpi::Communicator& world = testing::shared_world();
  std::vector<double> expected;
  for (const int ranks : {1, 2, 3, 5}) {
    if (ranks > world.size()) continue;
    const mpi::Communicator some = world.split(world.rank() < ranks ? 0 : 1);
    for (const int threads : {1, 2}) {
      if (world.rank() < ranks) {
        const FittedModel model =
            testing::fitted(some, formula, testing::in_blocks(data, 50), options, threads);
        std::vector<double> numbers = model.coef;
        numbers.insert(numbers.end(), {model.reml, model.aic, model.scale, model.edf_total});
        for (const auto* more : {&model.outline.standardised_residual, &model.outline.autocorrelation})
          numbers.insert(numbers.end(), more->begin(), more->end());
        if (world.rank() == 0) {
          if (expected.empty()) expected = numbers;
          EXPECT_EQ(numbers, expected) << ranks << " ranks, " << threads << " threads";
        }
      }
      world.barrier();
    }
  }
}

/// A search ends at the minimum, whether it begins near it or at the limit.
TEST(Rho, IsThatOfTheLeastScore) {
  for (const double best : {0.0, 0.73, -0.4, 0.998}) {
    for (const double start : {best, 0.5, -0.9, 2.0}) {
      const double found = least_correlation(start, [&](double rho) {
        EXPECT_LT(std::abs(rho), 1);
        return std::cosh(3 * (rho - best));
      });
      EXPECT_NEAR(found, best, 2e-5) << "from " << start;
    }
  }
  EXPECT_NEAR(least_correlation(0.9, [](double rho) { return -rho; }), 0.9999, 1e-4);
}

TEST(Rho, CanBeEstimated) {
  const std::string formula = R"(y ~ f + s(x, bs="cr") + s(t, bs="ps") + s(g, bs="re"))";
  FitOptions options{.estimate_rho = true, .ar_start = "start"};
  const FittedModel model = fitted_series(formula, options);
  options.estimate_rho = false;
  options.rho = model.rho;
  EXPECT_EQ(fitted_series(formula, options).coef, model.coef);
  EXPECT_NEAR(model.rho, 0.344349, 2e-5);  // bam's fREML is least there, by R's optimize
  const double least = fitted_series(formula, options).reml;
  for (const double beside : {-1e-3, 1e-3}) {
    options.rho = model.rho + beside;
    const FittedModel other = fitted_series(formula, options);
    if (testing::shared_world().rank() == 0) {
      EXPECT_GT(other.reml, least);
    }
  }
}

TEST(Series, AreKeptInTheModel) {
  FitOptions options{.rho = 0.25, .ar_start = "start"};
  const FittedModel model = fitted_series(R"(y ~ s(x, bs="cr"))", options);
  if (testing::shared_world().rank() != 0) return;
  const TemporaryFolder folder;
  static_cast<void>(save_model(model, (folder / "model.json").string()));
  const FittedModel read = read_model((folder / "model.json").string());
  EXPECT_EQ(read.rho, 0.25);
  EXPECT_EQ(read.ar_start, "start");
  EXPECT_EQ(read.outline.standardised_residual, model.outline.standardised_residual);
  ASSERT_EQ(read.outline.autocorrelation.size(), 30U);
  EXPECT_EQ(read.outline.autocorrelation, model.outline.autocorrelation);
  EXPECT_NE(summary(Model(std::make_shared<const FittedModel>(read)))
                .find("AR1 residuals: rho = 0.25, series begin at start"),
            std::string::npos);
}

/// Effects of factors that are constant within each series; they are diagonal, as they are not tested.
TEST(Series, MayHaveSparseEffects) {
  const std::string formula = R"(y ~ s(x, bs="cr") + s(t, bs="ps") + s(g, bs="re") + s(g, t, bs="re"))";
  FitOptions options{.rho = 0.5, .ar_start = "start"};
  // Two series lack their first row: they continue the series before.
  EXPECT_NO_THROW(static_cast<void>(fitted_series(formula, options)));
  options.largest_tested_effect = 10;
  try {
    static_cast<void>(fitted_series(formula, options));
    ADD_FAILURE() << "a level changes within a series";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    EXPECT_STREQ(error.what(),
                 "the level of 'g' changes within a series of AR1 residuals, and its random effect has 24 "
                 "coefficients, "
                 "more than largest-tested-effect: set largest-tested-effect to 24, or make ar-start TRUE "
                 "where the level changes");
  }
  options.subset = R"(!(g %in% c("g01", "g03", "g12")))";
  const FittedModel sparse = fitted_series(formula, options);
  options.largest_tested_effect = 1000;
  const FittedModel dense = fitted_series(formula, options);
  if (testing::shared_world().rank() != 0) return;
  EXPECT_TRUE(sparse.covariance.is_parted());
  EXPECT_NEAR(sparse.reml, dense.reml, 1e-8 * std::abs(dense.reml));
  for (std::size_t i = 0; i < dense.coef.size(); ++i) EXPECT_NEAR(sparse.coef[i], dense.coef[i], 1e-6) << i;
}

TEST(Series, AreRefusedWithAReason) {
  const auto refusal = [](const std::function<void(FitOptions&)>& set) -> std::string {
    FitOptions options;
    set(options);
    try {
      static_cast<void>(fitted_series(R"(y ~ s(x, bs="cr"))", options));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal([](FitOptions& options) { options.rho = -1; }),
            "rho is -1: give a number between -1 and 1");
  EXPECT_EQ(refusal([](FitOptions& options) { options.rho = std::nan(""); }),
            "rho is nan: give a number between -1 and 1");
  EXPECT_EQ(refusal([](FitOptions& options) { options.ar_start = "start"; }),
            "ar-start has no effect without rho: also give rho, or remove ar-start");
  EXPECT_EQ(refusal([](FitOptions& options) {
              options.family = family("quasipoisson");
              options.estimate_rho = true;
            }),
            "rho = auto needs the gaussian family with the identity link: give rho as a number for the "
            "family quasipoisson");
  EXPECT_EQ(refusal([](FitOptions& options) {
              options.rho = 0.5;
              options.ar_start = "h";
            }),
            "ar-start 'h' has the level 'a': give TRUE or FALSE, or 1 or 0");
  EXPECT_EQ(refusal([](FitOptions& options) {
              options.rho = 0.5;
              options.ar_start = "t";
            }),
            "ar-start 't' is 0.04 in data row 2: give TRUE or FALSE, or 1 or 0");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
