// SPDX-License-Identifier: Apache-2.0
// Sums over rows on real devices agree with the host's up to rounding, with the same bits for any division.
#include "gam/rows/columns.hpp"
#include "gam/rows/device_division.hpp"
#include "gam/rows/device_pass.hpp"
#include "gam/rows/device_prediction.hpp"
#include "gam/rows/host_pass.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/prediction_pass.hpp"
#include "gam/rows/variance_form.hpp"
#include "gpu/job_on_gpus.hpp"
#include "job/state.hpp"
#include "support/rows_model.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <tessera/tessera.hpp>
#include <vector>

namespace {

using namespace tessera::gam;
using rows_test::Model;
using tessera::Range;

constexpr std::int64_t row_count = 40'000;
constexpr double tolerance = 1e-12;

class GpuRows : public tessera::testing::GpuJob {
 protected:
  /// The sum of the parts, each on the device from `device_of`, with a budget of `budget_bytes`.
  std::vector<double> sum_of_parts(const Model& model, PassKind kind, std::int64_t block,
                                   const std::vector<Range>& parts, std::int64_t budget_bytes,
                                   const std::function<std::size_t(std::size_t)>& device_of) {
    const Rows rows = model.rows_of(model.frame);
    const RowLayout layout(model.design, 0, nullptr, nullptr, rows.family.several() != nullptr);
    DeviceRows device_rows(rows, layout, block, make_device_table(*job_));
    tessera::ReproducibleSum sum(layout.width(kind));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t device = device_of(i);
      tessera::DeviceContext& context = job_->devices().context_at(device);
      context.bind();
      const tessera::Tile tile =
          driven_[device].make_tile(parts[i], {0, row_count}, static_cast<int>(device), context,
                                    job_->buffers().pool_at(device), budget_bytes, nullptr);
      device_rows.add(kind, model.raw_coef, tile, sum);
    }
    return sum.values();
  }

  std::map<std::size_t, tessera::DeviceLane> driven_;
};

/// Once for each family, whose kernels take seconds to compile.
class GpuRowsOf : public GpuRows, public ::testing::WithParamInterface<Family> {};

tessera::JobOptions on_cpu() {
  tessera::JobOptions options;
  options.policy = tessera::Policy::cpu;
  return options;
}

/// Largest difference of two vectors, relative to the largest element.
double relative_difference(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  double difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  return difference / largest;
}

void expect_close(const RawSums& device, const RawSums& host) {
  EXPECT_LE(relative_difference(device.gram.core.values(), host.gram.core.values()), tolerance);
  EXPECT_LE(relative_difference(device.gradient, host.gradient), tolerance);
  EXPECT_NEAR(device.residual, host.residual, tolerance * host.residual);
  // At the initial mean of a gamma row the deviance is the rounding error of a difference of numbers near 1.
  EXPECT_NEAR(device.deviance, host.deviance, tolerance * (std::abs(host.deviance) + row_count));
  EXPECT_EQ(device.bad_rows, host.bad_rows);
}

void expect_close(const RawDeviance& device, const RawDeviance& host) {
  EXPECT_NEAR(device.deviance, host.deviance, tolerance * host.deviance);
  EXPECT_NEAR(device.residual_square, host.residual_square, tolerance * host.residual_square);
  EXPECT_NEAR(device.residual_sum, host.residual_sum, tolerance * host.residual_square);
  EXPECT_EQ(device.bad_rows, host.bad_rows);
}

/// This rank's rows of a model, as in a job.
struct JobRows {
  JobRows(const tessera::Job& job, const Model& model)
      : plan(job.plan(row_count, 1000)),
        frame(rows_test::part_of(model.frame, job.local_range(plan))),
        rows(model.rows_of(frame)) {}

  tessera::Plan plan;
  Frame frame;
  tessera::gam::Rows rows;
};

