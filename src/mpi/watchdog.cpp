// SPDX-License-Identifier: Apache-2.0
#include "mpi/watchdog.hpp"

#include "mpi/abort.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>

#include <algorithm>

namespace TESSERA_NAMESPACE::mpi::detail {
namespace {

/// Maximum number of ranks in a message.
constexpr std::size_t named_at_most = 16;

/// The names of the first ranks, and the number of further ones.
template <class NameOf>
std::string listed(const std::vector<int>& ranks, NameOf&& name_of) {
  std::string names;
  for (std::size_t i = 0; i < std::min(ranks.size(), named_at_most); ++i)
    names += (i > 0 ? ", " : "") + name_of(ranks[i]);
  if (ranks.size() > named_at_most)
    names += " and " + std::to_string(ranks.size() - named_at_most) + " more ranks";
  return names;
}

}  // namespace

Watchdog::Watchdog(RankGroup& group, MPI_Comm comm, const CollectiveCall& here,
                   const WatchdogTimeouts& timeouts, Clock::time_point start)
    : group_(group),
      comm_(comm),
      here_(std::make_shared<Message>(Message{0, here})),
      timeouts_(timeouts),
      has_noticed_(timeouts.notice.count() == 0),
      start_(start),
      deadline_(deadline_from(start)) {}

std::chrono::milliseconds Watchdog::timeout() const noexcept {
  return has_noticed_ ? timeouts_.timeout : timeouts_.notice;
}

Watchdog::Clock::time_point Watchdog::deadline_from(Clock::time_point start) const {
  return start + timeout() + stagger_of(group_.rank());
}

void Watchdog::restart(Clock::time_point start) {
  asked_.reset();
  deadline_ = deadline_from(start);
}

void Watchdog::step() {
  const auto now = Clock::now();
  const RankGroup::Received received = group_.handle_messages(here_->call);
  RankGroup::handle_all_messages(here_->call, &group_);
  for (const int rank : received.inquirers) yield_to(rank, now);
  if (now - start_ > notify_after) RankGroup::notify_departed(here_->call, comm_);
  if (asked_) {
    for (const auto& [from, message] : received.replies) {
      if (message.inquiry == here_->inquiry) where_[static_cast<std::size_t>(from)] = message.call;
    }
    evaluate(now);
  } else if (timeout().count() > 0 && now >= deadline_) {
    inquire(now);
  }
}

void Watchdog::yield_to(int rank, Clock::time_point now) {
  if (asked_ && rank > group_.rank()) return;
  // Within two grace periods `rank` ends the job or receives a reply from a rank that computes.
  const auto after_it = now + 3 * grace;
  if (has_noticed_) {
    asked_.reset();
    deadline_ = std::max(deadline_, after_it);
  } else {
    has_noticed_ = true;  // the asking rank prints the notice
    restart(now);
  }
}

void Watchdog::inquire(Clock::time_point now) {
  asked_ = now;
  members_ = group_.ranks_of(comm_);
  std::erase(members_, group_.rank());
  where_.assign(static_cast<std::size_t>(group_.size()), std::nullopt);
  here_ = std::make_shared<Message>(Message{group_.next_inquiry(), here_->call});
  for (const int rank : members_) group_.send(rank, MessageKind::inquiry, here_);
}

void Watchdog::evaluate(Clock::time_point now) {
  if (now - *asked_ < grace) return;
  const auto call_of = [&](int rank) -> const std::optional<CollectiveCall>& {
    return where_[static_cast<std::size_t>(rank)];
  };
  const CollectiveCall& here = here_->call;
  const auto members_where = [&](auto&& predicate) {
    std::vector<int> ranks;
    std::ranges::copy_if(members_, std::back_inserter(ranks), predicate);
    return ranks;
  };

  const auto missing = members_where([&](int rank) { return !call_of(rank); });
  if (!missing.empty()) {
    const std::string names = listed(missing, [&](int rank) { return group_.name_of(rank); });
    if (has_noticed_)
      end(names + " did not come to " + here.name() + " within " + seconds(timeouts_.timeout) + ": ");
    say(group_.name_of(group_.rank()) + " waits at " + here.name() + " without a message from " + names +
        " for " + seconds(timeouts_.notice) + ": the job is ended if no message comes within another " +
        seconds(timeouts_.timeout) +
        "; if the silent ranks are computing, call Communicator::alive on these ranks, or "
        "Session::set_timeout");
    has_noticed_ = true;
    restart(now);
    return;
  }

  if (timeouts_.only_silence ||
      std::ranges::any_of(members_, [&](int rank) { return call_of(rank)->is_computing(); })) {
    restart(now);
    return;
  }

  // Distinguishes calls of the same name by number or communicator.
  const auto told_apart = [&](const CollectiveCall& call) {
    if (call.full_name() != here.full_name()) return call.full_name();
    return call.full_name() + (call.comm == here.comm
                                   ? ", call " + std::to_string(call.number) + " of the communicator"
                                   : " of another communicator");
  };
  const auto elsewhere = members_where([&](int rank) { return !call_of(rank)->is(here); });
  if (!elsewhere.empty())
    end(listed(elsewhere,
               [&](int rank) { return group_.name_of(rank) + " is in " + told_apart(*call_of(rank)); }) +
        ", but " + group_.name_of(group_.rank()) + " has waited " + seconds(timeouts_.timeout) + " for " +
        here.full_name() + ": every rank must make the same collective calls in the same order; ");

  // All ranks are in this call, so it completes soon unless MPI has lost a message.
  if (now - *asked_ > 2 * grace)
    end("every rank came to " + here.name() +
        ", but the call does not complete: check the network and the MPI library; ");
}

void Watchdog::end(const std::string& what_is_wrong) const {
  abort_job(what_is_wrong + "the job is ended", exit_status(ErrorCode::job_fault));
}

}  // namespace TESSERA_NAMESPACE::mpi::detail
