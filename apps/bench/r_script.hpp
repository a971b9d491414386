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

/// What a script measured, by the words before its figures: it prints lines such as "seconds 1.5".
using RFigures = std::map<std::string, std::vector<double>>;

/// Runs a script with arguments, which follow one another as in a shell, from a file in `folder`. Throws
/// `tessera::Error(input)` with what R says, beginning with `what`, if it fails or never prints `key`.
[[nodiscard]] RFigures run_r_script(const TemporaryFolder& folder, const char* script,
                                    const std::string& arguments, const std::string& what,
                                    const std::string& key);

/// What a script ends with, to print its highest resident memory as "peak_kb".
inline constexpr const char* r_peak = R"R(
peak <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
cat("peak_kb", gsub("[^0-9]", "", peak), "\n")
)R";

}  // namespace tessera::bench
