// SPDX-License-Identifier: Apache-2.0
#include <tessera/mpi/fail_together.hpp>

#include "mpi/communicator_access.hpp"
#include "mpi/exception_message.hpp"
#include "mpi/failure_watch.hpp"
#include "mpi/rank_group.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>

namespace TESSERA_NAMESPACE::mpi {
namespace {

constexpr std::int32_t no_failure = -1;

std::int32_t code_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return static_cast<std::int32_t>(error.code());
  } catch (...) {
    return static_cast<std::int32_t>(ErrorCode::job_fault);
  }
}

}  // namespace

namespace detail {

void FailureWatch::ask(int ranks_of_call) {
  if (is_asking_) return;
  if (has_failed_) throw OtherRankFailed();
  if (comm_.size() != ranks_of_call) return;
  has_failed_ = any(false);
  if (has_failed_) throw OtherRankFailed();
}

bool FailureWatch::any(bool here) {
  is_asking_ = true;  // stays true if the allreduce throws
  const bool failed = comm_.allreduce<std::int32_t>(here ? 1 : 0, Reduction::max) != 0;
  is_asking_ = false;
  return failed;
}

}  // namespace detail

void fail_together(const Communicator& comm, FunctionRef<void()> work) {
  detail::CommunicatorAccess::require_usable(comm);
  if (comm.size() == 1) return work();
  detail::RankGroup& group = detail::CommunicatorAccess::group_of(comm);
  if (group.failures != nullptr) return work();
  const Purpose purpose(comm, "the vote on failures");
  const Communicator votes = comm.duplicate();
  detail::FailureWatch watch(votes);
  std::exception_ptr thrown;
  group.failures = &watch;
  try {
    work();
  } catch (...) {
    thrown = std::current_exception();
  }
  group.failures = nullptr;
  // If `has_failed()`, this rank has voted in `FailureWatch::ask` during `work`, and must not vote again.
  if (!watch.has_failed() && !watch.any(thrown != nullptr)) return;
  const bool failed = thrown != nullptr && !watch.has_failed();
  const std::vector<std::int32_t> codes = votes.allgather(failed ? code_of(thrown) : no_failure);
  const auto first = std::ranges::find_if(codes, [](std::int32_t code) { return code != no_failure; });
  const std::string text = votes.broadcast_text(
      failed ? detail::CommunicatorAccess::name_of_rank(comm) + " failed: " + reason_of(thrown)
             : std::string(),
      static_cast<int>(first - codes.begin()));
  if (std::ranges::find(codes, no_failure) == codes.end()) std::rethrow_exception(thrown);
  throw Error(static_cast<ErrorCode>(*first), text);
}

}  // namespace TESSERA_NAMESPACE::mpi
