// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/collectives/nccl_path.hpp"

#include <tessera/job/device_collectives.hpp>

namespace tessera::inline TESSERA_ABI {

struct DeviceCollectives::State {
  explicit State(CollectiveParts given) : parts(std::move(given)) {}

  [[nodiscard]] DeviceCollectives view() { return DeviceCollectives(*this); }
  Path open(Path wanted = Path::nccl);
  template <class T>
  void sum(std::span<T* const> arrays, std::size_t count);
  void broadcast(std::span<void* const> arrays, std::size_t bytes, int root_rank, int root_index);
  /// The job has fallen back: there are no devices any more. Not collective.
  void close() noexcept;

  CollectiveParts parts;
  std::optional<BallotBox> ballots;  ///< from the first collective on
  std::optional<Path> path;
  std::string reason;

 private:
  /// Agrees, before anything is changed, that all ranks make the same call, which `signature` stands for, and
  /// that each is ready for it. `what` is said of it in messages: "a sum over devices".
  void begin(const char* what, std::int64_t signature, const std::function<void()>& prepare);
  /// Agrees on the outcome of an operation through the hosts.
  void end(const char* what, const std::optional<Verdict::Failure>& mine);
  /// An array for each device of this rank, or an `Error(usage)`.
  void check(std::size_t arrays, bool all_there) const;
  void run_over_nccl(const char* what, const NcclPath::Begin& operation);
  /// Why NCCL is out of the question, as every rank knows by itself; empty if it is not.
  [[nodiscard]] std::string why_not_nccl() const;

  std::optional<NcclPath> nccl_;
  std::int64_t calls_ = 0;
  bool closed_ = false;
};

}  // namespace tessera::inline TESSERA_ABI
