// SPDX-License-Identifier: Apache-2.0
#include "mpi/rank_group.hpp"

#include "base/hash.hpp"
#include "mpi/abort.hpp"
#include "mpi/check.hpp"
#include "mpi/finalize.hpp"
#include "mpi/fork.hpp"
#include "mpi/pause.hpp"
#include "mpi/request.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>

namespace tessera::inline TESSERA_ABI::mpi::detail {
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
  /// The `i`-th of the calling thread, or null.
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

/// Never destroyed: a communicator may outlive every other static object.
RankGroups& groups() {
  static auto* const all = new RankGroups;
  return *all;
}

/// Different for each group of a process, and with the rank of the world for each of the job.
std::uint64_t next_id() {
  static std::atomic<std::uint32_t> made = 0;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // An odd factor permutes the numbers, so that what descends from one is not near the next.
  return ((static_cast<std::uint64_t>(rank) << 32) + ++made) * 0x9e3779b97f4a7c15u;
}

/// How long a rank that has come to the end of the program waits before it tells the others: most come soon,
/// and then nobody need be told. Later for higher ranks, so that not all write at once.
std::chrono::milliseconds reticence_of(int rank, WayOut way) {
  return std::chrono::milliseconds(100) +
         std::min(rank, 1000) * std::chrono::milliseconds(way == WayOut::exception ? 1 : 10);
}

const char* words_of(WayOut way) {
  switch (way) {
    case WayOut::plain: return " has come to the end of the program";
    case WayOut::exception: return " left the program by an exception";
    case WayOut::finalize: return " has called MPI_Finalize";
  }
  return "";
}

/// `ranks` of MPI_COMM_WORLD as a number, their order included.
std::uint64_t hash_of(const std::vector<int>& ranks) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const int rank : ranks) hash = base::split_mix(hash ^ static_cast<std::uint64_t>(rank));
  return hash;
}

/// The ranks of `comm` as `in` counts them; MPI_UNDEFINED for one that is not there.
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
    if (!its.here.in_the_world) continue;
    const std::uint64_t hash =
        base::split_mix(base::split_mix(comm) ^ static_cast<std::uint64_t>(its.number));
    sum += its.here.rank == 0 ? hash * static_cast<std::uint64_t>(its.here.size - 1) : 0 - hash;
  }
  return sum;
}

std::vector<CollectiveCounts::Count> CollectiveCounts::all() const {
  std::vector<Count> all;
  for (const auto& [comm, its] : counts_) {
    if (its.here.in_the_world) all.push_back({comm, its.number, its.here.size});
  }
  std::ranges::sort(all, {}, &Count::comm);
  return all;
}

void CollectiveCounts::excuse() noexcept {
  for (auto& [comm, its] : counts_) its.here.in_the_world = false;
}

CollectiveCounts& collective_counts() {
  static auto* const counts = new CollectiveCounts;  // never destroyed, as above
  return *counts;
}

Place::Place(std::uint64_t of_comm, std::int64_t counted, std::string_view its_kind,
             std::string_view its_purpose)
    : comm(of_comm), number(counted) {
  set(kind, its_kind);
  set(purpose, its_purpose);
}

std::string Place::name() const {
  return purpose[0] != '\0' ? purpose.data() : kind.data();
}

std::string Place::full_name() const {
  return purpose[0] != '\0' ? std::string(purpose.data()) + " (" + kind.data() + ')' : kind.data();
}

RankGroup::RankGroup(MPI_Comm origin) {
  watch_for_forks();
  watch_finalize();
  make_channel(origin);
  exchange_names();
  groups().add(this);
}

