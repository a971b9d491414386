// SPDX-License-Identifier: Apache-2.0
#include "mpi/exit_guard.hpp"

#include "mpi/abort.hpp"
#include "mpi/check.hpp"
#include "mpi/exception_message.hpp"
#include "mpi/finalize.hpp"
#include "mpi/fork.hpp"
#include "mpi/lifetime.hpp"
#include "mpi/process_owner.hpp"
#include "mpi/rank_group.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/mpi/exit_guard.hpp>

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <utility>

namespace TESSERA_NAMESPACE::mpi {
namespace detail {
namespace {

struct ExitGuard {
  std::atomic<bool> armed = false;
  MpiOwner owner = MpiOwner::program;
  std::array<char, MPI_MAX_PROCESSOR_NAME + 32> name{};  // "rank 3 (node7)", made without an allocation
  std::thread::id thread;                                // the main thread
  std::atomic<std::thread::id> leaving;                  // the first thread that called exit
  bool all_have_come = false;               // whether all ranks of MPI_COMM_WORLD have passed an exit barrier
  std::terminate_handler before = nullptr;  // the application's terminate handler
};

/// Never destroyed, because exit handlers run after the destructors of static objects.
ExitGuard& exit_guard() {
  static auto* const all = new ExitGuard;
  return *all;
}

bool is_active() noexcept {
  return exit_guard().armed && exits_watched && !is_forked_child() && !is_finalised();
}

[[noreturn]] void end_job(const char* how) {
  abort_job(exit_guard().name.data() + std::string(" called exit ") + how + "; the job is ended",
            exit_status(ErrorCode::job_fault));
}

/// Returns only if this is the main thread, outside of collectives, and no other thread has called exit
/// before; else ends the job, or never returns.
void begin_to_leave() {
  const std::thread::id here = std::this_thread::get_id();
  // If a second thread calls exit, glibc may end the process while handlers of the first one run.
  std::thread::id first;
  if (!exit_guard().leaving.compare_exchange_strong(first, here) && first != here)
    for (;;) pause();
  if (here != exit_guard().thread)
    end_job(
        "outside the main thread: call exit only on the main thread; to stop a pass, throw an exception or, "
        "in C, return a nonzero number");
  if (is_in_a_collective()) end_job("inside a collective call: call exit between passes");
}

void at_exit(int status, void*) {
  if (!is_active()) return;
  begin_to_leave();
  const bool is_failure = status != 0 && exit_guard().owner == MpiOwner::program;
  exit_guard().all_have_come = pass_exit_barriers(is_failure ? ExitPath::failure : ExitPath::normal);
  // A program that initialised MPI may still call MPI_Finalize, even in a static object's destructor.
  if (exit_guard().owner == MpiOwner::session) MPI_Finalize();
}

void at_quick_exit() {
  if (!is_active()) return;
  begin_to_leave();
  if (pass_exit_barriers(ExitPath::normal)) MPI_Finalize();
}

/// The last step of `exit` finalises MPI if the program has not: launchers kill the other ranks, which may
/// still write output, if a rank ends without MPI_Finalize.
[[gnu::destructor]] void after_exit() {
  if (!is_active()) return;
  begin_to_leave();
  if (exit_guard().all_have_come) MPI_Finalize();
}

[[nodiscard]] bool is_of_the_language(std::terminate_handler handler) noexcept {
#ifdef __GLIBCXX__
  if (handler == &__gnu_cxx::__verbose_terminate_handler) return true;
#endif
  return handler == &std::abort;
}

/// Prints the rank and the reason. Calls the application's handler unless it is the default one, which only
/// aborts. Ends the job if the handler returns.
[[noreturn]] void at_terminate() {
  const std::terminate_handler theirs = std::exchange(exit_guard().before, nullptr);
  if (!is_active()) {
    if (theirs != nullptr) theirs();
    std::abort();
  }
  exit_guard().armed = false;  // so that the guard ignores an exit in the application's handler
  const std::exception_ptr thrown = std::current_exception();
  // A buffer on the stack, because memory may be exhausted.
  const std::string reason = thrown ? reason_of(thrown) : std::string();
  std::array<char, 2048> line{};
  std::snprintf(line.data(), line.size(), "%s ends by an exception that nothing caught: %s: the job is ended",
                exit_guard().name.data(), thrown ? reason.c_str() : "std::terminate was called");
  if (theirs == nullptr || is_of_the_language(theirs))
    abort_job(line.data(), exit_status(ErrorCode::job_fault));
  say(line.data());
  theirs();
  abort_ranks(exit_status(ErrorCode::job_fault));
}

/// Number of application functions on this thread's stack. `exit` destroys this object before it runs any
/// handler; a positive count then means that such a function has called `exit`.
struct RunningFunctions {
  ~RunningFunctions() {
    if (count > 0 && is_active()) begin_to_leave();
  }
  int count = 0;
};
thread_local RunningFunctions running_functions;

void name_this_rank() {
  int rank = 0;
  int length = 0;
  std::array<char, MPI_MAX_PROCESSOR_NAME> host{};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Get_processor_name(host.data(), &length);
  std::snprintf(exit_guard().name.data(), exit_guard().name.size(), "rank %d (%s)", rank, host.data());
}

}  // namespace

void arm_exit_guard(MpiOwner owner) {
  if (exit_guard().armed || !exits_watched) return;
  name_this_rank();
  exit_guard().thread = std::this_thread::get_id();
  exit_guard().owner = owner;
  static const bool registered = on_exit(&at_exit, nullptr) == 0 && std::at_quick_exit(&at_quick_exit) == 0;
  if (!registered) say("on_exit failed: other ranks detect a call of exit only by timeout");
  exit_guard().before = std::set_terminate(&at_terminate);
  exit_guard().armed = true;
}

ExitInFunction::ExitInFunction() noexcept : is_watched_(exit_guard().armed) {
  if (is_watched_) ++running_functions.count;
}
ExitInFunction::~ExitInFunction() {
  if (is_watched_) --running_functions.count;
}

void disarm_exit_guard() noexcept {
  if (!exit_guard().armed.exchange(false)) return;
  if (std::get_terminate() == &at_terminate) std::set_terminate(std::exchange(exit_guard().before, nullptr));
}

}  // namespace detail
}  // namespace TESSERA_NAMESPACE::mpi
