// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>

#include <chrono>

namespace tessera::mpi {

/// Owns MPI_Init_thread (MPI_THREAD_FUNNELED) and MPI_Finalize for a program.
///
///     int main(int argc, char** argv) {
///       tessera::mpi::Session session(argc, argv);
///       tessera::Job job(session.world());
///     }
///
/// If MPI is initialised already, the session borrows it and does not finalise it. Threads: make,
/// use and destroy it on the main thread; every MPI call of the library is made on that thread.
/// The constructor throws `Error(usage)` if MPI was initialised with less than MPI_THREAD_FUNNELED, or has
/// been finalised; `Error(job_fault)` if it does not start, or cannot give that level.
class Session {
 public:
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// A private duplicate of MPI_COMM_WORLD, valid for the life of the session.
  [[nodiscard]] const Communicator& world() const noexcept { return world_; }
  /// For the collectives of `world()`, and for the end of the program: how long a rank that ends waits for
  /// the others (see `Communicator`). 0, as at first: for ever. MPI's own start is the launcher's to watch.
  void set_timeout(std::chrono::milliseconds timeout) noexcept { world_.set_timeout(timeout); }
  [[nodiscard]] bool is_root() const noexcept { return world_.rank() == 0; }

 private:
  bool owns_mpi_ = false;
  Communicator world_;
};

}  // namespace tessera::mpi
