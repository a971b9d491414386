// SPDX-License-Identifier: Apache-2.0
#include "job/job_arrays.hpp"

#include "base/huge_pages.hpp"
#include "device/context_access.hpp"
#include "job/state.hpp"
#include "job/threads/device_threads.hpp"
#include "mpi/exception_message.hpp"

#include <tessera/error.hpp>

#include <algorithm>

namespace TESSERA_NAMESPACE::detail {
namespace {

/// More threads do not increase the bandwidth of the bus.
constexpr int most_copy_threads = 8;

/// Throws if a written array is listed twice, except once as read and once as written.
void refuse_two_writers(std::span<const ArrayAccess> arrays) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    for (std::size_t j = 0; j < arrays.size(); ++j) {
      const bool other_writes = arrays[j].use != ArrayUse::read;
      const bool clashes = other_writes || arrays[i].use == ArrayUse::modify;
      if (i != j && arrays[i].array == arrays[j].array && arrays[i].use != ArrayUse::read && clashes)
        throw Error(ErrorCode::usage, "arrays " + std::to_string(i) + " and " + std::to_string(j) +
                                          " of a pass, counted from 0, are the same array, but the pass "
                                          "writes this array: list the array once, as written or modified");
    }
  }
}

/// Throws unless the devices have the current version of all units of this rank, `mine`.
void require_all_units(const ArrayState& array, Range mine) {
  std::int64_t units = 0;
  for (const ArrayState::DeviceCopy& copy : array.devices)
    if (copy.version == array.version) units += copy.units.size();
  if (units != mine.size())
    throw Error(ErrorCode::job_fault, "the devices of this rank hold the current version of only " +
                                          std::to_string(units) + " of its " + std::to_string(mine.size()) +
                                          " units of an array");
}

/// The arrays whose current version is only on devices, by number.
std::vector<ArrayState*> outdated_on_host(std::span<ArrayState* const> arrays) {
  std::vector<ArrayState*> found;
  std::ranges::copy_if(arrays, std::back_inserter(found), &ArrayState::is_outdated_on_host);
  // An array that a pass reads and writes occurs twice.
  std::ranges::sort(found, {}, &ArrayState::number);
  found.erase(std::unique(found.begin(), found.end()), found.end());  // Clang 14 cannot read ranges::unique
  return found;
}

/// Copies `units` from device memory to `next_host`.
void download_units(ArrayState& array, Range units, const MemoryLease& from, DeviceStaging& staging,
                    StreamView stream) {
  const std::size_t bytes = array.bytes_of(units);
  staging.download(array.on_host(array.next_host, units), from.data(), bytes, stream);
  ++array.downloads;
  array.downloaded_bytes += static_cast<std::int64_t>(bytes);
}

}  // namespace

void JobArrays::check(const Plan& plan, std::span<const ArrayAccess> used) const {
  for (const ArrayAccess& access : used) {
    if (&access.array->job != &job_)
      throw Error(
          ErrorCode::usage,
          "an array belongs to another job: create all arrays of a pass with the job that runs the pass");
    if (access.array->plan.fingerprint() != plan.fingerprint())
      throw Error(ErrorCode::usage, "all arrays of a pass must use one plan: see Array::move_to");
  }
  refuse_two_writers(used);
}

std::int64_t JobArrays::signature_of_use(std::span<const ArrayAccess> used) {
  std::int64_t signature = 0;
  for (const ArrayAccess& access : used)
    signature = signature_of(
        {signature, access.array->number, static_cast<std::int64_t>(access.array->unit_bytes),
         static_cast<std::int64_t>(access.use), access.array->version, access.array->host_version});
  return signature;
}

std::int64_t JobArrays::bytes_per_unit(const Job::Pass& work) const {
  if (!streams_) return work.device_bytes_per_unit;
  std::size_t bytes = 0;
  for (const ArrayAccess& access : work.arrays) bytes += access.array->unit_bytes;
  return static_cast<std::int64_t>(bytes);
}

void JobArrays::allocate_and_load(const Job::Pass& work, Range units, int worker,
                                  const DeviceContext& context, std::string& stage) {
  if (work.arrays.empty()) return;
  stage = "allocate";
  allocate(work, units, worker, context);
  stage = "copy";
  load(work, units, worker, context);
}

