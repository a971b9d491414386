// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "temporary_folder.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

/// Runs peers that are packages of R, in a child process.
namespace tessera::bench {

/// The version of a package; nothing if Rscript or the package is not installed.
[[nodiscard]] std::optional<std::string> version_of_r_package(const std::string& package);

/// The processor type of the kernels that R's OpenBLAS uses: "Haswell"; for another BLAS the name of its
/// file. Empty if Rscript is not installed.
[[nodiscard]] std::string kernels_of_r();

/// The results of a script.
struct RRun {
  std::string version;  ///< version of the peer's package
  /// Figures by name: a script prints lines such as "seconds 1.5".
  std::map<std::string, std::vector<double>> figures;
  double peak_resident_bytes = 0;  ///< peak memory of R, with its data
};

/// Runs a script, which prints "seconds" for calls of `function`, from a file in `folder`. `arguments` is as
/// in a shell command. Throws `tessera::Error(input)` with R's output if the script fails.
[[nodiscard]] RRun run_r_script(const TemporaryFolder& folder, const std::string& version, const char* script,
                                const std::string& arguments, const std::string& function);

}  // namespace tessera::bench
