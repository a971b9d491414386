// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/predictor_bound.hpp"

#include "gam/design/build_design.hpp"
#include "gam/rows/row_reader.hpp"
#include "support/design_support.hpp"
#include "support/shared_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t rows_of_bounds = 500;

Frame bounded_table(std::mt19937_64& random) {
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  Frame frame;
  frame.file_rows = frame.complete_rows = rows_of_bounds;
  frame.rows = {0, rows_of_bounds};
  frame.complete.own().assign(rows_of_bounds, 1);
  for (const char* name : {"y", "x", "v", "z"}) frame.variables.push_back({name, false, {}, {}, {}});
  frame.variables.push_back({"f", true, {}, {}, {"a", "b", "c"}});
  frame.extents.resize(frame.variables.size());
  for (std::int64_t row = 0; row < rows_of_bounds; ++row) {
    const std::vector<double> values{uniform(), uniform(), 100 + 50 * uniform(), 1e-3 * uniform() - 0.2};
    for (std::size_t i = 0; i < values.size(); ++i) {
      frame.variables[i].numbers.own().push_back(values[i]);
      frame.extents[i].add(values[i]);
    }
    frame.variables[4].codes.own().push_back(static_cast<int>(random() % 3));
  }
  return frame;
}

/// For every kind of term no row exceeds the bound, which is tight enough to be useful.
TEST(PredictorBound, HoldsInEveryRow) {
  std::mt19937_64 random(7);
  const Frame frame = bounded_table(random);
  for (const char* formula :
       {"y ~ x + f + v:f", "y ~ s(x)", "y ~ s(x, bs='ps', k=20)", "y ~ s(v, bs='cr')", "y ~ s(z, bs='cc')",
        "y ~ s(x, by=f) + s(v, by=x)", "y ~ te(x, v)", "y ~ te(x, v, bs=c('ps','tp'))",
        "y ~ ti(x, z, bs='tp')", "y ~ s(f, bs='re')", "y ~ s(x, bs='bs')"}) {
    const Design design = testing::design_of(testing::shared_world(), formula, frame);
    RowReader reader(frame, design);
    std::normal_distribution<double> normal;
    double worst = 0;
    for (int draw = 0; draw < 20; ++draw) {
      std::vector<double> raw(static_cast<std::size_t>(design.raw_size));
      for (double& one : raw) one = normal(random) * std::pow(10, draw % 5 - 2);
      const double bound = predictor_bound(frame, design, raw);
      double largest = 0;
      for (std::size_t row = 0; row < rows_of_bounds; ++row)
        largest = std::max(largest, std::abs(reader.linear_predictor(row, raw)));
      ASSERT_LE(largest, bound * (1 + 1e-12)) << formula;
      worst = std::max(worst, bound / largest);
    }
    EXPECT_LT(worst, 1000) << formula;
    EXPECT_EQ(predictor_bound(frame, design, std::vector<double>(static_cast<std::size_t>(design.raw_size))),
              0)
        << formula;
  }
}

TEST(PredictorBound, IsInfiniteWhereExtentsTellNone) {
  std::mt19937_64 random(7);
  Frame frame = bounded_table(random);
  const auto bound_of = [&](const Design& design) {
    return predictor_bound(frame, design, std::vector<double>(static_cast<std::size_t>(design.raw_size), 1));
  };
  const Design surface = testing::design_of(testing::shared_world(), "y ~ s(x, v)", frame);
  EXPECT_TRUE(std::isinf(bound_of(surface))) << "of distances";
  const Design curve = testing::design_of(testing::shared_world(), "y ~ s(x, bs='cr')", frame);
  EXPECT_FALSE(std::isinf(bound_of(curve)));
  std::vector<Design> products;
  for (const char* formula : {"y ~ te(v, x, bs='cr')", "y ~ te(x, v, bs='cr')"})
    products.push_back(testing::design_of(testing::shared_world(), formula, frame));
  for (const Design& product : products) EXPECT_FALSE(std::isinf(bound_of(product)));
  frame.extents[1].max = 1.5;
  EXPECT_TRUE(std::isinf(bound_of(curve))) << "beyond the knots";
  for (Design& product : products) {
    EXPECT_TRUE(std::isinf(bound_of(product))) << "of one of two variables";
    for (RawTerm& term : product.terms) {
      for (Component& component : term.components) {
        for (auto& cell : component.margin.cells) std::fill_n(cell.begin(), 4, 0.0);
      }
    }
    EXPECT_TRUE(std::isinf(bound_of(product))) << "though some columns are 0";
  }
  frame.extents[1] = {};
  EXPECT_TRUE(std::isinf(bound_of(curve))) << "not known";
  frame.extents.clear();
  EXPECT_TRUE(std::isinf(bound_of(curve))) << "none known";
  frame.rows = {0, 0};
  EXPECT_EQ(bound_of(curve), 0) << "no rows";
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
