// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpi.h>
#include <tessera/topology/memory_shortage.hpp>

#include <cstdint>

namespace tessera {
namespace {

TEST(MemoryShortage, NobodyIsShortOfNothing) {
  EXPECT_FALSE(find_memory_shortage(mpi::Communicator::duplicate_of(MPI_COMM_WORLD), 0));
}

TEST(MemoryShortage, IsTheSameOnEveryRank) {
  const auto comm = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  // Only the last rank requests more than any machine has.
  const bool greedy = comm.rank() == comm.size() - 1;
  const auto found = find_memory_shortage(comm, greedy ? std::int64_t{1} << 60 : 1000);
  ASSERT_TRUE(found);
  EXPECT_GE(found->needed_bytes, std::int64_t{1} << 60);
  EXPECT_FALSE(found->limit.source.empty());
  const auto text = to_string(*found);
  for (const auto& other : comm.allgather_text(text)) EXPECT_EQ(other, text);
}

TEST(MemoryShortage, RanksOfOneNodeNeedItsMemoryTogether) {
  const auto comm = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  const auto limits = host_limits();
  const MemoryLimit* most = limits.tightest_memory();
  ASSERT_NE(most, nullptr);
  if (most->scope == MemoryLimit::Scope::process) GTEST_SKIP() << most->source << " is each rank's own";
  // Each rank could have it, but all together only if there is one rank.
  const auto least = comm.allreduce(most->free_bytes, mpi::Reduction::min);
  const auto found = find_memory_shortage(comm, least / 4 * 3);
  EXPECT_EQ(found.has_value(), comm.size() > 1);
  if (found) {
    EXPECT_EQ(found->ranks, comm.size());
  }
}

TEST(MemoryShare, IsThatOfTheNodesRanksTogether) {
  const auto comm = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  constexpr std::int64_t each = 1000;
  const auto share = share_memory(comm, each, each);
  EXPECT_EQ(share.bytes, each / comm.size());
  EXPECT_EQ(share.shortage.has_value(), comm.size() > 1);
  EXPECT_EQ(share_memory(comm, each).bytes, each);
}

}  // namespace
}  // namespace tessera
