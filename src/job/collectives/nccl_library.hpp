// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

/// The NCCL functions that `src/job` uses, without NCCL's types. `nccl_library.cpp` opens the library at run
/// time; builds without NCCL use `no_nccl_library.cpp`. Tests inject failures through the interface.
namespace tessera::nccl {

/// The identity of a communicator (ncclUniqueId).
using Id = std::array<std::byte, 128>;
/// A device's communicator handle (ncclComm_t); null: none.
using Member = void*;
enum class Type { float64, int64 };

/// Members that are not noexcept throw `Error(job_fault)` with the name of the call and NCCL's reason.
/// `end_group` submits the `begin_…` operations of the group asynchronously: see `is_ready`. Not thread-safe.
class Library {
 public:
  virtual ~Library() = default;

  /// NCCL's version in its own encoding: 22809 is 2.28.9.
  [[nodiscard]] virtual int version() const noexcept = 0;
  [[nodiscard]] virtual Id make_id() = 0;

  virtual void begin_group() = 0;
  virtual void end_group() = 0;
  /// Joins the current device as member `number` of `size`. `out` must not move until `is_ready`.
  virtual void begin_joining(Member& out, const Id& id, int size, int number) = 0;
  /// In-place sum over all members.
  virtual void begin_sum(Member member, void* array, std::size_t count, Type type, StreamView stream) = 0;
  virtual void begin_broadcast(Member member, void* array, std::size_t bytes, int root,
                               StreamView stream) = 0;

  /// Whether the last submitted operation is complete on the host: the device has joined, or its stream has
  /// the operation.
  [[nodiscard]] virtual bool is_ready(Member member) = 0;
  /// Leaves the communicator, even during an operation, without waiting for other members. `member` may be
  /// null.
  virtual void leave(Member member) noexcept = 0;
};

[[nodiscard]] inline std::string readable(int version) {
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

/// Opens libnccl.so.2. Throws `Error(device_absent)` if NCCL is not part of the build, not installed, or too
/// old.
[[nodiscard]] std::unique_ptr<Library> open();

}  // namespace tessera::nccl
