// SPDX-License-Identifier: Apache-2.0
// Watchdog: late_start PLACE FOLDER: blocks before the others can ask for the rank, or on only one rank.
//   init   rank 1 is stopped (SIGSTOP) where MPI starts
//   probe  the topology is read from a pipe to which nobody writes
//   alarm  the last message of rank 1, which is stopped then, is lost
//   time   only rank 1 is given an invalid time limit for the start of MPI
//   none   nothing
#include <tessera/tessera.hpp>

#include "job/consensus/alarm.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

bool is_lost = false;

/// Reads the launcher's variables, as MPI has not started.
bool is_rank_1() {
  for (const char* const variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    const char* const rank = std::getenv(variable);
    if (rank != nullptr) return std::string(rank) == "1";
  }
  return false;
}

}  // namespace

// These replace MPI's entry points.
extern "C" {
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  if (*argc > 1 && std::string((*argv)[1]) == "init" && is_rank_1()) (void)std::raise(SIGSTOP);
  return PMPI_Init_thread(argc, argv, required, provided);
}
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return PMPI_Isend(data, count, type, is_lost ? MPI_PROC_NULL : to, tag, comm, request);
}
}

int main(int argc, char** argv) try {
  using namespace tessera;
  using namespace std::chrono_literals;
  if (argc != 3) return exit_status(ErrorCode::usage);
  const std::string place = argv[1];
  if (place == "time" && is_rank_1()) setenv("TESSERA_START_TIMEOUT", "soon", 1);
  mpi::Session session(argc, argv);
  if (place == "probe") {
    const std::string pipe = std::string(argv[2]) + ".pipe." + std::to_string(getpid());
    if (mkfifo(pipe.c_str(), S_IRUSR | S_IWUSR) != 0) return exit_status(ErrorCode::input);
    setenv("HWLOC_XMLFILE", pipe.c_str(), 1);
    JobOptions options;
    options.collective_timeout = 300ms;
    options.policy = Policy::cpu;
    std::atexit([] {
      if (const char* const made = std::getenv("HWLOC_XMLFILE")) unlink(made);
    });
    const Job job(session.world(), options);
  }
  if (place == "alarm") {
    session.set_timeout(300ms);
    Alarm alarm(session.world());
    session.world().barrier();
    if (session.world().rank() == 1) {
      is_lost = true;
      alarm.raise();
    }
    alarm.reset();
    if (session.world().rank() == 1) (void)std::raise(SIGSTOP);
  }
  if (session.is_root()) std::puts("all have started");
} catch (const tessera::mpi::StartRefused& fault) {
  if (fault.is_root()) std::puts(fault.what());
  return exit_status(fault.code());
}
