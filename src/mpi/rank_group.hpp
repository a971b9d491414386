// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace tessera::inline TESSERA_ABI::mpi::detail {

/// Where a rank is, as it travels: in a collective of one communicator, counted there, or at work in a pass.
struct Place {
  std::uint64_t comm = 0;  ///< 0: in no collective
  std::int64_t number = 0;
  std::array<char, 32> kind{};      ///< "a broadcast"
  std::array<char, 168> purpose{};  ///< what it is for; may be empty

  Place() = default;
  /// Texts are cut to what fits.
  Place(std::uint64_t of_comm, std::int64_t counted, std::string_view its_kind, std::string_view its_purpose);

  [[nodiscard]] bool is(const Place& other) const noexcept {
    return comm == other.comm && number == other.number && kind == other.kind;
  }
  /// The rank computes, and waits for nobody.
  [[nodiscard]] bool works() const noexcept { return comm == 0; }
  /// What the collective is called: by its purpose if it has one.
  [[nodiscard]] std::string name() const;
  /// Both.
  [[nodiscard]] std::string full_name() const;
};

/// What ranks write to each other.
enum class Subject : int {
  question,   ///< of a roll call: where are you?
  reply,      ///< to one
  departure,  ///< the writer has come to the end of the program, and makes no other collective call
  waiting,    ///< to a rank that has left: the writer waits, with it among others
};

/// How a rank comes to the end of the program.
enum class WayOut {
  plain,      ///< by a return from `main`, or std::exit
  exception,  ///< the session ends while an exception is under way
  finalize,   ///< by MPI_Finalize, with no session that has ended before
};

struct Letter {
  std::int64_t call = 0;  ///< which of its roll calls, to the rank that asks
  Place place;            ///< of the rank that writes
};

/// This rank among those of a communicator.
struct Membership {
  int rank = 0;
  int size = 1;
  bool in_the_world = false;  ///< all ranks are of MPI_COMM_WORLD
};

/// How many collectives of each communicator this rank has come to, also of those that are gone: so it can
/// say which ones it never came to. Communicators are told apart by a number, the same on all of their ranks.
class CollectiveCounts {
 public:
  struct Count {
    std::uint64_t comm = 0;
    std::int64_t number = 0;
    std::int64_t ranks = 0;
  };

  /// The counter of a communicator, for the communicator alone to change. Stays where it is.
  [[nodiscard]] std::int64_t& of(std::uint64_t comm, const Membership& here);
  /// 0 for one that this rank has never come to.
  [[nodiscard]] std::int64_t known_of(std::uint64_t comm) const;

  /// A number whose sum over all ranks of MPI_COMM_WORLD is 0 if in each communicator that has no other ranks
  /// all came to as many collectives, and most probably not if they did not: rank 0 of each adds its hash for
  /// all others, which subtract theirs.
  [[nodiscard]] std::uint64_t imbalance() const;
  /// By communicator.
  [[nodiscard]] std::vector<Count> all() const;
  /// Leaves the communicators that there are out of both from now on: all ranks know why they differ.
  void excuse() noexcept;

 private:
  struct Counted {
    std::int64_t number = 0;
    Membership here;
  };
  std::unordered_map<std::uint64_t, Counted> counts_;
};
/// Those of this process.
[[nodiscard]] CollectiveCounts& collective_counts();

/// How long a rank waits before it tells those that have left: most collectives are over by then.
inline constexpr std::chrono::milliseconds tells_after{100};

/// What a communicator and those derived from it have in common: the names of their ranks' hosts, and a
/// channel over which a rank that waits in any of them, or works in a pass, can be asked where it is. Ranks
/// count as in the first one. All members are for the thread that made it.
class RankGroup {
 public:
  using Clock = std::chrono::steady_clock;

