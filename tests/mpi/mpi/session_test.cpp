// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/mpi/session.hpp>

namespace TESSERA_NAMESPACE::mpi {
namespace {

// The main function of these tests has initialised MPI: a session in a larger program.
TEST(Session, BorrowsMpiThatIsInitialised) {
  int argc = 0;
  char** argv = nullptr;
  {
    const Session session(argc, argv);
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    EXPECT_EQ(session.world().rank(), rank);
    EXPECT_EQ(session.is_root(), rank == 0);
    EXPECT_EQ(session.world().allreduce(std::int64_t{1}, Reduction::sum), session.world().size());
  }
  int finalized = 1;
  MPI_Finalized(&finalized);
  ASSERT_EQ(finalized, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  const Session again(argc, argv);
  again.world().barrier();
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::mpi
