// SPDX-License-Identifier: Apache-2.0
#include "bam.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace tessera::bench {
namespace {

/// R script: reads the columns, fits, and prints the measurements. The peak includes R, the data and bam().
constexpr const char* bam_script = R"R(
arguments <- commandArgs(trailingOnly = TRUE)
rows <- as.numeric(arguments[2])
variables <- as.integer(arguments[3])
suppressMessages(library(mgcv))
columns <- file(arguments[1], "rb")
data <- as.data.frame(lapply(0:variables, function(i) readBin(columns, "double", rows)))
close(columns)
names(data) <- c("y", paste0("x", seq_len(variables)))
formula <- as.formula(arguments[8])
fitted_rows <- as.numeric(arguments[11])
training <- if (fitted_rows < rows) data[seq_len(fitted_rows), ] else data
threads <- as.integer(arguments[5])
discrete <- as.logical(arguments[9])
# Without discretisation the model matrix is made by the processes of a cluster.
new_cluster <- function() if (threads > 1) parallel::makeForkCluster(threads)
cluster <- if (!discrete) new_cluster()
for (run in seq_len(as.integer(arguments[6]))) {
  family <- eval(parse(text = arguments[4]))  # which keeps its estimates
  time <- system.time(fitted <- bam(formula, data = training, family = family, discrete = discrete,
                                    nthreads = threads, cluster = cluster))
  cat("seconds", time[["elapsed"]], "\n")
  # Not that of a cluster's processes.
  if (is.null(cluster)) cat("processor", time[["user.self"]] + time[["sys.self"]], "\n")
}
if (!is.null(cluster)) parallel::stopCluster(cluster)
predictions <- as.integer(arguments[7])
cluster <- if (predictions > 0) new_cluster()
for (run in seq_len(predictions)) {
  predict_all <- function(...) system.time(predict(fitted, data, type = arguments[10], se.fit = TRUE, ...))[["elapsed"]]
  cat("prediction", predict_all(discrete = FALSE, cluster = cluster), "\n")
  if (discrete) cat("discrete_prediction", predict_all(discrete = TRUE, n.threads = threads), "\n")
}
if (!is.null(cluster)) parallel::stopCluster(cluster)
)R";

/// Writes the columns one after the other, a piece at a time.
void write_columns(const SimulatedModel& model, std::int64_t rows, const std::filesystem::path& path) {
  std::ofstream file(path, std::ios::binary);
  std::vector<double> piece;
  for (int variable = 0; variable <= model.variables; ++variable) {
    for (std::int64_t row = 0; row < rows;) {
      piece.clear();
      for (; row < rows && piece.size() < 65536; ++row) piece.push_back(model.value(variable, row));
      file.write(reinterpret_cast<const char*>(piece.data()),
                 static_cast<std::streamsize>(piece.size() * sizeof(double)));
    }
  }
  file.close();
  if (!file)
    throw Error(ErrorCode::input,
                "'" + path.string() + "' cannot be written: set TMPDIR to a folder with free space");
}

}  // namespace

std::optional<RRun> run_bam(const SimulatedModel& model, const BamWork& work) {
  const auto version = version_of_r_package("mgcv");
  if (!version) return std::nullopt;
  const TemporaryFolder folder;
  write_columns(model, work.rows, folder.file("columns"));
  return run_r_script(folder, *version, bam_script,
                      fmt::format("'{}' {} {} '{}' {} {} {} '{}' {} {} {}", folder.file("columns").string(),
                                  work.rows, model.variables, model.family, work.threads, work.fits,
                                  work.predictions, model.formula(), model.discrete ? "TRUE" : "FALSE",
                                  work.type, work.fitted_rows > 0 ? work.fitted_rows : work.rows),
                      "bam()");
}

}  // namespace tessera::bench
