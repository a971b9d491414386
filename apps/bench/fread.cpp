// SPDX-License-Identifier: Apache-2.0
#include "fread.hpp"

#include "r_script.hpp"

#include <fmt/core.h>

namespace tessera::bench {
namespace {

constexpr const char* fread_script = R"R(
arguments <- commandArgs(trailingOnly = TRUE)
suppressMessages(library(data.table))
for (run in 0:as.integer(arguments[3])) {
  time <- system.time(data <- fread(arguments[1], nThread = as.integer(arguments[2]),
                                    stringsAsFactors = TRUE, showProgress = FALSE))
  if (run > 0) cat("seconds", time[["elapsed"]], "\nprocessor", time[["user.self"]] + time[["sys.self"]], "\n")
  rm(data)
  invisible(gc())
}
)R";

}  // namespace

std::optional<FreadRuns> run_fread(const std::filesystem::path& path, int threads, int repeats) {
  const auto version = version_of_r_package("data.table");
  if (!version) return std::nullopt;
  const TemporaryFolder folder;
  RFigures figures = run_r_script(
      folder, fread_script, fmt::format("'{}' {} {}", path.string(), threads, repeats), "fread()", "seconds");
  return FreadRuns{*version, figures["seconds"], figures["processor"], 1024 * figures["peak_kb"].front()};
}

}  // namespace tessera::bench
