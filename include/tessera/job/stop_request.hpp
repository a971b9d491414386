// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/version.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// What asks for a stop. The same on every rank.
struct StopOptions {
  /// These signals, while the request lives. Empty: no signal is caught.
  std::vector<int> signals = {SIGUSR1, SIGTERM};
  /// This time since the request was made an object; 0: no limit.
  std::chrono::milliseconds time_limit{0};
};

/// A request to stop a job early, in good order, on all ranks at the same place of the program:
///
///     tessera::StopRequest stop(session.world(), {.time_limit = std::chrono::hours(2)});
///     tessera::JobOptions options;
///     options.stop = &stop;
///     tessera::Job job(session.world(), options);
///     try {
///       while (!done) step(job), checkpoint.save(state);   // its passes are cut short
///     } catch (const tessera::Error& error) {
///       if (error.code() != tessera::ErrorCode::interrupted) throw;
///       return exit_status(error.code());                  // 75: the same command goes on
///     }
///
/// Batch systems send their signals to some ranks or to all of them, never at the same moment. A rank that is
/// asked therefore does not act by itself: it tells the others, all of them cut short what they do, and the
/// vote at the end of the pass (or `agree`) makes it one decision. What is asked cannot be taken back.
///
/// The signals' handlers set a flag, and call the handler that the application had for the signal before, if
/// it had one. Handlers are the process's: only one request that catches signals can live at a time, and the
/// application's are put back when the request ends. A handler that the application sets later, by `signal`
/// or `sigaction`, would take the signal away: `look`, `agree` and passes find it within some hundredths of a
/// second, chain it like an earlier one, and say so once on standard error. One that itself calls the handler
/// that it found reaches the one that the application had before, now and after the end of the request. A
/// signal between the setting and the next look is the application's alone. Set handlers before the request
/// is made, or leave the signal out of `StopOptions::signals`.
///
/// A second SIGTERM or SIGINT, more than a second after the first, ends the process at once, as if nothing
/// had caught it (exit status 128 + n), unless the application has a handler for it or ignores it: what works
/// towards the stop may be what hangs. One request that comes by two ways, as Slurm's, is one.
///
/// Threads: `made` and `request` may be called on any; all else on the thread that calls MPI, or it throws
/// `Error(usage)`.
class TESSERA_EXPORT StopRequest {
 public:
  /// *Collective.* Throws `Error(usage)` for a negative time, a signal that cannot be caught, or if another
  /// request catches signals; `Error(job_fault)` on the ranks where all is well, if it is not on another.
  explicit StopRequest(const mpi::Communicator& comm, const StopOptions& options = {});
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// Asks for it on this rank, as a signal would. `cause` is for people: "the disk is nearly full".
  void request(std::string cause);

  /// True once this rank was asked, or `look` has heard that another was. Ranks differ in it until they
  /// agree. Does not block. Cost: a look at the clock.
  [[nodiscard]] bool made() const noexcept;

  /// Tells the other ranks if this one was asked, and hears what they tell. Long work on the thread that
  /// calls MPI should call it ten times a second or so; passes of a job do. Does not block. Cost: below a
  /// microsecond; once, an empty message to each rank.
  void look();

  /// *Collective.* True on every rank if any was asked. From then on `agreed` is true. Cost: an allreduce.
  [[nodiscard]] bool agree();
  /// True once all ranks have agreed to stop: the same on all of them.
  [[nodiscard]] bool agreed() const noexcept;
  /// Who asked, when they have agreed, the same on every rank: "SIGUSR1 on rank 3", or "the time limit of
  /// 7200 s". Empty before.
  [[nodiscard]] const std::string& cause() const noexcept;

  /// True if it was made over the ranks of `comm`, in any order. Not collective.
  [[nodiscard]] bool is_over(const mpi::Communicator& comm) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::inline TESSERA_ABI
