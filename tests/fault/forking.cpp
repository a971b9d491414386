// SPDX-License-Identifier: Apache-2.0
// forking WAY: a child of rank 0 ends, in its WAY, during a job, which is not affected:
//   exit       by std::exit
//   return     by a return from the function that has session and job
//   throw      by an exception that is caught outside of the session
//   terminate  by one that nothing catches
//   abort      by abort_job, which ends only the child
//   function   by std::exit in a function of a pass, on a thread of the job's
//   calls      by std::exit, after trying calls that only a rank may make
#include <tessera/tessera.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace tessera;

constexpr int status_of_the_child = 7;

struct Scene {
  mpi::Session& session;
  StopRequest& stop;
  Job& job;
};

double sum(Job& job, const std::function<void(const HostTile&)>& work = {}) {
  return job.reduce(
      job.plan(100, 1), 1, [](Tile& tile, ReproducibleSum&) { tile.fail("the policy is cpu"); },
      [&](const HostTile& tile, std::span<double> partial) {
        if (work) work(tile);
        for (std::int64_t unit = tile.range.begin; unit < tile.range.end; ++unit) partial[0] += 1;
      })[0];
}

/// Each call must throw Error(usage) that names the fork.
bool are_refused(const Scene& at) {
  const std::vector<std::function<void()>> calls = {
      [&] { (void)sum(at.job); },
      [&] { at.session.world().barrier(); },
      [&] { at.session.world().alive(); },
      [&] { (void)mpi::Communicator::duplicate_of(MPI_COMM_SELF); },
      [&] { const Job another(at.session.world()); },
      [&] { at.stop.poll(); },
      [&] {
        int argc = 0;
        char** argv = nullptr;
        const mpi::Session another(argc, argv);
      },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    try {
      calls[i]();
      std::printf("call %zu was made in a child\n", i);
      return false;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::usage && std::string(error.what()).find("fork") != std::string::npos)
        continue;
      std::printf("call %zu: %s\n", i, error.what());
      return false;
    }
  }
  return true;
}

/// Returns on the rank, and in the child if it is to return.
void make_child(const std::string& way, const Scene& at) {
  std::fflush(stdout);
  if (const pid_t child = fork(); child != 0) {
    int status = 0;
    waitpid(child, &status, 0);
    const bool as_meant = way == "terminate"
                              ? WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT
                              : WIFEXITED(status) && WEXITSTATUS(status) == status_of_the_child;
    if (!as_meant) mpi::abort_job("the child ended otherwise", 1);
    return;
  }
  if (way == "throw") throw std::runtime_error("in the child");
  if (way == "terminate") std::terminate();
  if (way == "abort") mpi::abort_job("the child gives up", status_of_the_child);
  if (way == "return") return;
  std::exit(way != "calls" || are_refused(at) ? status_of_the_child : 1);  // NOLINT(concurrency-mt-unsafe)
}

int run(int argc, char** argv) {
  const std::string way = argv[1];
  mpi::Session session(argc, argv);
  const mpi::Communicator& world = session.world();
  StopRequest stop(world);
  JobOptions options;
  options.policy = Policy::cpu;
  options.threads = 2;
  options.collective_timeout = std::chrono::milliseconds(0);
  options.stop = &stop;
  Job job(world, options);
  Checkpoint checkpoint(world, std::string(argv[2]), {{"program", "forking 1"}});
  (void)sum(job);

  const pid_t rank = getpid();
  const Scene at{session, stop, job};
  if (world.rank() == 0 && way != "function") make_child(way, at);
  if (getpid() != rank) return status_of_the_child;
  const double after = sum(job, [&](const HostTile& tile) {
    if (way == "function" && tile.range.begin == 0) make_child(way, at);
  });
  // If the child had removed the checkpoint's files, this start would be outdated.
  if (const std::string problem = checkpoint.save("state"); !problem.empty()) std::puts(problem.c_str());
  if (session.is_root() && after == 100) std::puts("the job is healthy");
  checkpoint.remove();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return exit_status(ErrorCode::usage);
  try {
    return run(argc, argv);
  } catch (const std::runtime_error& error) {
    std::printf("caught: %s\n", error.what());
    return status_of_the_child;
  }
}
