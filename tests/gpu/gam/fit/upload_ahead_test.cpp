// SPDX-License-Identifier: Apache-2.0
// Uploading columns in memory while the hosts read them gives the models of columns that are copied when a
// pass needs them, and a fit that ends in between leaves a usable job.

#include "gpu/job_on_gpus.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/gam.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <tessera/tessera.hpp>
#include <utility>
#include <vector>

namespace {

using namespace tessera::gam;
using tessera::Range;

/// Enough rows that those of each of two ranks are copied ahead.
constexpr std::int64_t row_count = 16'000'000;
constexpr std::int64_t block = 8192;

/// y of x0, x1 and a factor, in which some values are missing.
struct Columns {
  Columns() {
    std::mt19937_64 random(20261127);
    std::uniform_real_distribution<double> uniform;
    for (std::int64_t row = 0; row < row_count; ++row) {
      x0.push_back(uniform(random));
      x1.push_back(0.1 + uniform(random));
      codes.push_back(static_cast<std::int32_t>(3 * uniform(random)));
      y.push_back(std::sin(6 * x0.back()) + std::log(x1.back()) + codes.back() + uniform(random));
      if (row % 1013 == 5) x0.back() = std::numeric_limits<double>::quiet_NaN();
      if (row % 2011 == 7) codes.back() = -1;
    }
  }

  std::vector<double> y;
  std::vector<double> x0;
  std::vector<double> x1;
  std::vector<std::int32_t> codes;
};

/// A span of a rank's rows, in this many pieces.
template <class T>
std::vector<std::span<const T>> pieces_of(const std::vector<T>& values, Range rows, std::int64_t pieces) {
  std::vector<std::span<const T>> all;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t begin = rows.begin + rows.size() * i / pieces;
    const std::int64_t end = rows.begin + rows.size() * (i + 1) / pieces;
    all.emplace_back(values.data() + begin, static_cast<std::size_t>(end - begin));
  }
  return all;
}

class GpuUploadAhead : public tessera::testing::GpuJob {
 protected:
  Table table(const Columns& columns, std::int64_t pieces) {
    const tessera::Plan plan = job_->plan(row_count, block);
    const Range mine = job_->local_range(plan);
    return {plan,
            {{"y", NumberSpans{pieces_of(columns.y, mine, pieces)}},
             {"x0", NumberSpans{pieces_of(columns.x0, mine, pieces)}},
             {"x1", NumberSpans{pieces_of(columns.x1, mine, pieces)}},
             {"f", FactorSpans{pieces_of(columns.codes, mine, pieces), {"a", "b", "c"}}}}};
  }
  std::vector<double> coefficients_of(const Table& table, const FitOptions& options = {}) {
    const FitResult fitted = fit(*job_, parse_formula(formula_), table, options);
    const auto coefficients = fitted.model.coefficients();
    return {coefficients.begin(), coefficients.end()};
  }

  // x1 is read directly and by an expression: the first is uploaded ahead, the second is not.
  std::string formula_ = "y ~ f + s(x0, bs = \"ps\", k = 20) + s(log(x1), k = 10) + x1";
};

TEST_F(GpuUploadAhead, ModelsHaveTheBitsOfColumnsCopiedInPasses) {
  const Columns columns;
  FitOptions in_parts;
  in_parts.memory.device_bytes = 64 << 20;  // no device holds its tile, so nothing is copied ahead
  const std::vector<double> expected = coefficients_of(table(columns, 1), in_parts);
  ASSERT_FALSE(job_->on_host());
  for (const std::int64_t pieces : {1, 2, 7}) {
    EXPECT_EQ(coefficients_of(table(columns, pieces)), expected) << pieces << " pieces";
    ASSERT_FALSE(job_->on_host());
  }
}

TEST_F(GpuUploadAhead, AFitThatEndsWhileColumnsAreCopiedLeavesTheJobWell) {
  Columns columns;
  const std::vector<double> expected = coefficients_of(table(columns, 1));
  const double value = std::exchange(columns.x1.back(), std::numeric_limits<double>::infinity());
  EXPECT_THROW((void)coefficients_of(table(columns, 1)), tessera::Error);
  columns.x1.back() = value;
  EXPECT_EQ(coefficients_of(table(columns, 1)), expected);
}

}  // namespace
