// SPDX-License-Identifier: Apache-2.0
#include "job/collectives/device_collectives_state.hpp"

#include "job/consensus/attempt.hpp"
#include "job/threads/device_threads.hpp"
#include "mpi/communicator_access.hpp"

#include <tessera/device/trace.hpp>
#include <tessera/error.hpp>

#include <algorithm>
#include <type_traits>

namespace TESSERA_NAMESPACE {
namespace {

// Sums use host memory if the arrays of each rank take at most this many bytes together. Measured on two GPUs
// of a node: 4,096 doubles take 78 us through host memory, and 100 us by NCCL.
constexpr std::size_t longest_through_hosts = std::size_t{32} << 10;

void copy(DeviceContext& context, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;  // the arrays may be null
  copy_async(context, to, from, bytes);
  context.synchronize();
}

void add(std::span<double> total, std::span<const double> part) {
  for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i];
}
void add(std::span<std::int64_t> total, std::span<const std::int64_t> part) {
  // Unsigned, because the sum is modulo 2^64, like in NCCL and MPI.
  for (std::size_t i = 0; i < total.size(); ++i)
    total[i] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(total[i]) + static_cast<std::uint64_t>(part[i]));
}

}  // namespace

std::string DeviceCollectives::State::why_not_nccl() const {
  const auto devices = parts.inventory->devices();
  if (devices.empty()) return "the job has no device";
  const auto shared = std::ranges::find_if(devices, [](const auto& device) { return device.sharers > 1; });
  if (shared != devices.end())
    return "ranks share the device " + to_string(shared->uuid) + ", but NCCL needs one device per rank";
  if (!parts.nccl_for_simulated && std::ranges::any_of(devices, &InventoryDevice::simulated))
    return "devices are simulated";
  if (std::ranges::any_of(devices, &InventoryDevice::host)) return "hosts compute together with the devices";
  return {};
}

DeviceCollectives::Path DeviceCollectives::State::open(Path wanted) {
  opened_ = true;
  return choose(wanted);
}

DeviceCollectives::Path DeviceCollectives::State::choose(Path wanted) {
  if (path) return *path;
  begin("the opening of the device collectives", static_cast<std::int64_t>(wanted), [] {});
  reason = wanted == Path::hosts ? "the caller chose the hosts" : why_not_nccl();
  if (reason.empty()) reason = nccl_.emplace(parts, *ballots).reason();
  if (!reason.empty()) nccl_.reset();
  path = reason.empty() ? Path::nccl : Path::hosts;
  return *path;
}

bool DeviceCollectives::State::is_short(std::size_t bytes) const {
  if (opened_) return false;
  std::ptrdiff_t most = 1;  // maximum number of devices of a rank
  for (int rank = 0; rank < parts.comm->size(); ++rank)
    most = std::max(most, std::ssize(parts.inventory->devices_of(rank)));
  return bytes * static_cast<std::size_t>(most) <= longest_through_hosts;
}

void DeviceCollectives::State::exclude() noexcept {
  nccl_.reset();
  if (path == Path::nccl) path.reset();
}

void DeviceCollectives::State::close() noexcept {
  closed_ = true;
  nccl_.reset();
  path = Path::hosts;
  reason = "the job has fallen back to the CPU";
}

template <class T>
void DeviceCollectives::State::check(std::span<T* const> arrays, std::size_t count) const {
  const int rank = parts.comm->rank();
  const auto devices = closed_ ? std::span<const InventoryDevice>() : parts.inventory->devices_of(rank);
  if (arrays.size() != devices.size())
    throw Error(ErrorCode::usage,
                "rank " + std::to_string(rank) + " gives " + std::to_string(arrays.size()) +
                    " arrays, but drives " + std::to_string(devices.size()) +
                    " devices: give one array per device, in the order of Tile::device_index");
  const auto lacks_array = [&](const InventoryDevice& device) {
    return !device.excluded && arrays[static_cast<std::size_t>(device.index)] == nullptr;
  };
  if (count > 0 && std::ranges::any_of(devices, lacks_array))
    throw Error(ErrorCode::usage,
                "rank " + std::to_string(rank) + " gives a null array: give one array per device");
}

void DeviceCollectives::State::begin(const char* what, std::int64_t signature,
                                     const std::function<void()>& prepare) {
  mpi::detail::CommunicatorAccess::require_usable(*parts.comm);
  if (!ballots) ballots.emplace(*parts.comm);
  Attempt attempt;
  attempt.run(prepare);
  const Ballot decided =
      ballots->vote(attempt.ballot(), signature_of({++calls_, signature}), *parts.inventory, what,
                    [&] { return std::string(what) + "\ncall " + std::to_string(calls_); });
  if (decided.outcome != Outcome::success)
    attempt.end(decided, what,
                "the ranks make different calls of the device collectives: every rank must make the same "
                "calls in the same order, with the same length and root");
}

void DeviceCollectives::State::end(const char* what, const std::optional<Verdict::Failure>& mine) {
  Attempt attempt;
  if (mine) attempt.device_failed(*mine);
  const Ballot decided = ballots->vote(attempt.ballot(), 0, *parts.inventory,
                                       std::string("the end of a ") + what + " over devices");
  if (decided.outcome != Outcome::success) throw Error(ErrorCode::job_fault, to_string(decided.failure));
}

