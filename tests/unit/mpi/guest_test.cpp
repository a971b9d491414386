// SPDX-License-Identifier: Apache-2.0
// In another program's process the library respects its signals and forked children. Devices are used only in
// children, so that each test has a process that has used none.
#include "base/signals_blocked.hpp"
#include "mpi/job/job_testing.hpp"

#include <tessera/mpi/exit_guard.hpp>
#include <tessera/mpi/session.hpp>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace tessera::testing {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr bool may_fork = false;  // ThreadSanitizer allows no threads in a forked child
#else
constexpr bool may_fork = true;
#endif

/// The result of `work` in a forked child; -1: the child ended otherwise.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      _exit(work());  // not gtest's exit, which prints for the parent
    } catch (...) {
      _exit(255);
    }
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::set<int> blocked_signals() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  std::set<int> blocked;
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD, SIGSEGV, SIGFPE, SIGABRT, SIGPROF})
    if (sigismember(&mask, signal) == 1) blocked.insert(signal);
  return blocked;
}

const std::set<int> asynchronous{SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD};

/// The signals that are blocked on the threads that compute a pass.
std::vector<std::set<int>> blocked_in_pass(Policy policy) {
  JobOptions options = with_threads(2);
  options.policy = policy;
  Job job(mpi::Communicator::serial(), options);
  std::mutex mutex;
  std::set<std::set<int>> found;
  (void)job.reduce(job.plan(100), 1, no_real_device, [&](const HostTile&, std::span<double>) {
    const std::lock_guard lock(mutex);
    found.insert(blocked_signals());
  });
  return {found.begin(), found.end()};
}

TEST(Guest, ThreadsOfAJobLeaveSignalsToTheHost) {
  EXPECT_EQ(blocked_in_pass(Policy::cpu), std::vector{asynchronous});
  EXPECT_EQ(blocked_signals(), std::set<int>()) << "the host's thread";
  if (!may_fork) return;
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank0:2xH200");
  EXPECT_EQ(in_child([] { return blocked_in_pass(Policy::gpu) == std::vector{asynchronous} ? 0 : 1; }), 0);
}

TEST(Guest, IsAProgramWithASessionWhoseEndIsNotWatched) {
  if (!may_fork) GTEST_SKIP() << "no threads in a forked child";
  const auto wrong = [] {
    int argc = 0;
    char** argv = nullptr;
    const mpi::Session session(argc, argv, mpi::Runtime::serial);
    if (blocked_in_pass(Policy::cpu) != std::vector{std::set<int>()}) return 1;
    mpi::watch_exits(false);
    return blocked_in_pass(Policy::cpu) == std::vector{asynchronous} ? 0 : 2;
  };
  EXPECT_EQ(in_child(wrong), 0);
}

TEST(Guest, AThreadKeepsWhatWasBlockedWhereItWasMade) {
  std::set<int> inside;
  std::thread thread;
  {
    const base::SignalsBlocked blocked;
    EXPECT_EQ(blocked_signals(), asynchronous);
    thread = std::thread([&] { inside = blocked_signals(); });
  }
  thread.join();
  EXPECT_EQ(inside, asynchronous);
  EXPECT_EQ(blocked_signals(), std::set<int>());
}

constexpr std::int64_t units = 1000;
constexpr std::int64_t block = 7;

bool computes(Job& job) {
  return bits(reduce_units(job, job.plan(units, block))) == bits(expected_sums(units, block));
}

/// A bit for each fault of jobs in a child whose parent has used a device.
int wrong_in_child(Policy policy) {
  JobOptions options = with_threads(2);
  options.policy = policy;
  try {
    const Job job(mpi::Communicator::serial(), options);
    return job.on_host() ? 1 : 2;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::usage) return 4;
    if (std::string(error.what()).find("spawn") == std::string::npos) return 8;
  }
  options.policy = Policy::cpu;
  Job job(mpi::Communicator::serial(), options);
  return job.on_host() && computes(job) ? 0 : 16;
}

TEST(Guest, AChildDoesNotUseADeviceThatItsParentHasUsed) {
  if (!may_fork) GTEST_SKIP() << "no threads in a forked child";
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank0:H200");
  for (const bool lives : {true, false}) {
    for (const Policy policy : {Policy::automatic, Policy::gpu}) {
      EXPECT_EQ(in_child([&] {
                  std::optional<Job> job(std::in_place, mpi::Communicator::serial(), with_threads(1));
                  if (job->on_host() || !computes(*job)) return 32;
                  if (!lives) job.reset();
                  return in_child([&] { return wrong_in_child(policy); });
                }),
                0)
          << to_string(policy) << (lives ? ", the parent's job lives" : "");
    }
  }
}

TEST(Guest, AChildUsesADeviceThatItsParentHasNot) {
  if (!may_fork) GTEST_SKIP() << "no threads in a forked child";
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank0:H200");
  const auto wrong = [] {
    Job job(mpi::Communicator::serial(), with_threads(2));
    return job.on_host() || !computes(job) ? 1 : 0;
  };
  { const Job unused(mpi::Communicator::serial(), with_threads(1)); }
  EXPECT_EQ(in_child(wrong), 0);
  {
    // Jobs of the child take turns among themselves.
    const Job unused(mpi::Communicator::serial(), with_threads(1));
    EXPECT_EQ(in_child([&] { return wrong() == 0 && wrong() == 0 ? 0 : 1; }), 0);
  }
}

}  // namespace
}  // namespace tessera::testing
