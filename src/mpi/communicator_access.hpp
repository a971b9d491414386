// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Access to a communicator for the library alone.
struct CommunicatorAccess {
  [[nodiscard]] static MPI_Comm usable(const Communicator& comm) { return comm.usable(); }

  /// "rank 3 (node7)": the calling rank, numbered as in the group of `comm`.
  [[nodiscard]] static std::string name_of_rank(const Communicator& comm);

  /// Receives an empty message that rank `from` has sent, watched as a collective is.
  static void receive_empty(const Communicator& comm, int from, int tag, std::string_view purpose);

  /// Progress callback, run repeatedly while this rank waits in a collective of this communicator, from the
  /// first millisecond on; not for duplicates and parts. It must not block, throw, or use the communicator.
  static void set_progress_callback(Communicator& comm, SharedFunction<void()> progress) noexcept {
    comm.self_.progress = std::move(progress);
  }

  // With the size of a piece.
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