void DeviceCollectives::State::run_over_nccl(const char* what, const NcclPath::Begin& operation) {
  const auto failure = nccl_->run(what, operation);
  if (!failure) return;
  reason = nccl_->reason();
  path = Path::hosts;
  nccl_.reset();
  throw Error(ErrorCode::job_fault, to_string(*failure));
}

template <class T>
void DeviceCollectives::State::sum(std::span<T* const> arrays, std::size_t count) {
  constexpr bool is_double = std::is_same_v<T, double>;
  const TraceRange range("sum over devices", static_cast<std::int64_t>(count));
  const auto turn = parts.begin_turn ? parts.begin_turn() : nullptr;
  const bool on_hosts = is_short(count * sizeof(T)) || choose() == Path::hosts;
  std::shared_ptr<void> kept;
  std::vector<T> total;
  std::vector<T> part;
  begin("a sum over devices", signature_of({is_double ? 1 : 2, static_cast<std::int64_t>(count)}), [&] {
    check(arrays, count);
    kept = keep_current(parts);
    if (!on_hosts) return;
    total.resize(count);
    part.resize(count);
  });
  if (closed_ || parts.inventory->devices().empty()) return;
  if (!on_hosts) {
    run_over_nccl("sum", [&](nccl::Library& library, nccl::Member member, int device, StreamView stream) {
      library.begin_sum(member, arrays[static_cast<std::size_t>(device)], count,
                        is_double ? nccl::Type::float64 : nccl::Type::int64, stream);
    });
    return;
  }
  const std::size_t bytes = count * sizeof(T);
  std::optional<Verdict::Failure> failure;
  on_each_device(parts, "sum", failure, [&](int device, DeviceContext& context) {
    copy(context, part.data(), arrays[static_cast<std::size_t>(device)], bytes);
    add(total, part);
  });
  // Called even after a failure, because the other ranks make this call.
  parts.comm->allreduce(std::span(total), mpi::Reduction::sum);
  on_each_device(parts, "sum", failure, [&](int device, DeviceContext& context) {
    copy(context, arrays[static_cast<std::size_t>(device)], total.data(), bytes);
  });
  end("sum", failure);
}

void DeviceCollectives::State::broadcast(std::span<void* const> arrays, std::size_t bytes, int root_rank,
                                         int root_index) {
  const TraceRange range("broadcast over devices", static_cast<std::int64_t>(bytes));
  const auto turn = parts.begin_turn ? parts.begin_turn() : nullptr;
  const auto all = parts.inventory->devices();
  const auto root = std::ranges::find_if(all, [&](const InventoryDevice& device) {
    return device.rank == root_rank && device.index == root_index;
  });
  const bool on_hosts = choose() == Path::hosts;
  std::shared_ptr<void> kept;
  std::vector<std::byte> values;
  begin("a broadcast over devices",
        signature_of({3, static_cast<std::int64_t>(bytes), root_rank, root_index}), [&] {
          check(arrays, bytes);
          if (closed_ || all.empty()) return;
          if (root == all.end() || root->excluded)
            throw Error(ErrorCode::usage, "a broadcast from device " + std::to_string(root_index) +
                                              " of rank " + std::to_string(root_rank) +
                                              ": the job does not use this device: give another device");
          kept = keep_current(parts);
          if (on_hosts) values.resize(bytes);
        });
  if (closed_ || all.empty()) return;
  if (!on_hosts) {
    const int number = number_of(*parts.inventory, root_rank, root_index);
    run_over_nccl(
        "broadcast", [&](nccl::Library& library, nccl::Member member, int device, StreamView stream) {
          library.begin_broadcast(member, arrays[static_cast<std::size_t>(device)], bytes, number, stream);
        });
    return;
  }
  std::optional<Verdict::Failure> failure;
  on_each_device(parts, "broadcast", failure, [&](int device, DeviceContext& context) {
    if (parts.comm->rank() == root_rank && device == root_index)
      copy(context, values.data(), arrays[static_cast<std::size_t>(device)], bytes);
  });
  parts.comm->broadcast(std::span(values), root_rank);
  on_each_device(parts, "broadcast", failure, [&](int device, DeviceContext& context) {
    copy(context, arrays[static_cast<std::size_t>(device)], values.data(), bytes);
  });
  end("broadcast", failure);
}

void DeviceCollectives::sum(std::span<double* const> arrays, std::size_t count) {
  state_->sum(arrays, count);
}
void DeviceCollectives::sum(std::span<std::int64_t* const> arrays, std::size_t count) {
  state_->sum(arrays, count);
}
void DeviceCollectives::broadcast(std::span<void* const> arrays, std::size_t bytes, int root_rank,
                                  int root_index) {
  state_->broadcast(arrays, bytes, root_rank, root_index);
}
DeviceCollectives::Path DeviceCollectives::open(Path wanted) {
  return state_->open(wanted);
}
std::optional<DeviceCollectives::Path> DeviceCollectives::path() const noexcept {
  return state_->path;
}
const std::string& DeviceCollectives::reason() const noexcept {
  return state_->reason;
}

std::string_view to_string(DeviceCollectives::Path path) {
  return path == DeviceCollectives::Path::nccl ? "NCCL" : "the hosts";
}

std::string nccl_version() {
  try {
    return nccl::readable(nccl::open()->version());
  } catch (const Error&) {
    return {};
  }
}

}  // namespace TESSERA_NAMESPACE
