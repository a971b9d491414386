// SPDX-License-Identifier: Apache-2.0
// Passes over rows in a job have the bits of a single thread over all blocks, on any hardware.
#include "gam/fit/coordinates/block_sketch.hpp"
#include "gam/rows/columns.hpp"
#include "gam/rows/host_pass.hpp"
#include "gam/rows/host_prediction.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/prediction_pass.hpp"
#include "gam/rows/variance_form.hpp"
#include "mpi/job/job_testing.hpp"
#include "support/rows_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tessera/tessera.hpp>
#include <vector>

namespace {

using namespace tessera::gam;
using rows_test::expect_same_bits;
using rows_test::Model;
using tessera::testing::ScopedVariable;

constexpr std::int64_t row_count = 1003;
constexpr std::int64_t block_rows = 50;  // the last block is short

/// The result vector of a pass, by one thread without a job.
std::vector<double> alone(const Model& model, PassKind kind) {
  const RowLayout layout(model.design, model.family.parameter_count(), nullptr, &model.series);
  const Rows rows = model.rows_of(model.frame);
  HostRows host(rows, layout);
  tessera::ReproducibleSum sum(layout.width(kind));
  const std::vector<double> zeros(model.raw_coef.size());
  for (std::int64_t begin = 0; begin < row_count; begin += block_rows) {
    std::vector<double> partial(sum.width());
    host.add(kind, kind == PassKind::start ? zeros : model.raw_coef, static_cast<std::size_t>(begin),
             static_cast<std::size_t>(std::min(begin + block_rows, row_count)), partial);
    sum.add(partial);
  }
  return sum.values();
}

void expect_passes_of_one_thread(tessera::Job& job, const Model& model) {
  const RowLayout layout(model.design, model.family.parameter_count());
  const tessera::Plan plan = job.plan(row_count, block_rows);
  const Frame mine = rows_test::part_of(model.frame, job.local_range(plan));
  RowPass pass(job, plan, model.rows_of(mine));
  expect_same_bits(pass.step(model.raw_coef), layout.sums(alone(model, PassKind::step)));
  expect_same_bits(pass.start(), layout.sums(alone(model, PassKind::start)));
  const RawDeviance deviance = pass.deviance(model.raw_coef);
  const RawDeviance expected_deviance = RowLayout::deviance(alone(model, PassKind::deviance));
  EXPECT_EQ(deviance.deviance, expected_deviance.deviance);
  EXPECT_EQ(deviance.bad_rows, expected_deviance.bad_rows);
  EXPECT_EQ(deviance.residual_sum, expected_deviance.residual_sum);
  EXPECT_EQ(deviance.residual_square, expected_deviance.residual_square);
  const RawMoments moments = pass.moments();
  const RawMoments expected = layout.moments(alone(model, PassKind::moments));
  EXPECT_EQ(moments.column_sums, expected.column_sums);
  EXPECT_EQ(moments.sum_weight, expected.sum_weight);
  EXPECT_EQ(moments.sum_weighted_response, expected.sum_weighted_response);
  if (model.family.parameter_count() == 0) return;
  Model moved = model;
  std::vector<double> values(model.family.parameters().begin(), model.family.parameters().end());
  for (std::size_t i = 0; i < model.family.parameter_count(); ++i) values[i] *= 1.05;
  moved.family = model.family.at(values);
  for (const Model* at : {&model, static_cast<const Model*>(&moved)}) {
    pass.set_parameters({at->family.parameters().begin(), at->family.parameters().end()});
    const RawLikelihood likelihood = pass.likelihood(model.raw_coef);
    const RawLikelihood expected_likelihood = layout.likelihood(alone(*at, PassKind::parameters));
    EXPECT_EQ(likelihood.minus_log, expected_likelihood.minus_log);
    EXPECT_EQ(likelihood.gradient, expected_likelihood.gradient);
    EXPECT_EQ(likelihood.hessian(0, 0), expected_likelihood.hessian(0, 0));
    EXPECT_EQ(likelihood.bad_rows, 0);
    expect_same_bits(pass.step(model.raw_coef), layout.sums(alone(*at, PassKind::step)));
  }
}

/// The predictions of a rank's rows also equal those of one thread.
void expect_predictions_of_one_thread(tessera::Job& job, Model model) {
  rows_test::add_blocks(model);
  const Posterior posterior = posterior_of(model, true);
  const RowLayout layout(model.design);
  const auto raw_coef = model.design.raw_coefficients(posterior.coef);
  const auto form = variance_form(model.design, layout, posterior.covariance);
  const Rows all = model.rows_of(model.frame);
  std::vector<Prediction> alone(static_cast<std::size_t>(row_count));
  HostPrediction(all, layout, raw_coef, form, posterior).predict(0, alone.size(), alone);

  const tessera::Plan plan = job.plan(row_count);
  const tessera::Range mine = job.local_range(plan);
  const Frame part = rows_test::part_of(model.frame, mine);
  const std::vector<Prediction> predictions = predict_rows(job, plan, model.rows_of(part), posterior);
  ASSERT_EQ(std::ssize(predictions), mine.size());
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const auto row = static_cast<std::size_t>(mine.begin) + i;
    if (model.frame.complete[row] == 0) {
      EXPECT_TRUE(std::isnan(predictions[i].fit));
      continue;
    }
    EXPECT_EQ(predictions[i].fit, alone[row].fit) << row;
    EXPECT_EQ(predictions[i].se, alone[row].se) << row;
  }
}

