// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "temporary_folder.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

/// Peers that are packages of R run in a process of its own.
namespace tessera::bench {

/// The version of a package; nothing if Rscript or the package is not installed.
[[nodiscard]] std::optional<std::string> version_of_r_package(const std::string& package);

/// The processor whose kernels R's OpenBLAS takes: "Haswell"; of another BLAS, its file. Empty if Rscript is
/// not installed.
[[nodiscard]] std::string kernels_of_r();

/// What a script measured.
struct RRun {
  std::string version;  ///< of the peer's package
  /// By the words before them: a script prints lines such as "seconds 1.5".
  std::map<std::string, std::vector<double>> figures;
  double peak_resident_bytes = 0;  ///< of R, with its data
};

/// Runs a script, which prints "seconds" of calls of `function`, with arguments, which follow one another as
/// in a shell, from a file in `folder`. Throws `tessera::Error(input)` with what R says if it fails.
[[nodiscard]] RRun run_r_script(const TemporaryFolder& folder, const std::string& version, const char* script,
                                const std::string& arguments, const std::string& function);

}  // namespace tessera::bench
