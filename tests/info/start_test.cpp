// SPDX-License-Identifier: Apache-2.0
// The ranks of a job start and end together.
#include <gtest/gtest.h>

#include <array>

#include "run_program.hpp"

namespace tessera {
namespace {

/// The ranks of one job with these command lines; two ranks have the second one.
ProgramResult started_by(const std::string& first, const std::string& others) {
  return run(TESSERA_MPIRUN " 1 " + first + " : -np 2 " + others);
}

TEST(InfoStart, RanksOfOneJobNeedOneCommandLine) {
  const std::string report = TESSERA_INFO " --policy cpu";
  for (const auto& [first, other, said] :
       {std::array<std::string, 3>{report, report + " --units 5",
                                   "rank 0 was started by \"tessera-info --policy cpu\" and rank 1 by "
                                   "\"tessera-info --policy cpu --units 5\""},
        {report + " --json", report + " --unlikely '5 6'",
         " and rank 1 by \"tessera-info --policy cpu --unlikely '5 6'\""},
        {TESSERA_INFO " --nonsense", report, "rank 0 was started by \"tessera-info --nonsense\" and "}}) {
    const auto result = started_by(first, other);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  }
  successful(started_by(report, TESSERA_INFO " '--policy' cpu"));
}

TEST(InfoStart, AFileThatMayNotGrowIsAnErrorAndNoSignal) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "under ThreadSanitizer a limit of file sizes ends the program by SIGXFSZ";
#endif
  const ScratchFile limited;
  const auto result = run("bash -c '(ulimit -f 0; " TESSERA_INFO " --policy cpu >" + limited.path() +
                          ") 2>&1 | cat; exit ${PIPESTATUS[0]}'");
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.out, "tessera-info: standard output cannot be written: File too large\n");
}

}  // namespace
}  // namespace tessera
