// SPDX-License-Identifier: Apache-2.0
#include "job/collectives/nccl_path.hpp"

#include "device/context_access.hpp"
#include "device/cuda_calls.hpp"
#include "job/consensus/attempt.hpp"
#include "job/threads/device_threads.hpp"
#include "mpi/backoff.hpp"
#include "mpi/exception_message.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <utility>

namespace TESSERA_NAMESPACE {
namespace {

/// Timeout of the communicator's initialisation.
constexpr std::chrono::milliseconds longest_joining = std::chrono::minutes(2);

/// RAII group of NCCL calls. The destructor ends the group if a call throws.
class Group {
 public:
  explicit Group(nccl::Library& library) : library_(library) { library_.begin_group(); }
  ~Group() {
    if (ended_) return;
    try {
      library_.end_group();
    } catch (const Error&) {
      // The exception of the failed call is more useful.
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  void end() {
    ended_ = true;
    library_.end_group();
  }

 private:
  nccl::Library& library_;
  bool ended_ = false;
};

Verdict::Failure failure_of(const char* stage, int device, const std::string& uuid) {
  Verdict::Failure failure;
  failure.device = device;
  failure.uuid = uuid;
  failure.stage = stage;
  failure.reason = reason_of(std::current_exception());
  return failure;
}

std::string in_seconds(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + " s";
}

}  // namespace

std::shared_ptr<void> keep_current(const CollectiveParts& parts) {
  const auto mine = parts.inventory->devices_of(parts.comm->rank());
  const bool real = !parts.pool->empty() &&
                    std::ranges::any_of(mine, [](const auto& device) { return !device.has_host_memory(); });
  std::shared_ptr<void> bound = detail::ContextAccess::keep_bound();
  if (!real) return bound;
  return std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(std::move(bound),
                                                                                   cuda::keep_current());
}

void on_each_device(const CollectiveParts& parts, const char* stage, std::optional<Verdict::Failure>& failure,
                    const std::function<void(int, DeviceContext&)>& work) {
  const auto mine = parts.inventory->devices_of(parts.comm->rank());
  for (int device = 0; device < static_cast<int>(mine.size()) && !failure; ++device) {
    if (mine[static_cast<std::size_t>(device)].excluded) continue;
    try {
      DeviceContext& context = context_of_claimed(*parts.pool, device);
      context.bind();
      work(device, context);
    } catch (...) {
      failure = failure_of(stage, device, to_string(mine[static_cast<std::size_t>(device)].uuid));
    }
  }
}

int number_of(const Inventory& inventory, int rank, int device) {
  int number = 0;
  for (const InventoryDevice& other : inventory.devices()) {
    if (other.rank == rank && other.index == device) break;
    if (!other.excluded) ++number;
  }
  return number;
}

NcclPath::NcclPath(const CollectiveParts& parts, BallotBox& ballots)
    : parts_(parts),
      ballots_(ballots),
      alarm_(*parts.comm),
      members_(parts.inventory->devices_of(parts.comm->rank()).size(), nullptr) {
  join();
}

bool NcclPath::has_member() const {
  const auto mine = parts_.inventory->devices_of(parts_.comm->rank());
  return !std::ranges::all_of(mine, &InventoryDevice::excluded);
}

NcclPath::~NcclPath() {
  leave();
}

void NcclPath::leave() noexcept {
  // Aborts the communicator, which, unlike its collective destruction, does not wait for other ranks.
  if (!library_) return;
  std::shared_ptr<void> kept;
  try {
    kept = keep_current(parts_);
  } catch (const Error&) {
    // Without a working driver there is no current context to restore.
  }
  for (nccl::Member& member : members_) library_->leave(std::exchange(member, nullptr));
}

std::string NcclPath::difference_of_versions() const {
  const auto versions = parts_.comm->allgather(library_ ? library_->version() : 0);
  const auto has_library = [](int version) { return version != 0; };
  const auto first = std::ranges::find_if(versions, has_library);
  const auto other =
      std::find_if(first, versions.end(), [&](int version) { return version != 0 && version != *first; });
  if (other == versions.end()) return {};
  return "rank " + std::to_string(first - versions.begin()) + " has NCCL " + std::to_string(*first) +
         ", rank " + std::to_string(other - versions.begin()) + " has " + std::to_string(*other);
}

void NcclPath::join() {
  const auto all = parts_.inventory->devices();
  const int rank = parts_.comm->rank();
  const auto first = std::ranges::find(all, false, &InventoryDevice::excluded);
  const int root = first->rank;
  nccl::Id id{};
  std::shared_ptr<void> kept;
  std::optional<Verdict::Failure> failure;
  if (has_member()) {
    try {
      kept = keep_current(parts_);
      parts_.faults->throw_if_hit(fault::Stage::nccl, 0, 0);
      library_ = parts_.open_nccl();
      if (rank == root) id = library_->make_id();
    } catch (...) {
      failure = failure_of("nccl", 0, {});
    }
  }
  on_each_device(parts_, "nccl", failure, [](int, DeviceContext&) {});  // opens the devices
  if (agree("the opening of NCCL", failure)) return;
  if (reason_ = difference_of_versions(); !reason_.empty()) return;

  parts_.comm->broadcast(std::span<std::byte>(id), root);
  const auto size = static_cast<int>(std::ranges::count(all, false, &InventoryDevice::excluded));
  if (has_member()) {
    try {
      Group group(*library_);
      on_each_device(parts_, "nccl", failure, [&](int device, DeviceContext&) {
        library_->begin_joining(members_[static_cast<std::size_t>(device)], id, size,
                                number_of(*parts_.inventory, rank, device));
      });
      if (!failure) group.end();
    } catch (...) {
      failure = failure_of("nccl", 0, {});
    }
  }
  const auto timeout =
      parts_.timeout.count() > 0 ? std::min(parts_.timeout, longest_joining) : longest_joining;
  wait("nccl", timeout, failure, [&](int device, DeviceContext&) {
    return library_->is_ready(members_[static_cast<std::size_t>(device)]);
  });
  (void)agree("the joining of NCCL", failure);
}

std::optional<Verdict::Failure> NcclPath::run(const char* what, const Begin& begin) {
  std::optional<Verdict::Failure> failure;
  if (has_member()) {
    try {
      Group group(*library_);
      on_each_device(parts_, what, failure, [&](int device, DeviceContext& context) {
        begin(*library_, members_[static_cast<std::size_t>(device)], device, context.stream());
      });
      if (!failure) group.end();
    } catch (...) {
      failure = failure_of(what, 0, {});
    }
  }
  wait(what, parts_.timeout, failure, [&](int device, DeviceContext& context) {
    return library_->is_ready(members_[static_cast<std::size_t>(device)]) &&
           (context.info().has_host_memory() || cuda::is_done(context.stream()));
  });
  return agree(what, failure);
}

void NcclPath::wait(const char* stage, std::chrono::milliseconds timeout,
                    std::optional<Verdict::Failure>& failure,
                    const std::function<bool(int, DeviceContext&)>& is_done) {
  mpi::Backoff backoff;
  bool rang = false;
  on_each_device(parts_, stage, failure, [&](int device, DeviceContext& context) {
    while (!rang && !is_done(device, context)) {
      rang = alarm_.rang();
      if (timeout.count() > 0 && backoff.waited() > timeout)
        throw Error(ErrorCode::job_fault, "an NCCL operation has not completed after " + in_seconds(timeout));
      if (backoff.is_long()) parts_.comm->alive();
      backoff();
    }
  });
}

std::optional<Verdict::Failure> NcclPath::agree(const char* what,
                                                const std::optional<Verdict::Failure>& mine) {
  if (mine) alarm_.raise();
  Attempt attempt;
  if (mine) attempt.device_failed(*mine);
  const Ballot decided =
      ballots_.vote(attempt.ballot(), 0, *parts_.inventory, std::string("the vote on ") + what);
  if (decided.outcome == Outcome::success) return std::nullopt;
  leave();
  alarm_.reset();
  reason_ = to_string(decided.failure);
  return decided.failure;
}

}  // namespace TESSERA_NAMESPACE
