// SPDX-License-Identifier: Apache-2.0
#include "mpi/abort.hpp"
#include "mpi/check.hpp"
#include "mpi/ending.hpp"
#include "mpi/finalize.hpp"
#include "mpi/fork.hpp"
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
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0)
    throw Error(ErrorCode::usage, "MPI has been finalised and cannot start again: make one Session, in main");
  int initialized = 0;
  MPI_Initialized(&initialized);
  int provided = MPI_THREAD_SINGLE;
  if (initialized != 0) {
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

/// The ways out of a program that pass by no destructor: `std::exit`, and an exception that nothing catches.
/// Of the session that owns MPI.
class Session::Exits {
 public:
  explicit Exits(Session& session) {
    session_ = &session;
    static const bool registered = std::atexit(&at_exit) == 0;
    if (!registered) detail::say("std::atexit failed: std::exit on one rank is not noticed");
    before_ = std::set_terminate(&at_terminate);
  }
  ~Exits() {
    session_ = nullptr;
    if (std::get_terminate() == &at_terminate) std::set_terminate(std::exchange(before_, nullptr));
  }
  Exits(const Exits&) = delete;
  Exits& operator=(const Exits&) = delete;

 private:
  static void at_exit() {
    Session* const session = session_;
    if (session == nullptr || detail::is_forked_child()) return;
    const detail::RankGroup& group = *session->world_.self_.group;
    if (group.thread() != std::this_thread::get_id())
      end_job(*session, " called std::exit on another thread than the main one");
    if (detail::is_in_a_collective()) end_job(*session, " called std::exit inside a collective");
    session->end(detail::WayOut::plain);
  }

  /// Says who ends and why, then calls the handler of the application, which may write what it knows, and
  /// ends the job if that has not ended the process. The handler of the language itself only aborts.
  [[noreturn]] static void at_terminate() {
    const std::terminate_handler theirs = std::exchange(before_, nullptr);
    Session* const session = std::exchange(session_, nullptr);  // an exit in the handler is no way out
    if (session == nullptr || detail::is_forked_child()) {
      if (theirs != nullptr) theirs();
      std::abort();
    }
    const std::exception_ptr thrown = std::current_exception();
    // Without taking memory: that there is none may be what ended the program.
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
      at_finalize_(std::make_unique<detail::AtFinalize>([this] { meet(detail::WayOut::finalize); })) {
  if (owns_mpi_) exits_ = std::make_unique<Exits>(*this);
  refuse_together(timeout.problem);
  start_limit_.reset();
}

Session::~Session() {
  end(std::uncaught_exceptions() > exceptions_ ? detail::WayOut::exception : detail::WayOut::plain);
}

/// All ranks refuse the start for the problem of the first that has one, or none does.
void Session::refuse_together(const std::string& problem) {
  const int mine = problem.empty() ? world_.size() : world_.rank();
  const int first = world_.allreduce(mine, Reduction::min);
  if (first == world_.size()) return;
  std::string message = world_.allgather_text(problem).at(static_cast<std::size_t>(first));
  if (first != 0) message = world_.self_.group->name_of(first) + ": " + message;
  const int rank = world_.rank();
  std::shared_ptr<void> finalise;
  if (std::exchange(owns_mpi_, false)) finalise = {nullptr, [](void*) { MPI_Finalize(); }};
  end(detail::WayOut::plain);
  throw StartRefused(message, rank, std::move(finalise));
}

/// MPI_Finalize waits for every rank, and for ever: here it is seen which ranks do not come.
void Session::meet(detail::WayOut way) noexcept {
  if (std::exchange(has_met_, true)) return;
  try {
    detail::RankGroup& group = *world_.self_.group;
    group.leave(way);
    detail::meet_at_end(group, way, detail::patience_at_end(way, world_.timeout()));
    group.all_have_left();
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

void Session::end(detail::WayOut way) noexcept {
  if (detail::is_forked_child()) return;  // its members see to themselves
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) meet(way);
  exits_.reset();
  at_finalize_.reset();
  world_ = Communicator();  // while MPI is still there
  if (owns_mpi_ && finalized == 0) MPI_Finalize();
}

}  // namespace tessera::inline TESSERA_ABI::mpi
