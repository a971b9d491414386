// SPDX-License-Identifier: Apache-2.0
#include "files/output_file.hpp"
#include "gam/data/hdf5/hdf5_writer.hpp"
#include "gam/data/source/table_reader.hpp"
#include "r_script.hpp"
#include "suite.hpp"
#include "table_files.hpp"
#include "temporary_folder.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <tessera/error.hpp>
#include <tessera/gam/convert.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/together.hpp>

#include "files/standard_error.hpp"

namespace tessera::bench {
namespace {

struct IoSuite {
  std::vector<std::string> tables{"digits", "decimals", "mix"};  ///< see `write_csv`
  std::vector<std::string> formats{"csv", "gzip", "bgzip", "hdf5"};
  std::int64_t megabytes = 200;  ///< size of each table in CSV
  int repeats = 3;
  bool peer = true;  ///< compare with fread(), if it is installed
};

using Clock = std::chrono::steady_clock;

const std::vector<std::string> all_tables{"digits", "decimals", "mix"};
const std::vector<std::string> all_formats{"csv", "gzip", "bgzip", "hdf5"};

constexpr const char* each_core = ", each core";  // megabytes per CPU second

/// Reads every column of the table, over this rank's rows.
void read_whole(Job& job, const std::string& path) {
  const gam::Workers workers{job.comm(), job.host_team()};
  const auto table = gam::open_table(workers, path);
  gam::FrameRequest request;
  for (const std::string& column : table->columns())
    request.variables.push_back(gam::column_expression(column));
  const Plan plan = job.plan(table->rows(), 8192);
  (void)table->read(workers, request, job.local_range(plan));
}

/// The times of one run.
struct Elapsed {
  double seconds = 0;
  double processor_seconds = 0;
};

Elapsed elapsed_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  const double used = processor_seconds();
  work();
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  return {elapsed.count(), processor_seconds() - used};
}

void time_reading(Job& job, const std::string& path, const std::string& format, double megabytes, int repeats,
                  Case& out) {
  const mpi::Communicator& comm = job.comm();
  reset_peak_resident();
  for (int repeat = -1; repeat < repeats; ++repeat) {
    comm.barrier();
    const Elapsed elapsed = elapsed_of([&] { read_whole(job, path); });
    const double slowest = comm.allreduce(elapsed.seconds, mpi::Reduction::max);
    const double of_all = comm.allreduce(elapsed.processor_seconds, mpi::Reduction::sum);
    if (repeat < 0) continue;
    out(format, "MB/s").values.push_back(megabytes / slowest);
    out(format + each_core, "MB/s").values.push_back(megabytes / of_all);
  }
  out(format + " peak", "MB").values = {comm.allreduce(peak_resident_bytes(), mpi::Reduction::sum) / 1e6};
}

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

/// Adds the times of data.table's fread() for the same file, if it is installed.
void add_peer(const std::filesystem::path& path, const std::string& format, int threads, int repeats,
              double megabytes, Case& out) {
  if (format == "gzip" && !version_of_r_package("R.utils")) {
    files::say_line(
        {"tessera-bench: fread() of gzip is not timed: install R's package R.utils, which unpacks it"});
    return;
  }
  const auto version = version_of_r_package("data.table");
  if (!version) {
    files::say_line({"tessera-bench: fread() is not timed: install R with data.table"});
    return;
  }
  const TemporaryFolder folder;
  const RRun fread = run_r_script(folder, *version, fread_script,
                                  fmt::format("'{}' {} {}", path.string(), threads, repeats), "fread()");
  const std::string name = fmt::format("{}, fread, data.table {}, nThread={}", format, *version, threads);
  for (const double seconds : fread.figures.at("seconds"))
    out(name, "MB/s").values.push_back(megabytes / seconds);
  for (const double seconds : fread.figures.at("processor"))
    out(name + each_core, "MB/s").values.push_back(megabytes / seconds);
  out(name + " peak", "MB").values = {fread.peak_resident_bytes / 1e6};
  out.add_ratio(format + " / fread's, medians", format, name);
  // Rates per CPU second are less affected by other work on the machine.
  out.add_ratio(format + " / fread's, each core", format + each_core, name + each_core);
}

/// The files of a table, one in each format. data.table's fread(), in R, recognises them by their extensions.
class TableFiles {
 public:
  TableFiles(const std::filesystem::path& folder, const std::string& name) : stem_(folder / name) {}

