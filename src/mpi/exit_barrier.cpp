// SPDX-License-Identifier: Apache-2.0
#include "mpi/exit_barrier.hpp"

#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/request.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::mpi::detail {
namespace {

using Count = CollectiveCounts::Count;

const char* manner_of(ExitPath path) noexcept {
  switch (path) {
    case ExitPath::exception: return "by an exception";
    case ExitPath::failure: return "with an error status";
    case ExitPath::normal:
    case ExitPath::finalize: break;
  }
  return nullptr;
}

class ExitBarrier {
 public:
  ExitBarrier(RankGroup& group, ExitPath path, const WatchdogTimeouts& timeouts)
      : group_(group), timeouts_(timeouts), purpose_("the end of the program") {
    if (const char* const manner = manner_of(path))
      purpose_ += ", to which " + group.name_of(group.rank()) + " came " + manner;
  }

  void sum(std::span<std::uint64_t> values) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_UINT64_T, MPI_SUM,
                         group_.channel(), &request),
          "MPI_Iallreduce");
    wait(request, "an allreduce");
  }

  [[nodiscard]] std::vector<std::vector<Count>> gather(const std::vector<Count>& mine) {
    const int bytes = static_cast<int>(mine.size() * sizeof(Count));
    std::vector<int> all_bytes(static_cast<std::size_t>(group_.size()));
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallgather(&bytes, 1, MPI_INT, all_bytes.data(), 1, MPI_INT, group_.channel(), &request),
          "MPI_Iallgather");
    wait(request, "an allgather");
    std::vector<int> offsets(all_bytes.size());
    std::exclusive_scan(all_bytes.begin(), all_bytes.end(), offsets.begin(), 0);
    std::vector<Count> all(static_cast<std::size_t>(offsets.back() + all_bytes.back()) / sizeof(Count));
    check(MPI_Iallgatherv(mine.data(), bytes, MPI_BYTE, all.data(), all_bytes.data(), offsets.data(),
                          MPI_BYTE, group_.channel(), &request),
          "MPI_Iallgatherv");
    wait(request, "an allgather");
    std::vector<std::vector<Count>> by_rank;
    for (std::size_t rank = 0; rank < all_bytes.size(); ++rank) {
      const auto first = all.begin() + offsets[rank] / static_cast<int>(sizeof(Count));
      by_rank.emplace_back(first, first + all_bytes[rank] / static_cast<int>(sizeof(Count)));
    }
    return by_rank;
  }

 private:
  void wait(MPI_Request& request, const char* kind) {
    const CollectiveScope scope;
    // For watchdogs: a call on a fictitious communicator, whose id is the complement of the group's id.
    const CollectiveCall here(~group_.id(), ++group_.exit_calls, kind, purpose_);
    Backoff backoff;
    std::optional<Watchdog> watchdog;
    while (!is_complete(request, kind, group_.size())) {
      const auto watch = [&] {
        if (!watchdog) watchdog.emplace(group_, group_.channel(), here, timeouts_, backoff.start());
        watchdog->step();
      };
      if (backoff.is_long() && !has_memory_for(watch)) watchdog.reset();
      backoff();
    }
  }

  RankGroup& group_;
  WatchdogTimeouts timeouts_;
  std::string purpose_;
};

struct Difference {
  int rank = 0;
  Count count;
  int other = 0;
  Count its_count;
};

std::optional<Difference> difference_of(const std::vector<std::vector<Count>>& counts) {
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    for (const Count& mine : counts[rank]) {
      for (std::size_t other = rank + 1; other < counts.size(); ++other) {
        const auto its = std::ranges::lower_bound(counts[other], mine.comm, {}, &Count::comm);
        if (its == counts[other].end() || its->comm != mine.comm || its->number == mine.number) continue;
        return Difference{static_cast<int>(rank), mine, static_cast<int>(other), *its};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

WatchdogTimeouts exit_timeouts(ExitPath path, std::chrono::milliseconds timeout) {
  using namespace std::chrono_literals;
  if (timeout.count() > 0) return {.timeout = timeout};
  if (path == ExitPath::exception) return {.timeout = 1min, .only_silence = true};
  // A short wait, because launchers end the job when a failed rank exits.
  if (path == ExitPath::failure) return {.timeout = 10s, .only_silence = true};
  // A long wait, because other ranks may still compute or write results.
  return {.timeout = 30min, .notice = 1min, .only_silence = true};
}

void exit_barrier(RankGroup& group, ExitPath path, const WatchdogTimeouts& timeouts) {
  ExitBarrier barrier(group, path, timeouts);
  // The sum of imbalances has a meaning only over all ranks of MPI_COMM_WORLD.
  const std::uint64_t imbalance = group.is_world() ? collective_counts().imbalance() : 0;
  std::array<std::uint64_t, 2> sums = {path == ExitPath::exception ? 1u : 0u, imbalance};
  barrier.sum(sums);
  if (sums[0] > 0) collective_counts().exempt_all();
  if (sums[0] > 0 || sums[1] == 0) return;
  const auto counts = barrier.gather(collective_counts().all());
  const auto difference = difference_of(counts);
  if (difference && group.rank() == 0)
    abort_job(group.name_of(difference->rank) + " ended the program after " +
                  std::to_string(difference->count.number) + " collective calls on a communicator of " +
                  std::to_string(difference->count.ranks) + " ranks, " + group.name_of(difference->other) +
                  " after " + std::to_string(difference->its_count.number) +
                  ": every rank must make the same collective calls in the same order; the job is ended",
              exit_status(ErrorCode::job_fault));
  std::array<std::uint64_t, 1> none{};
  barrier.sum(none);
}

}  // namespace TESSERA_NAMESPACE::mpi::detail
