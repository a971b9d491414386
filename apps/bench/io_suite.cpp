// SPDX-License-Identifier: Apache-2.0
#include "io_suite.hpp"

#include "files/output_file.hpp"
#include "fread.hpp"
#include "gam/table/convert_table.hpp"
#include "gam/table/hdf5_writer.hpp"
#include "gam/table/table_reader.hpp"
#include "table_files.hpp"
#include "temporary_folder.hpp"

#include <sys/resource.h>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include "files/standard_error.hpp"

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;

const std::vector<std::string> all_tables{"digits", "decimals", "mix"};
const std::vector<std::string> all_formats{"csv", "gzip", "bgzip", "hdf5"};

constexpr const char* each_core = ", each core";  // megabytes for each second of a processor

/// Seconds of processors that this process has used.
double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Every column of the table, over this rank's rows.
void read_whole(Job& job, const std::string& path) {
  const gam::Workers workers{job.comm(), job.host_team()};
  const auto table = gam::open_table(workers, path);
  gam::FrameRequest request;
  for (const std::string& column : table->columns())
    request.variables.push_back(gam::column_expression(column));
  const Plan plan = job.plan(table->rows(), 8192);
  (void)table->read(workers, request, job.local_range(plan));
}

void time_reading(Job& job, const std::string& path, const std::string& format, double megabytes, int repeats,
                  Case& out) {
  const mpi::Communicator& comm = job.comm();
  reset_peak_resident();
  for (int repeat = -1; repeat < repeats; ++repeat) {
    comm.barrier();
    const auto start = Clock::now();
    const double used = processor_seconds();
    read_whole(job, path);
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    const double slowest = comm.allreduce(elapsed.count(), mpi::Reduction::max);
    const double of_all = comm.allreduce(processor_seconds() - used, mpi::Reduction::sum);
    if (repeat < 0) continue;
    out(format, "MB/s").values.push_back(megabytes / slowest);
    out(format + each_core, "MB/s").values.push_back(megabytes / of_all);
  }
  out(format + " peak", "MB").values = {comm.allreduce(peak_resident_bytes(), mpi::Reduction::sum) / 1e6};
}

void add_peer(const std::filesystem::path& path, const IoSuite& suite, int threads, double megabytes,
              Case& out) {
  const auto fread = run_fread(path, threads, suite.repeats);
  if (!fread) {
    files::say_line({"tessera-bench: R with data.table is not installed: no fread() beside the reading"});
    return;
  }
  const std::string name = fmt::format("fread, data.table {}, nThread={}", fread->version, threads);
  for (const double seconds : fread->seconds) out(name, "MB/s").values.push_back(megabytes / seconds);
  for (const double seconds : fread->processor_seconds)
    out(name + each_core, "MB/s").values.push_back(megabytes / seconds);
  out(name + " peak", "MB").values = {fread->peak_resident_bytes / 1e6};
  // On a machine that does other work the second says more.
  out("speed / fread's, medians", "1").values = {out("csv", "MB/s").median() / out(name, "MB/s").median()};
  out("speed / fread's, each core", "1").values = {out(std::string("csv") + each_core, "MB/s").median() /
                                                   out(name + each_core, "MB/s").median()};
}

/// *Collective.* Makes the file of a format beside the one in CSV, whose path is given.
void convert(Job& job, const std::filesystem::path& csv, const std::filesystem::path& path,
             const std::string& format) {
  on_root_alone(job.comm(), [&] {
    if (format == "gzip") write_gzip(csv, path);
    if (format == "bgzip") write_bgzip(csv, path, job.host_team());
  });
  if (format != "hdf5") return;
  std::optional<files::OutputFile> file;
  together(job.comm(), [&] {
    if (job.comm().rank() == 0) file.emplace(path.string());
  });
  gam::convert_to_hdf5(job, {.from = csv.string(), .options = {}}, file ? &*file : nullptr);
}

/// Megabytes of a file.
double megabytes_of(const std::filesystem::path& path) {
  return static_cast<double>(std::filesystem::file_size(path)) / 1e6;
}

std::vector<Measurement> measure_table(Job& job, const IoSuite& suite, const std::string& name,
                                       const std::filesystem::path& folder) {
  const mpi::Communicator& comm = job.comm();
  const auto file_of = [&](const std::string& format) { return folder / (name + "." + format); };
  const std::filesystem::path csv = file_of("csv");
  on_root_alone(comm,
                [&] { write_csv(*simulated_text(name), suite.megabytes * 1'000'000, csv, job.host_team()); });
  double megabytes = 0;
  together(comm, [&] { megabytes = megabytes_of(csv); });
  Case out("io", fmt::format("{}, {:.0f} MB", name, megabytes));
  for (const std::string& format : suite.formats) {
    const std::filesystem::path path = file_of(format);
    if (format == "hdf5" && !gam::has_hdf5()) {
      note(comm, "io", "this build has no HDF5: no table in it");
      continue;
    }
    convert(job, csv, path, format);
    time_reading(job, path, format, format == "hdf5" ? megabytes_of(path) : megabytes, suite.repeats, out);
    const int threads = threads_of_all(job);
    if (suite.peer && format == "csv")
      on_root_alone(comm, [&] { add_peer(csv, suite, threads, megabytes, out); });
  }
  comm.barrier();
  if (comm.rank() == 0) {
    for (const std::string& format : all_formats) std::filesystem::remove(file_of(format));
  }
  return out.take();
}

}  // namespace

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

Suite io_suite() {
  const auto chosen = std::make_shared<IoSuite>();
  Suite suite;
  suite.name = "io";
  suite.description =
      "Reading of tables from files, beside fread() of R's data.table where that is installed";
  suite.add_options = [chosen](CLI::App& command) {
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
  };
  suite.run = in_a_job(suite.name, chosen, run_io_suite);
  return suite;
}

}  // namespace tessera::bench
