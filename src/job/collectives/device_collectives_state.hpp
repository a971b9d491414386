// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/collectives/nccl_path.hpp"

#include <tessera/job/device_collectives.hpp>

namespace TESSERA_NAMESPACE {

struct DeviceCollectives::State {
  explicit State(CollectiveParts given) : parts(std::move(given)) {}

  [[nodiscard]] DeviceCollectives view() { return DeviceCollectives(*this); }
  /// Sets the path of all later operations, whatever their length.
  Path open(Path wanted);
  template <class T>
  void sum(std::span<T* const> arrays, std::size_t count);
  void broadcast(std::span<void* const> arrays, std::size_t bytes, int root_rank, int root_index);
  /// Call after devices were excluded: leaves the NCCL communicator. The next operation creates one without
  /// the excluded devices. Not collective.
  void exclude() noexcept;
  /// Call after a fallback to the CPU: leaves the NCCL communicator. Later operations take no device arrays.
  /// Not collective.
  void close() noexcept;

  CollectiveParts parts;
  std::optional<BallotBox> ballots;  ///< created on first use
  std::optional<Path> path;
  std::string reason;

 private:
  /// *Collective.* The vote before an operation: `signature`, the hash of the call, must be equal and
  /// `prepare` succeed on all ranks. `what` names the call in messages: "a sum over devices".
  void begin(const char* what, std::int64_t signature, const std::function<void()>& prepare);
  /// *Collective.* The vote on the outcome of an operation through host memory.
  void end(const char* what, const std::optional<Verdict::Failure>& mine);
  /// Throws `Error(usage)` unless each device of this rank has an array. Excluded devices need no array; nor
  /// does any device if `count` is 0.
  template <class T>
  void check(std::span<T* const> arrays, std::size_t count) const;
  Path choose(Path wanted = Path::nccl);
  /// Whether a sum of arrays of `bytes` uses host memory even if the path is NCCL.
  [[nodiscard]] bool is_short(std::size_t bytes) const;
  void run_over_nccl(const char* what, const NcclPath::Begin& operation);
  /// Why the devices of the job rule out NCCL; empty if they do not. The same on every rank. Not collective.
  [[nodiscard]] std::string why_not_nccl() const;

  std::optional<NcclPath> nccl_;
  std::int64_t calls_ = 0;
  bool opened_ = false;  ///< whether `open` has chosen the path, also for short sums
  bool closed_ = false;
};

}  // namespace TESSERA_NAMESPACE
