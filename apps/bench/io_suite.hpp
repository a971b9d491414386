// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suite.hpp"

#include <tessera/job/job.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::bench {

struct IoSuite {
  std::vector<std::string> tables{"digits", "decimals", "mix"};  ///< see `simulated_text`
  std::vector<std::string> formats{"csv", "gzip", "bgzip", "hdf5", "hdf5-chunks"};
  std::int64_t megabytes = 200;  ///< of each table in CSV
  int repeats = 3;
  bool peer = true;  ///< run fread() and the HDF5 library beside it, if they are there
};

/// Times the opening and reading of tables from files, which the page cache holds, into the columns of a
/// frame: megabytes a second of CSV, or of HDF5 in one piece, also where they are compressed, the same for
/// each second of a processor, and the highest resident memory; and on rank 0 data.table's fread() of CSV and
/// gzip with as many threads as the job has in all, and HDF5's own reading on one. *Collective.* What is
/// measured is rank 0's to print. The ranks must be on one node.
[[nodiscard]] std::vector<Measurement> run_io_suite(Job& job, const IoSuite& suite);

[[nodiscard]] Suite io_suite();

}  // namespace tessera::bench
