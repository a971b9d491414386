// SPDX-License-Identifier: Apache-2.0
#include "r_script.hpp"

#include <fmt/core.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace tessera::bench {
namespace {

struct Output {
  std::string text;
  int status = 0;
};

/// The end of a script, which prints its peak resident memory.
constexpr const char* r_peak = R"R(
peak <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
cat("peak_kb", gsub("[^0-9]", "", peak), "\n")
)R";

/// Runs a shell command and returns its output and status.
Output output_of(const std::string& command) {
  Output output;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {{}, -1};
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) output.text += part.data();
  output.status = pclose(pipe);
  return output;
}

}  // namespace

std::optional<std::string> version_of_r_package(const std::string& package) {
  const Output version =
      output_of(fmt::format("Rscript -e 'cat(as.character(packageVersion(\"{}\")))' 2>/dev/null", package));
  if (version.status != 0 || version.text.empty()) return std::nullopt;
  return version.text;
}

std::string kernels_of_r() {
  // OpenBLAS itself reports which kernels it uses.
  const Output said =
      output_of(R"(OPENBLAS_VERBOSE=2 Rscript -e 'cat("\nCore:", extSoftVersion()[["BLAS"]], "\n")' 2>&1)");
  if (said.status != 0) return {};
  std::istringstream lines(said.text);
  for (std::string word; lines >> word;) {
    if (word == "Core:" && lines >> word) return word;
  }
  return {};
}

RRun run_r_script(const TemporaryFolder& folder, const std::string& version, const char* script,
                  const std::string& arguments, const std::string& function) {
  const auto path = folder.file("script.R");
  std::ofstream(path) << script << r_peak;
  // The threads of BLAS would compete with the peer's own.
  const Output output =
      output_of(fmt::format("OPENBLAS_NUM_THREADS=1 Rscript '{}' {} 2>&1", path.string(), arguments));
  RRun run{version, {}};
  std::istringstream lines(output.text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    double value = 0;
    if (words >> word >> value) run.figures[word].push_back(value);
  }
  if (output.status != 0 || !run.figures.contains("seconds"))
    throw Error(ErrorCode::input, function + " failed: " + output.text);
  run.peak_resident_bytes = 1024 * run.figures["peak_kb"].front();
  return run;
}

}  // namespace tessera::bench
