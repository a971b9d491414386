// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/exercise.hpp>

#include "base/message.hpp"
#include "base/seconds_since.hpp"
#include "job/exercise/exercised_device.hpp"
#include "job/job_access.hpp"
#include "job/score/measured_scores.hpp"
#include "job/state.hpp"
#include "topology/driver/xid_watch.hpp"

#include <tessera/error.hpp>
#include <tessera/job/device_collectives.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace TESSERA_NAMESPACE {
namespace {

using Devices = std::deque<ExercisedDevice>;

constexpr int timed_sums = 3;
constexpr std::size_t rank_sum_count = std::size_t{1} << 19;

/// The rates that are compared between similar devices.
constexpr std::array rates = {&DeviceExercise::to_device, &DeviceExercise::from_device,
                              &DeviceExercise::memory, &DeviceExercise::arithmetic};

/// *Collective.* Seconds of `work` on the slowest rank, after a barrier.
double seconds_on_slowest(const mpi::Communicator& comm, FunctionRef<void()> work) {
  comm.barrier();
  const auto start = std::chrono::steady_clock::now();
  work();
  return comm.allreduce(seconds_since(start), mpi::Reduction::max);
}

/// Runs `work` for each device of this rank that has not failed, on another thread, so that the caller's
/// current CUDA context does not change.
void for_each_sound(Job& job, Devices& devices, FunctionRef<void(ExercisedDevice&)> work) {
  job.run_alive([&] {
    for (ExercisedDevice& device : devices) {
      if (!device.found().failure.empty()) continue;
      try {
        work(device);
      } catch (const std::exception&) {
        device.failed(std::current_exception());
      }
    }
  });
}

bool all_sound(const mpi::Communicator& comm, const Devices& devices) {
  const bool sound = std::ranges::all_of(
      devices, [](const ExercisedDevice& device) { return device.found().failure.empty(); });
  return comm.allreduce(std::int32_t{sound ? 1 : 0}, mpi::Reduction::min) == 1;
}

void work_on_devices(Job& job, Devices& devices) {
  const bool any_cuda = !std::ranges::all_of(job.inventory().devices(), &InventoryDevice::has_host_memory);
  if (any_cuda) (void)job.compile(exercise_source());  // `open` reports failures
  const Thrown thrown = run_timed(
      job.comm(), devices.size(), [&](std::size_t i) { devices[i].open(); },
      [&](std::size_t i) { devices[i].measure(); }, [&] { job.comm().alive(); });
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (thrown[i]) devices[i].failed(thrown[i]);
}

/// *Collective.* Sums arrays over the devices: element i of device d (from 1) is initially (i + 1) d.
ExercisedSum sum_over_devices(Job& job, Devices& devices) {
  ExercisedSum sum;
  const auto all = job.inventory().devices();
  if (all.empty())
    sum.reason = "the job has no device";
  else if (!all_sound(job.comm(), devices))
    sum.reason = "a device has failed";
  if (!sum.reason.empty()) return sum;

  // All arrays have the length that the device with the least memory allows.
  auto least = std::numeric_limits<std::int64_t>::max();
  for (const ExercisedDevice& device : devices)
    least = std::min(least, static_cast<std::int64_t>(device.count()));
  const auto count = static_cast<std::size_t>(job.comm().allreduce(least, mpi::Reduction::min));
  const auto before_mine = static_cast<std::uint64_t>(
      std::ranges::count_if(all, [&](const auto& device) { return device.rank < job.comm().rank(); }));
  std::uint64_t number = before_mine;
  for_each_sound(job, devices, [&](ExercisedDevice& device) { device.write_summand(++number); });
  if (!all_sound(job.comm(), devices)) {
    sum.reason = "a device has failed";
    return sum;
  }
  std::vector<std::int64_t*> arrays;
  for (const ExercisedDevice& device : devices) arrays.push_back(device.summand());
  try {
    sum.path = to_string(job.collectives().open());
    sum.reason = job.collectives().reason();
    sum.bytes = count * sizeof(std::int64_t);
    sum.seconds = std::numeric_limits<double>::infinity();
    for (int i = 0; i < timed_sums; ++i)
      sum.seconds = std::min(sum.seconds, seconds_on_slowest(job.comm(), [&] {
                               job.collectives().sum(std::span<std::int64_t* const>(arrays), count);
                             }));
  } catch (const mpi::Failure&) {
    throw;  // a failure of this rank only
  } catch (const Error& error) {
    if (error.code() != ErrorCode::job_fault) throw;
    sum.failure = error.what();
    return sum;
  }
  const std::uint64_t n = all.size();
  std::uint64_t factor = n * (n + 1) / 2;
  for (int i = 1; i < timed_sums; ++i) factor *= n;
  for_each_sound(job, devices, [&](ExercisedDevice& device) { device.check_sum(factor, count); });
  return sum;
}

/// *Collective.* Sums i + r over the ranks r, which is exact.
ExercisedSum sum_over_ranks(const mpi::Communicator& comm) {
  std::vector<double> summand(rank_sum_count);
  std::vector<double> values;
  ExercisedSum sum;
  if (comm.size() == 1) {
    sum.reason = "there is one rank";
    return sum;
  }
  sum.path = "MPI";
  sum.bytes = rank_sum_count * sizeof(double);
  sum.seconds = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < summand.size(); ++i) summand[i] = static_cast<double>(i) + comm.rank();
  for (int i = 0; i < timed_sums; ++i) {
    values = summand;
    sum.seconds = std::min(sum.seconds, seconds_on_slowest(comm, [&] {
                             comm.allreduce(std::span<double>(values), mpi::Reduction::sum);
                           }));
  }
  const double n = comm.size();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != n * static_cast<double>(i) + n * (n - 1) / 2) ++wrong;
  const auto wrongs = comm.allgather(static_cast<std::uint64_t>(wrong));
  const auto first = std::ranges::find_if(wrongs, [](std::uint64_t count) { return count > 0; });
  if (first != wrongs.end())
    sum.failure = std::to_string(*first) + " of " + std::to_string(rank_sum_count) +
                  " results are wrong on rank " + std::to_string(first - wrongs.begin());
  return sum;
}

