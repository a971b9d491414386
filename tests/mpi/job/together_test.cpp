// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/error.hpp>
#include <tessera/job/together.hpp>
#include <tessera/mpi/communicator.hpp>

#include <cstdint>
#include <new>
#include <string>

#include "mpi/job/job_testing.hpp"

namespace tessera {
namespace {

TEST(Together, GivesEveryRankTheErrorOfTheLowest) {
  const mpi::Communicator comm = testing::world();
  EXPECT_NO_THROW(together(comm, [] {}));
  // From the middle rank up, each fails in a way of its own.
  const int first = comm.size() / 2;
  try {
    together(comm, [&] {
      if (comm.rank() >= first) throw Error(ErrorCode::input, "rank " + std::to_string(comm.rank()));
    });
    FAIL() << "no error on rank " << comm.rank();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::input);
    EXPECT_EQ(error.what(), "rank " + std::to_string(first));
  }
  try {
    together(comm, [&] {
      if (comm.rank() == first) throw std::bad_alloc();
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::job_fault);
    EXPECT_EQ(error.what(), "rank " + std::to_string(first) + " is out of memory");
  }
  try {
    together(comm, [&] {
      if (comm.rank() == first) throw int{first};
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::job_fault);
    EXPECT_EQ(error.what(), "rank " + std::to_string(first) + ": an exception that is not a std::exception");
  }
  // Afterwards the ranks are still in step.
  EXPECT_EQ(comm.allreduce<std::int64_t>(1, mpi::Reduction::sum), comm.size());
}

}  // namespace
}  // namespace tessera
