// SPDX-License-Identifier: Apache-2.0
#include "gam/data/source/table_reader.hpp"
#include "suite.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <tessera/job/together.hpp>
#include <vector>

namespace tessera::bench {
namespace {

struct IoSuite {
  std::vector<std::string> tables;
  int repeats = 3;
};

/// *Collective.* Reads every column of this rank's rows.
void read_whole(Job& job, const std::string& path) {
  const gam::Workers workers{job.comm(), job.host_team()};
  const auto table = gam::open_table(workers, path);
  gam::FrameRequest request;
  for (const std::string& column : table->columns())
    request.variables.push_back(gam::column_expression(column));
  const Plan plan = job.plan(table->rows(), 8192);
  (void)table->read(workers, request, job.local_range(plan));
}

/// *Collective.* Reads tables, which are in the page cache, into frames. Measures peak resident memory, and
/// throughput in MB per second and per CPU second; other load affects the latter less.
std::vector<Measurement> run_io_suite(Job& job, const IoSuite& suite) {
  const mpi::Communicator& comm = job.comm();
  std::vector<Measurement> all;
  for (const std::string& path : suite.tables) {
    double megabytes = 0;
    together(comm, [&] { megabytes = static_cast<double>(std::filesystem::file_size(path)) / 1e6; });
    Case out("io", fmt::format("{}, {:.0f} MB", path, megabytes));
    reset_peak_resident();
    for (int repeat = -1; repeat < suite.repeats; ++repeat) {
      comm.barrier();
      const double used = processor_seconds();
      const auto start = std::chrono::steady_clock::now();
      read_whole(job, path);
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      const double of_all = comm.allreduce(processor_seconds() - used, mpi::Reduction::sum);
      const double slowest = comm.allreduce(elapsed.count(), mpi::Reduction::max);
      if (repeat < 0) continue;
      out("read", "MB/s").values.push_back(megabytes / slowest);
      out("read, each core", "MB/s").values.push_back(megabytes / of_all);
    }
    out("peak", "MB").values = {comm.allreduce(peak_resident_bytes(), mpi::Reduction::sum) / 1e6};
    for (Measurement& measurement : out.take()) all.push_back(std::move(measurement));
  }
  return all;
}

}  // namespace

Suite io_suite() {
  const auto chosen = std::make_shared<IoSuite>();
  return {"io", "Reading of whole tables from files of any format", in_a_job("io", chosen, run_io_suite),
          [chosen](CLI::App& command) {
            command.add_option("--tables", chosen->tables, "Files, separated by commas")
                ->delimiter(',')
                ->check(CLI::ExistingFile)
                ->required();
          }};
}

}  // namespace tessera::bench
