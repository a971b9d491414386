// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Access to a communicator for the library only.
struct CommunicatorAccess {
  /// Throws `Error(usage)` unless the calling thread may make collective calls of `comm`.
  static void require_usable(const Communicator& comm) { comm.require_usable(); }
  /// Throws `Error(usage)` if MPI was initialised without thread support.
  static void require_threads(const Communicator& comm);
  [[nodiscard]] static bool is_empty(const Communicator& comm) noexcept {
    return !comm.is_serial() && comm.self_.group == nullptr;
  }

  /// The serial communicator of a `Session`.
  [[nodiscard]] static Communicator serial_of_program();
  /// Whether the library may install handlers in this process and end it: not in another program's process.
  [[nodiscard]] static bool owns_process(const Communicator& comm) noexcept {
    return !comm.is_serial() || comm.self_.owns_process;
  }

  /// The group of a communicator that is neither serial nor empty.
  [[nodiscard]] static RankGroup& group_of(const Communicator& comm) { return *comm.self_.group; }
  /// "rank 3 (node7)": the calling rank, numbered as in the group of `comm`.
  [[nodiscard]] static std::string name_of_rank(const Communicator& comm);
  [[nodiscard]] static int rank_in_world(const Communicator& comm);
  /// Whether both communicators have the same ranks, in any order.
  [[nodiscard]] static bool have_same_ranks(const Communicator& one, const Communicator& other);

  /// Sends an empty message to rank `to`, without waiting for it to be received.
  static void send_empty(const Communicator& comm, int to, int tag);
  /// Receives an empty message, if one has arrived, and returns its sender.
  [[nodiscard]] static std::optional<int> sender_of_empty(const Communicator& comm, int tag);
  /// Waits for an empty message from rank `from`, under the same timeout as a collective.
  static void receive_empty(const Communicator& comm, int from, int tag, std::string_view purpose);

  /// A collective of this communicator, not of its duplicates and parts, runs the callback repeatedly once it
  /// has waited for a millisecond. The callback must not block, throw, or use the communicator.
  static void set_progress_callback(Communicator& comm, SharedFunction<void()> progress) noexcept {
    comm.self_.progress = std::move(progress);
  }

  // Collectives split into pieces of a given size, for tests.
  static void allreduce(const Communicator& comm, auto... with) { comm.allreduce_elements(with...); }
  static void broadcast(const Communicator& comm, auto... with) { comm.broadcast_bytes(with...); }
  static auto gathered_offsets(const Communicator& comm, auto... with) {
    return comm.gathered_offsets(with...);
  }
  static void allgatherv(const Communicator& comm, auto... with) { comm.allgatherv_bytes(with...); }
  static auto incoming_counts(const Communicator& comm, auto... with) {
    return comm.incoming_counts(with...);
  }
  static void alltoallv(const Communicator& comm, auto... with) { comm.alltoallv_bytes(with...); }
};

}  // namespace TESSERA_NAMESPACE::mpi::detail
