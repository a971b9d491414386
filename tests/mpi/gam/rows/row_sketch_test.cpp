// SPDX-License-Identifier: Apache-2.0
// A sketch of the rows preserves the norms of the columns, with the same bits for any number of ranks and
// threads.
#include "gam/rows/row_sketch.hpp"

#include "mpi/job/job_testing.hpp"
#include "support/rows_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tessera/tessera.hpp>
#include <vector>

namespace {

using namespace tessera::gam;
using rows_test::Model;

constexpr std::int64_t row_count = 8003;

std::vector<double> norms_of(const Model& model) {
  std::vector<double> squares(static_cast<std::size_t>(model.design.raw_size));
  for (std::size_t row = 0; row < model.frame.complete.size(); ++row) {
    if (model.frame.complete[row] == 0) continue;
    const auto dense = rows_test::dense_row(model, row);
    for (std::size_t j = 0; j < squares.size(); ++j) squares[j] += static_cast<double>(dense[j] * dense[j]);
  }
  for (double& square : squares) square = std::sqrt(square);
  return squares;
}

Matrix sketch_by(const tessera::mpi::Communicator& comm, int threads, const Model& model) {
  tessera::JobOptions options = tessera::testing::with_threads(threads);
  options.policy = tessera::Policy::cpu;
  tessera::Job job(comm, options);
  const tessera::Plan plan = job.plan(row_count, 50);
  const Frame mine = rows_test::part_of(model.frame, job.local_range(plan));
  return row_sketch(job, mine, model.design, norms_of(model), sketch_rows(model.design.raw_size));
}

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

std::vector<double> combined(const Matrix& columns, const std::vector<double>& factors) {
  std::vector<double> out(static_cast<std::size_t>(columns.rows()));
  for (int j = 0; j < columns.cols(); ++j) {
    for (int i = 0; i < columns.rows(); ++i)
      out[static_cast<std::size_t>(i)] += columns(i, j) * factors[static_cast<std::size_t>(j)];
  }
  return out;
}

double norm_of_column(const Matrix& columns, int j) {
  return norm({columns.column(j).begin(), columns.column(j).end()});
}

TEST(RowSketch, KeepsTheNormsOfCombinationsOfColumns) {
  const Model model = rows_test::make_model({.rows = row_count, .seed = 7, .terms = 10});
  const Matrix sketch = sketch_by(tessera::testing::world(), 1, model);
  if (sketch.empty()) return;
  const auto columns = static_cast<std::size_t>(model.design.raw_size);
  ASSERT_EQ(sketch.cols(), model.design.raw_size + 1);
  for (int k = 0; k < 12; ++k) {
    std::vector<double> factors(columns + 1);
    for (std::size_t j = 0; j < factors.size(); ++j)
      factors[j] = std::sin(1.3 * static_cast<double>(j + 1) * (k + 1));
    double square = 0;
    for (std::size_t row = 0; row < model.frame.complete.size(); ++row) {
      if (model.frame.complete[row] == 0) continue;
      const auto dense = rows_test::dense_row(model, row);
      double sum = factors.back();
      for (std::size_t j = 0; j < columns; ++j) sum += factors[j] * static_cast<double>(dense[j]);
      square += sum * sum;
    }
    EXPECT_NEAR(norm(combined(sketch, factors)) / std::sqrt(square), 1, 0.15) << k;
  }
}

TEST(RowSketch, HasAllDigitsOfColumnsThatDependOnOneAnother) {
  Model model = rows_test::make_splines({.rows = row_count, .offsets = false, .weights = false}, 1);
  const auto number =
      std::find_if(model.design.terms.begin(), model.design.terms.end(), [](const RawTerm& term) {
        return term.components.size() == 1 && term.components[0].kind == Component::Kind::numeric;
      });
  ASSERT_NE(number, model.design.terms.end());
  const int column = number->raw_begin;
  Component shifted = number->components[0];
  shifted.parts = {{shifted.variable, 0.3, 0.7}};
  const int combination = model.design.add_term({shifted});
  model.raw_coef.push_back(0);
  const Matrix sketch = sketch_by(tessera::testing::world(), 1, model);
  if (sketch.empty()) return;
  std::vector<double> factors(static_cast<std::size_t>(sketch.cols()));
  factors[static_cast<std::size_t>(combination)] = 1;
  factors[static_cast<std::size_t>(column)] = -0.7;
  factors.back() = 0.7 * 0.3;
  const double rounding = norm(combined(sketch, factors));
  EXPECT_GT(norm_of_column(sketch, combination), 10);
  EXPECT_LT(rounding, 1e-12 * norm_of_column(sketch, combination));
}

TEST(RowSketch, HasTheBitsOfOneThread) {
  const Model model = rows_test::make_model({.rows = row_count, .seed = 11, .terms = 10});
  const tessera::mpi::Communicator world = tessera::testing::world();
  const Matrix alone = sketch_by(world.split(world.rank()), 1, model);
  for (const int threads : {1, 3}) {
    const Matrix together = sketch_by(world, threads, model);
    if (world.rank() == 0) {
      EXPECT_EQ(together, alone) << threads;
    } else {
      EXPECT_TRUE(together.empty());
    }
  }
}

}  // namespace
