// SPDX-License-Identifier: Apache-2.0
// Fits whose whole steps turn back and forth for ever, or creep: gamma responses with many small effects.
#include "support/fit_support.hpp"
#include "support/table_support.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace tessera::gam {
namespace {

constexpr std::int64_t drawn_rows = 400;

/// A table that is the same for the same seed.
Table table(const Plan& plan, Range mine, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  std::array<std::vector<double>, 6> numbers;
  Factor factor{.codes = {}, .levels = {"a", "b", "c", "d"}};
  for (std::int64_t row = 0; row < drawn_rows; ++row) {
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
    factor.codes.push_back(f);
    const std::array<double, 6> values{mean * noise * noise, root, t, u, v, z};
    for (std::size_t i = 0; i < values.size(); ++i) numbers[i].push_back(values[i]);
  }
  const auto& [y, root, t, u, v, z] = numbers;
  return {plan, {{"y", y}, {"root", root}, {"f", factor}, {"t", t}, {"u", u}, {"v", v}, {"z", z}}};
}

FittedModel fitted(std::uint64_t seed, int max_iterations, const std::string& checkpoint = "") {
  Job job = testing::cpu_job(testing::world());
  const Plan plan = job.plan(drawn_rows, 16);
  FitOptions options;
  options.family = family("gamma");
  options.max_iterations = max_iterations;
  options.residuals = false;
  options.checkpoint = checkpoint;
  const Formula formula = parse_formula(
      "y ~ root + f + s(t, bs=\"cc\", k=10) + te(u, v, by=z, bs=\"cr\", k=c(5,5)) + "
      "s(z, bs=\"ps\", k=14, m=c(2,1))");
  const FitResult result = fit(job, formula, table(plan, job.local_range(plan), seed), options);
  if (result.checkpoint && result.model.converged()) result.checkpoint->remove();
  return result.model.fitted();
}

TEST(Settling, FitsWhoseWholeStepsCycle) {
  for (const std::uint64_t seed : {9, 17, 24, 31}) {
    const FittedModel model = fitted(seed, 100);
    EXPECT_TRUE(model.converged) << "seed " << seed << ", " << model.iterations << " iterations";
  }
}

TEST(Settling, FitsWhoseWholeStepsCreep) {
  for (const std::uint64_t seed : {1, 2, 12, 39}) {
    const FittedModel model = fitted(seed, 60);
    EXPECT_TRUE(model.converged) << "seed " << seed << ", " << model.iterations << " iterations";
  }
}

TEST(Settling, GoesOnWithTheSameBitsFromAnyIteration) {
  const mpi::Communicator world = testing::world();
  const testing::SharedFile file(world, "settling.ckpt");
  const std::string& path = file.path();
  const FittedModel whole = fitted(12, 100);
  ASSERT_TRUE(whole.converged);
  for (int iteration = 8; iteration < whole.iterations; iteration += 7) {
    EXPECT_FALSE(fitted(12, iteration, path).converged);
    const FittedModel resumed = fitted(12, 100, path);
    EXPECT_EQ(resumed.iterations, whole.iterations) << "stopped at " << iteration;
    EXPECT_EQ(resumed.coef, whole.coef) << "stopped at " << iteration;
    EXPECT_EQ(resumed.log_sp, whole.log_sp) << "stopped at " << iteration;
  }
}

}  // namespace
}  // namespace tessera::gam
