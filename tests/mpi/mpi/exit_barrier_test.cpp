// SPDX-License-Identifier: Apache-2.0
#include "mpi/exit_barrier.hpp"

#include <gtest/gtest.h>

namespace TESSERA_NAMESPACE::mpi::detail {
namespace {

using namespace std::chrono_literals;

TEST(PatienceAtEnd, IsTheProgramsOwn) {
  for (const ExitPath path : {ExitPath::normal, ExitPath::failure, ExitPath::exception, ExitPath::finalize}) {
    const WatchdogTimeouts its = exit_timeouts(path, 7s);
    EXPECT_EQ(its.timeout, 7s);
    EXPECT_EQ(its.notice, 0s);
    EXPECT_FALSE(its.only_silence);
  }
}

TEST(PatienceAtEnd, HasALimitWhereTheProgramHasNone) {
  EXPECT_EQ(exit_timeouts(ExitPath::exception, 0s).timeout, 1min);
  EXPECT_EQ(exit_timeouts(ExitPath::failure, 0s).timeout, 10s);
  for (const ExitPath path : {ExitPath::normal, ExitPath::finalize}) {
    const WatchdogTimeouts its = exit_timeouts(path, 0s);
    EXPECT_EQ(its.timeout, 30min);
    EXPECT_EQ(its.notice, 1min);
    EXPECT_TRUE(its.only_silence);
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::mpi::detail
