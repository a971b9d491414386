// SPDX-License-Identifier: Apache-2.0
#include "mpi/abort.hpp"
#include "mpi/check.hpp"
#include "mpi/exit_barrier.hpp"
#include "mpi/finalize.hpp"
#include "mpi/fork.hpp"
#include "mpi/lifetime.hpp"
#include "mpi/rank_group.hpp"
#include "mpi/reason.hpp"
#include "mpi/time_limit.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/session.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <utility>

namespace tessera::inline TESSERA_ABI::mpi {
namespace {

/// Initialises MPI unless it is; returns whether it did.
bool initialise(int& argc, char**& argv) {
  if (detail::is_forked_child()) throw detail::ForkedChild();
  if (detail::is_finalised())
    throw Error(ErrorCode::usage, "MPI has been finalised and cannot start again: make one Session, in main");
  int provided = MPI_THREAD_SINGLE;
  if (detail::is_initialised()) {
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_FUNNELED)
      throw Error(
          ErrorCode::usage,
          "MPI is initialised without threads: call MPI_Init_thread with MPI_THREAD_FUNNELED or more, "
          "or leave MPI to the Session");
    return false;
  }
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    throw Error(ErrorCode::job_fault, "MPI_Init_thread failed: check that mpirun and the MPI library agree");
  if (provided < MPI_THREAD_FUNNELED) {
    MPI_Finalize();
    throw Error(ErrorCode::job_fault,
                "this MPI library does not support threads (MPI_THREAD_FUNNELED): use one built with them");
  }
  return true;
}

}  // namespace

/// Handles the ends of a program that skip the session's destructor: `std::exit` and uncaught exceptions.
/// Only for a session that owns MPI.
class Session::ExitHandlers {
 public:
  explicit ExitHandlers(Session& session) {
    session_ = &session;
    static const bool registered = std::atexit(&at_exit) == 0;
    if (!registered) detail::say("std::atexit failed: std::exit on one rank is not noticed");
    before_ = std::set_terminate(&at_terminate);
  }
  ~ExitHandlers() {
    session_ = nullptr;
    if (std::get_terminate() == &at_terminate) std::set_terminate(std::exchange(before_, nullptr));
  }
  ExitHandlers(const ExitHandlers&) = delete;
  ExitHandlers& operator=(const ExitHandlers&) = delete;

 private:
  static void at_exit() {
    Session* const session = session_;
    if (session == nullptr || detail::is_forked_child()) return;
    const detail::RankGroup& group = *session->world_.self_.group;
    if (group.thread() != std::this_thread::get_id())
      end_job(*session, " called std::exit on another thread than the main one");
    if (detail::is_in_a_collective()) end_job(*session, " called std::exit inside a collective");
    session->end(detail::ExitPath::normal);
  }

  /// Prints which rank ends and why, then calls the application's handler, if it is not the language's own,
  /// which only aborts; ends the job if that returns.
  [[noreturn]] static void at_terminate() {
    const std::terminate_handler theirs = std::exchange(before_, nullptr);
    Session* const session =
        std::exchange(session_, nullptr);  // std::exit in the handler is not handled again
    if (session == nullptr || detail::is_forked_child()) {
      if (theirs != nullptr) theirs();
      std::abort();
    }
    const std::exception_ptr thrown = std::current_exception();
    // Without an allocation: a lack of memory may be what ended the program.
    const std::string reason = thrown ? reason_of(thrown) : std::string();
    std::array<char, 2048> line{};
    std::snprintf(line.data(), line.size(),
                  "rank %d (%s) ends by an exception that nothing caught: %s: the job is ended",
                  session->world_.rank(), session->host(),
                  thrown ? reason.c_str() : "std::terminate was called");
    if (theirs == nullptr || is_of_the_language(theirs))
      abort_job(line.data(), exit_status(ErrorCode::job_fault));
    detail::say(line.data());
    theirs();
    detail::abort_ranks(exit_status(ErrorCode::job_fault));
  }

  [[nodiscard]] static bool is_of_the_language(std::terminate_handler handler) noexcept {
#ifdef __GLIBCXX__
    if (handler == &__gnu_cxx::__verbose_terminate_handler) return true;
#endif
    return handler == &std::abort;
  }

  [[noreturn]] static void end_job(const Session& session, const std::string& how) {
    abort_job(session.name() + how + ": the job is ended", exit_status(ErrorCode::job_fault));
  }

  static inline Session* session_ = nullptr;
  static inline std::terminate_handler before_ = nullptr;  // of the application
};

Session::Session(int& argc, char**& argv) : Session(argc, argv, detail::start_timeout()) {}

Session::Session(int& argc, char**& argv, const detail::StartTimeout& timeout)
    : start_limit_(detail::limit_of_start(timeout)),
      owns_mpi_(initialise(argc, argv)),
      exceptions_(std::uncaught_exceptions()),
      world_(Communicator::duplicate_of(MPI_COMM_WORLD)),
      at_finalize_(
          std::make_unique<detail::AtFinalize>([this] { pass_exit_barrier(detail::ExitPath::finalize); })) {
  if (owns_mpi_) exit_handlers_ = std::make_unique<ExitHandlers>(*this);
  refuse_together(timeout.problem);
  start_limit_.reset();
}

Session::~Session() {
  end(std::uncaught_exceptions() > exceptions_ ? detail::ExitPath::exception : detail::ExitPath::normal);
}

/// Refuses the start on all ranks if one has a problem; the lowest rank's is reported.
void Session::refuse_together(const std::string& problem) {
  const int mine = problem.empty() ? world_.size() : world_.rank();
  const int first = world_.allreduce(mine, Reduction::min);
  if (first == world_.size()) return;
  std::string message = world_.allgather_text(problem).at(static_cast<std::size_t>(first));
  if (first != 0) message = world_.self_.group->name_of(first) + ": " + message;
  const int rank = world_.rank();
  std::shared_ptr<void> finalise;
  if (std::exchange(owns_mpi_, false)) finalise = {nullptr, [](void*) { MPI_Finalize(); }};
  end(detail::ExitPath::normal);
  throw StartRefused(message, rank, std::move(finalise));
}

/// MPI_Finalize waits for missing ranks for ever, and without naming them.
void Session::pass_exit_barrier(detail::ExitPath path) noexcept {
  if (std::exchange(passed_exit_barrier_, true)) return;
  try {
    detail::RankGroup& group = *world_.self_.group;
    group.depart(path);
    detail::exit_barrier(group, path, detail::exit_timeouts(path, world_.timeout()));
    group.all_departed();
  } catch (const std::exception& fault) {
    detail::say("at the end of the program: ", fault.what());
  }
}

std::string Session::name() const {
  return world_.self_.group->name_of(world_.rank());
}

const char* Session::host() const noexcept {
  return world_.self_.group->host_of(world_.rank()).c_str();
}

void Session::end(detail::ExitPath path) noexcept {
  if (detail::is_forked_child()) return;  // the members' destructors take care of themselves
  const bool finalised = detail::is_finalised();
  if (!finalised) pass_exit_barrier(path);
  exit_handlers_.reset();
  at_finalize_.reset();
  world_ = Communicator();  // before MPI_Finalize
  if (owns_mpi_ && !finalised) MPI_Finalize();
}

}  // namespace tessera::inline TESSERA_ABI::mpi