/// Null if no device is a GPU.
std::unique_ptr<detail::XidWatch> watch_of(const DevicePool& pool) {
  std::vector<DeviceInfo> infos(pool.size());
  for (const DevicePool::Entry& entry : pool) infos[static_cast<std::size_t>(entry.claim_index)] = entry.info;
  if (std::ranges::all_of(infos, &DeviceInfo::has_host_memory)) return nullptr;
  return std::make_unique<detail::XidWatch>(infos);
}

/// Devices with Xid errors count as failed, even if their results are right.
void record_xids(detail::XidWatch& watch, Devices& devices) {
  const auto numbers = watch.take();
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (const std::uint64_t number : std::set(numbers[i].begin(), numbers[i].end()))
      devices[i].failed("the driver has logged Xid " + std::to_string(number));
}

/// The failures of excluded devices that the inventory does not list.
std::vector<Verdict::Failure> left_out_of(const Job& job) {
  std::vector<Verdict::Failure> failures = job.last_verdict().excluded;
  std::erase_if(failures, [&](const Verdict::Failure& failure) {
    return std::ranges::any_of(job.inventory().devices(), [&](const InventoryDevice& device) {
      return to_string(device.uuid) == failure.uuid;
    });
  });
  return failures;
}

/// *Collective.* GPUs that drivers cannot query, once per node.
std::vector<std::string> broken_on_nodes(const mpi::Communicator& comm, const Inventory& inventory,
                                         const std::vector<std::string>& here) {
  std::set<std::pair<int, std::string>> of_nodes;
  std::vector<std::string> named;
  const auto all = base::allgather_values(comm, here);
  for (const InventoryRank& rank : inventory.ranks()) {
    for (const std::string& one : all[static_cast<std::size_t>(rank.rank)])
      if (of_nodes.emplace(rank.node, one).second)
        named.push_back(rank.hostname + ": the driver cannot read " + one);
  }
  return named;
}

struct SentFindings : DeviceExercise {
  void members(const auto& to) { to(failure, open_seconds, to_device, from_device, memory, arithmetic); }
};

/// *Collective.* The findings of all ranks, in inventory order.
std::vector<DeviceExercise> gathered(const mpi::Communicator& comm, const Devices& devices) {
  std::vector<SentFindings> mine;
  for (const ExercisedDevice& device : devices) mine.push_back({device.found()});
  std::vector<DeviceExercise> found;
  for (const auto& of_rank : base::allgather_values(comm, std::move(mine)))
    found.insert(found.end(), of_rank.begin(), of_rank.end());
  return found;
}

/// Sets the medians over devices with equal name and number of sharers; of two middle rates, the higher one.
void compare_with_peers(const Inventory& inventory, std::vector<DeviceExercise>& found) {
  std::map<std::pair<std::string, int>, std::vector<DeviceExercise*>> kinds;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const InventoryDevice& device = inventory.devices()[i];
    kinds[{device.name, device.sharers}].push_back(&found[i]);
  }
  for (auto& [kind, peers] : kinds) {
    for (const auto rate : rates) {
      std::vector<double> values;
      for (const DeviceExercise* peer : peers)
        if (const double value = (peer->*rate).value; value > 0) values.push_back(value);
      if (values.empty()) continue;
      const auto middle = values.begin() + std::ssize(values) / 2;
      std::ranges::nth_element(values, middle);
      for (DeviceExercise* peer : peers) (peer->*rate).median = *middle;
    }
  }
}

}  // namespace

Exercise exercise(Job& job) {
  const bool had_devices =
      !job.inventory().devices().empty() || job.last_verdict().ran == Verdict::Ran::fallback;
  if (job.on_host() && had_devices) throw Error(ErrorCode::job_fault, to_string(job.last_verdict()));
  const mpi::Purpose purpose(job.comm(), "the exercise of the devices");
  const auto turn = detail::JobAccess::state(job).turn_of_call();
  const auto faults = fault::Faults::from_environment(job.comm().rank());
  const std::vector<double> results = exercise_results();
  Devices devices;
  for (int i = 0; i < static_cast<int>(job.devices().size()); ++i)
    devices.emplace_back(job, faults, results, i);

  const auto watch = watch_of(job.devices());
  Exercise found;
  found.left_out = left_out_of(job);
  found.broken = broken_on_nodes(job.comm(), job.inventory(), detail::JobAccess::state(job).broken);
  work_on_devices(job, devices);
  found.device_sum = sum_over_devices(job, devices);
  found.rank_sum = sum_over_ranks(job.comm());
  if (watch) record_xids(*watch, devices);
  found.devices = gathered(job.comm(), devices);
  compare_with_peers(job.inventory(), found.devices);
  devices.clear();
  job.buffers().empty_cache_all();
  return found;
}

}  // namespace TESSERA_NAMESPACE
