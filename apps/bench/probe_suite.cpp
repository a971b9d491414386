// SPDX-License-Identifier: Apache-2.0
#include "probe_suite.hpp"

#include "child.hpp"
#include "device_work.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <tessera/topology/probe.hpp>

namespace tessera::bench {
namespace {

/// The measurements of the suite as they are made.
class Probing {
 public:
  Probing(const mpi::Communicator& comm, const SuiteOptions& options, std::optional<std::string> visible)
      : comm_(comm), options_(options), visible_(std::move(visible)), repeats_(options.repeats.value_or(5)) {}

  std::vector<Measurement> run() {
    start_a_job();
    const bool real = in_all_ > 0 && !simulated_;
    if (real)
      add_of_children("probe", {}, [&] { return seconds_in_child(child::probe, visible_); });
    else
      add("probe", seconds_of(comm_, repeats_, 1, [&] { (void)probe(comm_.rank()); }));
    const std::string name = fmt::format("{}, {} in all", counted(comm_.size(), "rank"),
                                         counted(in_all_, simulated_ ? "simulated device" : "device"));
    if (options_.peer && !real)
      note(comm_, "probe", "no GPU is used: nothing of CUDA's start beside the probe");
    if (options_.peer && real) add_peers();
    for (Measurement& measurement : all_) measurement.name = name;
    return std::move(all_);
  }

 private:
  const Measurement& add(std::string_view what, std::vector<double> seconds) {
    return all_.emplace_back(Measurement{"probe", {}, std::string(what), "s", std::move(seconds)});
  }

  /// Once, and first: afterwards NVML and CUDA have been started in this process.
  void start_a_job() {
    comm_.barrier();
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds = [&] {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
      return comm_.allreduce(elapsed.count(), mpi::Reduction::max);
    };
    Job job(comm_, job_options(options_));
    const double made = seconds();
    in_all_ = job.inventory().devices().size();
    simulated_ = in_all_ > 0 && job.inventory().devices()[0].simulated;
    for (const InventoryRank& rank : job.inventory().ranks()) {
      if (rank.node == job.inventory().ranks().front().node)
        on_first_node_ += job.inventory().devices_of(rank.rank).size();
    }
    for (const InventoryDevice& device : job.inventory().devices_of(comm_.rank())) {
      if (own_.empty()) first_own_ = to_string(device.uuid);
      own_ += (own_.empty() ? "" : ",") + to_string(device.uuid);
    }
    const Plan plan = job.plan(16 * static_cast<std::int64_t>(std::max<std::size_t>(1, in_all_)));
    std::vector<char> units(static_cast<std::size_t>(job.local_range(plan).size()));
    job.scatter(
        plan, std::span(units), [](Tile& tile, std::span<char>) { launch_empty_kernel(tile.stream()); },
        [](const HostTile&, std::span<char>) {});
    const double started = seconds();
    if (in_all_ > 0 && job.last_verdict().ran != Verdict::Ran::devices)
      note(comm_, "probe", to_string(job.last_verdict()));
    add("Job() alone", {made});
    add(in_all_ > 0 && !simulated_ ? "Job() to first kernel done" : "Job() to first pass done", {started});
  }

  /// One value a repeat, of the slowest rank, all at once. Empty if a child failed on some rank.
  std::vector<double> in_children(const std::function<std::optional<double>()>& run_one) {
    std::vector<double> seconds;
    for (int repeat = 0; repeat < repeats_; ++repeat) {
      comm_.barrier();
      const double mine = run_one().value_or(-1);
      if (comm_.allreduce(mine, mpi::Reduction::min) < 0) return {};
      seconds.push_back(comm_.allreduce(mine, mpi::Reduction::max));
    }
    return seconds;
  }

  /// Adds what the children took, and how the measurement `ours` compares, if there is one of that name.
  void add_of_children(std::string_view what, std::string_view ours,
                       const std::function<std::optional<double>()>& run_one) {
    auto seconds = in_children(run_one);
    if (seconds.empty()) return;
    add(what, std::move(seconds));
    const auto at = std::ranges::find(all_, ours, &Measurement::what);
    if (at != all_.end()) all_.push_back(ratio_of(*at, all_.back()));
  }

  void add_peers() {
    const bool has_device = !own_.empty();
    const auto none = std::optional<double>(0);
    add_of_children("cuInit, all visible", "probe",
                    [&] { return seconds_in_child(child::cu_init, visible_); });
    add_of_children("cuInit, own visible", {},
                    [&] { return has_device ? seconds_in_child(child::cu_init, own_) : none; });
    add_of_children("cuInit, all visible, to first kernel", "Job() to first kernel done", [&] {
      return has_device ? seconds_in_child(child::first_kernel, visible_, first_own_) : none;
    });
    if (on_first_node_ < 2) return;
    // The contexts are rank 0's affair: all devices that it sees.
    const auto on_root = [&](const char* what) {
      return [&, what] { return comm_.rank() == 0 ? seconds_in_child(what, visible_) : none; };
    };
    add_of_children("contexts in turn", {}, on_root(child::contexts_in_turn));
    const std::size_t in_turn = all_.size() - 1;
    add_of_children("contexts at once", {}, on_root(child::contexts_at_once));
    if (all_.back().what == "contexts at once") all_.push_back(ratio_of(all_.back(), all_[in_turn]));
  }

  const mpi::Communicator& comm_;
  const SuiteOptions& options_;
  std::optional<std::string> visible_;
  int repeats_;
  std::vector<Measurement> all_;
  std::size_t in_all_ = 0;         // that the job uses
  std::size_t on_first_node_ = 0;  // of them
  bool simulated_ = false;
  std::string own_;  // this rank's claimed devices, as for CUDA_VISIBLE_DEVICES
  std::string first_own_;
};

}  // namespace

Suite probe_suite() {
  // As it is before a job of this process changes it.
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  const auto visible = text != nullptr ? std::optional<std::string>(text) : std::nullopt;
  Suite suite;
  suite.name = "probe";
  suite.description =
      "The probe and the start of a job, beside cuInit and contexts in processes of their own";
  suite.run = [visible](const mpi::Communicator& comm, const SuiteOptions& options) {
    return Probing(comm, options, visible).run();
  };
  return suite;
}

}  // namespace tessera::bench
