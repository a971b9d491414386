// SPDX-License-Identifier: Apache-2.0
#include "start_work.hpp"
#include "suite.hpp"

#include <tessera/job/tile.hpp>
#include <tessera/job/together.hpp>
#include <tessera/memory/arena.hpp>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/pluralised.hpp"

namespace tessera::bench {
namespace {

struct StartSuite {
  bool by_hand = false;
  double occupied_seconds = 0;
};

/// Seconds from the construction of a job to the end of a first kernel on each of its devices.
double first_kernels_of_job(const mpi::Communicator& comm, const SuiteOptions& options, int& devices) {
  const auto start = std::chrono::steady_clock::now();
  Job job(comm, job_options(options));
  const std::int64_t units = 1024 * std::ssize(job.inventory().devices());
  const Plan plan = job.plan(std::max<std::int64_t>(units, 1));
  static_cast<void>(job.reduce(
      plan, 1,
      [](Tile& tile, ReproducibleSum& sum) {
        double* const out = tile.arena().take<double>(static_cast<std::size_t>(tile.range().size()));
        iterate_on_device(out, tile.range().size(), 1, tile.stream());
        for (std::int64_t unit = 0; unit < tile.range().size(); ++unit) sum.add(std::array{1.0});
      },
      [](const HostTile&, std::span<double> partial) { partial[0] = 1; }));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  devices = job.on_host() ? 0 : static_cast<int>(job.inventory().devices().size());
  note(comm, "start", to_string(job.last_verdict()));
  return elapsed.count();
}

std::vector<Measurement> run_start_suite(const mpi::Communicator& comm, const SuiteOptions& options,
                                         const StartSuite& suite) {
  if (suite.occupied_seconds > 0) {
    note(comm, "start", fmt::format("keeping the GPUs busy for {} s", suite.occupied_seconds));
    together(comm, [&] { occupy_gpus(suite.occupied_seconds); });
    return {};
  }
  comm.barrier();
  double seconds = 0;
  int devices = 0;
  if (suite.by_hand)
    together(comm, [&] { seconds = first_kernels_in_plain_cuda(); });
  else
    seconds = first_kernels_of_job(comm, options, devices);
  Case out("start", base::pluralised(comm.size(), "rank"));
  out(suite.by_hand ? "by hand to the first kernels" : "Job() to the first kernels", "s").values = {
      comm.allreduce(seconds, mpi::Reduction::max)};
  if (!suite.by_hand) out("devices", "1").values = {static_cast<double>(devices)};
  return out.take();
}

}  // namespace

Suite start_suite() {
  const auto chosen = std::make_shared<StartSuite>();
  return {
      "start",
      "Time from a new job to a first kernel on each GPU; it is that of a new process, so run it again for "
      "more",
      [chosen](const mpi::Communicator& comm, const SuiteOptions& options) {
        return run_start_suite(comm, options, *chosen);
      },
      [chosen](CLI::App& command) {
        CLI::Option* const by_hand =
            command.add_flag("--by-hand", chosen->by_hand, "Without a job: one thread per visible GPU");
        command
            .add_option("--occupy", chosen->occupied_seconds,
                        "Measure nothing: keep the GPUs busy for this many seconds, like another program")
            ->check(CLI::PositiveNumber)
            ->excludes(by_hand);
      }};
}

}  // namespace tessera::bench
