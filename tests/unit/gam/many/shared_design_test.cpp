// SPDX-License-Identifier: Apache-2.0
// The components of a shared design, and its coordinates.
#include "gam/many/shared_design.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/many/local_coordinates.hpp"
#include "support/many_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr int lineage_count = 3;
constexpr int rows_of_lineages = 90;

std::vector<Table::Column> columns_of_lineages() {
  std::mt19937_64 random(17);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> t;
  Factor lineage{.codes = {}, .levels = {"a", "b", "c"}};
  Factor batch{.codes = {}, .levels = {"u", "v"}};
  for (int i = 0; i < rows_of_lineages; ++i) {
    t.push_back(uniform(random));
    lineage.codes.push_back(i % lineage_count);
    batch.codes.push_back(uniform(random) < 0.4 ? 0 : 1);
  }
  return {{"t", t}, {"lineage", lineage}, {"batch", batch}};
}

SharedDesign design_of(const std::string& terms) {
  return ManyModel(columns_of_lineages(), rows_of_lineages, terms).design();
}

void expect_inverse_coordinates(const SharedDesign& design) {
  const Matrix product = multiply(design.from_formula, design.to_formula);
  for (int i = 0; i < design.columns; ++i) {
    for (int j = 0; j < design.columns; ++j) EXPECT_NEAR(product(i, j), i == j ? 1 : 0, 1e-12);
  }
}

TEST(SharedDesign, HasAComponentForEachLineage) {
  const SharedDesign design = design_of("lineage + s(t, by = lineage, bs = \"cr\", k = 5)");
  ASSERT_EQ(design.components.size(), lineage_count);
  ASSERT_EQ(design.groups.size(), lineage_count);
  for (int c = 0; c < lineage_count; ++c) {
    const DesignComponent& component = design.components[static_cast<std::size_t>(c)];
    EXPECT_EQ(component.begin, 5 * c);
    EXPECT_EQ(component.end, 5 * (c + 1));
    EXPECT_EQ(component.first_group, c);
    EXPECT_EQ(component.last_group, c + 1);
    EXPECT_EQ(component.penalties.size(), 1U);
    EXPECT_EQ(component.parameters, component.penalties);
    // A level and a slope of its own.
    EXPECT_EQ(design.groups[static_cast<std::size_t>(c)].columns.size(), 5U);
    EXPECT_EQ(design.groups[static_cast<std::size_t>(c)].own_line.size(), 2U);
  }
  expect_inverse_coordinates(design);
}

TEST(SharedDesign, SharesAParameterBetweenComponents) {
  const SharedDesign design = design_of("lineage + s(t, by = lineage, bs = \"cr\", k = 5, id = 1)");
  ASSERT_EQ(design.components.size(), lineage_count);
  for (const DesignComponent& component : design.components)
    EXPECT_EQ(component.parameters, std::vector<int>{0});
}

TEST(SharedDesign, IsOneComponentIfAFactorJoinsTheLineages) {
  const SharedDesign design = design_of("lineage + s(t, by = lineage, bs = \"cr\", k = 5) + batch");
  ASSERT_EQ(design.components.size(), 1U);
  EXPECT_EQ(design.groups.size(), lineage_count);
  // A level for each lineage still, beside the batch.
  for (const RowGroup& group : design.groups) EXPECT_EQ(group.columns.size(), 6U);
  expect_inverse_coordinates(design);
}

TEST(SharedDesign, HasAPredictorOfOneInEveryRow) {
  const SharedDesign contrasts = design_of("lineage + s(t, by = lineage, bs = \"cr\", k = 5)");
  const SharedDesign levels = design_of("lineage - 1 + s(t, by = lineage, bs = \"cr\", k = 5)");
  for (const SharedDesign* design : {&contrasts, &levels}) {
    int rows = 0;
    for (const RowGroup& group : design->groups) {
      for (int packet = 0; packet < group.end - group.begin; ++packet) {
        for (int lane = 0; lane < base::lane_count; ++lane) {
          const std::size_t slot = static_cast<std::size_t>((group.begin + packet) * base::lane_count + lane);
          if (design->weight[slot] == 0) continue;
          double predictor = 0;
          for (std::size_t c = 0; c < group.columns.size(); ++c)
            predictor +=
                group.x[(static_cast<std::size_t>(packet) * group.columns.size() + c) * base::lane_count +
                        static_cast<std::size_t>(lane)] *
                design->constant[static_cast<std::size_t>(group.columns[c])];
          EXPECT_NEAR(predictor, 1, 1e-10);
          ++rows;
        }
      }
    }
    EXPECT_EQ(rows, rows_of_lineages);
  }
}

TEST(LocalCoordinates, AreThoseOfOneGroupWherePossible) {
  // Intercept, contrasts of three levels and a covariate that is not zero in two of the groups.
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  constexpr int functions = 4;
  Matrix x(functions, 30);
  std::vector<std::vector<int>> groups(3);
  for (int i = 0; i < x.cols(); ++i) {
    const int level = i % 3;
    groups[static_cast<std::size_t>(level)].push_back(i);
    x(0, i) = 1;
    if (level > 0) x(level, i) = 1;
    x(3, i) = level < 2 ? normal(random) : 0;
  }
  const LocalCoordinates local = local_coordinates(x, groups);
  EXPECT_EQ(local.group, (std::vector<int>{0, 1, 2, -1}));
  const Matrix values = multiply_tn(x, local.map);
  for (int j = 0; j < functions; ++j) {
    for (int i = 0; i < x.cols(); ++i) {
      const int group = local.group[static_cast<std::size_t>(j)];
      if (group >= 0 && group != i % 3) {
        EXPECT_NEAR(values(i, j), 0, 1e-14);
      }
    }
  }
  EXPECT_TRUE(solve(local.map, identity(functions)).has_value());
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
