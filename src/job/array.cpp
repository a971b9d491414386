// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/array.hpp>

#include "job/array_state.hpp"
#include "job/state.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <utility>

namespace TESSERA_NAMESPACE {
namespace detail {
namespace {

/// `units` in a worker's copy of the array: input if the pass only reads, else output.
std::span<std::byte> units_of(const ArrayAccess& access, int worker, Range units) {
  ArrayState::DeviceCopy& copy = access.array->devices[static_cast<std::size_t>(worker)];
  const MemoryLease& memory = access.use == ArrayUse::read ? copy.current : copy.next;
  return {static_cast<std::byte*>(memory.data()) + access.array->bytes_of({copy.units.begin, units.begin}),
          access.array->bytes_of(units)};
}

}  // namespace

ArrayState::ArrayState(Job::State& of, Plan by, std::size_t bytes_of_unit)
    : job(of), plan(std::move(by)), unit_bytes(bytes_of_unit) {
  host.resize(bytes_of(plan.range_of(job.comm.rank())));
  number = job.arrays.add(this);
}

ArrayState::~ArrayState() {
  job.arrays.remove(this);
}

std::byte* ArrayState::on_host(std::vector<std::byte>& memory, Range units) const {
  return memory.data() + bytes_of({plan.range_of(job.comm.rank()).begin, units.begin});
}

void ArrayState::free_uncommitted() noexcept {
  for (DeviceCopy& copy : devices) {
    if (!held.next) copy.next.reset();
    if (held.current) continue;
    copy.current.reset();
    copy.version = no_version;
  }
}

void ArrayState::take_next_host(std::int64_t of) {
  host = std::exchange(next_host, {});
  host_version = of;
}

std::span<std::byte> units_on_device(const ArrayAccess& access, const Tile& tile) {
  return units_of(access, access.array->job.worker_of(tile.device_index(), tile.lane()), tile.range());
}

std::span<std::byte> units_on_host(const ArrayAccess& access, const HostTile& tile) {
  ArrayState& array = *access.array;
  const bool is_on_device = tile.device >= 0 && !array.job.streams_on_host(tile.device);
  if (is_on_device) return units_of(access, array.job.worker_of(tile.device, tile.lane), tile.range);
  std::vector<std::byte>& memory = access.use == ArrayUse::read ? array.host : array.next_host;
  return {array.on_host(memory, tile.range), array.bytes_of(tile.range)};
}

}  // namespace detail

ArrayBase::ArrayBase(Job& job, const Plan& plan, std::int64_t width, std::size_t element_bytes) {
  const auto refuse = [](const std::string& problem) { throw Error(ErrorCode::usage, problem); };
  Job::State& its = job.state();
  if (plan.ranks() != its.comm.size())
    refuse("the plan of an array is for " + std::to_string(plan.ranks()) + " ranks, but the job has " +
           std::to_string(its.comm.size()) + ": create the plan with Job::plan() of this job");
  if (width < 1 || static_cast<std::uint64_t>(width) > std::numeric_limits<std::uint32_t>::max())
    refuse("an array cannot have " + std::to_string(width) + " elements per unit: give 1 to 2^32 - 1");
  const auto elements = static_cast<std::size_t>(width);
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  const auto units = static_cast<std::size_t>(std::max<std::int64_t>(plan.units(), 1));
  if (elements > most / element_bytes / units)
    refuse("an array of " + std::to_string(plan.units()) + " units of " + std::to_string(width) +
           " elements needs more than 2^63 bytes: use fewer units or elements");
  try {
    state_ = std::make_unique<detail::ArrayState>(its, plan, elements * element_bytes);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::job_fault,
                "host memory is too small for this rank's part of an array: " +
                    std::to_string(elements * element_bytes *
                                   static_cast<std::size_t>(plan.range_of(its.comm.rank()).size())) +
                    " bytes on rank " + std::to_string(its.comm.rank()) +
                    ": use more nodes or a smaller array");
  }
}
ArrayBase::~ArrayBase() = default;
ArrayBase::ArrayBase(ArrayBase&& other) noexcept = default;
ArrayBase& ArrayBase::operator=(ArrayBase&& other) noexcept = default;

const Plan& ArrayBase::plan() const {
  return state_->plan;
}
std::int64_t ArrayBase::version() const {
  return state_->version;
}
std::int64_t ArrayBase::host_version() const {
  return state_->host_version;
}
ArrayTraffic ArrayBase::traffic() const {
  return {state_->uploads, state_->uploaded_bytes, state_->downloads, state_->downloaded_bytes};
}
std::span<std::byte> ArrayBase::host_bytes() const {
  return state_->host;
}
std::span<std::byte> ArrayBase::overwritten_bytes() {
  state_->job.require_thread();
  state_->host_version = ++state_->version;
  return state_->host;
}

void ArrayBase::move_to(const Plan& plan) {
  detail::ArrayState* const self = &state();
  self->job.copy_to_hosts_or_throw({&self, 1});
  self->job.arrays.move({&self, 1}, plan);
}

const Plan& Job::plan_of(std::span<const detail::ArrayAccess> arrays) const {
  return arrays.front().array->plan;
}

void Job::download_together(std::span<ArrayBase* const> arrays) {
  std::vector<detail::ArrayState*> states;
  for (const ArrayBase* array : arrays) states.push_back(&array->state());
  state().copy_to_hosts_or_throw(states);
}

}  // namespace TESSERA_NAMESPACE
