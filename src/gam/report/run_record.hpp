// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The contents of a `--run-report` file that a page shows.
struct RunRecord {
  /// Rows [begin, end), computed by a device or by the CPU of a rank.
  struct Part {
    int rank = 0;
    std::string host;
    std::string device;  ///< name, and number if the rank has several devices; or "CPU"
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  struct Phase {
    std::string name;
    double seconds = 0;
    std::int64_t bytes = 0;
  };

  std::string model;  ///< `FittedModel::checksum`
  std::string verdict;
  std::int64_t rows = 0;
  std::int64_t block = 0;  ///< rows per block of the reproducible sums
  int ranks = 0;
  int nodes = 0;
  int devices = 0;
  int threads = 0;  ///< per rank
  std::vector<Part> parts;
  std::vector<Phase> phases;
};

/// Reads and validates a run report, which is untrusted. Throws `Error(input)` if the file is missing, is not
/// a run report, has another version, or has an invalid field, which the message names.
[[nodiscard]] RunRecord load_run_record(const std::string& path);

/// The rows of the table as a horizontal strip, divided into `parts`.
[[nodiscard]] std::string plan_svg(const RunRecord& run);
/// Phases in sequence on one time axis. A phase of several passes is one bar of its total time.
[[nodiscard]] std::string timeline_svg(const RunRecord& run);

}  // namespace TESSERA_NAMESPACE::gam
