// SPDX-License-Identifier: Apache-2.0
// Quantiles whose loss is chosen as by qgam of R.
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"
#include "support/shared_world.hpp"
#include "support/table_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

nlohmann::json of_qgam() {
  std::ifstream file(TESSERA_TEST_DATA "/reference/elf/qgam.json");
  return nlohmann::json::parse(file);
}

Table quantile_table() {
  return testing::in_blocks(TESSERA_TEST_DATA "/reference/elf/data.csv.gz", 64);
}

FitResult quantile_fit(Job& job, const std::string& family_text, const std::string& checkpoint = "",
                       FitObserver* observer = nullptr) {
  return fit(job, parse_formula(of_qgam().at("formula").get<std::string>()), quantile_table(),
             {.family = family(family_text), .checkpoint = checkpoint}, observer);
}

// qgam's smoothing parameters are those of REML by Laplace's approximation, which for the 0.99 quantile of
// some hundred rows are others, and so is its learning rate; its err is that of a gaussian fit by bam.
TEST(Quantile, IsThatOfQgam) {
  Job job = testing::cpu_job(testing::shared_world());
  const nlohmann::json reference = of_qgam();
  for (const nlohmann::json& one : reference.at("quantiles")) {
    const double qu = one.at("qu");
    SCOPED_TRACE(qu);
    const FitResult result = quantile_fit(job, "elf(qu=" + std::to_string(qu) + ")");
    const FittedModel& model = result.model.fitted();
    EXPECT_TRUE(model.converged);
    const auto values = model.family.parameters();
    EXPECT_EQ(values[0], qu);
    EXPECT_NEAR(values[2] / one.at("err_of_bam").get<double>(), 1, 1e-4);
    EXPECT_NEAR(values[3] / one.at("co_of_bam").get<double>(), 1, 1e-4);
    if (qu > 0.9) continue;
    EXPECT_NEAR(values[1], one.at("lsig").get<double>(), 0.005);
    EXPECT_NEAR(model.edf_total / one.at("edf_total").get<double>(), 1, 0.01);
    const testing::AllPredictions found =
        testing::predicted_from_file(job, model, TESSERA_TEST_DATA "/reference/elf/data.csv.gz");
    EXPECT_LE(testing::relative_to_range(found.fit, one.at("fitted")), 0.002);
  }
}

TEST(Quantile, HasTheSameBitsOnAnyRanksAndAfterAResumption) {
  const std::string text = "elf(qu=0.9)";
  Job alone = testing::cpu_job(mpi::Communicator::serial());
  const FittedModel whole = quantile_fit(alone, text).model.fitted();
  const auto expect_same = [&](const FittedModel& other) {
    EXPECT_TRUE(std::ranges::equal(other.family.parameters(), whole.family.parameters()));
    EXPECT_EQ(other.coef, whole.coef);
    EXPECT_EQ(other.aic, whole.aic);
  };
  Job job = testing::cpu_job(testing::shared_world(), 2);
  expect_same(quantile_fit(job, text).model.fitted());
  const testing::SharedFile file(testing::shared_world(), "quantile.ckpt");
  testing::interrupted_after(testing::shared_world(), 3, [&](Job& other, FitObserver* observer) {
    static_cast<void>(quantile_fit(other, text, file.path(), observer));
  });
  const FitResult resumed = quantile_fit(job, text, file.path());
  resumed.checkpoint->remove();
  expect_same(resumed.model.fitted());
}

TEST(Quantile, CrossesWhereALowerOneIsAboveAHigherOne) {
  Job job = testing::cpu_job(testing::shared_world());
  const Model low = quantile_fit(job, "elf(qu=0.1, lsig=-1, co=0.2)").model;
  const Model high = quantile_fit(job, "elf(qu=0.9, lsig=-1, co=0.2)").model;
  EXPECT_EQ(crossing_rows(job, std::vector{low, high}, quantile_table()), 0);
  EXPECT_EQ(crossing_rows(job, std::vector{high, low, high}, quantile_table()), 800);
}

TEST(Quantile, TakesWhatIsGiven) {
  Job job = testing::cpu_job(testing::shared_world());
  const auto values_of = [&](const std::string& text) {
    const FitResult result = quantile_fit(job, text);
    const auto values = result.model.fitted().family.parameters();
    return std::vector(values.begin(), values.end());
  };
  const std::vector<double> chosen = values_of("elf(qu=0.5, lsig=-1)");
  EXPECT_EQ(chosen[1], -1);
  EXPECT_GT(chosen[2], 0.05);
  const std::vector<double> by_error = values_of("elf(qu=0.5, lsig=-1, err=0.2)");
  EXPECT_EQ(by_error[2], 0.2);
  EXPECT_NEAR(by_error[3], 0.2 * chosen[3] / chosen[2], 1e-12);
  const std::vector<double> by_width = values_of("elf(qu=0.5, lsig=-1, co=0.3)");
  EXPECT_EQ(by_width[2], 0);
  EXPECT_EQ(by_width[3], 0.3);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
