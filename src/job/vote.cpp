// SPDX-License-Identifier: Apache-2.0
#include "job/vote.hpp"

#include <tessera/job/stop_request.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>

namespace tessera {
namespace {

/// The order of ballots: the graver outcome first, then the lower rank.
std::int64_t key_of(Outcome outcome, int rank) {
  if (outcome == Outcome::success) return std::numeric_limits<std::int64_t>::max();
  return (static_cast<std::int64_t>(outcome) << 32) | rank;
}

/// The texts of a failure are lines of their own when it travels, so they must be lines.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string packed(const Verdict::Failure& failure) {
  return std::to_string(failure.device) + '\n' + one_line(failure.uuid) + '\n' + one_line(failure.stage) +
         '\n' + one_line(failure.reason);
}

Verdict::Failure unpacked(const std::string& text) {
  Verdict::Failure failure;
  std::istringstream lines(text);
  std::string device;
  std::getline(lines, device);
  failure.device = std::stoi(device);
  std::getline(lines, failure.uuid);
  std::getline(lines, failure.stage);
  std::getline(lines, failure.reason);
  return failure;
}

}  // namespace

std::int64_t signature_of(std::initializer_list<std::int64_t> values) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::int64_t value : values) {
    for (int byte = 0; byte < 8; ++byte) {
      hash ^= (static_cast<std::uint64_t>(value) >> (8 * byte)) & 0xffu;
      hash *= 0x100000001b3u;
    }
  }
  return static_cast<std::int64_t>(hash);
}

BallotBox::BallotBox(const mpi::Communicator& comm, StopRequest* stop) : comm_(comm.duplicate()) {
  if (stop != nullptr) comm_.set_meanwhile([stop] { stop->look(); });
}

Ballot BallotBox::vote(const Ballot& mine, std::int64_t signature, const Inventory& inventory,
                       const std::string& what) {
  const mpi::Purpose purpose(comm_, what);
  // The least of a number and of its complement are its bounds over all ranks.
  std::array<std::int64_t, 3> least = {key_of(mine.outcome, comm_.rank()), signature, ~signature};
  comm_.allreduce(std::span<std::int64_t>(least), mpi::Reduction::min);

  Ballot decided;
  if (least[1] != ~least[2]) {
    decided.outcome = Outcome::disagreement;
    return decided;
  }
  if (least[0] == key_of(Outcome::success, 0)) return decided;
  decided.outcome = static_cast<Outcome>(least[0] >> 32);
  const int rank = static_cast<int>(least[0] & 0xffffffff);
  decided.failure = unpacked(comm_.broadcast_text(packed(mine.failure), rank));
  decided.failure.rank = rank;
  decided.failure.hostname = inventory.ranks()[static_cast<std::size_t>(rank)].hostname;
  return decided;
}

}  // namespace tessera
