// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/version.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {
namespace detail {
struct JobAccess;
}

/// The triggers of a stop; the same options on every rank.
struct StopOptions {
  /// Signals that request a stop during the lifetime of the `StopRequest`. Empty: no signals are caught.
  /// Over a serial communicator without a `Session` no signals are caught either, because the process then
  /// belongs to another program.
  std::vector<int> signals = {SIGUSR1, SIGTERM};
  /// Time from construction after which a stop is requested; 0: no limit.
  std::chrono::milliseconds time_limit{0};
};

/// Cancels a job cooperatively: all ranks stop at the same point of the program.
///
///     tessera::StopRequest stop(session.world(), {.time_limit = std::chrono::hours(2)});
///     tessera::JobOptions options;
///     options.stop = &stop;
///     tessera::Job job(session.world(), options);
///     try {
///       while (!done) step(job), checkpoint.save(state);   // passes throw after a request
///     } catch (const tessera::Error& error) {
///       if (error.code() != tessera::ErrorCode::interrupted) throw;
///       return exit_status(error.code());                  // 75: the same command resumes
///     }
///
/// Batch systems signal some or all ranks, at different moments. A rank with a request therefore notifies the
/// other ranks, all ranks cut their work short, and an allreduce (the vote at the end of a pass, or `agree`)
/// makes one common decision. A request cannot be withdrawn.
///
/// The signal handlers set a flag, then call the application's previous handler, if there is one. Handlers
/// are process-wide: only one `StopRequest` that catches signals can exist at a time, and its destructor
/// restores the application's handlers. A handler that the application installs later, by `signal` or
/// `sigaction`, replaces the request's handler: `poll`, `agree` and passes notice this within hundredths of
/// a second, chain the new handler like an earlier one, and report it once on standard error. If the new
/// handler calls the handler that it replaced, the call reaches the application's earlier handler, during
/// the lifetime of the request and after. A signal that arrives between the installation and the next check
/// reaches the application's handler only. Install handlers before the request is constructed, or leave the
/// signal out of `StopOptions::signals`.
///
/// A second SIGTERM or SIGINT, more than a second after the first, terminates the process at once by the
/// default action (exit status 128 + n), in case the orderly stop hangs. This does not apply if the
/// application handles or ignores the signal. Two signals within a second, as Slurm sends them, count as one
/// request.
///
/// Thread safety: `requested` and `request` may be called on any thread; all other members only on the thread
/// that calls MPI, else they throw `Error(usage)`.
class TESSERA_EXPORT StopRequest {
 public:
  /// *Collective.* Throws `Error(usage)`, on every rank, if on one of them the time limit is negative, a
  /// signal cannot be caught, or another `StopRequest` catches signals.
  explicit StopRequest(const mpi::Communicator& comm, const StopOptions& options = {});
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// Requests a stop on this rank, as a signal does. `cause` is for messages: "the disk is nearly full".
  void request(std::string cause);

  /// True once a stop was requested on this rank, or `poll` has received another rank's notification. Ranks
  /// may return different values until `agree` or a vote. Does not block. Cost: reading the clock.
  [[nodiscard]] bool requested() const noexcept;

  /// Notifies the other ranks of a request on this rank, and receives their notifications. Passes of a job
  /// call `poll`; long work on the thread that calls MPI should call it about ten times a second. Does not
  /// block. Cost: below a microsecond; once, an empty message to each rank.
  void poll();

  /// *Collective.* Returns true on every rank if a stop was requested on any; `agreed` is then true as well.
  /// Cost: an allreduce.
  [[nodiscard]] bool agree();
  /// True once all ranks have agreed to stop. The same on every rank.
  [[nodiscard]] bool agreed() const noexcept;
  /// The cause of the agreed stop, the same on every rank: "SIGUSR1 on rank 3", or "the time limit of 7200
  /// s". Empty before the ranks have agreed.
  [[nodiscard]] const std::string& cause() const noexcept;

 private:
  friend struct detail::JobAccess;
  /// True if the constructor's communicator had the same ranks as `comm`, in any order. Not collective.
  [[nodiscard]] bool has_ranks_of(const mpi::Communicator& comm) const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace TESSERA_NAMESPACE
