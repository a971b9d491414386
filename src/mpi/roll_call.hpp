// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include "mpi/rank_group.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline TESSERA_ABI::mpi::detail {

/// How long a collective is to wait for ranks that do not come; 0: for ever.
struct Patience {
  std::chrono::milliseconds timeout{};
  std::chrono::milliseconds
      notice{};               ///< if not 0: after so long, below `timeout`, a line says who is missing
  bool only_silence = false;  ///< a rank that answers is waited for, whatever it is at
};

/// Finds out which ranks a collective waits for in vain, and ends the job with their names.
///
/// Each rank that waits in a collective calls `step` again and again. A rank whose time is up asks the others
/// of its communicator where they are, and every rank that waits in a collective, be it another one, or works
/// in a pass, answers. After a grace the rank that asked names those that did not answer, and aborts the job
/// with status 6. If all did, and one works, it waits as long again; if none does, it names those that are
/// elsewhere. Ranks ask one after another, the lowest first, and one that was asked leaves it to the lower
/// one, so that one speaks for all. A collective that completes during the roll call counts: ranks that
/// arrive within the grace save the job. Nothing is ever waited for.
///
/// A rank that waits tells those that have come to the end of the program, too, whatever the timeout: one
/// that never came to this collective ends the job.
class RollCall {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long to wait for answers: what a message may take in a job that is very busy.
  static constexpr std::chrono::seconds grace{2};

  /// `start`: when this rank came to the collective at `here`.
  RollCall(RankGroup& group, MPI_Comm comm, const Place& here, const Patience& patience,
           Clock::time_point start);

  /// Asks, answers, or ends the job, as the time demands. Does not block.
  void step();

 private:
  /// An other rank has asked this one.
  void asked_by(int rank, Clock::time_point now);
  void begin(Clock::time_point now);
  void judge(Clock::time_point now);
  /// Asks no more, and again when time is up from `start` on.
  void wait_on(Clock::time_point start);
  [[nodiscard]] Clock::time_point time_is_up(Clock::time_point start) const;
  /// How long it waits before it asks.
  [[nodiscard]] std::chrono::milliseconds span() const noexcept;
  [[noreturn]] void end(const std::string& what_is_wrong) const;

  RankGroup& group_;
  MPI_Comm comm_;
  std::shared_ptr<const Letter> here_;
  Patience patience_;
  bool has_noticed_;  // or has not to say who is missing before it ends the job
  Clock::time_point start_;
  Clock::time_point deadline_;
  std::optional<Clock::time_point> began_;   // this rank asks
  std::vector<int> members_;                 // that it asks, by their rank of the group
  std::vector<std::optional<Place>> where_;  // the answers, by rank of the group
};

}  // namespace tessera::inline TESSERA_ABI::mpi::detail
