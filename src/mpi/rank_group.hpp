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

namespace TESSERA_NAMESPACE::mpi::detail {

/// The activity of a rank, as sent to other ranks: it is in the `number`-th collective call of a
/// communicator, or computes.
struct CollectiveCall {
  std::uint64_t comm = 0;  ///< the communicator's id; 0: the rank computes
  std::int64_t number = 0;
  std::array<char, 32> kind{};      ///< "a broadcast"
  std::array<char, 168> purpose{};  ///< its purpose; may be empty

  CollectiveCall() = default;
  /// Truncates texts that do not fit.
  CollectiveCall(std::uint64_t of_comm, std::int64_t counted, std::string_view its_kind,
                 std::string_view its_purpose);

  /// Compares all but the purpose.
  [[nodiscard]] bool is(const CollectiveCall& other) const noexcept {
    return comm == other.comm && number == other.number && kind == other.kind;
  }
  [[nodiscard]] bool is_computing() const noexcept { return comm == 0; }
  /// The purpose, or the kind if there is none.
  [[nodiscard]] std::string name() const;
  /// "purpose (kind)".
  [[nodiscard]] std::string full_name() const;
};

/// Kinds of messages between ranks, apart from the data of collectives; used as MPI tags.
enum class MessageKind : int {
  inquiry,    ///< a watchdog asks: where are you?
  reply,      ///< the answer to an inquiry
  departure,  ///< the sender has reached the end of the program and makes no further collective call
  waiting,    ///< to a departed rank: the sender waits in a collective of which that rank is a member
};

/// How a rank reaches the end of the program.
enum class ExitPath {
  normal,     ///< the program returns from `main`, or calls std::exit
  failure,    ///< the exit status is not 0, and no session owns MPI
  exception,  ///< stack unwinding destroys the session
  finalize,   ///< MPI_Finalize is called before a session has ended
};

struct Message {
  std::int64_t inquiry = 0;  ///< numbers the inquiries of the asking rank
  CollectiveCall call;       ///< where the sender is
};

/// This rank's membership in a communicator.
struct Membership {
  int rank = 0;
  int size = 1;
  bool in_world = false;  ///< whether all ranks are in MPI_COMM_WORLD
};

class FailureWatch;

/// Counts this rank's collective calls per communicator, including freed ones, so that a call that it never
/// made can be named. Communicators are identified by an id that is the same on all of their ranks.
class CollectiveCounts {
 public:
  struct Count {
    std::uint64_t comm = 0;
    std::int64_t number = 0;
    std::int64_t ranks = 0;
  };

  /// The counter of a communicator; the caller increments it. The reference stays valid.
  [[nodiscard]] std::int64_t& of(std::uint64_t comm, const Membership& here);
  /// The count of a communicator; 0 for one that this rank has never used.
  [[nodiscard]] std::int64_t known_of(std::uint64_t comm) const;

  /// Lets a single allreduce find whether counts differ: the sum over MPI_COMM_WORLD is 0 if the ranks of
  /// each communicator have made equally many calls, else almost certainly not 0. Rank 0 of a communicator
  /// adds the hash of its count once for every other rank, and every other rank subtracts its hash.
  [[nodiscard]] std::uint64_t imbalance() const;
  /// The counts of all communicators, ordered by their ids.
  [[nodiscard]] std::vector<Count> all() const;
  /// Excludes the communicators known so far from `imbalance` and `all`: their counts differ for a known
  /// reason.
  void exempt_all() noexcept;

 private:
  struct Counted {
    std::int64_t number = 0;
    Membership here;
  };
  std::unordered_map<std::uint64_t, Counted> counts_;
};
/// The counts of this process.
[[nodiscard]] CollectiveCounts& collective_counts();

/// How long a rank waits before it notifies departed ranks: most collectives have completed by then.
inline constexpr std::chrono::milliseconds notify_after{100};

/// Shared by a communicator and all derived from it: the host names of the ranks, and a channel on which
/// ranks that wait in a collective, or run a pass, answer inquiries. Ranks are numbered as in the first
/// communicator. All members are for the thread that constructed it.
class RankGroup {
 public:
  using Clock = std::chrono::steady_clock;

