// SPDX-License-Identifier: Apache-2.0
// A table that the ranks have not the memory for is refused before the kernel kills one of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

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

}  // namespace
}  // namespace tessera
