// SPDX-License-Identifier: Apache-2.0
#include "mpi/ending.hpp"

#include <gtest/gtest.h>

namespace tessera::inline TESSERA_ABI::mpi::detail {
namespace {

using namespace std::chrono_literals;

TEST(PatienceAtEnd, IsTheProgramsOwn) {
  for (const WayOut way : {WayOut::plain, WayOut::exception, WayOut::finalize}) {
    const Patience its = patience_at_end(way, 7s);
    EXPECT_EQ(its.timeout, 7s);
    EXPECT_EQ(its.notice, 0s);
    EXPECT_FALSE(its.only_silence);
  }
}

TEST(PatienceAtEnd, HasALimitWhereTheProgramHasNone) {
  EXPECT_EQ(patience_at_end(WayOut::exception, 0s).timeout, 1min);
  for (const WayOut way : {WayOut::plain, WayOut::finalize}) {
    const Patience its = patience_at_end(way, 0s);
    EXPECT_EQ(its.timeout, 30min);
    EXPECT_EQ(its.notice, 1min);
    EXPECT_TRUE(its.only_silence);
  }
}

}  // namespace
}  // namespace tessera::inline TESSERA_ABI::mpi::detail
