// SPDX-License-Identifier: Apache-2.0
#include "topology/claim/process_claim.hpp"

#include "mpi/fork.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <utility>

namespace TESSERA_NAMESPACE::detail {

struct ProcessDevices {
  int forks = mpi::detail::forks();  ///< fork count of the process that owns these devices
  std::mutex claiming;               ///< lock order: `claiming`, then `turns`
  std::map<std::string, ProcessDevice> devices;
  std::mutex turns;
  std::condition_variable changed;
  std::list<const ProcessClaim*> queue;  ///< jobs that wait for a turn, first come first
};

namespace {

/// A forked child gets a new object, because a mutex that it inherits may stay locked.
ProcessDevices& of_this_process() {
  static std::atomic<ProcessDevices*> current = nullptr;  // never destroyed: jobs may end at any time
  ProcessDevices* known = current;
  if (known != nullptr && known->forks == mpi::detail::forks()) return *known;
  auto made = std::make_unique<ProcessDevices>();
  return current.compare_exchange_strong(known, made.get()) ? *made.release() : *known;
}

/// Unlike std::thread::id, never reused after the thread's end.
std::uint64_t this_thread() noexcept {
  static std::atomic<std::uint64_t> threads = 0;
  thread_local const std::uint64_t number = ++threads;
  return number;
}

/// Interval of checks for cancellation: far below the time in which a cancelled job must end.
constexpr std::chrono::milliseconds between_looks{20};

}  // namespace

ProcessClaim::ProcessClaim(ProcessDevices& all, std::vector<Part> parts)
    : all_(all), parts_(std::move(parts)) {
  const std::lock_guard lock(all_.turns);
  for (const Part& part : parts_) ++part.device->jobs;
}

ProcessClaim::~ProcessClaim() {
  if (all_.forks != mpi::detail::forks()) return;
  end_turn(false);
  const std::lock_guard claiming(all_.claiming);
  const std::lock_guard lock(all_.turns);
  for (const Part& part : parts_) {
    if (part.device->keeper == this) part.device->keeper = nullptr;
    --part.device->jobs;
  }
  std::erase_if(all_.devices, [](const auto& device) { return device.second.jobs == 0; });
}

bool ProcessClaim::overlaps(const ProcessClaim& other) const {
  return std::ranges::any_of(parts_, [&](const Part& part) {
    return std::ranges::find(other.parts_, part.device, &Part::device) != other.parts_.end();
  });
}

bool ProcessClaim::may_begin() const {
  const bool is_free =
      std::ranges::none_of(parts_, [](const Part& part) { return part.device->in_turn != nullptr; });
  const auto me = std::ranges::find(all_.queue, this);
  return is_free && std::none_of(all_.queue.begin(), me,
                                 [&](const ProcessClaim* earlier) { return overlaps(*earlier); });
}

void ProcessClaim::begin_turn(FunctionRef<void()> between) {
  if (has_turn_) return;
  std::unique_lock lock(all_.turns);
  all_.queue.push_back(this);
  const auto leave_queue = [&] {
    all_.queue.remove(this);
    all_.changed.notify_all();
  };
  // The thread cannot end its other job's turn while it waits here.
  const bool has_another = std::ranges::any_of(all_.devices, [](const auto& device) {
    return device.second.in_turn != nullptr && device.second.in_turn->thread_ == this_thread();
  });
  if (has_another && !may_begin()) {
    leave_queue();
    throw Error(ErrorCode::usage,
                "this thread would wait for a device turn while holding the turn of another job: end the fit "
                "or DeviceTurn of the other job first");
  }
  while (!may_begin()) {
    all_.changed.wait_for(lock, between_looks);
    lock.unlock();
    try {
      between();
    } catch (...) {
      lock.lock();
      leave_queue();
      throw;
    }
    lock.lock();
  }
  for (const Part& part : parts_) part.device->in_turn = this;
  thread_ = this_thread();
  has_turn_ = true;
  leave_queue();
}

void ProcessClaim::end_turn(bool keeps) noexcept {
  if (!std::exchange(has_turn_, false)) return;
  const std::lock_guard lock(all_.turns);
  for (const Part& part : parts_) {
    ProcessDevice& device = *part.device;
    device.in_turn = nullptr;
    if (keeps) {
      device.keeper = this;
      device.kept_bytes = part.budget_bytes;
    } else if (device.keeper == this) {
      device.keeper = nullptr;
    }
  }
  all_.changed.notify_all();
}

bool ProcessClaim::is_shared() const {
  const std::lock_guard lock(all_.turns);
  return std::ranges::any_of(parts_, [](const Part& part) { return part.device->jobs > 1; });
}

std::int64_t ProcessClaim::budget_left(const Uuid& device) const {
  const std::lock_guard lock(all_.turns);
  const auto part =
      std::ranges::find(parts_, device, [](const Part& one) -> const Uuid& { return one.device->uuid; });
  const ProcessDevice& at = *part->device;
  const bool is_kept = at.keeper != nullptr && at.keeper != this;
  return std::clamp<std::int64_t>(at.free_bytes - (is_kept ? at.kept_bytes : 0), 0, part->budget_bytes);
}

ProcessClaiming::ProcessClaiming() : all_(of_this_process()), lock_(all_.claiming) {}

ProcessDevice* ProcessClaiming::find(const std::string& lock_name) const {
  const auto at = all_.devices.find(lock_name);
  return at != all_.devices.end() ? &at->second : nullptr;
}

ProcessDevice* ProcessClaiming::add(const std::string& lock_name, ProcessDevice device) const {
  const std::lock_guard lock(all_.turns);
  return &(all_.devices.insert_or_assign(lock_name, std::move(device)).first->second);
}

std::shared_ptr<ProcessClaim> ProcessClaiming::join(std::vector<ProcessClaim::Part> parts) const {
  return std::make_shared<ProcessClaim>(all_, std::move(parts));
}

}  // namespace TESSERA_NAMESPACE::detail
