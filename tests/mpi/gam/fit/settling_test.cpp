// SPDX-License-Identifier: Apache-2.0
// Fits whose full steps cycle for ever, or progress slowly, converge: gamma responses with small effects.
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

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t drawn_rows = 400;

/// A table that depends only on the seed.
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

FitResult fit_of(Job& job, std::uint64_t seed, int max_iterations, const std::string& checkpoint = "",
                 FitObserver* observer = nullptr) {
  const Plan plan = job.plan(drawn_rows, 16);
  FitOptions options{.family = family("gamma"), .max_iterations = max_iterations};
  options.residuals = false;
  options.checkpoint = checkpoint;
  const Formula formula = parse_formula(
      "y ~ root + f + s(t, bs=\"cc\", k=10) + te(u, v, by=z, bs=\"cr\", k=c(5,5)) + "
      "s(z, bs=\"ps\", k=14, m=c(2,1))");
  return fit(job, formula, table(plan, job.local_range(plan), seed), options, observer);
}

FittedModel fitted(std::uint64_t seed, int max_iterations, const std::string& checkpoint = "") {
  Job job = testing::cpu_job(testing::world());
  const FitResult result = fit_of(job, seed, max_iterations, checkpoint);
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
    testing::interrupted_after(world, iteration, [&](Job& job, FitObserver* observer) {
      static_cast<void>(fit_of(job, 12, 100, path, observer));
    });
    const FittedModel resumed = fitted(12, 100, path);
    EXPECT_EQ(resumed.iterations, whole.iterations) << "stopped at " << iteration;
    EXPECT_EQ(resumed.coef, whole.coef) << "stopped at " << iteration;
    EXPECT_EQ(resumed.log_sp, whole.log_sp) << "stopped at " << iteration;
  }
}

/// Counts whose mean is a line in x, on the link's scale, and a curve in u.
Table counts_of_line(const Plan& plan, Range mine, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  std::vector<double> y;
  std::vector<double> x;
  std::vector<double> u;
  for (std::int64_t row = 0; row < plan.units(); ++row) {
    const double own_x = uniform();
    const double own_u = uniform();
    int count = -1;
    for (double left = std::exp(0.5 + 1.5 * own_x + std::sin(6 * own_u)); left > 0; ++count)
      left += std::log(uniform());
    if (row < mine.begin || row >= mine.end) continue;
    y.push_back(count);
    x.push_back(own_x);
    u.push_back(own_u);
  }
  return {plan, {{"y", y}, {"x", x}, {"u", u}}};
}

// The smoothing parameter of a line is near infinity, where rounding of the penalty must not shorten steps.
TEST(Settling, ASmoothThatIsALineTakesAsManyStepsAsALine) {
  Job job = testing::cpu_job(testing::world());
  const Plan plan = job.plan(2000, 64);
  for (const std::uint64_t seed : {1, 7}) {
    for (const char* const family_name : {"poisson", "nb"}) {
      const auto iterations = [&](const char* formula) {
        return fit(job, parse_formula(formula), counts_of_line(plan, job.local_range(plan), seed),
                   {.family = family(family_name)})
            .model.iterations();
      };
      EXPECT_LE(iterations("y ~ s(x, bs='cr', k=20) + s(u, bs='ps', k=20)"),
                iterations("y ~ x + s(u, bs='ps', k=20)") + 1)
          << family_name << ", seed " << seed;
    }
  }
}

