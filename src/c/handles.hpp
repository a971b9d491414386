// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/tessera.h>
#include <tessera/job/array.hpp>
#include <tessera/job/checkpoint.hpp>
#include <tessera/job/job.hpp>
#include <tessera/job/stop_request.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Definitions of the opaque types of the C interface. tessera_tile and tessera_sum are reinterpreted `Tile`
/// and `ReproducibleSum`.
struct tessera_job {
  tessera::mpi::Communicator comm;
  tessera::Job job;
  std::string verdict;
  tessera_verdict last_verdict{};
  std::vector<tessera_failure> failures{};  ///< failures of `last_verdict`
};

struct tessera_plan {
  tessera::Plan plan;
  int rank = 0;
};

struct tessera_array {
  const tessera::Job& job;
  tessera::Array<std::byte> units;
};

struct tessera_stop {
  tessera::StopRequest request;
};

struct tessera_checkpoint {
  tessera::mpi::Communicator comm;
  tessera::Checkpoint checkpoint;
};

namespace tessera::c {

[[nodiscard]] inline Tile& tile_of(tessera_tile* tile) noexcept {
  return *reinterpret_cast<Tile*>(tile);
}
[[nodiscard]] inline const Tile& tile_of(const tessera_tile* tile) noexcept {
  return *reinterpret_cast<const Tile*>(tile);
}
[[nodiscard]] inline tessera_tile* handle_of(Tile& tile) noexcept {
  return reinterpret_cast<tessera_tile*>(&tile);
}
[[nodiscard]] inline ReproducibleSum& sum_of(tessera_sum* sum) noexcept {
  return *reinterpret_cast<ReproducibleSum*>(sum);
}
[[nodiscard]] inline tessera_sum* handle_of(ReproducibleSum& sum) noexcept {
  return reinterpret_cast<tessera_sum*>(&sum);
}
[[nodiscard]] inline tessera_range range_of(Range range) noexcept {
  return {range.begin, range.end};
}

[[nodiscard]] inline tessera_host_tile handle_of(const HostTile& tile) noexcept {
  return {range_of(tile.range), tile.thread, tile.threads, tile.device, tile.lane};
}

/// Stores the message of the current exception for `tessera_error`, and returns its status.
[[nodiscard]] int keep_error() noexcept;

/// Runs `work` and returns its status, so that no exception reaches a C program.
template <class Work>
[[nodiscard]] int status_of(Work&& work) noexcept {
  try {
    work();
    return TESSERA_OK;
  } catch (...) {
    return keep_error();
  }
}

[[noreturn]] void refuse_null(const char* function, const char* name);

/// Converts options from C; null: the defaults. Throws `Error(usage)` for invalid values.
[[nodiscard]] JobOptions options_of(const tessera_options* given);

/// Converts seconds to milliseconds, rounded up. Throws `Error(usage)`, with a message that begins with
/// `what`, unless the time is from 0 to a hundred years.
[[nodiscard]] std::chrono::milliseconds milliseconds_of(double seconds, const char* what);

/// Throws `Error(usage)` unless a unit has at least one byte and `count` units of `bytes` fit into memory.
void require_bytes(std::size_t bytes, std::int64_t count, const char* function, const char* name);

/// Throws `Error(usage)` if `argument` is null.
template <class Argument>
void require(Argument* argument, const char* function, const char* name) {
  if (argument == nullptr) refuse_null(function, name);
}

}  // namespace tessera::c
