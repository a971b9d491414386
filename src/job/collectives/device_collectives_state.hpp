// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/collectives/nccl_path.hpp"

#include <tessera/job/device_collectives.hpp>

namespace TESSERA_NAMESPACE {

struct DeviceCollectives::State {
  explicit State(CollectiveParts given) : parts(std::move(given)) {}

  [[nodiscard]] DeviceCollectives view() { return DeviceCollectives(*this); }
  /// Chooses the path of all later operations, of any length.
  Path open(Path wanted);
  template <class T>
  void sum(std::span<T* const> arrays, std::size_t count);
  void broadcast(std::span<void* const> arrays, std::size_t bytes, int root_rank, int root_index);
  /// For a job that has left out devices (see the inventory): leaves the NCCL communicator, which includes
  /// them; the next operation creates one without them. Not collective.
  void exclude() noexcept;
  /// For a job that has fallen back to the CPU: leaves the NCCL communicator. Callers have no device arrays
  /// from then on. Not collective.
  void close() noexcept;

  CollectiveParts parts;
  std::optional<BallotBox> ballots;  ///< created by the first collective
  std::optional<Path> path;
  std::string reason;

 private:
  /// The vote before an operation: all ranks must make the same call (`signature` is its hash), and
  /// `prepare` must succeed on each. `what` names the call in messages: "a sum over devices".
  void begin(const char* what, std::int64_t signature, const std::function<void()>& prepare);
  /// The vote on the outcome of an operation through host memory.
  void end(const char* what, const std::optional<Verdict::Failure>& mine);
  /// Throws `Error(usage)` unless there is an array for each device of this rank. Devices that were left out
  /// need no array; with `count` 0 no device does.
  template <class T>
  void check(std::span<T* const> arrays, std::size_t count) const;
  /// Chooses the path unless it was chosen before.
  Path choose(Path wanted = Path::nccl);
  /// Whether a sum goes through host memory on either path.
  [[nodiscard]] bool is_short(std::size_t bytes) const;
  void run_over_nccl(const char* what, const NcclPath::Begin& operation);
  /// Why this rank cannot use NCCL, found without communication; empty if it can.
  [[nodiscard]] std::string why_not_nccl() const;

  std::optional<NcclPath> nccl_;
  std::int64_t calls_ = 0;
  bool opened_ = false;  ///< whether the caller has chosen the path
  bool closed_ = false;
};

}  // namespace TESSERA_NAMESPACE
