// SPDX-License-Identifier: Apache-2.0
#include "bam.hpp"

#include "child.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tessera/error.hpp>

namespace tessera::bench {
namespace {

/// Reads the columns, fits, and prints what it measured. The peak is that of R, the data and bam().
constexpr const char* script = R"R(
arguments <- commandArgs(trailingOnly = TRUE)
rows <- as.numeric(arguments[2])
smooths <- as.integer(arguments[3])
suppressMessages(library(mgcv))
columns <- file(arguments[1], "rb")
data <- as.data.frame(lapply(0:smooths, function(i) readBin(columns, "double", rows)))
close(columns)
names(data) <- c("y", paste0("x", seq_len(smooths)))
formula <- as.formula(paste("y ~", paste0("s(x", seq_len(smooths), ", bs = 'ps', k = 20)", collapse = " + ")))
for (run in seq_len(as.integer(arguments[6]))) {
  elapsed <- system.time(fitted <- bam(formula, data = data, family = arguments[4], discrete = TRUE,
                                       nthreads = as.integer(arguments[5])))[["elapsed"]]
  cat("seconds", elapsed, "\n")
}
for (run in seq_len(as.integer(arguments[7]))) {
  elapsed <- system.time(predict(fitted, data, type = "response", se.fit = TRUE,
                                 n.threads = as.integer(arguments[5])))[["elapsed"]]
  cat("prediction", elapsed, "\n")
}
peak <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
cat("peak_kb", gsub("[^0-9]", "", peak), "\n")
)R";

/// A folder that goes when it goes out of scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw Error(ErrorCode::input, "no temporary folder can be made: set TMPDIR to a place with room");
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::filesystem::path file(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// One column after another, a piece at a time.
void write_columns(const SimulatedModel& model, std::int64_t rows, const std::filesystem::path& path) {
  std::ofstream file(path, std::ios::binary);
  std::vector<double> piece;
  for (int variable = 0; variable <= model.smooths; ++variable) {
    for (std::int64_t row = 0; row < rows;) {
      piece.clear();
      for (; row < rows && piece.size() < 65536; ++row) piece.push_back(model.value(variable, row));
      file.write(reinterpret_cast<const char*>(piece.data()),
                 static_cast<std::streamsize>(piece.size() * sizeof(double)));
    }
  }
  file.close();
  if (!file) {
    throw Error(ErrorCode::input,
                fmt::format("'{}' cannot be written: set TMPDIR to a place with room", path.string()));
  }
}

}  // namespace

std::optional<BamRuns> run_bam(const SimulatedModel& model, const BamWork& work) {
  const Output version = output_of("Rscript -e 'cat(as.character(packageVersion(\"mgcv\")))' 2>/dev/null");
  if (version.status != 0 || version.text.empty()) return std::nullopt;
  const TemporaryFolder folder;
  std::ofstream(folder.file("bam.R")) << script;
  write_columns(model, work.rows, folder.file("columns"));
  // bam's own threads are what is asked for; a threaded BLAS beside them would only be in their way.
  const Output output =
      output_of(fmt::format("OPENBLAS_NUM_THREADS=1 Rscript '{}' '{}' {} {} {} {} {} {} 2>&1",
                            folder.file("bam.R").string(), folder.file("columns").string(), work.rows,
                            model.smooths, model.family.name(), work.threads, work.fits, work.predictions));
  BamRuns runs;
  runs.version = version.text;
  std::istringstream lines(output.text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    double value = 0;
    if (!(words >> key >> value)) continue;
    if (key == "seconds") runs.seconds.push_back(value);
    if (key == "prediction") runs.predictions.push_back(value);
    if (key == "peak_kb") runs.peak_resident_bytes = 1024 * value;
  }
  if (output.status != 0 || runs.seconds.empty()) {
    throw Error(ErrorCode::input, "bam() failed: " + output.text);
  }
  return runs;
}

}  // namespace tessera::bench
