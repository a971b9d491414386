// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/verdict.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/inventory.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace tessera::inline TESSERA_ABI {

class StopRequest;

/// What one rank brings to a vote, and what the vote decides for all.
enum class Outcome : std::int64_t {
  misuse,         ///< the program is wrong: `Error(usage)` on every rank
  fatal,          ///< the pass cannot be done on the CPU either: it ends with an exception on every rank
  stopped,        ///< the rank cut its work short, as it or another was asked to (`StopRequest`)
  device_failed,  ///< the whole job falls back
  success,
  disagreement,  ///< only as a decision: the ranks did not vote on the same thing
};

struct Ballot {
  Outcome outcome = Outcome::success;
  /// Where and why, unless `outcome` is `success`; the vote fills in rank and host name.
  Verdict::Failure failure;
};

/// The votes of one job: on each, all ranks agree on the gravest outcome and its lowest rank.
class BallotBox {
 public:
  /// *Collective.* Votes have the timeout of `comm`. Ranks that wait in a vote look after `stop`, where there
  /// is one, so that a request that reaches them reaches those that still work.
  explicit BallotBox(const mpi::Communicator& comm, StopRequest* stop = nullptr);

  /// *Collective.* Returns the same ballot on every rank. `signature` stands for what must be the same on
  /// all of them; if it is not, they disagree, whatever else they brought. `inventory` gives the
  /// ranks their host names, `what` the vote its own; `describe` tells what the signature stands for, a line
  /// for each thing, and is called where the ranks disagree: what differs becomes the reason of the failure.
  /// Cost: one allreduce of 24 bytes, and a broadcast if a rank failed.
  [[nodiscard]] Ballot vote(const Ballot& mine, std::int64_t signature, const Inventory& inventory,
                            const std::string& what, const std::function<std::string()>& describe = {});

  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept { return comm_.timeout(); }

 private:
  mpi::Communicator comm_;  // of its own, so that no other collective is taken for a vote
};

/// A number that differs, most probably, if any of `values` does.
[[nodiscard]] std::int64_t signature_of(std::initializer_list<std::int64_t> values) noexcept;

}  // namespace tessera::inline TESSERA_ABI
