// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

#include <tessera/job/together.hpp>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "base/number.hpp"
#include "files/standard_error.hpp"

namespace tessera::bench {

CLI::Validator from_to(std::int64_t least, std::int64_t most) {
  const auto complaint = [=](const std::string& text) {
    const auto value = base::parse_number<std::int64_t>(text);
    if (value && *value >= least && *value <= most) return std::string();
    return fmt::format("give a whole number from {} to {}, not '{}'", least, most, text);
  };
  return {complaint, fmt::format("[{} - {}]", least, most)};
}

JobOptions job_options(const SuiteOptions& options) {
  JobOptions job;
  job.policy = options.policy;
  job.threads = options.threads;
  job.collective_timeout = options.collective_timeout;
  return job;
}

std::vector<double> seconds_of(const mpi::Communicator& comm, int repeats, int calls,
                               const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int repeat = -1; repeat < repeats; ++repeat) {
    std::chrono::duration<double> elapsed{};
    comm.barrier();
    together(comm, [&] {
      const auto start = std::chrono::steady_clock::now();
      for (int call = 0; call < calls; ++call) work();
      elapsed = std::chrono::steady_clock::now() - start;
    });
    const double slowest = comm.allreduce(elapsed.count(), mpi::Reduction::max);
    if (repeat >= 0) seconds.push_back(slowest / calls);
  }
  return seconds;
}

Measurement in_microseconds(Measurement measured) {
  for (double& value : measured.values) value *= 1e6;
  measured.unit = "us";
  return measured;
}

Measurement ratio_of(const Measurement& ours, const Measurement& theirs) {
  return {ours.suite, ours.name, ours.what + " / " + theirs.what, "1", {ours.median() / theirs.median()}};
}

void note(const mpi::Communicator& comm, const std::string& suite, const std::string& text) {
  if (comm.rank() == 0) files::say_line({"tessera-bench: ", suite, ": ", text});
}

}  // namespace tessera::bench
