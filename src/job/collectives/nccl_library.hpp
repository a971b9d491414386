// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>

#include <array>
#include <cstddef>
#include <memory>

/// Everything that the job room asks of NCCL, without a type of NCCL. `nccl_library.cpp` answers where it is
/// built, by opening the library at run time; `no_nccl_library.cpp` has none. An interface, so that tests can
/// have one that fails.
namespace tessera::nccl {

/// What the members of a communicator know each other by (ncclUniqueId).
using Id = std::array<std::byte, 128>;
/// One device's membership (ncclComm_t); null: none.
using Member = void*;
enum class Type { float64, int64 };

/// All members throw `Error(job_fault)` with the name of the call and NCCL's reason. What a `begin` function
/// begins takes effect at the end of the group, and is under way until `is_ready`. Not thread-safe.
class Library {
 public:
  virtual ~Library() = default;

  /// As NCCL counts: 22809 is 2.28.9.
  [[nodiscard]] virtual int version() const noexcept = 0;
  [[nodiscard]] virtual Id make_id() = 0;

  virtual void begin_group() = 0;
  virtual void end_group() = 0;
  /// Makes the current device member `number` of `size`. `out` must stay where it is until it is ready.
  virtual void begin_joining(Member& out, const Id& id, int size, int number) = 0;
  /// In place, over all members.
  virtual void begin_sum(Member member, void* array, std::size_t count, Type type, StreamView stream) = 0;
  virtual void begin_broadcast(Member member, void* array, std::size_t bytes, int root,
                               StreamView stream) = 0;

  /// True once what was begun has been done (joining) or is on its stream (the rest).
  [[nodiscard]] virtual bool is_ready(Member member) = 0;
  /// Leaves at once, also from the middle of an operation; no other member is waited for. Null: nothing.
  virtual void leave(Member member) noexcept = 0;
};

/// Opens libnccl.so.2. Throws `Error(device_absent)` with the reason why it cannot be used: not built, not
/// installed, or too old.
[[nodiscard]] std::unique_ptr<Library> open();

}  // namespace tessera::nccl