/// The passes of a model on the job's devices, and in a CPU job.
struct BothPasses {
  BothPasses(const tessera::mpi::Communicator& comm, tessera::Job& job, const Model& model)
      : host_job(comm, on_cpu()),
        device_rows(job, model),
        host_rows(host_job, model),
        device(job, device_rows.plan, device_rows.rows),
        host(host_job, host_rows.plan, host_rows.rows) {}

  tessera::Job host_job;
  JobRows device_rows;
  JobRows host_rows;
  RowPass device;
  RowPass host;
};

TEST_P(GpuRowsOf, PassesAreTheHostsToRounding) {
  const Model model = rows_test::make_model(
      {.family = GetParam(), .rows = row_count, .seed = 21, .limits = GetParam().is_censored()});
  BothPasses passes(comm_, *job_, model);
  RowPass& device = passes.device;
  RowPass& host = passes.host;

  const RawSums step = device.step(model.raw_coef);
  ASSERT_EQ(job_->last_verdict().ran, tessera::Verdict::Ran::devices) << to_string(job_->last_verdict());
  expect_close(step, host.step(model.raw_coef));
  expect_close(device.start(), host.start());
  expect_close(device.deviance(model.raw_coef), host.deviance(model.raw_coef));
  if (GetParam().parameter_count() > 0) {
    const std::vector<double> given(GetParam().parameters().begin(), GetParam().parameters().end());
    std::vector<double> values = given;
    for (std::size_t i = 0; i < GetParam().parameter_count(); ++i) values[i] *= 1.05;
    device.set_parameters(values);
    host.set_parameters(values);
    const RawLikelihood likelihood = device.likelihood(model.raw_coef);
    const RawLikelihood host_likelihood = host.likelihood(model.raw_coef);
    const double allowed = tolerance * std::abs(host_likelihood.minus_log);
    EXPECT_NEAR(likelihood.minus_log, host_likelihood.minus_log, allowed);
    EXPECT_NEAR(likelihood.gradient[0], host_likelihood.gradient[0], allowed);
    EXPECT_NEAR(likelihood.hessian(0, 0), host_likelihood.hessian(0, 0), allowed);
    expect_close(device.step(model.raw_coef), host.step(model.raw_coef));
    device.set_parameters(given);
  }
  const RawMoments moments = device.moments();
  const RawMoments host_moments = host.moments();
  EXPECT_LE(relative_difference(moments.column_sums, host_moments.column_sums), tolerance);
  EXPECT_NEAR(moments.sum_weight, host_moments.sum_weight, tolerance * host_moments.sum_weight);
  EXPECT_NEAR(moments.sum_weighted_response, host_moments.sum_weighted_response,
              tolerance * host_moments.sum_weight);
  EXPECT_EQ(job_->last_verdict().ran, tessera::Verdict::Ran::devices) << to_string(job_->last_verdict());
  rows_test::expect_same_bits(device.step(model.raw_coef), step);
}

