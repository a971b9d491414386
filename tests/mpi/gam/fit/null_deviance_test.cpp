// SPDX-License-Identifier: Apache-2.0
// The null model, an intercept and the offset, of each family agrees with R's glm.
#include "support/fit_support.hpp"
#include "support/table_support.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

const std::string null_folder = TESSERA_TEST_DATA "/null_deviances";

FittedModel fit_of(Job& job, const nlohmann::json& given) {
  FitOptions options;
  std::string chosen = given.at("family");
  if (chosen.starts_with('@'))
    chosen = "@" TESSERA_TEST_DATA "/reference/m16_inverse_gaussian/" + chosen.substr(1);
  options.family = family(chosen);
  options.weights = given.at("weights");
  options.offset = given.at("argument");
  options.rho = given.at("rho");
  const auto text = [&](const char* name) { return given.at(name).get<std::string>(); };
  const Formula formula =
      parse_formula(text("response") + " ~ " + text("terms") + " + offset(" + text("offset") + ")");
  return fit(job, formula, testing::in_blocks(null_folder + "/data.csv", 16), options).model.fitted();
}

TEST(NullDeviance, HasTheOffset) {
  std::ifstream file(null_folder + "/null_deviances.json");
  Job job = testing::cpu_job(testing::world());
  for (const nlohmann::json& one : nlohmann::json::parse(file)) {
    SCOPED_TRACE(one.dump());
    const double expected = one.at("null_deviance");
    const FittedModel model = fit_of(job, one);
    EXPECT_NEAR(model.null_deviance, expected, 1e-8 * expected);
    // The null model itself explains nothing.
    if (one.at("terms") == "1")
      EXPECT_NEAR(model.deviance_explained(), 0, 1e-7);
    else
      EXPECT_GT(model.deviance_explained(), 0);
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
