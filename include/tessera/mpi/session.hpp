// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/version.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace TESSERA_NAMESPACE::mpi {
namespace detail {
enum class ExitPath;
}  // namespace detail

/// Thrown on every rank by the constructor of `Session` if an environment variable is invalid on any rank.
/// Rank 0 (`is_root`) reports it. If the session has initialised MPI, the destructor of the last copy of the
/// exception calls MPI_Finalize, which waits for all ranks: rank 0 then reports before the launcher sees
/// another rank end.
class TESSERA_EXPORT StartRefused : public Error {
 public:
  StartRefused(const std::string& message, int rank, std::shared_ptr<void> finalise)
      : Error(ErrorCode::usage, message), rank_(rank), finalise_(std::move(finalise)) {}

  [[nodiscard]] bool is_root() const noexcept { return rank_ == 0; }

 private:
  int rank_;
  std::shared_ptr<void> finalise_;
};

/// Whether a program runs over MPI.
enum class Runtime {
  mpi,     ///< ranks connected by MPI
  serial,  ///< a single process: MPI is not called
};

/// `mpi` if the environment shows that a launcher has started this process as a rank: mpirun, srun with a
/// PMI, or srun with several tasks; else `serial`. Any thread.
[[nodiscard]] TESSERA_EXPORT Runtime launched_runtime() noexcept;

/// Owns MPI_Init_thread (MPI_THREAD_FUNNELED) and MPI_Finalize for a program.
///
///     int main(int argc, char** argv) {
///       tessera::mpi::Session session(argc, argv);
///       tessera::Job job(session.world());
///     }
///
/// If MPI is already initialised, the session does not finalise it. Threads: construct, use and destroy it on
/// the main thread; every MPI call of the library is made on that thread. The start is bounded: if MPI has
/// not started after ten minutes, or TESSERA_START_TIMEOUT seconds, because a rank is stopped or unreachable,
/// the job ends (exit status 6) with a line that names a waiting rank. The constructor throws `Error(usage)`
/// if MPI was initialised with less than MPI_THREAD_FUNNELED or on another thread, or has been finalised;
/// `StartRefused` on all ranks if TESSERA_START_TIMEOUT is invalid on any rank; `Error(job_fault)` if MPI
/// does not start, or does not provide MPI_THREAD_FUNNELED.
///
/// *The destructor is collective*: it waits for every rank. If a rank reaches the destructor while another
/// rank waits for it in a collective, the job ends (exit status 6), at once and also without a timeout, with
/// a line that names both ranks:
///
///     tessera: rank 1 (node7) left the program by an exception, but rank 0 (node6) waits for it in an
///     allreduce: every rank must make the same collective calls in the same order; the job is ended
///
/// The job also ends if a rank returns from `main`, or calls `std::exit`, `std::quick_exit` or MPI_Finalize,
/// too early, and if the ranks end after different numbers of collective calls on a communicator. These
/// checks also work without a session (<tessera/mpi/exit_guard.hpp>). If all ranks leave by an
/// exception, or all by `std::exit`, MPI is finalised. Ranks that are in MPI calls of the application, or
/// compute outside of passes, do not reply: without a timeout, a rank that left by an exception waits a
/// minute for them; a rank that left otherwise prints after a minute whom it waits for, and waits another
/// half hour. Then the job ends, with their names. An uncaught exception, `std::terminate`, and `std::exit`
/// on another thread or inside a collective end the job at once with such a line. A terminate handler that
/// the application has set before the session is called after the line is printed. A terminate handler that
/// the application sets during the session replaces the session's handler, and may call the latter.
///
/// A forked child is not part of the job: its end does not affect the ranks, even if it destroys its copy of
/// the session or of a job, and collective calls in it throw `Error(usage)`.
///
/// A serial session (`Runtime::serial`) starts nothing and waits for nothing: `world()` is a serial
/// communicator. The library may then handle the whole process: a `StopRequest` over the session catches
/// signals, and a job whose search for hardware exceeds its timeout ends the process.
class TESSERA_EXPORT Session {
 public:
  Session(int& argc, char**& argv, Runtime runtime = Runtime::mpi);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// A private duplicate of MPI_COMM_WORLD, valid for the life of the session.
  [[nodiscard]] const Communicator& world() const noexcept { return world_; }
  /// The timeout of the collectives of `world()` (see `Communicator`) and of the destructor. 0, the default:
  /// none, except in the destructor as described above.
  void set_timeout(std::chrono::milliseconds timeout) noexcept { world_.set_timeout(timeout); }
  [[nodiscard]] bool is_root() const noexcept { return world_.rank() == 0; }

 private:
  struct Mpi;
  void start(int& argc, char**& argv);
  void refuse_together(const std::string& problem);
  void end(detail::ExitPath path) noexcept;
  void pass_exit_barrier(detail::ExitPath path) noexcept;

  std::unique_ptr<Mpi> mpi_;  // null: serial
  Communicator world_;
};

}  // namespace TESSERA_NAMESPACE::mpi
