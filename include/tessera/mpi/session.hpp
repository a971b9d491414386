// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/version.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace tessera::inline TESSERA_ABI::mpi {
namespace detail {
class AtFinalize;
struct StartTimeout;
class TimeLimit;
enum class WayOut;
}  // namespace detail

/// Thrown on every rank by a `Session` that does not start because an environment variable is wrong on one of
/// them. There is no session to ask who reports it: rank 0 does. Where the session would have owned MPI, the
/// last copy of the exception finalises it, which waits for all ranks: so rank 0, which reports it in its
/// handler, has done so before a launcher sees another rank end.
class TESSERA_EXPORT StartRefused : public Error {
 public:
  StartRefused(const std::string& message, int rank, std::shared_ptr<void> finalise)
      : Error(ErrorCode::usage, message), rank_(rank), finalise_(std::move(finalise)) {}

  [[nodiscard]] bool is_root() const noexcept { return rank_ == 0; }

 private:
  int rank_;
  std::shared_ptr<void> finalise_;
};

/// Owns MPI_Init_thread (MPI_THREAD_FUNNELED) and MPI_Finalize for a program.
///
///     int main(int argc, char** argv) {
///       tessera::mpi::Session session(argc, argv);
///       tessera::Job job(session.world());
///     }
///
/// If MPI is initialised already, the session borrows it and does not finalise it. Threads: make,
/// use and destroy it on the main thread; every MPI call of the library is made on that thread.
/// The start is bounded: a rank for which MPI has not started after ten minutes, or TESSERA_START_TIMEOUT
/// seconds, because another is stopped or cannot be reached, ends the job (exit status 6) with a line that
/// names it. The constructor throws `Error(usage)` if MPI was initialised with less than MPI_THREAD_FUNNELED
/// or on another thread, or has been finalised; `StartRefused` on all ranks if TESSERA_START_TIMEOUT is no
/// time on one; `Error(job_fault)` if MPI does not start, or cannot give that level.
///
/// *The end is collective*: the destructor waits for every rank, by collectives of its own. A rank that comes
/// to it while another waits for it in a collective ends the job (exit status 6), within moments and also
/// without a timeout, with a line that names both:
///
///     tessera: rank 1 (node7) left the program by an exception, but rank 0 (node6) waits for it in an
///     allreduce: the job is ended
///
/// So does one whose ranks all come to the end, but not after as many collective calls of each communicator.
/// So it is when one rank returns from `main`, calls `std::exit` or MPI_Finalize early, too. If all ranks
/// leave by the same exception, or all by `std::exit`, they meet at the end, and MPI is finalised. Of ranks
/// that are in calls of MPI's own, or compute outside of passes, nothing is heard: without a timeout, one
/// that left by an exception waits for a minute; one that left otherwise says after a minute for whom it
/// waits, and waits for half an hour more; then the job ends, with their names. An exception that nothing
/// catches, `std::terminate`, and `std::exit` on another thread or inside a collective end the job at once
/// with a line of that kind. A terminate handler that the application had set before is called after the
/// line; one that is set while the session lives takes its place, and calls it or not.
///
/// A child that a rank has made by `fork` is no part of the job: how it ends is nothing to the others, also
/// if it ends the session or a job in its memory, and what only a rank may do is `Error(usage)` in it.
class TESSERA_EXPORT Session {
 public:
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// A private duplicate of MPI_COMM_WORLD, valid for the life of the session.
  [[nodiscard]] const Communicator& world() const noexcept { return world_; }
  /// For the collectives of `world()`, and for the end of the program: how long a rank that ends waits for
  /// the others (see `Communicator`). 0, as at first: for ever, and at the end as is said above. Of the
  /// start, see above.
  void set_timeout(std::chrono::milliseconds timeout) noexcept { world_.set_timeout(timeout); }
  [[nodiscard]] bool is_root() const noexcept { return world_.rank() == 0; }

 private:
  class Exits;

  Session(int& argc, char**& argv, const detail::StartTimeout& timeout);
  void refuse_together(const std::string& problem);
  void end(detail::WayOut way) noexcept;
  void meet(detail::WayOut way) noexcept;
  /// "rank 3 (node7)"
  [[nodiscard]] std::string name() const;
  [[nodiscard]] const char* host() const noexcept;

  std::unique_ptr<detail::TimeLimit> start_limit_;
  bool owns_mpi_ = false;
  int exceptions_ = 0;  // under way when it was made
  bool has_met_ = false;
  Communicator world_;
  std::unique_ptr<detail::AtFinalize> at_finalize_;
  std::unique_ptr<Exits> exits_;
};

}  // namespace tessera::inline TESSERA_ABI::mpi
