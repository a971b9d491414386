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

/// What a rank does: waits in the `number`-th collective call on a communicator, or computes.
struct CollectiveCall {
  std::uint64_t comm = 0;  ///< the communicator's id; 0: the rank computes
  std::int64_t number = 0;
  std::array<char, 32> kind{};      ///< "a broadcast"
  std::array<char, 168> purpose{};  ///< `RankGroup::purpose`, truncated; may be empty

  CollectiveCall() = default;
  CollectiveCall(std::uint64_t of_comm, std::int64_t counted, std::string_view its_kind,
                 std::string_view its_purpose);

  /// Compares all but the purpose.
  [[nodiscard]] bool is(const CollectiveCall& other) const noexcept {
    return comm == other.comm && number == other.number && kind == other.kind;
  }
  [[nodiscard]] bool is_computing() const noexcept { return comm == 0; }
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string full_name() const;
};

/// MPI tags of messages between ranks, apart from the data of collectives.
enum class MessageKind : int {
  inquiry,    ///< a watchdog asks what the receiver does
  reply,      ///< the answer to an inquiry
  departure,  ///< the sender is exiting, and makes no further collective call
  waiting,    ///< to a departed rank: the sender waits for it in a collective
};

enum class ExitPath {
  normal,     ///< the program returns from `main`, or calls std::exit
  failure,    ///< the exit status is not 0, and no session owns MPI
  exception,  ///< stack unwinding destroys the session
  finalize,   ///< MPI_Finalize is called without a session, or before the session has ended
};

struct Message {
  std::int64_t inquiry = 0;  ///< number of the inquiry, counted by the asking rank
  CollectiveCall call;       ///< what the sender does
};

struct Membership {
  int rank = 0;
  int size = 1;
  bool in_world = false;  ///< whether all ranks are in MPI_COMM_WORLD
};

class FailureWatch;

/// Counts this rank's collective calls on each communicator, including freed ones, to detect a call that the
/// rank never made. A communicator's id is the same on all of its ranks.
class CollectiveCounts {
 public:
  struct Count {
    std::uint64_t comm = 0;
    std::int64_t number = 0;
    std::int64_t ranks = 0;
  };

  /// The counter of a communicator, for the caller to increment. The reference stays valid.
  [[nodiscard]] std::int64_t& of(std::uint64_t comm, const Membership& here);
  /// 0 for a communicator that this rank has never used.
  [[nodiscard]] std::int64_t known_of(std::uint64_t comm) const;

  /// This rank's term of a sum over MPI_COMM_WORLD that detects different counts in a single allreduce. Rank
  /// 0 of a communicator adds the hash of its count once for each other rank; each other rank subtracts its
  /// hash. The sum is 0 if all counts agree, else almost certainly not.
  [[nodiscard]] std::uint64_t imbalance() const;
  [[nodiscard]] std::vector<Count> all() const;
  /// Excludes the present communicators from `imbalance` and `all`, because an exception explains their
  /// differences.
  void exempt_all() noexcept;

 private:
  struct Counted {
    std::int64_t number = 0;
    Membership here;
  };
  std::unordered_map<std::uint64_t, Counted> counts_;
};
[[nodiscard]] CollectiveCounts& collective_counts();

/// Delay before a waiting rank notifies departed ranks. Most collectives complete sooner.
inline constexpr std::chrono::milliseconds notify_after{100};

/// State shared by a communicator and its duplicates and splits: host names, and a channel on which ranks
/// answer inquiries while they wait in a collective or run a pass. Ranks are numbered as in the first
/// communicator. Only the constructing thread may use a group.
class RankGroup {
 public:
  using Clock = std::chrono::steady_clock;

