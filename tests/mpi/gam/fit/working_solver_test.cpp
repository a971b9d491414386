// SPDX-License-Identifier: Apache-2.0
// Working models of a large model are solved on a device, on whichever rank has one, with the answer of a job
// without devices.
#include "gam/fit/pirls/working_solver.hpp"
#include "gam/linalg/linalg.hpp"
#include "mpi/job/scoped_variable.hpp"
#include "support/errors.hpp"
#include "support/fit_support.hpp"
#include "support/on_cpu.hpp"
#include "support/table_support.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using tessera::testing::ScopedVariable;

constexpr int groups = 520;

/// Counts whose mean depends on x and on the row's group, one of many.
std::string table() {
  std::mt19937_64 random(7);
  std::string text = "y,x,g\n";
  for (int i = 0; i < 8 * groups; ++i) {
    const double x = static_cast<double>(random() >> 11) * 0x1p-53;
    const int group = i % groups;
    text += fmt::format("{},{:.6f},g{}\n", random() % 5 + static_cast<unsigned>(group % 3), x, group);
  }
  return text;
}

FittedModel fit_with(const mpi::Communicator& comm, Policy policy, const char* simulate,
                     const std::string& path) {
  const ScopedVariable simulated("TESSERA_SIMULATE", simulate);
  JobOptions job_options;
  job_options.policy = policy;
  Job job(comm, job_options);
  FitOptions options{.family = family("poisson")};
  return fit(job, parse_formula(R"(y ~ s(x, bs="ps") + s(g, bs="re"))"), testing::in_blocks(path, 100),
             options)
      .model.fitted();
}

TEST(WorkingSolver, HasTheSameAnswerWhicheverRankSolves) {
  const mpi::Communicator comm = testing::world();
  const testing::SharedFile file(comm, "groups.csv", table());
  const FittedModel expected = fit_with(comm, Policy::cpu, "", file.path());
  ASSERT_TRUE(expected.converged);
  // A solution's only unit goes to the fastest device: first to the first rank's, then to the last's.
  for (const char* simulate : {"rank0:H200; *:T4", "rank2:H200; *:T4"}) {
    const FittedModel model = fit_with(comm, Policy::gpu, simulate, file.path());
    EXPECT_EQ(model.coef, expected.coef);
    EXPECT_EQ(model.scale, expected.scale);
    EXPECT_EQ(model.edf_total, expected.edf_total);
    if (comm.rank() != 0) continue;
    EXPECT_GT(model.coef.size(), groups);
    EXPECT_EQ(model.log_sp, expected.log_sp);
    EXPECT_EQ(model.reml, expected.reml);
    EXPECT_EQ(model.edf, expected.edf);
    EXPECT_EQ(model.covariance, expected.covariance);
    ASSERT_EQ(model.smooth_tests.size(), 2);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(model.smooth_tests[i].statistic, expected.smooth_tests[i].statistic);
    }
  }
}

TEST(WorkingSolver, IsLeftByAllRanksWhenOneThatWaitsIsAskedToStop) {
  const mpi::Communicator comm = testing::world();
  StopRequest stop(comm, {.signals = {}});
  Job job(comm, on_cpu(0, &stop));
  Design design;
  design.raw_size = design.coef_size = 1;
  CoefBlock ones;
  ones.raw_size = ones.coef_size = 1;
  ones.map = identity(1);
  design.blocks.push_back(ones);
  const RawSums sums{.gram = identity(1), .gradient = {1}, .residual = 1};
  WorkingSolver solver(job, design, false, false, &stop);
  const std::vector<double> none(1);
  EXPECT_TRUE(solver.solve(sums, none, {}, 10)->converged);
  // Rank 0 solves, and the last rank sends the request: it arrives before the messages of the barrier.
  if (comm.rank() == comm.size() - 1) {
    stop.request("the test");
    stop.poll();
  }
  comm.barrier();
  error_of(ErrorCode::interrupted, [&] { static_cast<void>(solver.solve(sums, none, {}, 10)); });
  EXPECT_TRUE(stop.agree());
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
