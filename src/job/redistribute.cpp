// SPDX-License-Identifier: Apache-2.0
#include "job/job_access.hpp"
#include "job/state.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace TESSERA_NAMESPACE {
namespace {

void check_move(std::int64_t units, const Plan& from, const Plan& to, int rank, int ranks) {
  const auto refuse = [](const std::string& problem) { throw Error(ErrorCode::usage, problem); };
  if (from.ranks() != ranks || to.ranks() != ranks)
    refuse("the plans are for " + std::to_string(from.ranks()) + " and " + std::to_string(to.ranks()) +
           " ranks, but the job has " + std::to_string(ranks) +
           ": create the plans with Job::plan() of this job");
  if (from.units() != to.units())
    refuse("the plans have " + std::to_string(from.units()) + " and " + std::to_string(to.units()) +
           " units: give two plans with the same number of units");
  if (const std::int64_t mine = from.range_of(rank).size(); units != mine)
    refuse("rank " + std::to_string(rank) + " gives " + std::to_string(units) + " units, but has " +
           std::to_string(mine) + " in the plan: give the units of local_range(from)");
}

}  // namespace

std::vector<std::size_t> Job::units_for_ranks(std::int64_t units, std::size_t unit_bytes, const Plan& from,
                                              const Plan& to) const {
  return state().agreed_counts(units, unit_bytes, from, to);
}

std::vector<std::size_t> Job::State::agreed_counts(std::int64_t units, std::size_t unit_bytes,
                                                   const Plan& from, const Plan& to) const {
  const mpi::Purpose purpose(comm, "a move of units");
  together(comm, [&] { check_move(units, from, to, comm.rank(), comm.size()); });
  const std::int64_t call =
      signature_of({static_cast<std::int64_t>(from.fingerprint()),
                    static_cast<std::int64_t>(to.fingerprint()), static_cast<std::int64_t>(unit_bytes)});
  std::array<std::int64_t, 2> least{call, ~call};
  comm.allreduce(std::span<std::int64_t>(least), mpi::Reduction::min);
  if (least[0] != ~least[1])
    throw Error(ErrorCode::usage,
                "the ranks make different moves: give the same plans and the same unit type on every rank");
  return counts_between(from, to, comm.rank());
}

std::vector<std::byte> Job::State::moved_units(const std::byte* units, std::int64_t count,
                                               std::size_t unit_bytes, const Plan& from,
                                               const Plan& to) const {
  std::vector<std::size_t> bytes = agreed_counts(count, unit_bytes, from, to);
  for (std::size_t& of_rank : bytes) of_rank *= unit_bytes;
  return comm.alltoallv(std::span(units, static_cast<std::size_t>(count) * unit_bytes), bytes);
}

std::vector<std::byte> detail::JobAccess::moved(const Job& job, const std::byte* units, std::int64_t count,
                                                std::size_t unit_bytes, const Plan& from, const Plan& to) {
  return job.state().moved_units(units, count, unit_bytes, from, to);
}

std::vector<std::size_t> Job::counts_for_ranks(const Plan& from, const Plan& to) const {
  return counts_between(from, to, comm().rank());
}

std::vector<std::size_t> counts_between(const Plan& from, const Plan& to, int of) {
  const Range mine = from.range_of(of);
  std::vector<std::size_t> counts;
  counts.reserve(static_cast<std::size_t>(to.ranks()));
  for (int rank = 0; rank < to.ranks(); ++rank) {
    const Range theirs = to.range_of(rank);
    const std::int64_t common = std::min(mine.end, theirs.end) - std::max(mine.begin, theirs.begin);
    counts.push_back(static_cast<std::size_t>(std::max<std::int64_t>(common, 0)));
  }
  return counts;
}

}  // namespace TESSERA_NAMESPACE
