// SPDX-License-Identifier: Apache-2.0
#include "mpi/rank_group.hpp"

#include "base/hash.hpp"
#include "mpi/abort.hpp"
#include "mpi/backoff.hpp"
#include "mpi/check.hpp"
#include "mpi/exit_guard.hpp"
#include "mpi/finalize.hpp"
#include "mpi/fork.hpp"
#include "mpi/lifetime.hpp"
#include "mpi/process_owner.hpp"
#include "mpi/request.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>

namespace TESSERA_NAMESPACE::mpi::detail {
namespace {

template <std::size_t Size>
void set(std::array<char, Size>& text, std::string_view value) {
  std::copy_n(value.begin(), std::min(value.size(), Size - 1), text.begin());
}

/// The groups of all threads of this process.
class RankGroups {
 public:
  void add(RankGroup* group) {
    const std::lock_guard lock(mutex_);
    all_.push_back(group);
  }
  void remove(RankGroup* group) {
    const std::lock_guard lock(mutex_);
    std::erase(all_, group);
  }
  /// The i-th group of the calling thread; null beyond the last.
  [[nodiscard]] RankGroup* own(std::size_t i) {
    const std::lock_guard lock(mutex_);
    for (RankGroup* group : all_) {
      if (group->thread() == std::this_thread::get_id() && i-- == 0) return group;
    }
    return nullptr;
  }

 private:
  std::mutex mutex_;
  std::vector<RankGroup*> all_;
};

/// Never destroyed, because a communicator may outlive all static objects.
RankGroups& groups() {
  static auto* const all = new RankGroups;
  return *all;
}

/// An id that is unique in the job: made of the rank in MPI_COMM_WORLD and the count of groups in the
/// process.
std::uint64_t next_id() {
  static std::atomic<std::uint32_t> made = 0;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // Multiplication by an odd number is a bijection that spreads the ids.
  return ((static_cast<std::uint64_t>(rank) << 32) + ++made) * 0x9e3779b97f4a7c15u;
}

/// Delay before a rank announces its departure, which is unnecessary if all ranks depart sooner, as usual.
/// Staggered by rank, so that not all ranks send at the same time.
std::chrono::milliseconds announcement_delay(int rank, ExitPath path) {
  return std::chrono::milliseconds(100) +
         std::min(rank, 1000) * std::chrono::milliseconds(path == ExitPath::exception ? 1 : 10);
}

const char* description_of(ExitPath path) {
  switch (path) {
    case ExitPath::normal: return " has come to the end of the program";
    case ExitPath::failure: return " has come to the end of the program with an error status";
    case ExitPath::exception: return " left the program by an exception";
    case ExitPath::finalize: return " has called MPI_Finalize";
  }
  return "";
}

std::uint64_t hash_of(const std::vector<int>& ranks) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const int rank : ranks) hash = base::split_mix(hash ^ static_cast<std::uint64_t>(rank));
  return hash;
}

/// The ranks of `comm`, numbered as in `in`; MPI_UNDEFINED for a rank outside `in`.
std::vector<int> translated(MPI_Comm comm, MPI_Comm in) {
  MPI_Group theirs = MPI_GROUP_NULL;
  MPI_Group ours = MPI_GROUP_NULL;
  check(MPI_Comm_group(comm, &theirs), "MPI_Comm_group");
  check(MPI_Comm_group(in, &ours), "MPI_Comm_group");
  int size = 0;
  check(MPI_Group_size(theirs, &size), "MPI_Group_size");
  std::vector<int> there(static_cast<std::size_t>(size));
  std::iota(there.begin(), there.end(), 0);
  std::vector<int> here(there.size());
  check(MPI_Group_translate_ranks(theirs, size, there.data(), ours, here.data()),
        "MPI_Group_translate_ranks");
  MPI_Group_free(&theirs);
  MPI_Group_free(&ours);
  return here;
}

}  // namespace

std::int64_t& CollectiveCounts::of(std::uint64_t comm, const Membership& here) {
  Counted& its = counts_[comm];
  its.here = here;
  return its.number;
}

std::int64_t CollectiveCounts::known_of(std::uint64_t comm) const {
  const auto found = counts_.find(comm);
  return found == counts_.end() ? 0 : found->second.number;
}

std::uint64_t CollectiveCounts::imbalance() const {
  std::uint64_t sum = 0;
  for (const auto& [comm, its] : counts_) {
    if (!its.here.in_world) continue;
    const std::uint64_t hash =
        base::split_mix(base::split_mix(comm) ^ static_cast<std::uint64_t>(its.number));
    sum += its.here.rank == 0 ? hash * static_cast<std::uint64_t>(its.here.size - 1) : 0 - hash;
  }
  return sum;
}