  /// *Collective.* During the wait, this thread's existing groups notify departed ranks.
  explicit RankGroup(MPI_Comm origin);
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(hosts_.size()); }
  [[nodiscard]] std::thread::id thread() const noexcept { return thread_; }
  /// The id of the first communicator, unique in the job.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  /// Whether this is the first group of these ranks in this order.
  [[nodiscard]] bool is_first() const noexcept { return creation_ == 1; }
  [[nodiscard]] bool is_in_world() const noexcept { return in_world_; }
  /// Whether the group has all ranks of MPI_COMM_WORLD.
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
  /// The ranks of `comm`, a communicator of this group, in the group's numbering.
  [[nodiscard]] std::vector<int> ranks_of(MPI_Comm comm) const;

  /// The nested purposes, innermost first: "the vote of pass 3 in the sums over the rows".
  [[nodiscard]] std::string purpose() const;

  [[nodiscard]] std::int64_t next_inquiry() noexcept { return ++inquiries_; }
  /// Does not wait for the message to be received.
  void send(int to, MessageKind kind, const std::shared_ptr<const Message>& message);

  struct Reply {
    int from = 0;
    Message message;
  };
  struct Received {
    std::vector<int> inquirers;  ///< ranks whose inquiries were answered
    std::vector<Reply> replies;
  };
  /// Receives and answers the messages that have arrived. `here`: what this rank does. If this rank has
  /// departed and another rank waits for it, ends the job. Does not block.
  Received handle_messages(const CollectiveCall& here);
  /// `handle_messages` in all groups of the calling thread except `but`.
  static void handle_all_messages(const CollectiveCall& here, const RankGroup* but = nullptr);

  /// Marks this rank as departed. `handle_messages` announces the departure after a delay, because most jobs
  /// end sooner.
  void depart(ExitPath path);
  /// Resets departures after all ranks have departed, because a later session may use the group.
  void all_departed() noexcept;
  /// Tells each departed rank of `comm`, once, that this rank waits in `here`. Uses all groups of the calling
  /// thread.
  static void notify_departed(const CollectiveCall& here, MPI_Comm comm);

  std::int64_t exit_calls = 0;        ///< collective calls of exit barriers
  std::vector<std::string> purposes;  ///< current purposes, innermost last
  FailureWatch* failures = nullptr;   ///< votes before collective calls; null: no votes

 private:
  struct Sent {
    MPI_Request request = MPI_REQUEST_NULL;
    /// On the heap, so that the destructor can leak the message to MPI without an allocation.
    std::unique_ptr<const std::shared_ptr<const Message>> message;
  };
  struct Departure {
    ExitPath path = ExitPath::normal;
    Clock::time_point announce_at;
    bool announced = false;
  };

  void make_channel(MPI_Comm origin);
  void exchange_names();
  void complete(MPI_Request& request, MPI_Comm comm) const;

  void announce_departure();
  void notify_own_departed(const CollectiveCall& here, MPI_Comm comm);
  /// Ends the job if this rank has departed without the call in which `rank` waits.
  void abort_if_missed(int rank, const CollectiveCall& its) const;

  MPI_Comm channel_ = MPI_COMM_NULL;
  std::thread::id thread_ = std::this_thread::get_id();
  int rank_ = 0;
  std::uint64_t id_ = 0;
  bool in_world_ = false;
  std::uint64_t creations_id_ = 0;  // key under which `CollectiveCounts` counts the groups of these ranks
  std::int64_t creation_ = 0;       // number of this group among them, from 1
  std::int64_t inquiries_ = 0;
  std::vector<std::string> hosts_;
  std::vector<Sent> sent_;
  std::optional<Departure> departure_;  // departure of this rank
  std::vector<int> departed_;           // other ranks that have announced their departure
  CollectiveCall notified_of_;          // the call of which departed ranks were last notified
  std::size_t notified_ = 0;            // how many of `departed_` were notified of this call
};

/// *Collective.* The first group of these ranks lives until MPI_Finalize, so that a rank that has freed its
/// communicator still learns which ranks wait for it.
[[nodiscard]] std::shared_ptr<RankGroup> make_rank_group(MPI_Comm origin);

}  // namespace TESSERA_NAMESPACE::mpi::detail