  [[nodiscard]] std::filesystem::path path(const std::string& format) const {
    const char* const extension = format == "csv"     ? ".csv"
                                  : format == "gzip"  ? ".csv.gz"
                                  : format == "bgzip" ? ".blocks.csv.gz"
                                                      : ".h5";
    return stem_.string() + extension;
  }
  void remove() const {
    for (const std::string& format : all_formats) std::filesystem::remove(path(format));
  }

 private:
  std::filesystem::path stem_;
};

/// *Collective.* Converts the CSV file to a format.
void make_file(Job& job, const TableFiles& files, const std::string& format) {
  if (format != "hdf5") {
    on_root_alone(job.comm(), [&] {
      if (format == "gzip") write_gzip(files.path("csv"), files.path(format));
      if (format == "bgzip") write_bgzip(files.path("csv"), files.path(format));
    });
    return;
  }
  gam::convert_table(job, gam::Table{files.path("csv").string()}, files.path("hdf5").string());
}

double megabytes_of(const std::filesystem::path& path) {
  return static_cast<double>(std::filesystem::file_size(path)) / 1e6;
}

std::vector<Measurement> measure_table(Job& job, const IoSuite& suite, const std::string& name,
                                       const std::filesystem::path& folder) {
  const mpi::Communicator& comm = job.comm();
  const TableFiles files(folder, name);
  on_root_alone(comm, [&] { write_csv(name, suite.megabytes * 1'000'000, files.path("csv")); });
  double megabytes = 0;
  together(comm, [&] { megabytes = megabytes_of(files.path("csv")); });
  Case out("io", fmt::format("{}, {:.0f} MB", name, megabytes));
  const int threads = threads_of_all(job);
  for (const std::string& format : suite.formats) {
    const bool in_hdf5 = format == "hdf5";
    if (in_hdf5 && !gam::has_hdf5()) {
      note(comm, "io", "HDF5 is not timed: configure with TESSERA_ENABLE_HDF5=ON");
      continue;
    }
    make_file(job, files, format);
    double of_format = 0;
    together(comm, [&] { of_format = in_hdf5 ? megabytes_of(files.path("hdf5")) : megabytes; });
    time_reading(job, files.path(format), format, of_format, suite.repeats, out);
    if (!suite.peer || (format != "csv" && format != "gzip")) continue;
    on_root_alone(comm,
                  [&] { add_peer(files.path(format), format, threads, suite.repeats, of_format, out); });
  }
  comm.barrier();
  if (comm.rank() == 0) files.remove();
  return out.take();
}

/// *Collective.* Times opening tables from files in the page cache and reading them into the columns of a
/// frame: megabytes per second of the CSV file, also for compressed ones, or of HDF5; the same per CPU
/// second; and peak resident memory. On rank 0 also data.table's fread() for CSV and gzip, with as many
/// threads as the job has in all. Rank 0 prints the measurements. The ranks must be on one node.
std::vector<Measurement> run_io_suite(Job& job, const IoSuite& suite) {
  const mpi::Communicator& comm = job.comm();
  std::optional<TemporaryFolder> folder;
  together(comm, [&] {
    if (comm.rank() == 0) folder.emplace();
  });
  const std::string path = comm.broadcast_text(folder ? folder->file("").string() : std::string(), 0);
  std::vector<Measurement> all;
  for (const std::string& name : suite.tables) {
    for (Measurement& measurement : measure_table(job, suite, name, path))
      all.push_back(std::move(measurement));
  }
  return all;
}

}  // namespace

Suite io_suite() {
  const auto chosen = std::make_shared<IoSuite>();
  return {
      "io", "Reading of tables from files, beside fread() of R's data.table where that is installed",
      in_a_job("io", chosen, run_io_suite), [chosen](CLI::App& command) {
        command.add_option("--megabytes", chosen->megabytes, "Size of each table in CSV")
            ->check(from_to(1, 1'000'000))
            ->capture_default_str();
        command
            .add_option(
                "--tables", chosen->tables,
                "digits: numbers of 15 to 17 digits; decimals: of four decimals; mix: with factors in quotes")
            ->delimiter(',')
            ->check(CLI::IsMember(all_tables))
            ->capture_default_str();
        command.add_option("--formats", chosen->formats, "csv; gzip: in one stream; bgzip: by blocks; hdf5")
            ->delimiter(',')
            ->check(CLI::IsMember(all_formats))
            ->capture_default_str();
      }};
}

}  // namespace tessera::bench
