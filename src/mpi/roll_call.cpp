// SPDX-License-Identifier: Apache-2.0
#include "mpi/roll_call.hpp"

#include "mpi/abort.hpp"
#include "mpi/time_limit.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>

#include <algorithm>

namespace tessera::inline TESSERA_ABI::mpi::detail {
namespace {

/// At most so many ranks are named.
constexpr std::size_t named_at_most = 16;

/// `name_of(rank)` for each of the first ranks, and how many more there are.
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

RollCall::RollCall(RankGroup& group, MPI_Comm comm, const Place& here, const Patience& patience,
                   Clock::time_point start)
    : group_(group),
      comm_(comm),
      here_(std::make_shared<Letter>(Letter{0, here})),
      patience_(patience),
      has_noticed_(patience.notice.count() == 0),
      start_(start),
      deadline_(time_is_up(start)) {}

std::chrono::milliseconds RollCall::span() const noexcept {
  return has_noticed_ ? patience_.timeout : patience_.notice;
}

RollCall::Clock::time_point RollCall::time_is_up(Clock::time_point start) const {
  return start + span() + lateness_of(group_.rank());
}

void RollCall::wait_on(Clock::time_point start) {
  began_.reset();
  deadline_ = time_is_up(start);
}

void RollCall::step() {
  const auto now = Clock::now();
  const RankGroup::Mail mail = group_.attend(here_->place);
  RankGroup::attend_all(here_->place, &group_);
  for (const int rank : mail.askers) asked_by(rank, now);
  if (now - start_ > tells_after) RankGroup::tell_the_departed(here_->place, comm_);
  if (began_) {
    for (const auto& [from, letter] : mail.replies) {
      if (letter.call == here_->call) where_[static_cast<std::size_t>(from)] = letter.place;
    }
    judge(now);
  } else if (span().count() > 0 && now >= deadline_) {
    begin(now);
  }
}

void RollCall::asked_by(int rank, Clock::time_point now) {
  if (began_ && rank > group_.rank()) return;
  // That rank ends the job at most two graces after it asked, or has heard that another works.
  const auto after_it = now + 3 * grace;
  if (has_noticed_) {
    began_.reset();
    deadline_ = std::max(deadline_, after_it);
  } else {
    has_noticed_ = true;  // it says who is missing
    wait_on(now);
  }
}

void RollCall::begin(Clock::time_point now) {
  began_ = now;
  members_ = group_.ranks_of(comm_);
  std::erase(members_, group_.rank());
  where_.assign(static_cast<std::size_t>(group_.size()), std::nullopt);
  here_ = std::make_shared<Letter>(Letter{group_.next_call(), here_->place});
  for (const int rank : members_) group_.send(rank, Subject::question, here_);
}

void RollCall::judge(Clock::time_point now) {
  if (now - *began_ < grace) return;
  const auto place_of = [&](int rank) -> const std::optional<Place>& {
    return where_[static_cast<std::size_t>(rank)];
  };
  const Place& here = here_->place;
  const auto not_there = [&](auto&& is_not) {
    std::vector<int> ranks;
    std::ranges::copy_if(members_, std::back_inserter(ranks), is_not);
    return ranks;
  };

  const auto missing = not_there([&](int rank) { return !place_of(rank); });
  if (!missing.empty()) {
    const std::string names = listed(missing, [&](int rank) { return group_.name_of(rank); });
    if (has_noticed_)
      end(names + " did not come to " + here.name() + " within " + seconds(patience_.timeout) + ": ");
    say(group_.name_of(group_.rank()) + " waits at " + here.name() + ", and has heard nothing of " + names +
        " for " + seconds(patience_.notice) + ": the job is ended if that lasts for another " +
        seconds(patience_.timeout) +
        "; if it is at work, it can call Communicator::alive, or the program Session::set_timeout");
    has_noticed_ = true;
    wait_on(now);
    return;
  }

  if (patience_.only_silence ||
      std::ranges::any_of(members_, [&](int rank) { return place_of(rank)->works(); })) {
    wait_on(now);
    return;
  }

  // Two calls of one name are told apart by where they are made.
  const auto told_apart = [&](const Place& place) {
    if (place.full_name() != here.full_name()) return place.full_name();
    return place.full_name() + (place.comm == here.comm
                                    ? ", call " + std::to_string(place.number) + " of the communicator"
                                    : " of another communicator");
  };
  const auto elsewhere = not_there([&](int rank) { return !place_of(rank)->is(here); });
  if (!elsewhere.empty())
    end(listed(elsewhere,
               [&](int rank) { return group_.name_of(rank) + " is in " + told_apart(*place_of(rank)); }) +
        ", but " + group_.name_of(group_.rank()) + " has waited " + seconds(patience_.timeout) + " for " +
        here.full_name() + ": every rank must make the same collective calls in the same order; ");

  // Everybody is here, so the collective is about to complete, unless MPI has lost a message of it.
  if (now - *began_ > 2 * grace)
    end("every rank came to " + here.name() +
        ", but it does not complete: check the network and the MPI library; ");
}

void RollCall::end(const std::string& what_is_wrong) const {
  abort_job(what_is_wrong + "the job is ended", exit_status(ErrorCode::job_fault));
}

}  // namespace tessera::inline TESSERA_ABI::mpi::detail
