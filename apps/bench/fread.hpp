// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera::bench {

/// What reading a table by data.table's fread() took.
struct FreadRuns {
  std::string version;          ///< of data.table
  std::vector<double> seconds;  ///< elapsed time of each fread() alone
  std::vector<double> processor_seconds;
  double peak_resident_bytes = 0;
};

/// Reads a CSV file, texts as factors, `repeats` times in a process of its own, after one run that is not
/// counted. Nothing if Rscript or data.table is not there. Throws `tessera::Error(input)` if a run fails.
[[nodiscard]] std::optional<FreadRuns> run_fread(const std::filesystem::path& path, int threads, int repeats);

}  // namespace tessera::bench
