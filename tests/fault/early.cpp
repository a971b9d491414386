// SPDX-License-Identifier: Apache-2.0
// early OWNER WAY: as early_c, in C++. OWNER initialises MPI: a "session", or the program ("own").
//   pass, job, vote, allgather, broadcast, barrier, split, duplicate
//                        rank 1 returns from main where the others make this call
//   unfinished, forgetful, function, ...
//                        as early_c, and
//   exception            by an exception that nothing catches
//   static               no rank calls MPI_Finalize but in the destructor of a static object
#include <tessera/tessera.hpp>

#include "early.h"

#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

namespace {

using namespace tessera;

JobOptions endless() {
  JobOptions options;
  options.policy = Policy::cpu;
  options.collective_timeout = std::chrono::milliseconds(0);
  options.threads = 4;
  return options;
}

double count(Job& job, bool leaves) {
  return job.reduce(job.plan(1000, 10), 1, host_only, [&](const HostTile& tile, std::span<double> partial) {
    if (leaves) leave("function");
    partial[0] += static_cast<double>(tile.range.size());
  })[0];
}

/// The library's collective calls of the other ranks, by name, except passes.
const std::map<std::string, std::function<void(const mpi::Communicator&)>> calls = {
    {"job", [](const auto& world) { const Job another(world, endless()); }},
    {"vote", [](const auto& world) { together(world, "the reading of the input", [] {}); }},
    {"allgather", [](const auto& world) { (void)world.allgather(1.0); }},
    {"broadcast", [](const auto& world) { (void)world.broadcast_text("here", 1); }},
    {"barrier", [](const auto& world) { world.barrier(); }},
    {"split", [](const auto& world) { (void)world.split(0); }},
    {"duplicate", [](const auto&) { (void)mpi::Communicator::duplicate_of(MPI_COMM_WORLD); }},
};

/// The ways in which rank 1 makes all calls.
const std::set<std::string> stays = {"function", "unfinished", "forgetful", "static"};

void work(const mpi::Communicator& world, const std::string& way) {
  Job job(world, endless());
  double sum = count(job, false);
  const bool first = world.rank() == 1;
  if (first && !stays.contains(way)) {
    if (way == "exception") throw std::runtime_error("the table is torn");
    leave(way.c_str());
    return;
  }
  if (const auto call = calls.find(way); call != calls.end())
    call->second(world);
  else
    sum = count(job, first && way == "function");
  if (way == "unfinished" && !first) MPI_Finalize();
  if (world.rank() == 0) std::printf("the answer is %g\n", sum);
}

/// A program that calls MPI_Finalize in a static object's destructor.
struct Finalizer {
  bool needed = false;
  ~Finalizer() {
    if (needed) MPI_Finalize();
  }
} finalizer;

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): one of the tested ways out
int main(int argc, char** argv) {
  if (argc != 3) return exit_status(ErrorCode::usage);
  const std::string way = argv[2];
  if (way == "off") mpi::watch_exits(false);
  if (argv[1] == std::string("session")) {
    const mpi::Session session(argc, argv);
    work(session.world(), way);
    return 0;
  }
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  work(mpi::Communicator::duplicate_of(MPI_COMM_WORLD), way);
  int ended = 0;
  MPI_Finalized(&ended);
  finalizer.needed = way == "static";
  if (ended == 0 && rank != 1 && way != "forgetful" && way != "static") MPI_Finalize();
  return 0;
}