std::vector<CollectiveCounts::Count> CollectiveCounts::all() const {
  std::vector<Count> all;
  for (const auto& [comm, its] : counts_) {
    if (its.here.in_world) all.push_back({comm, its.number, its.here.size});
  }
  std::ranges::sort(all, {}, &Count::comm);
  return all;
}

void CollectiveCounts::exempt_all() noexcept {
  for (auto& [comm, its] : counts_) its.here.in_world = false;
}

CollectiveCounts& collective_counts() {
  static auto* const counts = new CollectiveCounts;  // never destroyed, like the groups
  return *counts;
}

CollectiveCall::CollectiveCall(std::uint64_t of_comm, std::int64_t counted, std::string_view its_kind,
                               std::string_view its_purpose)
    : comm(of_comm), number(counted) {
  set(kind, its_kind);
  set(purpose, its_purpose);
}

std::string CollectiveCall::name() const {
  return purpose[0] != '\0' ? purpose.data() : kind.data();
}

std::string CollectiveCall::full_name() const {
  return purpose[0] != '\0' ? std::string(purpose.data()) + " (" + kind.data() + ')' : kind.data();
}

RankGroup::RankGroup(MPI_Comm origin) {
  has_ranks_or_session = true;
  watch_for_forks();
  watch_finalize();
  make_channel(origin);
  if (size() > 1) arm_exit_guard(MpiOwner::program);
  exchange_names();
  groups().add(this);
}