void RankGroup::make_channel(MPI_Comm origin) {
  const std::vector<int> ranks = translated(origin, MPI_COMM_WORLD);
  in_the_world_ = std::ranges::find(ranks, MPI_UNDEFINED) == ranks.end();
  makings_id_ = hash_of(ranks);
  check(MPI_Comm_rank(origin, &rank_), "MPI_Comm_rank");
  hosts_.resize(ranks.size());
  making_ = ++collective_counts().of(makings_id_, {rank_, size(), in_the_world_});

  const ErrorsReturned returned(origin);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Comm_idup(origin, &channel_, &request), "MPI_Comm_idup");
  complete(request, origin);
  check(MPI_Comm_set_errhandler(channel_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

void RankGroup::exchange_names() {
  struct Card {
    std::uint64_t id = 0;
    std::array<char, MPI_MAX_PROCESSOR_NAME> host{};
  };
  Card mine{.id = next_id()};
  int length = 0;
  check(MPI_Get_processor_name(mine.host.data(), &length), "MPI_Get_processor_name");
  std::vector<Card> cards(hosts_.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(&mine, sizeof mine, MPI_BYTE, cards.data(), sizeof mine, MPI_BYTE, channel_, &request),
        "MPI_Iallgather");
  complete(request, channel_);
  std::ranges::transform(cards, hosts_.begin(), [](const Card& card) { return card.host.data(); });
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
  const UnderWay under_way;
  constexpr const char* kind = "a duplication";
  const Place here(makings_id_, making_, kind, "Communicator::duplicate_of");
  Pause pause;
  while (!is_complete(request, kind, size())) {
    if (pause.is_long()) {
      attend_all(here);
      // Of ranks that count otherwise nothing can be said.
      if (in_the_world_ && pause.waited() > tells_after) tell_the_departed(here, comm);
    }
    pause();
  }
}

RankGroup::~RankGroup() {
  if (is_forked_child()) return;  // what another thread was at when it forked is so for ever
  groups().remove(this);
  int finalized = 0;
  MPI_Finalized(&finalized);
  for (Sent& sent : under_way_) {
    int done = 0;
    if (finalized == 0) MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
    // One that its receiver never took stays in memory, where MPI may still read it.
    if (done == 0) (void)sent.letter.release();
  }
  if (finalized == 0 && channel_ != MPI_COMM_NULL && MPI_Comm_free(&channel_) != MPI_SUCCESS)
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

bool RankGroup::is_the_world() const {
  int world = 0;
  check(MPI_Comm_size(MPI_COMM_WORLD, &world), "MPI_Comm_size");
  return in_the_world_ && size() == world;
}

void RankGroup::send(int to, Subject subject, const std::shared_ptr<const Letter>& letter) {
  std::erase_if(under_way_, [](Sent& sent) {
    int done = 0;
    return MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
  });
  // Kept before it is sent: MPI reads it until it is through.
  under_way_.push_back({.letter = std::make_unique<const std::shared_ptr<const Letter>>(letter)});
  if (MPI_Isend(letter.get(), sizeof *letter, MPI_BYTE, to, static_cast<int>(subject), channel_,
                &under_way_.back().request) != MPI_SUCCESS)
    under_way_.pop_back();
}

RankGroup::Mail RankGroup::attend(const Place& here) {
  announce_departure();
  Mail mail;
  for (;;) {
    int waiting = 0;
    MPI_Status status{};
    if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, channel_, &waiting, &status) != MPI_SUCCESS || waiting == 0)
      return mail;
    Letter letter;
    if (MPI_Recv(&letter, sizeof letter, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, channel_,
                 MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return mail;
    switch (static_cast<Subject>(status.MPI_TAG)) {
      case Subject::question:
        send(status.MPI_SOURCE, Subject::reply, std::make_shared<Letter>(Letter{letter.call, here}));
        mail.askers.push_back(status.MPI_SOURCE);
        break;
      case Subject::reply: mail.replies.push_back({status.MPI_SOURCE, letter}); break;
      case Subject::departure: departed_.push_back(status.MPI_SOURCE); break;
      case Subject::waiting: judge(status.MPI_SOURCE, letter.place); break;
    }
  }
}

void RankGroup::attend_all(const Place& here, const RankGroup* but) {
  for (std::size_t i = 0; RankGroup* const group = groups().own(i); ++i) {
    if (group != but) (void)group->attend(here);
  }
}

void RankGroup::leave(WayOut way) {
  departure_ = {.way = way, .announced_at = Clock::now() + reticence_of(rank_, way), .announced = false};
}

void RankGroup::all_have_left() noexcept {
  departure_.reset();
  departed_.clear();
  told_ = 0;
}

void RankGroup::announce_departure() {
  if (!departure_ || departure_->announced || Clock::now() < departure_->announced_at) return;
  departure_->announced = true;
  const auto letter = std::make_shared<Letter>();
  for (int rank = 0; rank < size(); ++rank) {
    if (rank != rank_) send(rank, Subject::departure, letter);
  }
}

void RankGroup::tell_the_departed(const Place& here, MPI_Comm comm) {
  for (std::size_t i = 0; RankGroup* const group = groups().own(i); ++i) group->tell_departed(here, comm);
}

void RankGroup::tell_departed(const Place& here, MPI_Comm comm) {
  if (!told_at_.is(here)) {
    told_at_ = here;
    told_ = 0;
  }
  if (told_ >= departed_.size() || departure_) return;
  const std::vector<int> members = ranks_of(comm);
  const auto letter = std::make_shared<Letter>(Letter{0, here});
  for (; told_ < departed_.size(); ++told_) {
    if (std::ranges::find(members, departed_[told_]) != members.end())
      send(departed_[told_], Subject::waiting, letter);
  }
}

void RankGroup::judge(int rank, const Place& its) const {
  if (!departure_ || collective_counts().known_of(its.comm) >= its.number) return;
  abort_job(name_of(rank_) + words_of(departure_->way) + ", but " + name_of(rank) + " waits for it in " +
                its.full_name() + ": the job is ended",
            exit_status(ErrorCode::job_fault));
}

std::shared_ptr<RankGroup> make_rank_group(MPI_Comm origin) {
  auto group = std::make_shared<RankGroup>(origin);
  if (group->is_first()) keep_until_finalize(group);
  return group;
}

}  // namespace tessera::inline TESSERA_ABI::mpi::detail
