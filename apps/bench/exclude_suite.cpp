// SPDX-License-Identifier: Apache-2.0
#include "exclude_suite.hpp"

#include "simulated_job.hpp"

#include <tessera/job/array.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t units_of_device = 1 << 16;

/// Passes over an array, of which one loses a device.
class Loop {
 public:
  explicit Loop(Job& job)
      : job_(job), state_(job, job.plan(units_of_device * std::ssize(job.inventory().devices()), 1024)) {}

  /// Seconds of a pass of the slowest rank; with a loss the first device of the last rank with any fails.
  double pass(bool loses) {
    const auto fails = [this, loses](int device) {
      return loses && device == 0 && job_.comm().rank() == state_.plan().tiles().back().rank;
    };
    job_.comm().barrier();
    const auto start = Clock::now();
    job_.update(
        arrays(state_.modify()),
        [&](Tile& tile, std::span<double>) {
          if (fails(tile.device_index())) tile.fail("the suite loses it");
        },
        [&](const HostTile& tile, std::span<double> values) {
          if (fails(tile.thread)) throw Error(ErrorCode::job_fault, "the suite loses it");
          std::ranges::for_each(values, [](double& value) { value += 1; });
        });
    const double mine = std::chrono::duration<double>(Clock::now() - start).count();
    return job_.comm().allreduce(mine, mpi::Reduction::max);
  }

 private:
  Job& job_;
  Array<double> state_;
};

std::vector<Measurement> run_exclude_suite(const mpi::Communicator& comm, const SuiteOptions& options) {
  JobOptions chosen = job_options(options);
  chosen.on_device_failure = OnDeviceFailure::exclude;
  std::vector<double> losing;
  std::vector<double> after;
  std::vector<double> before;
  std::string name;
  for (int repeat = 0; repeat < options.repeats.value_or(10); ++repeat) {
    Job job = job_on_devices(comm, chosen);
    const auto devices = job.inventory().devices();
    if (devices.size() < 2) {
      note(comm, "exclude", "needs two devices");
      return {};
    }
    name = fmt::format("{}, {}", counted(comm.size(), "rank"),
                       counted(devices.size(), devices[0].simulated ? "simulated device" : "device"));
    Loop loop(job);
    for (int warm_up = 0; warm_up < 3; ++warm_up) (void)loop.pass(false);
    before.push_back(loop.pass(false));
    losing.push_back(loop.pass(true));
    after.push_back(loop.pass(false));
    if (job.on_host()) throw Error(ErrorCode::job_fault, to_string(job.last_verdict()));
  }
  std::vector<Measurement> all{in_microseconds({"exclude", name, "pass that loses a device", "s", losing}),
                               in_microseconds({"exclude", name, "pass before it", "s", before}),
                               in_microseconds({"exclude", name, "pass after it", "s", after})};
  all.push_back(ratio_of(all[0], all[1]));
  return all;
}

}  // namespace

Suite exclude_suite() {
  return {"exclude",
          "A pass that loses a device, until the others have computed it, beside a pass that loses none",
          run_exclude_suite,
          {}};
}

}  // namespace tessera::bench
