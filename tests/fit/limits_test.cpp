// SPDX-License-Identifier: Apache-2.0
// tessera-fit under limits: a table that the ranks have not the memory for is refused before the kernel kills
// one of them; threads are those of the batch system.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "info/own_cgroup.hpp"
#include "info/run_program.hpp"

namespace tessera {
namespace {

TEST(FitLimits, ATableThatACgroupHasNotTheMemoryForIsRefused) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory would not fit";
#endif
  constexpr int rows = 10'000'000;
  OwnCgroup cgroup("memory");
  // Two numbers and a mark for each row, 170 MB, are more than this.
  cgroup.set(cgroup.version() == 1 ? "memory.limit_in_bytes" : "memory.max", "160000000");
  if (!cgroup.problem().empty()) GTEST_SKIP() << cgroup.problem();
  std::string text = "y,x\n";
  for (int i = 0; i < rows; ++i) text += i % 3 == 0 ? "1,2\n" : "3,5\n";
  const ScratchFile table(text);
  const ScratchFile model;
  const auto result =
      run(cgroup.command(TESSERA_MPIRUN " 2 " TESSERA_FIT " fit " + table.path() +
                         " --formula \"y ~ x\" --device cpu --threads 1 --out " + model.path()));
  EXPECT_EQ(result.status, 3) << result.err;
  const auto said = result.err.find("tessera-fit: " + table.path() + ": the rows need 0.1583 GiB on ");
  ASSERT_NE(said, std::string::npos) << result.err;
  const std::string line = result.err.substr(said, result.err.find('\n', said) - said);
  EXPECT_NE(line.find("(2 ranks)"), std::string::npos) << line;
  EXPECT_NE(line.find(cgroup.file("")), std::string::npos) << line;
  EXPECT_EQ(result.err.find("tessera-fit: ", said + 1), std::string::npos) << result.err;
}

/// A small fit on two ranks under `variables`; the report of its run.
std::pair<ProgramResult, nlohmann::json> small_fit(const std::string& variables) {
  std::string text = "y,x\n";
  for (int i = 0; i < 50; ++i) text += std::to_string(i * i % 7) + ',' + std::to_string(i) + '\n';
  const ScratchFile table(text);
  const ScratchFile model;
  const ScratchFile report;
  auto result =
      run("env -u OMP_NUM_THREADS -u SLURM_CPUS_PER_TASK " + variables +
          " " TESSERA_MPIRUN " 2 --bind-to none " TESSERA_FIT " fit " + table.path() +
          " --formula 'y ~ x' --device cpu --out " + model.path() + " --run-report " + report.path());
  auto json = nlohmann::json::parse(report.text());
  return {std::move(result), std::move(json)};
}

TEST(FitLimits, TheRunSaysWhereItsThreadsAreFrom) {
  const auto [result, report] = small_fit("SLURM_CPUS_PER_TASK=1");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(report.at("threads_per_rank"), 1);
  EXPECT_EQ(report.at("threads_from"), "SLURM_CPUS_PER_TASK");
}

TEST(FitLimits, AVariableThatIsNoNumberIsSaidOnce) {
  const auto [result, report] = small_fit("OMP_NUM_THREADS=all");
  EXPECT_EQ(result.status, 0) << result.err;
  const auto said = result.err.find("OMP_NUM_THREADS='all' is no number of threads");
  ASSERT_NE(said, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("OMP_NUM_THREADS", said + 1), std::string::npos) << result.err;
  EXPECT_NE(report.at("threads_from").get<std::string>().find("shared by 2 ranks"), std::string::npos)
      << report;
}

}  // namespace
}  // namespace tessera
