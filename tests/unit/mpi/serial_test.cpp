// SPDX-License-Identifier: Apache-2.0
// A job of one process without MPI gives the right results, as in another program's process.
#include "job/job_access.hpp"
#include "mpi/job/job_testing.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>
#include <tessera/job/stop_request.hpp>
#include <tessera/job/together.hpp>
#include <tessera/mpi/session.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>

namespace tessera::testing {
namespace {

constexpr std::int64_t units = 1000;
constexpr std::int64_t block = 7;

/// Checks the results of a job's passes.
void expect_right(Job& job) {
  const Plan plan = job.plan(units, block);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(units, block)));
}

JobOptions on_host(int threads) {
  JobOptions options = with_threads(threads);
  options.policy = Policy::cpu;
  return options;
}

/// The handlers that a host program has set.
struct Handlers {
  std::array<struct sigaction, NSIG> actions{};
  std::terminate_handler at_terminate = std::get_terminate();

  Handlers() {
    for (int signal = 1; signal < NSIG; ++signal)
      (void)sigaction(signal, nullptr, &actions[static_cast<std::size_t>(signal)]);
  }
  /// SA_RESTORER, which glibc sets in any handler that it installs.
  static constexpr int of_glibc = 0x04000000;

  [[nodiscard]] bool operator==(const Handlers& other) const {
    for (std::size_t signal = 1; signal < NSIG; ++signal) {
      if (actions[signal].sa_handler != other.actions[signal].sa_handler ||
          ((actions[signal].sa_flags ^ other.actions[signal].sa_flags) & ~of_glibc) != 0)
        return false;
    }
    return at_terminate == other.at_terminate;
  }
};

class Serial : public ::testing::Test {
 protected:
#if TESSERA_HAVE_MPI
  void TearDown() override {
    int initialised = 0;
    MPI_Initialized(&initialised);
    EXPECT_EQ(initialised, 0) << "MPI was started";
  }
#endif
};