void RankGroup::make_channel(MPI_Comm origin) {
  const std::vector<int> ranks = translated(origin, MPI_COMM_WORLD);
  in_world_ = std::ranges::find(ranks, MPI_UNDEFINED) == ranks.end();
  creations_id_ = hash_of(ranks);
  check(MPI_Comm_rank(origin, &rank_), "MPI_Comm_rank");
  hosts_.resize(ranks.size());
  creation_ = ++collective_counts().of(creations_id_, {rank_, size(), in_world_});

  const ErrorsReturned returned(origin);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Comm_idup(origin, &channel_, &request), "MPI_Comm_idup");
  complete(request, origin);
  check(MPI_Comm_set_errhandler(channel_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

void RankGroup::exchange_names() {
  struct Identity {
    std::uint64_t id = 0;
    std::array<char, MPI_MAX_PROCESSOR_NAME> host{};
  };
  Identity mine{.id = next_id()};
  int length = 0;
  check(MPI_Get_processor_name(mine.host.data(), &length), "MPI_Get_processor_name");
  std::vector<Identity> cards(hosts_.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(&mine, sizeof mine, MPI_BYTE, cards.data(), sizeof mine, MPI_BYTE, channel_, &request),
        "MPI_Iallgather");
  complete(request, channel_);
  std::ranges::transform(cards, hosts_.begin(), [](const Identity& card) { return card.host.data(); });
  id_ = cards.front().id;
}

MPI_Comm RankGroup::duplicate_for_collectives() {
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Comm_idup(channel_, &duplicate, &request), "MPI_Comm_idup");
  complete(request, channel_);
  return duplicate;
}

void RankGroup::complete(MPI_Request& request, MPI_Comm comm) const {
  const CollectiveScope scope;
  constexpr const char* kind = "a duplication";
  const CollectiveCall here(creations_id_, creation_, kind, "Communicator::duplicate_of");
  Backoff backoff;
  while (!is_complete(request, kind, size())) {
    if (backoff.is_long()) {
      handle_all_messages(here);
      // Only within MPI_COMM_WORLD: ranks outside it count the creations under other ids.
      if (in_world_ && backoff.waited() > notify_after) notify_departed(here, comm);
    }
    backoff();
  }
}

RankGroup::~RankGroup() {
  if (is_forked_child()) return;  // a mutex that another thread held at the fork stays locked
  groups().remove(this);
  const bool finalised = is_finalised();
  for (Sent& sent : sent_) {
    int done = 0;
    if (!finalised) MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
    // Leaks a message that was not received, because MPI may still read it.
    if (done == 0) (void)sent.message.release();
  }
  if (!finalised && channel_ != MPI_COMM_NULL && MPI_Comm_free(&channel_) != MPI_SUCCESS)
    say("MPI_Comm_free failed");
}

std::string RankGroup::name_of(int rank) const {
  return "rank " + std::to_string(rank) + " (" + hosts_[static_cast<std::size_t>(rank)] + ")";
}

std::string RankGroup::purpose() const {
  std::string all;
  for (auto what = purposes.rbegin(); what != purposes.rend(); ++what)
    all += (all.empty() ? "" : " in ") + *what;
  return all;
}

std::vector<int> RankGroup::ranks_of(MPI_Comm comm) const {
  return translated(comm, channel_);
}

bool RankGroup::is_world() const {
  int world = 0;
  check(MPI_Comm_size(MPI_COMM_WORLD, &world), "MPI_Comm_size");
  return in_world_ && size() == world;
}

void RankGroup::send(int to, MessageKind kind, const std::shared_ptr<const Message>& message) {
  std::erase_if(sent_, [](Sent& sent) {
    int done = 0;
    return MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
  });
  // Stores the message first, because MPI reads it until the send completes.
  sent_.push_back({.message = std::make_unique<const std::shared_ptr<const Message>>(message)});
  if (MPI_Isend(message.get(), sizeof *message, MPI_BYTE, to, static_cast<int>(kind), channel_,
                &sent_.back().request) != MPI_SUCCESS)
    sent_.pop_back();
}

RankGroup::Received RankGroup::handle_messages(const CollectiveCall& here) {
  announce_departure();
  Received received;
  for (;;) {
    int waiting = 0;
    MPI_Status status{};
    if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, channel_, &waiting, &status) != MPI_SUCCESS || waiting == 0)
      return received;
    Message message;
    if (MPI_Recv(&message, sizeof message, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, channel_,
                 MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return received;
    switch (static_cast<MessageKind>(status.MPI_TAG)) {
      case MessageKind::inquiry:
        send(status.MPI_SOURCE, MessageKind::reply,
             std::make_shared<Message>(Message{message.inquiry, here}));
        received.inquirers.push_back(status.MPI_SOURCE);
        break;
      case MessageKind::reply: received.replies.push_back({status.MPI_SOURCE, message}); break;
      case MessageKind::departure: departed_.push_back(status.MPI_SOURCE); break;
      case MessageKind::waiting: abort_if_missed(status.MPI_SOURCE, message.call); break;
    }
  }
}

void RankGroup::handle_all_messages(const CollectiveCall& here, const RankGroup* but) {
  for (std::size_t i = 0; RankGroup* const group = groups().own(i); ++i) {
    if (group != but) (void)group->handle_messages(here);
  }
}

void RankGroup::depart(ExitPath path) {
  departure_ = {
      .path = path, .announce_at = Clock::now() + announcement_delay(rank_, path), .announced = false};
}

void RankGroup::all_departed() noexcept {
  departure_.reset();
  departed_.clear();
  notified_ = 0;
}

void RankGroup::announce_departure() {
  if (!departure_ || departure_->announced || Clock::now() < departure_->announce_at) return;
  departure_->announced = true;
  const auto message = std::make_shared<Message>();
  for (int rank = 0; rank < size(); ++rank) {
    if (rank != rank_) send(rank, MessageKind::departure, message);
  }
}

void RankGroup::notify_departed(const CollectiveCall& here, MPI_Comm comm) {
  for (std::size_t i = 0; RankGroup* const group = groups().own(i); ++i)
    group->notify_own_departed(here, comm);
}

void RankGroup::notify_own_departed(const CollectiveCall& here, MPI_Comm comm) {
  if (!notified_of_.is(here)) {
    notified_of_ = here;
    notified_ = 0;
  }
  if (notified_ >= departed_.size() || departure_) return;
  const std::vector<int> members = ranks_of(comm);
  const auto message = std::make_shared<Message>(Message{0, here});
  for (; notified_ < departed_.size(); ++notified_) {
    if (std::ranges::find(members, departed_[notified_]) != members.end())
      send(departed_[notified_], MessageKind::waiting, message);
  }
}

void RankGroup::abort_if_missed(int rank, const CollectiveCall& its) const {
  if (!departure_ || collective_counts().known_of(its.comm) >= its.number) return;
  abort_job(name_of(rank_) + description_of(departure_->path) + ", but " + name_of(rank) +
                " waits for it in " + its.full_name() +
                ": every rank must make the same collective calls in the same order; the job is ended",
            exit_status(ErrorCode::job_fault));
}

std::shared_ptr<RankGroup> make_rank_group(MPI_Comm origin) {
  auto group = std::make_shared<RankGroup>(origin);
  if (group->is_first()) keep_until_finalize(group);
  return group;
}

}  // namespace TESSERA_NAMESPACE::mpi::detail
