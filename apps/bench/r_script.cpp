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

/// Runs a shell command to its end.
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
  // OpenBLAS itself says what it takes.
  const Output said = output_of(
      "OPENBLAS_VERBOSE=2 Rscript -e 'cat(\"\\nCore:\", extSoftVersion()[[\"BLAS\"]], \"\\n\")' 2>&1");
  if (said.status != 0) return {};
  std::istringstream lines(said.text);
  for (std::string word; lines >> word;) {
    if (word == "Core:" && lines >> word) return word;
  }
  return {};
}

RFigures run_r_script(const TemporaryFolder& folder, const char* script, const std::string& arguments,
                      const std::string& what, const std::string& key) {
  const auto path = folder.file("script.R");
  std::ofstream(path) << script << r_peak;
  // Only the peer's own threads are to run; a threaded BLAS would compete with them.
  const Output output =
      output_of(fmt::format("OPENBLAS_NUM_THREADS=1 Rscript '{}' {} 2>&1", path.string(), arguments));
  RFigures figures;
  std::istringstream lines(output.text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    double value = 0;
    if (words >> word >> value) figures[word].push_back(value);
  }
  if (output.status != 0 || !figures.contains(key))
    throw Error(ErrorCode::input, what + " failed: " + output.text);
  return figures;
}

}  // namespace tessera::bench