TEST_F(GpuRows, PassesOfSeveralLinearPredictorsAreTheHostsToRoundingWithTheSameBits) {
  for (const Family& family : rows_test::several_families()) {
    SCOPED_TRACE(family.text());
    const Model model = rows_test::make_several({.family = family, .rows = row_count, .seed = 29});
    BothPasses passes(comm_, *job_, model);
    const RawSums step = passes.device.step(model.raw_coef);
    ASSERT_EQ(job_->last_verdict().ran, tessera::Verdict::Ran::devices) << to_string(job_->last_verdict());
    const RawSums host_step = passes.host.step(model.raw_coef);
    EXPECT_LT(host_step.bad_rows, row_count / 2);
    expect_close(step, host_step);
    std::vector<double> null(static_cast<std::size_t>(family.predictor_count()), 0.4);
    null.back() = std::numeric_limits<double>::quiet_NaN();
    const RawGoodness goodness = passes.device.goodness(model.raw_coef, null);
    const RawGoodness on_host = passes.host.goodness(model.raw_coef, null);
    EXPECT_NEAR(goodness.minus_two_log_likelihood, on_host.minus_two_log_likelihood,
                tolerance * (std::abs(on_host.minus_two_log_likelihood) + row_count));
    EXPECT_NEAR(goodness.deviance, on_host.deviance, tolerance * on_host.deviance);
    EXPECT_NEAR(goodness.null_deviance, on_host.null_deviance, tolerance * on_host.null_deviance);
    EXPECT_EQ(goodness.bad_rows, on_host.bad_rows);
    const RawMoments moments = passes.device.moments();
    const RawMoments host_moments = passes.host.moments();
    EXPECT_LE(relative_difference(moments.column_sums, host_moments.column_sums), tolerance);
    EXPECT_NEAR(moments.sum_weighted_square, host_moments.sum_weighted_square,
                tolerance * host_moments.sum_weighted_square);
    rows_test::expect_same_bits(passes.device.step(model.raw_coef), step);
    if (job_->devices().empty()) continue;
    const std::size_t devices = job_->devices().size();
    const auto whole = sum_of_parts(model, PassKind::step, 20'000, {{0, row_count}}, std::int64_t{1} << 30,
                                    [](std::size_t) { return std::size_t{0}; });
    const auto halves = sum_of_parts(model, PassKind::step, 20'000, {{0, 20'000}, {20'000, row_count}},
                                     std::int64_t{1} << 22, [&](std::size_t part) { return part % devices; });
    EXPECT_EQ(halves, whole);
  }
}

TEST_F(GpuRows, ProductsOfSplinesAreTheHostsToRoundingAndTheSameBitsOnEveryDevice) {
  const Family gaussian = Gaussian{};
  const Family gamma = Gamma{};
  for (const auto& [family, count] :
       {std::pair{gaussian, 2}, {gaussian, 4}, {gamma, 4}, {gamma, 7}, {gaussian, 10}}) {
    SCOPED_TRACE(count);
    const Model model = rows_test::make_splines({.family = family, .rows = row_count, .seed = 27}, count);
    BothPasses passes(comm_, *job_, model);
    const RawSums step = passes.device.step(model.raw_coef);
    ASSERT_EQ(job_->last_verdict().ran, tessera::Verdict::Ran::devices) << to_string(job_->last_verdict());
    expect_close(step, passes.host.step(model.raw_coef));
    expect_close(passes.device.start(), passes.host.start());
    rows_test::expect_same_bits(passes.device.step(model.raw_coef), step);
    if (job_->devices().empty()) continue;
    const std::size_t devices = job_->devices().size();
    const std::int64_t little = std::int64_t{1} << 22;
    const auto whole = sum_of_parts(model, PassKind::step, 20'000, {{0, row_count}}, std::int64_t{1} << 30,
                                    [](std::size_t) { return std::size_t{0}; });
    const auto halves = sum_of_parts(model, PassKind::step, 20'000, {{0, 20'000}, {20'000, row_count}},
                                     little, [&](std::size_t part) { return part % devices; });
    EXPECT_EQ(halves, whole);
  }
}

TEST_F(GpuRows, AFamilyOfTheUsersOwnIsTheHostsToRounding) {
  const Model model = rows_test::make_model({.family = Gamma{}, .rows = row_count, .seed = 25});
  tessera::Job host_job(comm_, on_cpu());
  JobRows mine(*job_, model);
  JobRows host_mine(host_job, model);
  mine.rows.family = host_mine.rows.family = tessera::gam::Family(tessera::gam::parse_custom_family(
      "name = 'mixed'\ninverse_link = 'exp(eta) + pnorm(eta)'\nderivative = 'exp(eta) + dnorm(eta)'\n"
      "variance = 'pmax(mu, 0.5)^1.5'\ndeviance = '(y - mu)^2 / (y * mu^2) + log1p(abs(y - mu))'\n",
      "test"));
  RowPass device(*job_, mine.plan, mine.rows);
  RowPass host(host_job, host_mine.plan, host_mine.rows);
  expect_close(device.step(model.raw_coef), host.step(model.raw_coef));
  expect_close(device.deviance(model.raw_coef), host.deviance(model.raw_coef));
  EXPECT_EQ(job_->last_verdict().ran, tessera::Verdict::Ran::devices) << to_string(job_->last_verdict());
}