// At the solution, REML of its working model is lower for a straight line, whose next step leads back: there
// is one solution, that of bam(method = "fREML").
TEST(Settling, ALowerOptimumThatLeadsBackIsNoOtherSolution) {
  const std::vector<double> y{0.935729, 0.762691,   0.0798306, 0.249522, 5.75184,    1.47488,    0.724166,
                              0.709146, 1.8248,     0.280287,  0.142153, 1.03158,    1.72225,    0.468642,
                              0.769654, 1.64569,    3.37905,   1.0487,   0.00699041, 0.607153,   1.8476,
                              0.943147, 1.86194,    1.2512,    11.9355,  0.756295,   0.00505817, 0.294526,
                              0.775771, 0.00185182, 0.153201,  6.49279,  0.054123,   1.54261,    1.43093,
                              0.254489, 4.77955,    0.338138,  2.13133,  0.513981};
  const std::vector<double> x{0.197641, 0.26078,  0.749943, 1.03449,  0.213331, 2.29845,  1.22398,  1.6804,
                              1.4435,   1.2647,   5.2709,   1.34935,  6.40434,  0.157695, 0.156442, 1.43741,
                              0.242951, 0.584069, 0.761111, 1.77826,  0.590866, 3.76867,  0.187778, 0.0497625,
                              2.36759,  1.37603,  0.559318, 0.920212, 1.15103,  3.97148,  0.91642,  0.109896,
                              0.955542, 0.748637, 0.344808, 1.72663,  1.14995,  0.146267, 0.24055,  5.50955};
  Job job = testing::cpu_job(testing::world());
  const auto rows = static_cast<std::int64_t>(y.size());
  const Plan plan = job.plan(rows, 8);
  const Range mine = job.local_range(plan);
  FitOptions options{.family = family("gamma")};
  const Table table{plan,
                    {{"y", std::vector(y.begin() + mine.begin, y.begin() + mine.end)},
                     {"x", std::vector(x.begin() + mine.begin, x.begin() + mine.end)}}};
  const FittedModel model =
      fit(job, parse_formula("y ~ s(x, bs=\"cr\", k=17)"), table, options).model.fitted();
  EXPECT_TRUE(model.converged) << model.why_not_converged;
  EXPECT_NEAR(model.deviance, 61.38725, 1e-4);
  EXPECT_NEAR(model.edf_total, 4.955097, 1e-5);
  EXPECT_LT(model.iterations, 40);
}

// Two solutions, each with a working model for which the other has the lower REML. By their own REML
// (Laplace's approximation) bam's, with a deviance of 117.952, is lower. The one found does not depend on
// where a fit was interrupted.
TEST(Settling, OfTwoSolutionsThatLeadToOneAnotherTheBetterIsTaken) {
  const mpi::Communicator world = testing::world();
  const testing::SharedFile file(world, "settling.ckpt");
  FitOptions options{.family = family("gamma")};
  const auto end = [&](Job& job, FitObserver* observer = nullptr) {
    return fit(job, parse_formula("y ~ s(x0, bs=\"ps\", k=40) + s(g, bs=\"re\")"),
               testing::in_blocks(TESSERA_TEST_DATA "/settling/two_solutions.csv", 64), options, observer);
  };
  Job job = testing::cpu_job(world);
  const FittedModel whole = end(job).model.fitted();
  EXPECT_TRUE(whole.converged) << whole.why_not_converged;
  EXPECT_LT(whole.iterations, 100);
  EXPECT_NEAR(whole.deviance, 117.952, 1e-3);
  options.checkpoint = file.path();
  for (int iteration = 1; iteration < whole.iterations; iteration += 3) {
    testing::interrupted_after(world, iteration, [&](Job& other, FitObserver* observer) {
      static_cast<void>(end(other, observer));
    });
    const FitResult resumed = end(job);
    EXPECT_EQ(resumed.model.fitted().iterations, whole.iterations);
    EXPECT_EQ(resumed.model.fitted().coef, whole.coef);
    resumed.checkpoint->remove();
  }
}

// A fit that ends far from the solution says so, and what may help.
TEST(Settling, AnEndBeforeTheSolutionSaysWhy) {
  const FittedModel model = fitted(9, 12);
  EXPECT_FALSE(model.converged);
  EXPECT_TRUE(model.why_not_converged.starts_with("the last iteration changed the deviance by "))
      << model.why_not_converged;
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
