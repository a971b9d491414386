// SPDX-License-Identifier: Apache-2.0
// A build without HDF5 measures no table in it.
#include "hdf5_files.hpp"

namespace tessera::bench {

void write_hdf5_chunks(const std::filesystem::path& /*from*/, const std::filesystem::path& /*to*/) {}

void read_by_hdf5(const std::filesystem::path& /*path*/) {}

std::string version_of_hdf5() {
  return {};
}

}  // namespace tessera::bench