  /// *Collective.* While it waits, this thread's existing groups notify departed ranks.
  explicit RankGroup(MPI_Comm origin);
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(hosts_.size()); }
  [[nodiscard]] std::thread::id thread() const noexcept { return thread_; }
  /// The id of its first communicator, unique in the job.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  /// Whether this is the first group of these ranks in this order.
  [[nodiscard]] bool is_first() const noexcept { return creation_ == 1; }
  /// Whether all its ranks belong to MPI_COMM_WORLD.
  [[nodiscard]] bool is_in_world() const noexcept { return in_world_; }
  /// Whether its ranks are all of MPI_COMM_WORLD.
  [[nodiscard]] bool is_world() const;
  /// The communicator for the group's messages, its construction and its exit barrier.
  [[nodiscard]] MPI_Comm channel() const noexcept { return channel_; }
  /// Called when MPI_Finalize is about to free the channel.
  void give_up_channel() noexcept { channel_ = MPI_COMM_NULL; }
  /// *Collective.* The caller owns the communicator.
  [[nodiscard]] MPI_Comm duplicate_for_collectives();
  /// "rank 3 (node7)"
  [[nodiscard]] std::string name_of(int rank) const;
  [[nodiscard]] const std::string& host_of(int rank) const noexcept {
    return hosts_[static_cast<std::size_t>(rank)];
  }
  /// The members of `comm`, a communicator of this group, as ranks of the group.
  [[nodiscard]] std::vector<int> ranks_of(MPI_Comm comm) const;

  /// The current purposes, innermost first: "the vote of pass 3 in the sums over the rows".
  [[nodiscard]] std::string purpose() const;

  [[nodiscard]] std::int64_t next_inquiry() noexcept { return ++inquiries_; }
  /// Sends a message to a rank, without waiting for it to be received.
  void send(int to, MessageKind kind, const std::shared_ptr<const Message>& message);

  struct Reply {
    int from = 0;
    Message message;
  };
  /// The results of `handle_messages` that a watchdog uses.
  struct Received {
    std::vector<int> inquirers;  ///< ranks whose inquiries were answered
    std::vector<Reply> replies;
  };
  /// Receives and answers the messages that have arrived; `here`: what this rank does. A departed rank ends
  /// the job if another waits for it. Does not block.
  Received handle_messages(const CollectiveCall& here);
  /// `handle_messages` in all groups of the calling thread except `but`.
  static void handle_all_messages(const CollectiveCall& here, const RankGroup* but = nullptr);

  /// Marks this rank as departed: `handle_messages` announces it to the others after a delay, by which time
  /// most jobs have ended.
  void depart(ExitPath path);
  /// Records that all ranks have departed: later calls belong to another session.
  void all_departed() noexcept;
  /// Tells each departed rank of `comm`, once, that this rank waits in `here`: in all groups of the calling
  /// thread.
  static void notify_departed(const CollectiveCall& here, MPI_Comm comm);

  std::int64_t exit_calls = 0;        ///< collective calls of exit barriers
  std::vector<std::string> purposes;  ///< current purposes, innermost last
  FailureWatch* failures = nullptr;   ///< consulted before collective calls; null: ranks do not vote

 private:
  struct Sent {
    MPI_Request request = MPI_REQUEST_NULL;
    /// Held by a heap object, so that the message can be left to MPI without an allocation.
    std::unique_ptr<const std::shared_ptr<const Message>> message;
  };
  struct Departure {
    ExitPath path = ExitPath::normal;
    Clock::time_point announce_at;
    bool announced = false;
  };

  void make_channel(MPI_Comm origin);
  void exchange_names();
  /// Waits until a duplication of `comm` has completed.
  void complete(MPI_Request& request, MPI_Comm comm) const;

  void announce_departure();
  void notify_own_departed(const CollectiveCall& here, MPI_Comm comm);
  /// Ends the job if this rank has departed without making the call in which `rank` waits.
  void abort_if_missed(int rank, const CollectiveCall& its) const;

  MPI_Comm channel_ = MPI_COMM_NULL;
  std::thread::id thread_ = std::this_thread::get_id();
  int rank_ = 0;
  std::uint64_t id_ = 0;
  bool in_world_ = false;
  std::uint64_t creations_id_ = 0;  // counts the groups with these ranks
  std::int64_t creation_ = 0;       // this group's number in that count
  std::int64_t inquiries_ = 0;
  std::vector<std::string> hosts_;
  std::vector<Sent> sent_;
  std::optional<Departure> departure_;  // departure of this rank
  std::vector<int> departed_;           // other ranks that have announced their departure
  CollectiveCall notified_of_;          // the call for which departed ranks were notified
  std::size_t notified_ = 0;            // how many of `departed_` were notified
};

/// *Collective.* A group of the ranks of `origin`. The first group of these ranks lives until MPI_Finalize,
/// so that a rank without a communicator still learns which ranks wait for it.
[[nodiscard]] std::shared_ptr<RankGroup> make_rank_group(MPI_Comm origin);

}  // namespace TESSERA_NAMESPACE::mpi::detail
