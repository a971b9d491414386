// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The record of a run for a report, read from the file that `--run-report` wrote.
struct RunRecord {
  /// The rows that a device, or a rank on its CPU, computed.
  struct Part {
    int rank = 0;
    std::string host;
    std::string device;  ///< name of the device, with its number if the rank has several; or "CPU"
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  struct Phase {
    std::string name;
    double seconds = 0;
    std::int64_t bytes = 0;
  };

  std::string model;  ///< checksum of the model's file: `FittedModel::checksum`
  std::string verdict;
  std::int64_t rows = 0;   ///< number of rows of the file
  std::int64_t block = 0;  ///< rows per block of the reproducible sums
  int ranks = 0;
  int nodes = 0;
  int devices = 0;
  int threads = 0;  ///< host threads per rank
  std::vector<Part> parts;
  std::vector<Phase> phases;
};

/// Reads and validates a run report, which is untrusted: its ranks, devices and rows must exist. Throws
/// `Error(input)` if there is no such file, if it is not a run report or has another format, or if it is
/// damaged; the message then names the field.
[[nodiscard]] RunRecord load_run_record(const std::string& path);

/// The division of rows among devices and ranks, as a strip from the first row to the last.
[[nodiscard]] std::string plan_svg(const RunRecord& run);
/// Phases in sequence on one time axis. A phase of several passes is drawn once, with its total time.
[[nodiscard]] std::string timeline_svg(const RunRecord& run);

}  // namespace TESSERA_NAMESPACE::gam
