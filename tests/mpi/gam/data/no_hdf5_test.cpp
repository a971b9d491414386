// SPDX-License-Identifier: Apache-2.0
#include "gam/data/source/table_reader.hpp"
#include "support/table_support.hpp"

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

TEST(Hdf5TableOfABuildWithoutHdf5, IsRefusedOnEveryRankAlike) {
  const mpi::Communicator comm = world();
  const SharedFile file(comm, "table.h5", "\x89HDF\r\n\x1a\n");
  EXPECT_EQ(common_fault(comm, [&] { static_cast<void>(open_table(crew(comm), file.path())); }),
            file.path() +
                ": is HDF5, which this build cannot read: convert the table to CSV, or configure with "
                "TESSERA_ENABLE_HDF5=ON");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
