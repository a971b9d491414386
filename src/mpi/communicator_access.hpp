// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace TESSERA_NAMESPACE::mpi::detail {

struct CommunicatorAccess {
  /// Throws `Error(usage)` unless the calling thread may make collective calls of `comm`.
  static void require_usable(const Communicator& comm) { comm.require_usable(); }
  /// Throws `Error(usage)` if MPI was initialised without thread support.
  static void require_threads(const Communicator& comm);
  [[nodiscard]] static bool is_empty(const Communicator& comm) noexcept {
    return !comm.is_serial() && comm.self_.group == nullptr;
  }

  [[nodiscard]] static Communicator serial_of_program();
  /// Whether the library may install handlers in this process and end it. False for the serial communicator
  /// of a host program.
  [[nodiscard]] static bool owns_process(const Communicator& comm) noexcept {
    return !comm.is_serial() || comm.self_.owns_process;
  }

  [[nodiscard]] static RankGroup& group_of(const Communicator& comm) { return *comm.self_.group; }
  /// The calling rank in the numbering of `comm`'s group, such as "rank 3 (node7)".
  [[nodiscard]] static std::string name_of_rank(const Communicator& comm);
  [[nodiscard]] static int rank_in_world(const Communicator& comm);
  /// Whether both communicators have the same ranks, in any order.
  [[nodiscard]] static bool have_same_ranks(const Communicator& one, const Communicator& other);

  /// Does not wait for the message to be received.
  static void send_empty(const Communicator& comm, int to, int tag);
  /// Receives an empty message if one has arrived, and returns the sender.
  [[nodiscard]] static std::optional<int> sender_of_empty(const Communicator& comm, int tag);
  /// Waits for an empty message, with the timeout of a collective.
  static void receive_empty(const Communicator& comm, int from, int tag, std::string_view purpose);

  /// Collectives of `comm` that wait longer than a millisecond run the callback repeatedly; collectives of
  /// its duplicates and splits do not. The callback must not block, throw, or use the communicator.
  static void set_progress_callback(Communicator& comm, SharedFunction<void()> progress) noexcept {
    comm.self_.progress = std::move(progress);
  }

  // For tests: collectives with a given maximum size of pieces.
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