void JobArrays::allocate(const Job::Pass& work, Range units, int worker, const DeviceContext& context) {
  BufferPool& pool_of_device = job_.buffers.pool_at(pool_index_of_claimed(job_.pool, job_.device_of(worker)));
  const StreamView stream = stream_of(worker, context);
  for (const ArrayAccess& access : work.arrays) {
    ArrayState::DeviceCopy& copy = access.array->devices[static_cast<std::size_t>(worker)];
    if (copy.units != units) {
      if (!streams_) copy = {};
      copy.units = units;
      copy.version = ArrayState::no_version;
    }
    copy.written = copy.written || access.use != ArrayUse::read;
    const std::size_t bytes = access.array->bytes_of(units);
    const bool modifies_on_device = access.use == ArrayUse::modify && !streams_;
    for (MemoryLease* memory : {access.use == ArrayUse::read || modifies_on_device ? &copy.current : nullptr,
                                access.use != ArrayUse::read ? &copy.next : nullptr})
      if (memory != nullptr && memory->size_bytes() < bytes)
        *memory = pool_of_device.take_bytes(bytes, stream);
  }
}

void JobArrays::load(const Job::Pass& work, Range units, int worker, const DeviceContext& context) {
  for (const ArrayAccess& access : work.arrays) {
    if (access.use == ArrayUse::write) continue;
    ArrayState& array = *access.array;
    ArrayState::DeviceCopy& copy = array.devices[static_cast<std::size_t>(worker)];
    const std::size_t bytes = array.bytes_of(units);
    const bool modifies_upload = access.use == ArrayUse::modify && streams_;
    if (copy.version != array.version) {
      // The host has the current version: if it did not, every device would have that version.
      staging_of(worker, context)
          .upload((modifies_upload ? copy.next : copy.current).data(), array.on_host(array.host, units),
                  bytes, stream_of(worker, context));
      copy.version = array.version;
      ++array.uploads;
      array.uploaded_bytes += static_cast<std::int64_t>(bytes);
    }
    if (access.use == ArrayUse::modify && !modifies_upload)
      copy_async(context, copy.next.data(), copy.current.data(), bytes);
  }
}

void JobArrays::store(const Job::Pass& work, Range units, int worker, const DeviceContext& context) {
  for (const ArrayAccess& access : work.arrays) {
    if (access.use == ArrayUse::read) continue;
    const ArrayState::DeviceCopy& copy = access.array->devices[static_cast<std::size_t>(worker)];
    download_units(*access.array, units, copy.next, staging_of(worker, context), stream_of(worker, context));
  }
}

void JobArrays::free_parts(const Job::Pass& work, int worker) {
  for (const ArrayAccess& access : work.arrays) access.array->devices[static_cast<std::size_t>(worker)] = {};
}

StreamView JobArrays::stream_of(int worker, const DeviceContext& context) const {
  return ContextAccess::stream(context, job_.lanes[static_cast<std::size_t>(worker)].number);
}

DeviceStaging& JobArrays::staging_of(int worker, const DeviceContext& context) {
  auto& staging = job_.lanes[static_cast<std::size_t>(worker)].staging;
  if (!staging) {
    const std::size_t at_a_time = std::max<std::size_t>(streams_ ? job_.lanes.size() : job_.pool.size(), 1);
    staging.emplace(context,
                    std::clamp(job_.threads.count / static_cast<int>(at_a_time), 1, most_copy_threads));
  }
  return *staging;
}

void JobArrays::begin(const Job::Pass& work, bool on_devices) const {
  for (const ArrayAccess& access : work.arrays) {
    ArrayState& array = *access.array;
    if (on_devices) {
      array.devices.resize(streams_ ? job_.lanes.size() : job_.pool.size());
      for (ArrayState::DeviceCopy& copy : array.devices) copy.written = false;
    }
    if (access.use == ArrayUse::read || (on_devices && !streams_)) continue;
    array.next_host.clear();
    base::resize_in_huge_pages(array.next_host, array.host.size());
  }
  if (!on_devices && !work.arrays.empty())
    start_next_on_host(work, work.arrays.front().array->plan.range_of(job_.comm.rank()));
}

void JobArrays::start_next_on_host(const Job::Pass& work, Range units) {
  for (const ArrayAccess& access : work.arrays) {
    if (access.use != ArrayUse::modify) continue;
    ArrayState& array = *access.array;
    std::copy_n(array.on_host(array.host, units), array.bytes_of(units),
                array.on_host(array.next_host, units));
  }
}

