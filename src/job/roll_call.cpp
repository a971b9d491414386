// SPDX-License-Identifier: Apache-2.0
#include "job/roll_call.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

/// Messages of earlier votes that nobody took must not be taken for this one's; MPI promises tags up to
/// 32767.
int tag_of(std::int64_t vote, int kind) {
  return static_cast<int>(vote % 8192) * 3 + kind;
}

/// At most so many ranks are named.
constexpr std::size_t named_at_most = 16;

std::string seconds(std::chrono::milliseconds time) {
  const auto ms = time.count();
  if (ms % 1000 == 0) return std::to_string(ms / 1000) + " s";
  return std::to_string(ms) + " ms";
}

}  // namespace

RollCall::RollCall(const mpi::Communicator& comm, std::span<const InventoryRank> ranks, std::int64_t number,
                   std::chrono::milliseconds timeout, std::string what)
    : comm_(&comm),
      ranks_(ranks),
      timeout_(timeout),
      what_(std::move(what)),
      late_tag_(tag_of(number, 0)),
      asked_tag_(tag_of(number, 1)),
      answer_tag_(tag_of(number, 2)) {}

void RollCall::step() {
  if (comm_->rank() == 0)
    step_of_root(Clock::now());
  else
    step_of_others(Clock::now());
}

void RollCall::step_of_root(Clock::time_point now) {
  if (!asked_ && (time_is_up(now) || receive(MPI_ANY_SOURCE, late_tag_))) ask_everyone(now);
  if (!asked_) return;
  while (const auto rank = receive(MPI_ANY_SOURCE, answer_tag_))
    present_[static_cast<std::size_t>(*rank)] = 1;
  if (now - *asked_ < grace) return;

  std::vector<int> missing;
  for (int rank = 1; rank < comm_->size(); ++rank) {
    if (present_[static_cast<std::size_t>(rank)] == 0) missing.push_back(rank);
  }
  if (!missing.empty()) end_naming(missing);
  // Everybody is here, so the vote is about to complete, unless MPI has lost a message of it.
  if (now - *asked_ > 2 * grace)
    mpi::abort_job("every rank came to " + what_ +
                       ", but the vote does not complete: check the network "
                       "and the MPI library; the job is ended",
                   exit_status(ErrorCode::job_fault));
}

void RollCall::step_of_others(Clock::time_point now) {
  if (!told_ && time_is_up(now)) {
    send(0, late_tag_);
    told_ = now;
  }
  if (receive(0, asked_tag_)) {
    send(0, answer_tag_);
    asked_ = now;
  }
  // Rank 0 ends the job at most two graces after it asked. Ranks wait for that a little longer the higher
  // they are, so that one of them speaks for all.
  const auto patience = 3 * grace + std::min(comm_->rank(), 10) * std::chrono::milliseconds(200);
  const auto since = asked_ ? asked_ : told_;
  if (since && now - *since > patience) end_naming(std::vector<int>{0});
}

void RollCall::ask_everyone(Clock::time_point now) {
  asked_ = now;
  present_.assign(static_cast<std::size_t>(comm_->size()), 0);
  for (int rank = 1; rank < comm_->size(); ++rank) send(rank, asked_tag_);
}

void RollCall::send(int rank, int tag) const {
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Isend(nullptr, 0, MPI_BYTE, rank, tag, comm_->native(), &request) == MPI_SUCCESS)
    MPI_Request_free(&request);
}

std::optional<int> RollCall::receive(int from, int tag) const {
  int waiting = 0;
  MPI_Status status{};
  MPI_Iprobe(from, tag, comm_->native(), &waiting, &status);
  if (waiting == 0) return std::nullopt;
  MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, tag, comm_->native(), MPI_STATUS_IGNORE);
  return status.MPI_SOURCE;
}

bool RollCall::time_is_up(Clock::time_point now) const {
  return timeout_ > std::chrono::milliseconds::zero() && now - start_ >= timeout_;
}

void RollCall::end_naming(std::span<const int> missing) const {
  std::string names;
  for (std::size_t i = 0; i < std::min(missing.size(), named_at_most); ++i) {
    if (i > 0) names += ", ";
    const auto rank = static_cast<std::size_t>(missing[i]);
    names += "rank " + std::to_string(missing[i]) + " (" + ranks_[rank].hostname + ")";
  }
  if (missing.size() > named_at_most)
    names += " and " + std::to_string(missing.size() - named_at_most) + " more ranks";
  mpi::abort_job(names + " did not come to " + what_ + " within " + seconds(timeout_) + ": the job is ended",
                 exit_status(ErrorCode::job_fault));
}

}  // namespace tessera