class RowPasses : public ::testing::TestWithParam<Family> {
 protected:
  Model model_ = rows_test::make_model({.family = GetParam(), .rows = row_count, .seed = 11, .terms = 10});
  tessera::mpi::Communicator comm_ = tessera::testing::world();
};

TEST_P(RowPasses, HaveTheBitsOfOneThreadOnTheHost) {
  for (const int threads : {1, 2}) {
    tessera::JobOptions options = tessera::testing::with_threads(threads);
    options.policy = tessera::Policy::cpu;
    tessera::Job job(comm_, options);
    expect_passes_of_one_thread(job, model_);
    expect_predictions_of_one_thread(job, model_);
  }
}

/// Each rank gets the row before its first from another rank, and knows the factors constant within a series.
TEST(CorrelatedRows, HaveTheBitsOfOneThread) {
  const tessera::mpi::Communicator comm = tessera::testing::world();
  for (const bool by_factor : {false, true}) {
    Model model = rows_test::make_model({.family = Poisson{}, .rows = row_count, .seed = 11, .terms = 10});
    // With several ranks, one has no complete row.
    for (std::size_t row = 300; row < 700; ++row) model.frame.complete.own()[row] = 0;
    rows_test::add_series(model, 0.7, by_factor);
    const RowLayout layout(model.design, 0, nullptr, &model.series);
    for (const int threads : {1, 2}) {
      tessera::JobOptions options = tessera::testing::with_threads(threads);
      options.policy = tessera::Policy::cpu;
      tessera::Job job(comm, options);
      const tessera::Plan plan = job.plan(row_count, block_rows);
      const Frame mine = rows_test::part_of(model.frame, job.local_range(plan));
      Rows rows = model.rows_of(mine);
      rows.series = find_series({comm, job.host_team()}, mine, model.series.start);
      EXPECT_EQ(rows.series.constant, model.series.constant);
      rows.series.rho = model.series.rho;
      RowPass pass(job, plan, rows);
      expect_same_bits(pass.step(model.raw_coef), layout.sums(alone(model, PassKind::step)));
      expect_same_bits(pass.start(), layout.sums(alone(model, PassKind::start)));
      Rows independent = rows;
      independent.series = {};
      EXPECT_TRUE(std::ranges::equal(unweighted_gram(job, plan, rows).core.values(),
                                     unweighted_gram(job, plan, independent).core.values()));
    }
  }
}

TEST_P(RowPasses, HaveTheBitsOfOneThreadOnSimulatedDevices) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank0:2xH200+T4; *:A100");
  tessera::Job job(comm_);
  expect_passes_of_one_thread(job, model_);
  expect_predictions_of_one_thread(job, model_);
  EXPECT_EQ(job.last_verdict().ran, tessera::Verdict::Ran::devices);
}

TEST_P(RowPasses, HaveTheBitsOfOneThreadAfterAFallback) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0.device0");
  tessera::Job job(comm_);
  expect_passes_of_one_thread(job, model_);
  EXPECT_EQ(job.last_verdict().ran, tessera::Verdict::Ran::fallback);
}

TEST_P(RowPasses, PredictTheSameBitsAfterAFallback) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0.device0");
  tessera::Job job(comm_);
  expect_predictions_of_one_thread(job, model_);
  EXPECT_EQ(job.last_verdict().ran, tessera::Verdict::Ran::fallback);
}

INSTANTIATE_TEST_SUITE_P(AllFamilies, RowPasses, ::testing::ValuesIn(rows_test::families()),
                         [](const auto& param) { return rows_test::name_of(param.param); });

TEST(RowPass, CountsTheBytesOfItsColumns) {
  const Model model = rows_test::make_model({.rows = row_count});
  const tessera::mpi::Communicator comm = tessera::testing::world();
  tessera::Job job(comm);
  const tessera::Plan plan = job.plan(row_count, block_rows);
  const Frame mine = rows_test::part_of(model.frame, job.local_range(plan));
  const RowPass pass(job, plan, model.rows_of(mine));
  // Numbers x, z, v, w, the response, two offsets and the prior weight; two factors; `complete`.
  EXPECT_EQ(pass.bytes_per_pass(), row_count * (8 * 8 + 2 * 4 + 1));
}

}  // namespace
