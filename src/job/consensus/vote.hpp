// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/verdict.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/inventory.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {

class StopRequest;

/// The outcome of a pass on one rank (ballot) or on all ranks (decision), most severe first.
enum class Outcome : std::int64_t {
  misuse,         ///< usage error: `Error(usage)` on every rank
  fatal,          ///< no fallback: the pass throws on every rank
  stopped,        ///< a stop request interrupted the rank's work
  device_failed,  ///< the job falls back or excludes the device
  success,
  disagreement,  ///< only as a decision: the ranks made different calls
};

struct Ballot {
  Outcome outcome = Outcome::success;
  /// Device, stage and reason unless `success`; the vote sets rank and host name.
  Verdict::Failure failure;
};

/// The votes of a job: all ranks agree on the most severe outcome and the lowest rank that has it.
class BallotBox {
 public:
  /// *Collective.* Votes have the timeout of `comm`. Ranks that wait in a vote poll `stop`, unless it is
  /// null, and so spread stop requests.
  explicit BallotBox(const mpi::Communicator& comm, StopRequest* stop = nullptr);

  /// *Collective.* Returns the same ballot on every rank. `signature` is a hash of everything that must be
  /// equal on all ranks; if it differs, the outcome is `disagreement`, whatever the ballots. `what` is the
  /// purpose of the vote in messages. On a disagreement, `describe` returns the hashed values as text, one
  /// per line, and the differing lines become the reason. Cost: one allreduce of 24 bytes, and a broadcast if
  /// a rank failed.
  [[nodiscard]] Ballot vote(const Ballot& mine, std::int64_t signature, const Inventory& inventory,
                            const std::string& what, FunctionRef<std::string()> describe = {});

  /// *Collective.* The failures of all ranks, by rank. Cost: an allgather.
  [[nodiscard]] std::vector<Verdict::Failure> gather(std::span<const Verdict::Failure> mine,
                                                     const Inventory& inventory, const std::string& what);

  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept { return comm_.timeout(); }

 private:
  mpi::Communicator comm_;  // a duplicate, so that votes match no other collective
};

[[nodiscard]] std::int64_t signature_of(std::initializer_list<std::int64_t> values) noexcept;

}  // namespace TESSERA_NAMESPACE
