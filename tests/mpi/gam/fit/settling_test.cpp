// SPDX-License-Identifier: Apache-2.0
// Fits whose whole steps turn back and forth for ever, or creep: gamma responses with many small effects.
#include "gam/family/gamma.hpp"
#include "gam/fit/fit.hpp"
#include "gam/fit/fit_checkpoint.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <numbers>
#include <random>
#include <tessera/tessera.hpp>
#include <utility>
#include <vector>

namespace tessera::gam {
namespace {

constexpr std::int64_t rows = 400;
constexpr const char* formula =
    "y ~ root + f + s(t, bs=\"cc\", k=10) + te(u, v, by=z, bs=\"cr\", k=c(5,5)) + "
    "s(z, bs=\"ps\", k=14, m=c(2,1))";

/// This rank's rows of a table that is the same for the same seed.
Frame table(Range mine, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  Frame frame;
  frame.file_rows = rows;
  frame.complete_rows = rows;
  frame.rows = mine;
  for (const char* name : {"y", "root", "f", "t", "u", "v", "z"}) {
    Variable variable{};
    variable.name = name;
    frame.variables.push_back(variable);
  }
  frame.variables[2].factor = true;
  frame.variables[2].levels = {"a", "b", "c", "d"};
  for (std::int64_t row = 0; row < rows; ++row) {
    const double t = uniform();
    const double u = uniform();
    const double v = uniform();
    double z = -3;
    for (int i = 0; i < 3; ++i) z += 2 * uniform();
    const double root = std::sqrt(-std::log(uniform()));
    const int f = static_cast<int>(4 * uniform());
    const double mean = std::exp(root + (f == 1 ? 0.4 : 0) + 0.6 * std::sin(2 * std::numbers::pi * t));
    const double noise = std::log(uniform());
    if (row < mine.begin || row >= mine.end) continue;
    frame.complete.push_back(1);
    frame.variables[2].codes.push_back(f);
    int place = 0;
    for (const double value : {mean * noise * noise, root, 0.0, t, u, v, z}) {
      if (place != 2) frame.variables[static_cast<std::size_t>(place)].numbers.push_back(value);
      ++place;
    }
  }
  return frame;
}

Model fit(std::uint64_t seed, int most_iterations, const std::string& checkpoint = "") {
  const auto world = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  JobOptions job_options;
  job_options.policy = Policy::cpu;
  job_options.threads = 1;
  Job job(world, job_options);
  const Plan plan = job.plan(rows, 16);
  FitOptions options;
  options.family = Gamma{};
  options.max_iterations = most_iterations;
  options.residuals = false;
  Progress silent(false, stderr);
  std::vector<PhaseTime> phases;
  FitCheckpoint fit_checkpoint(job, checkpoint, {{"seed", std::to_string(seed)}}, false, silent);
  FitControl control;
  control.checkpoint = &fit_checkpoint;
  Model model = fit_frame(job, plan, table(job.local_range(plan), seed), parse_formula(formula), options,
                          silent, phases, control);
  if (model.converged) fit_checkpoint.answered();
  return model;
}

TEST(Settling, FitsWhoseWholeStepsCycle) {
  for (const std::uint64_t seed : {9, 17, 24, 31}) {
    const Model model = fit(seed, 100);
    EXPECT_TRUE(model.converged) << "seed " << seed << ", " << model.iterations << " iterations";
  }
}

TEST(Settling, FitsWhoseWholeStepsCreep) {
  for (const std::uint64_t seed : {1, 2, 12, 39}) {
    const Model model = fit(seed, 60);
    EXPECT_TRUE(model.converged) << "seed " << seed << ", " << model.iterations << " iterations";
  }
}

TEST(Settling, GoesOnWithTheSameBitsFromAnyIteration) {
  const auto world = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  const std::string path =
      std::filesystem::temp_directory_path() /
      fmt::format("settling_{}.ckpt",
                  world.allreduce(static_cast<std::int64_t>(::getpid()), mpi::Reduction::max));
  const Model whole = fit(12, 100);
  ASSERT_TRUE(whole.converged);
  for (int iteration = 8; iteration < whole.iterations; iteration += 7) {
    EXPECT_FALSE(fit(12, iteration, path).converged);
    const Model resumed = fit(12, 100, path);
    EXPECT_EQ(resumed.iterations, whole.iterations) << "stopped at " << iteration;
    EXPECT_EQ(resumed.coef, whole.coef) << "stopped at " << iteration;
    EXPECT_EQ(resumed.log_sp, whole.log_sp) << "stopped at " << iteration;
  }
}

}  // namespace
}  // namespace tessera::gam