void JobArrays::commit(const Job::Pass& work, bool on_devices) {
  if (on_devices) commit_places(work.arrays);
  for (const ArrayAccess& access : work.arrays) {
    if (access.use == ArrayUse::read) continue;
    ArrayState& array = *access.array;
    ++array.version;
    if (!on_devices || streams_) {
      array.take_next_host(array.version);
      continue;
    }
    std::swap(array.held.current, array.held.next);
    for (ArrayState::DeviceCopy& copy : array.devices) {
      if (!copy.written) {
        copy = {};  // the device has no tile in the current plan
        continue;
      }
      std::swap(copy.current, copy.next);
      copy.version = array.version;
    }
  }
}

void JobArrays::download_copies(std::span<ArrayState* const> arrays, int device) {
  DeviceContext& context = job_.bind_device(device);
  job_.faults.throw_if_hit(fault::Stage::lost, device, job_.pass);
  for (ArrayState* array : arrays) {
    if (static_cast<std::size_t>(device) >= array->devices.size()) continue;
    const ArrayState::DeviceCopy& copy = array->devices[static_cast<std::size_t>(device)];
    if (copy.version != array->version) continue;
    download_units(*array, copy.units, copy.current, staging_of(device, context), context.stream());
  }
}

void JobArrays::download(std::span<ArrayState* const> arrays, Attempt& attempt) {
  attempt.run([&] {
    for (ArrayState* array : arrays) {
      array->next_host.clear();
      base::resize_in_huge_pages(array->next_host, array->host.size());
    }
  });
  if (!attempt.ok() || arrays.empty()) return;
  Thrown thrown(job_.pool.size());
  for_each_device(
      *job_.device_threads, thrown,
      [&](std::size_t device) {
        if (!job_.known_device(static_cast<int>(device)).excluded)
          download_copies(arrays, static_cast<int>(device));
      },
      [&] { job_.report_progress(); });
  for (int device = 0; device < static_cast<int>(thrown.size()); ++device) {
    const std::exception_ptr& failure = thrown[static_cast<std::size_t>(device)];
    if (!failure) continue;
    attempt.device_failed({.rank = 0,
                           .hostname = {},
                           .device = device,
                           .uuid = tessera::to_string(job_.known_device(device).uuid),
                           .stage = "copy",
                           .reason = reason_of(failure)});
  }
  attempt.run([&] {
    for (const ArrayState* array : arrays) require_all_units(*array, array->plan.range_of(job_.comm.rank()));
  });
}

std::optional<Verdict::Failure> JobArrays::copy_to_hosts(std::span<ArrayState* const> wanted,
                                                         Attempt& attempt) {
  const std::vector<ArrayState*> arrays = outdated_on_host(wanted);
  std::int64_t signature = 0;
  for (const ArrayState* array : arrays) signature = signature_of({signature, array->number, array->version});
  if (attempt.ok() && !arrays.empty()) job_.begin_turn();
  download(arrays, attempt);
  const Ballot decided =
      job_.ballots.vote(attempt.ballot(), signature, job_.inventory, "the download of arrays", [&] {
        std::string text = "a download";
        for (const ArrayState* array : arrays)
          text +=
              "\narray " + std::to_string(array->number) + " of version " + std::to_string(array->version);
        return text;
      });
  if (decided.outcome == Outcome::success) {
    for (ArrayState* array : arrays) array->take_next_host(array->version);
    return std::nullopt;
  }
  if (decided.outcome != Outcome::device_failed)
    attempt.end(
        decided, "the download of arrays",
        "the ranks download different arrays: create and download arrays in the same order on every rank");
  return decided.failure;
}

bool JobArrays::evict_all() {
  Attempt attempt;
  const std::vector<ArrayState*> arrays = outdated_on_host(all_);
  download(arrays, attempt);
  if (!attempt.ok()) return false;
  for (ArrayState* array : arrays) array->take_next_host(array->version);
  free_on_devices();
  return true;
}

std::vector<ArrayState*> JobArrays::distributed_by(const Plan& plan) const {
  std::vector<ArrayState*> distributed;
  std::ranges::copy_if(all_, std::back_inserter(distributed), [&](const ArrayState* array) {
    return array->plan.fingerprint() == plan.fingerprint();
  });
  return distributed;
}

void JobArrays::roll_back() {
  for (ArrayState* array : all_) {
    array->next_host.clear();
    array->version = array->host_version;
    array->free_on_devices();
  }
}

void JobArrays::move(std::span<ArrayState* const> moved, const Plan& to) const {
  for (ArrayState* array : moved) {
    const std::int64_t units = array->plan.range_of(job_.comm.rank()).size();
    array->host = job_.moved_units(array->host.data(), units, array->unit_bytes, array->plan, to);
    array->plan = to;
    array->free_on_devices();
  }
}

}  // namespace TESSERA_NAMESPACE::detail
