// SPDX-License-Identifier: Apache-2.0
// leaving WAY RANK THEN: RANK leaves the program in its WAY while the others make a collective call:
//   exception   by an exception that is caught outside of the session
//   uncaught    by one that nothing catches
//   handler     by one that nothing catches, with a terminate handler that the application set earlier
//   caught      by one that is caught inside; then it returns
//   return      it returns early
//   exit        by std::exit
//   finalize    it calls MPI_Finalize, and returns
//   other-exit  by std::exit on another thread
//   together    as all other ranks, by the same exception
//   exits       as all other ranks, by std::exit
// THEN is the call of the others: "sum", "broadcast" (from the last rank), "part" (a barrier without rank 0),
// "part-broadcast" (from the last rank, without rank 0), "duplicate" (of the caller's communicator), "split",
// "job" (its construction), "pass" (of a job that all have constructed). There is no timeout.
#include <tessera/tessera.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace tessera;

constexpr int status_of_a_way_out = 3;

void leave(const std::string& way) {
  if (way == "finalize") MPI_Finalize();
  if (way == "return" || way == "finalize") return;
  if (way == "exit" || way == "exits") std::exit(status_of_a_way_out);  // NOLINT(concurrency-mt-unsafe)
  if (way == "other-exit") std::thread([] { std::exit(status_of_a_way_out); }).join();
  throw std::runtime_error("the table is torn");
}

/// Objects that all ranks have constructed before one leaves.
struct Scene {
  const mpi::Communicator& world;
  const mpi::Communicator& part;
  Job& job;
};

JobOptions endless() {
  JobOptions options;
  options.policy = Policy::cpu;
  options.collective_timeout = std::chrono::milliseconds(0);
  return options;
}

/// The calls of the others, by name.
const std::map<std::string, std::function<void(const Scene&)>> calls = {
    {"sum",
     [](const Scene& at) {
       const double sum = at.world.allreduce(1.0, mpi::Reduction::sum);
       std::printf("rank %d got the sum %g\n", at.world.rank(), sum);
     }},
    {"broadcast", [](const Scene& at) { (void)at.world.broadcast_text("here", at.world.size() - 1); }},
    {"part",
     [](const Scene& at) {
       if (at.world.rank() != 0) at.part.barrier();
     }},
    {"part-broadcast",
     [](const Scene& at) {
       if (at.world.rank() != 0) (void)at.part.broadcast_text("here", at.part.size() - 1);
     }},
    {"duplicate", [](const Scene&) { (void)mpi::Communicator::duplicate_of(MPI_COMM_WORLD); }},
    {"split", [](const Scene& at) { (void)at.world.split(0); }},
    {"job", [](const Scene& at) { const Job another(at.world, endless()); }},
    {"pass",
     [](const Scene& at) {
       (void)at.job.reduce(
           at.job.plan(100), 1, [](Tile&, ReproducibleSum&) {}, [](const HostTile&, std::span<double>) {});
     }},
};

int run(int argc, char** argv) {
  mpi::Session session(argc, argv);
  const mpi::Communicator& world = session.world();
  const std::string way = argv[1];
  const int rank = std::stoi(argv[2]);
  const std::string then = argv[3];
  const auto part = world.split(world.rank() == 0 ? 0 : 1);
  Job job(world, endless());
  if (way == "together" || way == "exits") {
    if (world.rank() == rank) std::puts("all ranks leave");
    leave(way);
  }
  if (world.rank() == rank) {
    try {
      leave(way);
    } catch (const std::runtime_error&) {
      if (way != "caught") throw;
    }
    return status_of_a_way_out;
  }
  calls.at(then)({world, part, job});
  std::puts("a rank came through");
  return 0;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): one of the tested ways out
int main(int argc, char** argv) {
  if (argc != 4) return exit_status(ErrorCode::usage);
  const std::string way = argv[1];
  if (way == "handler") std::set_terminate([] { std::fputs("the application's last words\n", stderr); });
  if (way == "handler" || way == "uncaught") return run(argc, argv);
  try {
    return run(argc, argv);
  } catch (const std::runtime_error&) {
    return status_of_a_way_out;
  }
}
