// SPDX-License-Identifier: Apache-2.0
// Nested smooths of skewed, tied and outlying covariates lose the same columns as in mgcv
// (tests/data/side_conditions).
#include "support/fit_support.hpp"
#include "support/shared_world.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using nlohmann::json;

const std::string side_conditions_data = TESSERA_TEST_DATA "/side_conditions/";

TEST(SideConditions, LeaveMgcvsColumns) {
  std::ifstream file(side_conditions_data + "cases.json");
  for (const json& expected : json::parse(file)) {
    const auto formula = expected["formula"].get<std::string>();
    SCOPED_TRACE(formula);
    const FittedModel model = testing::fitted(testing::shared_world(), formula,
                                              testing::in_blocks(side_conditions_data + "data.csv", 64));
    EXPECT_TRUE(model.converged);
    std::vector<int> columns;
    for (const CoefBlock& block : model.design.blocks) {
      if (block.penalty) columns.push_back(block.coef_size);
    }
    EXPECT_EQ(columns, expected["columns"].get<std::vector<int>>());
    if (testing::shared_world().rank() != 0 || expected["edf"].is_null()) continue;
    EXPECT_NEAR(model.edf_total, expected["edf"].get<double>(), 1e-4);
    EXPECT_NEAR(model.deviance / expected["deviance"].get<double>(), 1, 1e-6);
  }
}

TEST(SideConditions, AreThoseOfRowsWithoutWeights) {
  // Without weights the first working model has X'X; with weights X'X is summed separately.
  for (const std::string te : {R"(te(e, l, bs="ps", k=5))", R"(te(e, l, bs="cr", k=5))"}) {
    const std::string formula = R"(y ~ s(e, bs="ps") + s(l, bs="ps") + offset(x) + )" + te;
    const Table table = testing::in_blocks(side_conditions_data + "data.csv", 64);
    const FittedModel without = testing::fitted(testing::shared_world(), formula, table);
    const FittedModel with = testing::fitted(testing::shared_world(), formula, table, {.weights = "v"});
    ASSERT_EQ(with.design.blocks.size(), without.design.blocks.size());
    for (std::size_t i = 0; i < with.design.blocks.size(); ++i)
      EXPECT_EQ(with.design.blocks[i].map, without.design.blocks[i].map) << with.design.blocks[i].label;
    EXPECT_LT(without.design.blocks.back().coef_size, 24);
  }
}

TEST(SideConditions, AreTheSameOnOneRank) {
  const std::string formula = R"(y ~ s(e, bs="ps") + s(l, bs="ps") + te(e, l, bs="ps", k=5))";
  const Table table = testing::in_blocks(side_conditions_data + "data.csv", 64);
  const FittedModel together = testing::fitted(testing::shared_world(), formula, table, {}, 2);
  const mpi::Communicator alone = testing::shared_world().split(testing::shared_world().rank());
  EXPECT_EQ(testing::fitted(alone, formula, table).coef, together.coef);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