TEST_P(GpuRowsOf, BitsDoNotDependOnPartsMemoryOrDevices) {
  if (job_->devices().empty()) return;  // another rank drives the device
  const Model model = rows_test::make_model({.family = GetParam(), .rows = row_count, .seed = 22});
  const std::int64_t plenty = std::int64_t{1} << 30;
  const std::int64_t little = std::int64_t{1} << 22;
  const std::size_t devices = job_->devices().size();
  const auto first = [](std::size_t) { return std::size_t{0}; };
  const auto in_turn = [&](std::size_t part) { return part % devices; };
  // Blocks of one slice, of several, and one longer than the rows.
  for (const std::int64_t block : {std::int64_t{1000}, std::int64_t{20'000}, std::int64_t{1} << 40}) {
    const Range all{0, row_count};
    const auto whole = sum_of_parts(model, PassKind::step, block, {all}, plenty, first);
    EXPECT_EQ(sum_of_parts(model, PassKind::step, block, {all}, little, first), whole);
    if (block > row_count) continue;
    const std::vector<Range> halves{{0, 20'000}, {20'000, row_count}};
    EXPECT_EQ(sum_of_parts(model, PassKind::step, block, halves, plenty, first), whole);
    EXPECT_EQ(sum_of_parts(model, PassKind::step, block, halves, little, in_turn), whole);
    if (block > 1000) continue;
    // Some rows stay on the device, or none, and the others are copied in parts.
    for (const std::int64_t tiny : {std::int64_t{1} << 20, std::int64_t{1} << 18}) {
      const auto division = divide_rows(row_count, block, bytes_per_row(model.frame), tiny);
      EXPECT_GT(row_count - division.resident, 4 * division.part) << tiny;
      EXPECT_EQ(sum_of_parts(model, PassKind::step, block, {all}, tiny, first), whole) << tiny;
    }
    std::vector<Range> many;
    for (std::int64_t begin = 0; begin < row_count; begin += 3000) {
      many.push_back({begin, std::min(begin + 3000, row_count)});
    }
    EXPECT_EQ(sum_of_parts(model, PassKind::step, block, many, plenty, in_turn), whole);
  }
}

TEST_P(GpuRowsOf, PassesInPartsHaveTheBitsOfThoseAtOnce) {
  const Model model = rows_test::make_model({.family = GetParam(), .rows = row_count, .seed = 28});
  JobRows at_once(*job_, model);
  JobRows in_parts(*job_, model);
  in_parts.rows.on_devices = make_device_table(*job_, std::int64_t{1} << 18);
  RowPass expected(*job_, at_once.plan, at_once.rows);
  RowPass pass(*job_, in_parts.plan, in_parts.rows);
  const RawMoments moments = expected.moments();
  const RawSums step = expected.step(model.raw_coef);
  const RawDeviance deviance = expected.deviance(model.raw_coef);
  // Again: the parts that a pass leaves on the device are not those that the next one begins with.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(pass.deviance(model.raw_coef).deviance, deviance.deviance);
    EXPECT_EQ(pass.moments().column_sums, moments.column_sums);
    rows_test::expect_same_bits(pass.step(model.raw_coef), step);
  }
  EXPECT_EQ(job_->last_verdict().ran, tessera::Verdict::Ran::devices) << to_string(job_->last_verdict());
}

TEST_P(GpuRowsOf, PredictionsAreTheHostsToRoundingAndTheSameBitsOnEveryDevice) {
  Model model = rows_test::make_model(
      {.family = GetParam(), .rows = row_count, .seed = 26, .limits = GetParam().is_censored()});
  rows_test::add_blocks(model);
  tessera::Job host_job(comm_, on_cpu());
  const JobRows mine(*job_, model);
  for (const bool response : {false, true}) {
    const Posterior posterior = posterior_of(model, response);
    const auto device =
        comm_.allgatherv(std::span<const Prediction>(predict_rows(*job_, mine.plan, mine.rows, posterior)));
    ASSERT_EQ(job_->last_verdict().ran, tessera::Verdict::Ran::devices) << to_string(job_->last_verdict());
    const JobRows host_mine(host_job, model);
    const auto host = comm_.allgatherv(
        std::span<const Prediction>(predict_rows(host_job, host_mine.plan, host_mine.rows, posterior)));
    double range = 0;
    for (const Prediction& one : host) range = std::max(range, std::isnan(one.fit) ? 0 : std::abs(one.fit));
    for (std::size_t row = 0; row < host.size(); ++row) {
      ASSERT_EQ(std::isnan(device[row].fit), model.frame.complete[row] == 0) << row;
      if (model.frame.complete[row] == 0) continue;
      EXPECT_NEAR(device[row].fit, host[row].fit, 1e-13 * range) << row;
      EXPECT_NEAR(device[row].se, host[row].se, tolerance * host[row].se + 1e-13 * range) << row;
    }
    // Each row separately, on the devices in turn.
    if (job_->devices().empty()) continue;
    const RowLayout layout(model.design);
    const Rows rows = model.rows_of(model.frame);
    const auto raw_coef = model.design.raw_coefficients(posterior.coef);
    const auto form = variance_form(model.design, layout, posterior.covariance);
    const DevicePrediction prediction(rows, layout, raw_coef, form, response, make_device_table(*job_));
    for (std::int64_t begin = 0; begin < row_count; begin += 13'007) {
      const Range part{begin, std::min(begin + 13'007, row_count)};
      const std::size_t index = static_cast<std::size_t>(begin / 13'007) % job_->devices().size();
      tessera::DeviceContext& context = job_->devices().context_at(index);
      context.bind();
      const tessera::Tile tile =
          driven_[index].make_tile(part, {0, row_count}, static_cast<int>(index), context,
                                   job_->buffers().pool_at(index), 1 << 30, nullptr);
      std::vector<Prediction> out(static_cast<std::size_t>(part.size()));
      prediction.predict(tile, out);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const auto row = static_cast<std::size_t>(begin) + i;
        if (model.frame.complete[row] == 0) continue;
        EXPECT_EQ(out[i].fit, device[row].fit) << row;
        EXPECT_EQ(out[i].se, device[row].se) << row;
      }
    }
  }
}

TEST_P(GpuRowsOf, PredictionsOfATileInPartsHaveItsBits) {
  Model model = rows_test::make_model({.family = GetParam(), .rows = row_count, .seed = 27});
  rows_test::add_blocks(model);
  const Posterior posterior = posterior_of(model, true);
  const JobRows mine(*job_, model);
  const std::vector<Prediction> whole = predict_rows(*job_, mine.plan, mine.rows, posterior);
  job_.reset();  // a device has one job
  tessera::JobOptions few;
  few.memory_fraction = 1e-5;  // a megabyte or so
  for (const int parts : {1, 2, 3}) {
    few.parts_in_flight = parts;
    tessera::Job job(comm_, few);
    const JobRows rows(job, model);
    const std::vector<Prediction> in_parts = predict_rows(job, rows.plan, rows.rows, posterior);
    EXPECT_EQ(job.last_verdict().ran, tessera::Verdict::Ran::devices) << to_string(job.last_verdict());
    ASSERT_EQ(in_parts.size(), whole.size());
    EXPECT_EQ(std::memcmp(in_parts.data(), whole.data(), whole.size() * sizeof(Prediction)), 0) << parts;
  }
}

/// A compiler that fails.
class BrokenCompiler : public tessera::KernelCompiler {
 public:
  std::string version() override { return "broken"; }
  std::string target_for(tessera::ComputeCapability) override { return "sm_00"; }
  tessera::CompileOutcome compile(const tessera::ModuleSource& source, const std::string& target) override {
    return tessera::CompileFailure{target, "\"" + source.name + "\" cannot be compiled for " + target,
                                   "rows(1): error: it is broken"};
  }
};

TEST_F(GpuRows, KernelsThatDoNotCompileMakeTheJobFallBack) {
  const Model model = rows_test::make_model({.family = Gamma{}, .rows = row_count, .seed = 23});
  tessera::JobOptions broken;
  broken.modules = {.compiler = std::make_shared<BrokenCompiler>(), .directory = "", .library = ""};
  job_.reset();  // a device has one job
  tessera::Job job(comm_, broken);
  const tessera::Plan plan = job.plan(row_count, 1000);
  const Frame mine = rows_test::part_of(model.frame, job.local_range(plan));
  RowPass pass(job, plan, model.rows_of(mine));
  const RawSums fallen_back = pass.step(model.raw_coef);
  const tessera::Verdict& verdict = job.last_verdict();
  EXPECT_EQ(verdict.ran, tessera::Verdict::Ran::fallback);
  EXPECT_NE(verdict.failure.reason.find("rows(1): error: it is broken"), std::string::npos)
      << to_string(verdict);
  tessera::testing::expect_same_on_all_ranks(comm_, to_string(verdict));

  tessera::Job host_job(comm_, on_cpu());
  const JobRows host_mine(host_job, model);
  RowPass host(host_job, host_mine.plan, host_mine.rows);
  rows_test::expect_same_bits(fallen_back, host.step(model.raw_coef));
}

/// Passes of a model, twice, in a job with these modules; returns how many the ranks have compiled.
std::int64_t compiles_of(const tessera::mpi::Communicator& comm, const tessera::ModuleCacheOptions& modules) {
  const Model model = rows_test::make_model({.family = Gamma{}, .rows = row_count, .seed = 24});
  tessera::JobOptions options;
  options.modules = modules;
  tessera::Job job(comm, options);
  const tessera::Plan plan = job.plan(row_count, 1000);
  const Frame mine = rows_test::part_of(model.frame, job.local_range(plan));
  for (int i = 0; i < 2; ++i) {
    RowPass pass(job, plan, model.rows_of(mine));
    (void)pass.moments();
    (void)pass.step(model.raw_coef);
    (void)pass.deviance(model.raw_coef);
  }
  EXPECT_EQ(job.last_verdict().ran, tessera::Verdict::Ran::devices) << to_string(job.last_verdict());
  return comm.allreduce(job.modules().statistics().compiles, tessera::mpi::Reduction::sum);
}

TEST_F(GpuRows, KernelsOfTheLibraryNeedNoCompiler) {
  job_.reset();  // a device has one job
  EXPECT_EQ(compiles_of(comm_, {.compiler = std::make_shared<BrokenCompiler>(), .directory = ""}), 0);
}

TEST_F(GpuRows, KernelsAreCompiledOnceInTheJob) {
  std::set<tessera::ComputeCapability> kinds;
  for (const auto& device : job_->inventory().devices()) kinds.insert(device.capability);
  job_.reset();                        // a device has one job
  constexpr std::int64_t modules = 4;  // terms, family, products, and products of splines
  EXPECT_EQ(compiles_of(comm_, {.compiler = nullptr, .directory = "", .library = ""}),
            modules * static_cast<std::int64_t>(kinds.size()));
}

INSTANTIATE_TEST_SUITE_P(AllFamilies, GpuRowsOf, ::testing::ValuesIn(rows_test::families()),
                         [](const auto& param) { return rows_test::name_of(param.param); });

}  // namespace
