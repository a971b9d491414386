// SPDX-License-Identifier: Apache-2.0
#include "mpi/abort.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator_access.hpp"
#include "mpi/exit_barrier.hpp"
#include "mpi/exit_guard.hpp"
#include "mpi/finalize.hpp"
#include "mpi/fork.hpp"
#include "mpi/lifetime.hpp"
#include "mpi/rank_group.hpp"
#include "mpi/time_limit.hpp"

#include <tessera/mpi/session.hpp>

#include <csignal>
#include <exception>

namespace TESSERA_NAMESPACE::mpi {
namespace {

/// Returns whether this call has initialised MPI.
bool initialise(int& argc, char**& argv) {
  if (detail::is_forked_child()) throw detail::ForkedChild();
  if (detail::is_finalised())
    throw Error(ErrorCode::usage,
                "MPI has been finalised and cannot be initialised again: create only one Session, in main");
  int provided = MPI_THREAD_SINGLE;
  if (detail::is_initialised()) {
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_FUNNELED)
      throw Error(ErrorCode::usage,
                  "MPI is initialised without thread support: call MPI_Init_thread with MPI_THREAD_FUNNELED "
                  "or higher, or let the Session initialise MPI");
    return false;
  }
  struct sigaction usr1 {};
  (void)sigaction(SIGUSR1, nullptr, &usr1);
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    throw Error(
        ErrorCode::job_fault,
        "MPI_Init_thread failed: check that mpirun and the MPI library are of the same MPI installation");
  // Restores SIGUSR1 for a single rank. MPICH's handler asks the launcher which rank has died; a single rank
  // may have no launcher, and MPICH would start one and wait for it.
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1) (void)sigaction(SIGUSR1, &usr1, nullptr);
  if (provided < MPI_THREAD_FUNNELED) {
    MPI_Finalize();
    throw Error(ErrorCode::job_fault,
                "this MPI library does not support threads (MPI_THREAD_FUNNELED): use an MPI library with "
                "thread support");
  }
  detail::arm_exit_guard(detail::MpiOwner::session);
  return true;
}

}  // namespace

struct Session::Mpi {
  bool is_owned = false;
  int exceptions = 0;  ///< uncaught exceptions at construction
  bool passed_exit_barrier = false;
  std::unique_ptr<detail::AtFinalize> at_finalize;
};

Session::Session(int& argc, char**& argv, Runtime runtime) {
  if (runtime == Runtime::serial)
    world_ = detail::CommunicatorAccess::serial_of_program();
  else
    start(argc, argv);
}

void Session::start(int& argc, char**& argv) {
  const detail::StartTimeout timeout = detail::start_timeout();
  const auto limit = detail::limit_of_start(timeout);
  mpi_ = std::make_unique<Mpi>();
  mpi_->is_owned = initialise(argc, argv);
  mpi_->exceptions = std::uncaught_exceptions();
  world_ = Communicator::duplicate_of(MPI_COMM_WORLD);
  mpi_->at_finalize =
      std::make_unique<detail::AtFinalize>([this](detail::ExitPath path) { pass_exit_barrier(path); });
  refuse_together(timeout.problem);
}

Session::~Session() {
  if (!mpi_) return;
  end(std::uncaught_exceptions() > mpi_->exceptions ? detail::ExitPath::exception : detail::ExitPath::normal);
}

/// *Collective.* Throws on all ranks if a rank has a problem, with the problem of the lowest such rank.
void Session::refuse_together(const std::string& problem) {
  const int mine = problem.empty() ? world_.size() : world_.rank();
  const int first = world_.allreduce(mine, Reduction::min);
  if (first == world_.size()) return;
  std::string message = world_.allgather_text(problem).at(static_cast<std::size_t>(first));
  if (first != 0) message = world_.self_.group->name_of(first) + ": " + message;
  const int rank = world_.rank();
  std::shared_ptr<void> finalise;
  if (std::exchange(mpi_->is_owned, false)) finalise = {nullptr, [](void*) { MPI_Finalize(); }};
  end(detail::ExitPath::normal);
  throw StartRefused(message, rank, std::move(finalise));
}

/// Call before MPI_Finalize, which would wait for missing ranks without a timeout.
void Session::pass_exit_barrier(detail::ExitPath path) noexcept {
  if (std::exchange(mpi_->passed_exit_barrier, true)) return;
  try {
    detail::RankGroup& group = *world_.self_.group;
    group.depart(path);
    detail::exit_barrier(group, path, detail::exit_timeouts(path, world_.timeout()));
    group.all_departed();
  } catch (const std::exception& fault) {
    detail::say("at the end of the program: ", fault.what());
  }
}

void Session::end(detail::ExitPath path) noexcept {
  if (detail::is_forked_child()) return;  // the members' destructors handle forked children
  const bool finalised = detail::is_finalised();
  if (!finalised) pass_exit_barrier(path);
  mpi_->at_finalize.reset();
  world_ = Communicator();  // must be freed before MPI_Finalize
  if (mpi_->is_owned && !finalised) MPI_Finalize();
}

}  // namespace TESSERA_NAMESPACE::mpi
