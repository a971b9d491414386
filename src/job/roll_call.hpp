// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/inventory.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// Finds out which ranks a vote waits for in vain, and ends the job with their names.
///
/// Each rank that waits in the vote calls `step` again and again. A rank whose time is up tells rank 0;
/// rank 0, when its own time is up or when told, asks every rank, and those that wait in the vote answer.
/// After a grace rank 0 names the ranks that did not, and aborts the job with status 6. If rank 0 itself
/// does not ask, the ranks that wait name it and abort. A vote that completes during the roll call counts:
/// ranks that arrive within the grace save the job. All messages are empty, and never waited for.
class RollCall {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long rank 0 waits for answers: what a message may take in a job that is very busy.
  static constexpr std::chrono::seconds grace{2};

  /// `number` counts the votes of the job; `timeout` 0: this rank's time is never up; `what` the vote is for.
  RollCall(const mpi::Communicator& comm, std::span<const InventoryRank> ranks, std::int64_t number,
           std::chrono::milliseconds timeout, std::string what);

  /// Sends, answers, or ends the job, as the time demands. Does not block.
  void step();

 private:
  void step_of_root(Clock::time_point now);
  void step_of_others(Clock::time_point now);
  void ask_everyone(Clock::time_point now);
  void send(int rank, int tag) const;
  /// The sender of a waiting message with `tag`, which is taken.
  [[nodiscard]] std::optional<int> receive(int from, int tag) const;
  [[nodiscard]] bool time_is_up(Clock::time_point now) const;
  [[noreturn]] void end_naming(std::span<const int> missing) const;

  const mpi::Communicator* comm_;
  std::span<const InventoryRank> ranks_;
  std::chrono::milliseconds timeout_;
  std::string what_;
  int late_tag_;    // to rank 0: my time is up
  int asked_tag_;   // from rank 0: who is here?
  int answer_tag_;  // to rank 0: I am
  Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> told_;   // this rank told rank 0 that its time is up
  std::optional<Clock::time_point> asked_;  // the roll call began
  std::vector<char> present_;               // on rank 0
};

}  // namespace tessera
