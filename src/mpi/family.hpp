// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace tessera::mpi::detail {

/// Where a rank is, as it travels: in a collective of one communicator, counted there, or at work in a pass.
struct Place {
  std::uint64_t comm = 0;  ///< 0: in no collective
  std::int64_t number = 0;
  std::array<char, 32> kind{};      ///< "a broadcast"
  std::array<char, 168> purpose{};  ///< what it is for; may be empty

  Place() = default;
  /// Texts are cut to what fits.
  Place(std::uint64_t comm, std::int64_t number, std::string_view kind, std::string_view purpose);

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

struct Letter {
  std::int64_t call = 0;  ///< which of its roll calls, to the rank that asks
  Place place;            ///< of the rank that writes
};

/// How many collectives of each communicator this rank has come to, also of those that are gone: so it can
/// say which ones it never came to. Communicators are told apart by a number, the same on all of their ranks.
/// Thread-safe.
class CollectiveCounts {
 public:
  /// The counter of a communicator, for the communicator alone to change. Stays where it is.
  [[nodiscard]] std::int64_t& of(std::uint64_t comm);
  /// Nothing for one of which this rank is no member.
  [[nodiscard]] std::optional<std::int64_t> known_of(std::uint64_t comm);

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::int64_t> counts_;
};
/// Those of this process.
[[nodiscard]] CollectiveCounts& collective_counts();

/// What a communicator and those derived from it have in common: the names of their ranks' hosts, and a
/// channel over which a rank that waits in any of them, or works in a pass, can be asked where it is. Ranks
/// count as in the first one. All members are for the thread that made it.
class Family {
 public:
  using Clock = std::chrono::steady_clock;

  /// *Collective.*
  explicit Family(MPI_Comm origin);
  ~Family();
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(hosts_.size()); }
  [[nodiscard]] std::thread::id thread() const noexcept { return thread_; }
  /// The number of the communicator that it began with: that of no other, in any rank.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  /// "rank 3 (node7)"
  [[nodiscard]] std::string name_of(int rank) const;
  /// By rank of `comm`, which descends from this family.
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
  /// The same in all families of the calling thread but `but`.
  static void attend_all(const Place& here, const Family* but = nullptr);

  /// This rank has come to the end of the program, `by_exception` or not: `attend` tells the others, after a
  /// moment in which most jobs have ended.
  void leave(bool by_exception);
  /// All ranks have come to the end: what comes after it is another session's.
  void all_have_left() noexcept;
  /// Tells the ranks that have left, but for the first `told`, that this rank waits at `here`. Returns how
  /// many have been told then.
  static std::size_t tell_the_departed(const Place& here, std::size_t told);

  std::int64_t calls_of_all = 0;      ///< collectives of all its ranks that this one came to
  std::vector<std::string> purposes;  ///< of the collectives of this rank now, the innermost last

 private:
  struct Sent {
    MPI_Request request;
    std::shared_ptr<const Letter> letter;
  };
  struct Departure {
    bool by_exception = false;
    Clock::time_point announced_at;
    bool announced = false;
  };

  void announce_departure();
  /// Ends the job if this rank, which has left, never came to where `rank` waits.
  void judge(int rank, const Place& its) const;

  MPI_Comm channel_ = MPI_COMM_NULL;
  std::thread::id thread_ = std::this_thread::get_id();
  int rank_ = 0;
  std::uint64_t id_ = 0;
  std::int64_t calls_ = 0;
  std::vector<std::string> hosts_;
  std::vector<Sent> under_way_;
  std::optional<Departure> departure_;  // of this rank
  std::vector<int> departed_;           // of others, that are known of
};

}  // namespace tessera::mpi::detail