TEST_F(Serial, ACommunicatorIsOneRank) {
  const auto comm = mpi::Communicator::serial();
  EXPECT_TRUE(comm.is_serial());
  EXPECT_EQ(comm.rank(), 0);
  EXPECT_EQ(comm.size(), 1);
#if TESSERA_HAVE_MPI
  EXPECT_EQ(comm.native(), MPI_COMM_NULL);
#endif
  comm.barrier();
  comm.alive();
  EXPECT_EQ(comm.allreduce(0.5, mpi::Reduction::sum), 0.5);
  EXPECT_EQ(comm.allgather(7), std::vector<int>{7});
  std::vector<std::size_t> offsets;
  const std::vector<double> mine{1, 2, 3};
  EXPECT_EQ(comm.allgatherv(std::span(mine), &offsets), mine);
  EXPECT_EQ(offsets, (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(comm.allgather_text("one"), std::vector<std::string>{"one"});
  EXPECT_EQ(comm.broadcast_text("all", 0), "all");
  const std::size_t all = 3;
  EXPECT_EQ(comm.alltoallv(std::span(mine), std::span(&all, 1)), mine);
  std::int64_t value = 5;
  comm.broadcast(std::span(&value, 1), 0);
  EXPECT_EQ(value, 5);
  EXPECT_TRUE(comm.duplicate(std::chrono::seconds(3)).is_serial());
  EXPECT_EQ(comm.duplicate(std::chrono::seconds(3)).timeout(), std::chrono::seconds(3));
  EXPECT_TRUE(comm.split(4).is_serial());
}

TEST_F(Serial, ItRefusesWhatAnyCommunicatorRefuses) {
  const auto comm = mpi::Communicator::serial();
  EXPECT_NE(misuse_of([&] { (void)comm.split(-1); }).find("color -1"), std::string::npos);
  const std::vector<double> mine{1, 2};
  const std::size_t wrong = 3;
  EXPECT_NE(
      misuse_of([&] { (void)comm.alltoallv(std::span(mine), std::span(&wrong, 1)); }).find("add up to 3"),
      std::string::npos);
#if TESSERA_HAVE_MPI
  MPI_Request none = MPI_REQUEST_NULL;
  EXPECT_NE(misuse_of([&] { comm.wait(none, "a scan"); }).find("no requests"), std::string::npos);
#endif
  EXPECT_FALSE(mpi::Communicator().is_serial());
  EXPECT_NE(misuse_of([] { mpi::Communicator().barrier(); }).find("empty"), std::string::npos);
}

TEST_F(Serial, AJobComputesOnTheHostAndOnDevices) {
  {
    Job job(mpi::Communicator::serial(), on_host(2));
    EXPECT_TRUE(job.on_host());
    expect_right(job);
  }
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank0:2xH200");
  Job job(mpi::Communicator::serial(), with_threads(2));
  EXPECT_FALSE(job.on_host());
  EXPECT_EQ(job.devices().size(), 2U);
  expect_right(job);
}

TEST_F(Serial, AnyThreadMayMakeAJobAndAnyOtherUseIt) {
  std::optional<Job> made;
  std::thread([&] { made.emplace(mpi::Communicator::serial(), on_host(2)); }).join();
  std::thread([&] { expect_right(*made); }).join();
  expect_right(*made);
}

TEST_F(Serial, JobsOfSeveralThreadsDoNotMeet) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int repeat = 0; repeat < 5; ++repeat) {
        Job job(mpi::Communicator::serial(), on_host(2));
        expect_right(job);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Serial, FailuresAreThrown) {
  const auto comm = mpi::Communicator::serial();
  EXPECT_THROW(together(comm, [] { throw Error(ErrorCode::input, "no such column"); }), Error);
  Job job(comm, on_host(2));
  const Plan plan = job.plan(units, block);
  const std::vector<double> mine(units);
  EXPECT_THROW((void)job.map<double>(plan, mine, host_only,
                                     [](const HostTile&, std::span<const double>, std::span<double>) {
                                       throw std::bad_alloc();
                                     }),
               std::bad_alloc);
  expect_right(job);
  JobOptions gpu;
  gpu.policy = Policy::gpu;
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank1:H200");
  EXPECT_THROW(Job(comm, gpu), Error);
}

TEST_F(Serial, AVerbInAFunctionOfAPassIsRefused) {
  Job job(mpi::Communicator::serial(), on_host(1));
  const Plan plan = job.plan(10);
  const std::string said = misuse_of([&] {
    (void)job.reduce(plan, 1, host_only,
                     [&](const HostTile&, std::span<double>) { (void)reduce_units(job, plan); });
  });
  EXPECT_NE(said.find("function of a pass"), std::string::npos) << said;
  expect_right(job);
}

TEST_F(Serial, HandlersAndOutputsAreTheHosts) {
  const Handlers before;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  {
    const auto comm = mpi::Communicator::serial();
    StopRequest stop(comm);
    EXPECT_EQ(Handlers(), before);
    JobOptions options = on_host(2);
    options.stop = &stop;
    Job job(comm, options);
    expect_right(job);
    EXPECT_EQ(Handlers(), before);
    stop.request("the host");
    EXPECT_EQ(error_of(ErrorCode::interrupted, [&] { expect_right(job); }), "stopped by the host on rank 0");
  }
  EXPECT_EQ(Handlers(), before);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(Serial, ASessionIsAProgramsAndCatchesSignals) {
  const Handlers before;
  {
    char name[] = "program";
    char* arguments[] = {name, nullptr};
    char** argv = arguments;
    int argc = 1;
    mpi::Session session(argc, argv, mpi::Runtime::serial);
    EXPECT_TRUE(session.is_root());
    EXPECT_EQ(Handlers(), before);
    StopRequest stop(session.world());
    EXPECT_FALSE(stop.requested());
    (void)std::raise(SIGUSR1);
    EXPECT_TRUE(stop.requested());
    EXPECT_TRUE(stop.agree());
    EXPECT_EQ(stop.cause(), "SIGUSR1 on rank 0");
    EXPECT_TRUE(tessera::detail::JobAccess::have_same_ranks(stop, session.world()));
    EXPECT_TRUE(tessera::detail::JobAccess::have_same_ranks(stop, mpi::Communicator::serial()));
  }
  EXPECT_EQ(Handlers(), before);
}

TEST_F(Serial, AForkedChildMakesItsOwnJob) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer allows no threads in a forked child";
#endif
  std::optional<Job> parents;
  parents.emplace(mpi::Communicator::serial(), on_host(2));
  expect_right(*parents);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // The child does not use gtest's expectations, which print for the parent.
    int wrong = 0;
    try {
      (void)reduce_units(*parents, parents->plan(units, block));
      wrong |= 1;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::usage) wrong |= 2;
    }
    parents.reset();
    Job job(mpi::Communicator::serial(), on_host(2));
    if (bits(reduce_units(job, job.plan(units, block))) != bits(expected_sums(units, block))) wrong |= 4;
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  expect_right(*parents);
}

}  // namespace
}  // namespace tessera::testing