  /// *Collective*, and watched as far as other groups reach: a rank that has left is noticed.
  explicit RankGroup(MPI_Comm origin);
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(hosts_.size()); }
  [[nodiscard]] std::thread::id thread() const noexcept { return thread_; }
  /// The number of the communicator that it began with: that of no other, in any rank.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  /// Whether it is the first of its ranks, in their order.
  [[nodiscard]] bool is_first() const noexcept { return making_ == 1; }
  /// Whether its ranks are all of MPI_COMM_WORLD.
  [[nodiscard]] bool is_countable() const noexcept { return in_the_world_; }
  /// Whether they are all of those.
  [[nodiscard]] bool is_the_world() const;
  /// Of its own messages, and of the collectives with which it is made and comes to its end.
  [[nodiscard]] MPI_Comm channel() const noexcept { return channel_; }
  /// When MPI is about to release it by itself.
  void give_up_channel() noexcept { channel_ = MPI_COMM_NULL; }
  /// *Collective.* A communicator for its owner.
  [[nodiscard]] MPI_Comm duplicate_for_collectives();
  /// "rank 3 (node7)"
  [[nodiscard]] std::string name_of(int rank) const;
  [[nodiscard]] const std::string& host_of(int rank) const noexcept {
    return hosts_[static_cast<std::size_t>(rank)];
  }
  /// By rank of `comm`, which descends from this group.
  [[nodiscard]] std::vector<int> ranks_of(MPI_Comm comm) const;

  /// What the collectives of this rank are for now: "the vote of pass 3 in the sums over the rows".
  [[nodiscard]] std::string purpose() const;

  /// Numbers the roll calls of this rank.
  [[nodiscard]] std::int64_t next_call() noexcept { return ++calls_; }
  /// Does not wait for the letter to be taken.
  void send(int to, Subject subject, const std::shared_ptr<const Letter>& letter);

  struct Reply {
    int from = 0;
    Letter letter;
  };
  /// What `attend` leaves to who makes a roll call.
  struct Mail {
    std::vector<int> askers;  ///< who have been answered
    std::vector<Reply> replies;
  };
  /// Takes the letters that have arrived and answers them, for a rank that is at `here`. A rank that has left
  /// ends the job if another waits for it. Does not block.
  Mail attend(const Place& here);
  /// The same in all groups of the calling thread but `but`.
  static void attend_all(const Place& here, const RankGroup* but = nullptr);

  /// This rank has come to the end of the program: `attend` tells the others, after a moment in which most
  /// jobs have ended.
  void leave(WayOut way);
  /// All ranks have come to the end: what comes after it is another session's.
  void all_have_left() noexcept;
  /// Tells the ranks of `comm` that have left, once each, that this rank waits for them at `here`: in all
  /// groups of the calling thread.
  static void tell_the_departed(const Place& here, MPI_Comm comm);

  std::int64_t ends = 0;              ///< of the program, that this rank came to
  std::vector<std::string> purposes;  ///< of the collectives of this rank now, the innermost last

 private:
  struct Sent {
    MPI_Request request = MPI_REQUEST_NULL;
    /// An owner in memory of its own, so that the letter can be left to MPI without taking memory.
    std::unique_ptr<const std::shared_ptr<const Letter>> letter;
  };
  struct Departure {
    WayOut way = WayOut::plain;
    Clock::time_point announced_at;
    bool announced = false;
  };

  void make_channel(MPI_Comm origin);
  void exchange_names();
  /// Waits for what it is made of.
  void complete(MPI_Request& request, MPI_Comm comm) const;

  void announce_departure();
  void tell_departed(const Place& here, MPI_Comm comm);
  /// Ends the job if this rank, which has left, never came to where `rank` waits.
  void judge(int rank, const Place& its) const;

  MPI_Comm channel_ = MPI_COMM_NULL;
  std::thread::id thread_ = std::this_thread::get_id();
  int rank_ = 0;
  std::uint64_t id_ = 0;
  bool in_the_world_ = false;
  std::uint64_t makings_id_ = 0;  // of all groups with these ranks, whose makings are counted together
  std::int64_t making_ = 0;       // which of them this is
  std::int64_t calls_ = 0;
  std::vector<std::string> hosts_;
  std::vector<Sent> under_way_;
  std::optional<Departure> departure_;  // of this rank
  std::vector<int> departed_;           // of others, that are known of
  Place told_at_;                       // where this rank waits, of which it has told
  std::size_t told_ = 0;                // the first so many of them
};

/// *Collective.* A group of the ranks of `origin`. The first one of the same ranks lives until MPI_Finalize,
/// so that a rank which has given up all communicators still hears of those that wait for it.
[[nodiscard]] std::shared_ptr<RankGroup> make_rank_group(MPI_Comm origin);

}  // namespace tessera::inline TESSERA_ABI::mpi::detail
