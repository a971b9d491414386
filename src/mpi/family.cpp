// SPDX-License-Identifier: Apache-2.0
#include "mpi/family.hpp"

#include "mpi/check.hpp"
#include "mpi/fork.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <numeric>

namespace tessera::mpi::detail {
namespace {

template <std::size_t Size>
void set(std::array<char, Size>& text, std::string_view value) {
  std::copy_n(value.begin(), std::min(value.size(), Size - 1), text.begin());
}

/// The families of all threads of this process.
class Families {
 public:
  void add(Family* family) {
    const std::lock_guard lock(mutex_);
    all_.push_back(family);
  }
  void remove(Family* family) {
    const std::lock_guard lock(mutex_);
    std::erase(all_, family);
  }
  /// The `i`-th of the calling thread, or null.
  [[nodiscard]] Family* own(std::size_t i) {
    const std::lock_guard lock(mutex_);
    for (Family* family : all_) {
      if (family->thread() == std::this_thread::get_id() && i-- == 0) return family;
    }
    return nullptr;
  }

 private:
  std::mutex mutex_;
  std::vector<Family*> all_;
};

/// Never destroyed: a communicator may outlive every other static object.
Families& families() {
  static auto* const all = new Families;
  return *all;
}

/// Different for each family of a process, and with the rank of the world for each of the job.
std::uint64_t next_id() {
  static std::atomic<std::uint32_t> made = 0;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // An odd factor permutes the numbers, so that what descends from one is not near the next.
  return ((static_cast<std::uint64_t>(rank) << 32) + ++made) * 0x9e3779b97f4a7c15u;
}

/// How long a rank that has come to the end of the program waits before it tells the others: most come soon,
/// and then nobody need be told. Later for higher ranks, so that not all write at once.
std::chrono::milliseconds reticence_of(int rank, bool by_exception) {
  return std::chrono::milliseconds(100) +
         std::min(rank, 1000) * std::chrono::milliseconds(by_exception ? 1 : 10);
}

}  // namespace

std::int64_t& CollectiveCounts::of(std::uint64_t comm) {
  const std::lock_guard lock(mutex_);
  return counts_[comm];
}

std::optional<std::int64_t> CollectiveCounts::known_of(std::uint64_t comm) {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(comm);
  return found == counts_.end() ? std::nullopt : std::optional(found->second);
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

Family::Family(MPI_Comm origin) {
  watch_for_forks();
  check(MPI_Comm_dup(origin, &channel_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(channel_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(channel_, &rank_), "MPI_Comm_rank");
  int size = 0;
  check(MPI_Comm_size(channel_, &size), "MPI_Comm_size");
  using Name = std::array<char, MPI_MAX_PROCESSOR_NAME>;
  Name mine{};
  int length = 0;
  check(MPI_Get_processor_name(mine.data(), &length), "MPI_Get_processor_name");
  std::vector<Name> names(static_cast<std::size_t>(size));
  check(MPI_Allgather(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, names.data(),
                      static_cast<int>(mine.size()), MPI_CHAR, channel_),
        "MPI_Allgather");
  hosts_.reserve(names.size());
  for (const Name& name : names) hosts_.emplace_back(name.data());
  id_ = next_id();
  check(MPI_Bcast(&id_, 1, MPI_UINT64_T, 0, channel_), "MPI_Bcast");
  families().add(this);
}

Family::~Family() {
  if (is_forked_child()) return;  // what another thread was at when it forked is so for ever
  families().remove(this);
  int finalized = 0;
  MPI_Finalized(&finalized);
  for (Sent& sent : under_way_) {
    int done = 0;
    if (finalized == 0) MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
    // One that its receiver never took stays in memory, where MPI may still read it.
    if (done == 0) new std::shared_ptr<const Letter>(std::move(sent.letter));
  }
  if (finalized == 0 && MPI_Comm_free(&channel_) != MPI_SUCCESS)
    std::fputs("tessera: MPI_Comm_free failed\n", stderr);
}

std::string Family::name_of(int rank) const {
  return "rank " + std::to_string(rank) + " (" + hosts_[static_cast<std::size_t>(rank)] + ")";
}

std::string Family::purpose() const {
  std::string all;
  for (auto what = purposes.rbegin(); what != purposes.rend(); ++what)
    all += (all.empty() ? "" : " in ") + *what;
  return all;
}

std::vector<int> Family::ranks_of(MPI_Comm comm) const {
  MPI_Group theirs = MPI_GROUP_NULL;
  MPI_Group ours = MPI_GROUP_NULL;
  check(MPI_Comm_group(comm, &theirs), "MPI_Comm_group");
  check(MPI_Comm_group(channel_, &ours), "MPI_Comm_group");
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

void Family::send(int to, Subject subject, const std::shared_ptr<const Letter>& letter) {
  std::erase_if(under_way_, [](Sent& sent) {
    int done = 0;
    return MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
  });
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Isend(letter.get(), sizeof *letter, MPI_BYTE, to, static_cast<int>(subject), channel_, &request) ==
      MPI_SUCCESS)
    under_way_.push_back({request, letter});
}

Family::Mail Family::attend(const Place& here) {
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

void Family::attend_all(const Place& here, const Family* but) {
  for (std::size_t i = 0; Family* const family = families().own(i); ++i) {
    if (family != but) (void)family->attend(here);
  }
}

void Family::leave(bool by_exception) {
  departure_ = {.by_exception = by_exception,
                .announced_at = Clock::now() + reticence_of(rank_, by_exception),
                .announced = false};
}

void Family::all_have_left() noexcept {
  departure_.reset();
  departed_.clear();
}

void Family::announce_departure() {
  if (!departure_ || departure_->announced || Clock::now() < departure_->announced_at) return;
  departure_->announced = true;
  const auto letter = std::make_shared<Letter>();
  for (int rank = 0; rank < size(); ++rank) {
    if (rank != rank_) send(rank, Subject::departure, letter);
  }
}

std::size_t Family::tell_the_departed(const Place& here, std::size_t told) {
  for (std::size_t i = 0; Family* const family = families().own(i); ++i) {
    const std::vector<int>& departed = family->departed_;
    if (departed.size() <= told || family->departure_) continue;
    const auto letter = std::make_shared<Letter>(Letter{0, here});
    for (; told < departed.size(); ++told) family->send(departed[told], Subject::waiting, letter);
  }
  return told;
}

void Family::judge(int rank, const Place& its) const {
  // A rank that is no member of the communicator has come to none of its collectives, and is not waited for.
  const auto came_to = collective_counts().known_of(its.comm);
  if (!departure_ || !came_to || *came_to >= its.number) return;
  abort_job(name_of(rank_) +
                (departure_->by_exception ? " left the program by an exception"
                                          : " has come to the end of the program") +
                ", but " + name_of(rank) + " waits for it in " + its.full_name() + ": the job is ended",
            exit_status(ErrorCode::job_fault));
}

}  // namespace tessera::mpi::detail
