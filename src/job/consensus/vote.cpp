// SPDX-License-Identifier: Apache-2.0
#include "job/consensus/vote.hpp"

#include "base/hash.hpp"
#include "base/number.hpp"
#include "mpi/communicator_access.hpp"

#include <tessera/job/stop_request.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <sstream>

namespace TESSERA_NAMESPACE {
namespace {

/// Sort key of ballots: severity, then rank.
std::int64_t key_of(Outcome outcome, int rank) {
  if (outcome == Outcome::success) return std::numeric_limits<std::int64_t>::max();
  return (static_cast<std::int64_t>(outcome) << 32) | rank;
}

/// Newlines separate the fields of a packed failure.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string packed(const Verdict::Failure& failure) {
  return std::to_string(failure.device) + '\n' + one_line(failure.uuid) + '\n' + one_line(failure.stage) +
         '\n' + one_line(failure.reason);
}

/// Packs a failure for a broadcast, without texts if memory is short.
std::string packed_or_placeholder(const Verdict::Failure& failure) noexcept {
  try {
    return packed(failure);
  } catch (...) {
    return "0\n\n\nno memory";  // short enough to need no allocation
  }
}

std::optional<Verdict::Failure> next_failure(std::istream& lines, int rank, const Inventory& inventory) {
  std::string device;
  if (!std::getline(lines, device)) return std::nullopt;
  Verdict::Failure failure;
  failure.rank = rank;
  failure.hostname = inventory.ranks()[static_cast<std::size_t>(rank)].hostname;
  failure.device = base::parse_number<int>(device).value_or(failure.device);
  std::getline(lines, failure.uuid);
  std::getline(lines, failure.stage);
  std::getline(lines, failure.reason);
  return failure;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string differing_lines(const std::string& text, const std::string& other) {
  const auto others = lines_of(other);
  std::string apart;
  for (const std::string& line : lines_of(text)) {
    if (std::ranges::find(others, line) == others.end()) apart += (apart.empty() ? "" : ", ") + line;
  }
  return apart.empty() ? "nothing else" : apart;
}

/// "rank 0 (node6) has verb map; rank 2 (node7) has verb scatter", for the first rank that differs from rank
/// 0.
std::string difference_of(const std::vector<std::string>& texts, const Inventory& inventory) {
  const auto other = std::ranges::find_if(texts, [&](const auto& text) { return text != texts.front(); });
  if (other == texts.end()) return "the calls differ in an unnamed value";
  const auto rank = static_cast<std::size_t>(other - texts.begin());
  const auto says = [&](std::size_t who, const std::string& what) {
    return "rank " + std::to_string(who) + " (" + inventory.ranks()[who].hostname + ") has " + what;
  };
  return says(0, differing_lines(texts.front(), *other)) + "; " +
         says(rank, differing_lines(*other, texts.front()));
}

}  // namespace

std::int64_t signature_of(std::initializer_list<std::int64_t> values) noexcept {
  // Each step is a bijection of the value and of the state.
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const std::int64_t value : values) hash = base::split_mix(hash ^ static_cast<std::uint64_t>(value));
  return static_cast<std::int64_t>(hash);
}

BallotBox::BallotBox(const mpi::Communicator& comm, StopRequest* stop) : comm_(comm.duplicate()) {
  if (stop != nullptr)
    mpi::detail::CommunicatorAccess::set_progress_callback(comm_, [stop] { stop->poll(); });
}

Ballot BallotBox::vote(const Ballot& mine, std::int64_t signature, const Inventory& inventory,
                       const std::string& what, FunctionRef<std::string()> describe) {
  const mpi::Purpose purpose(comm_, what);
  // The minimum of the complement is the complement of the maximum: one allreduce gives both.
  std::array<std::int64_t, 3> least = {key_of(mine.outcome, comm_.rank()), signature, ~signature};
  comm_.allreduce(std::span<std::int64_t>(least), mpi::Reduction::min);

  Ballot decided;
  if (least[1] != ~least[2]) {
    decided.outcome = Outcome::disagreement;
    decided.failure.reason = difference_of(comm_.allgather_text(describe ? describe() : what), inventory);
    return decided;
  }
  if (least[0] == key_of(Outcome::success, 0)) return decided;
  decided.outcome = static_cast<Outcome>(least[0] >> 32);
  const int rank = static_cast<int>(least[0] & 0xffffffff);
  std::istringstream lines(comm_.broadcast_text(packed_or_placeholder(mine.failure), rank));
  decided.failure = next_failure(lines, rank, inventory).value_or(Verdict::Failure{});
  return decided;
}

std::vector<Verdict::Failure> BallotBox::gather(std::span<const Verdict::Failure> mine,
                                                const Inventory& inventory, const std::string& what) {
  const mpi::Purpose purpose(comm_, what);
  std::string packed_failures;
  for (const Verdict::Failure& failure : mine) packed_failures += packed(failure) + '\n';
  const std::vector<std::string> texts = comm_.allgather_text(packed_failures);
  std::vector<Verdict::Failure> failures;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    std::istringstream lines(texts[rank]);
    while (auto failure = next_failure(lines, static_cast<int>(rank), inventory))
      failures.push_back(*std::move(failure));
  }
  return failures;
}

}  // namespace TESSERA_NAMESPACE
