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

/// The outcome of a pass: on one rank (its ballot), and of all ranks together (the decision of the vote).
enum class Outcome : std::int64_t {
  misuse,         ///< an error of the program: `Error(usage)` on every rank
  fatal,          ///< a failure without a fallback: the pass ends with an exception on every rank
  stopped,        ///< the rank cut its work short by a stop request
  device_failed,  ///< the whole job falls back
  success,
  disagreement,  ///< only as a decision of the vote: the ranks made different calls
};

struct Ballot {
  Outcome outcome = Outcome::success;
  /// Device, stage and reason, unless `outcome` is `success`; the vote sets rank and host name.
  Verdict::Failure failure;
};

/// The votes of one job: in each, all ranks agree on the most severe outcome and the lowest rank that has it.
class BallotBox {
 public:
  /// *Collective.* Votes have the timeout of `comm`. Ranks that wait in a vote poll `stop`, if there is one,
  /// so that they forward a request to ranks that still compute.
  explicit BallotBox(const mpi::Communicator& comm, StopRequest* stop = nullptr);

  /// *Collective.* Returns the same ballot on every rank. `signature` is a hash of everything that must be
  /// the same on all ranks; if it differs, the outcome is `disagreement`, whatever else the ranks cast.
  /// `inventory` has the host names, and `what` is the purpose of the vote in messages. `describe` returns
  /// the hashed values as text, one per line; it is called on a disagreement, and the lines that differ
  /// become the reason of the failure. Cost: one allreduce of 24 bytes, and a broadcast if a rank failed.
  [[nodiscard]] Ballot vote(const Ballot& mine, std::int64_t signature, const Inventory& inventory,
                            const std::string& what, FunctionRef<std::string()> describe = {});

  /// *Collective.* The failures of all ranks, by rank, the same on every rank. Cost: an allgather.
  [[nodiscard]] std::vector<Verdict::Failure> gather(std::span<const Verdict::Failure> mine,
                                                     const Inventory& inventory, const std::string& what);

  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept { return comm_.timeout(); }

 private:
  mpi::Communicator comm_;  // a duplicate, so that no other collective matches a vote
};

/// A hash of `values`.
[[nodiscard]] std::int64_t signature_of(std::initializer_list<std::int64_t> values) noexcept;

}  // namespace TESSERA_NAMESPACE
