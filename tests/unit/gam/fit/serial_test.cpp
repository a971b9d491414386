// SPDX-License-Identifier: Apache-2.0
// Concurrent fits in another program's process do not affect each other.
#include "base/cancellation.hpp"
#include "gam/linalg/linalg.hpp"
#include "mpi/job/scoped_variable.hpp"
#include "support/errors.hpp"
#include "support/failing_allocations.hpp"
#include "support/fit_support.hpp"
#include "support/on_cpu.hpp"
#include "support/reference_case.hpp"
#include "temporary_folder.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/gam.hpp>
#include <tessera/job/host_team.hpp>
#include <tessera/job/stop_request.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using tessera::testing::allocations_left;

/// The text of the model from a fit with two threads in this process.
std::string fitted_text(const std::string& name, Policy policy = Policy::cpu, StopRequest* stop = nullptr,
                        FitObserver* observer = nullptr) {
  const auto comm = mpi::Communicator::serial();
  const testing::ReferenceCase reference = testing::load_reference_case(name);
  JobOptions options;
  options.policy = policy;
  options.threads = 2;
  options.stop = stop;
  Job job(comm, options);
  const FitResult result =
      fit(job, parse_formula(reference.formula), testing::in_blocks(reference.data_path, 64),
          testing::options_of(reference), observer);
  EXPECT_EQ(job.on_host(), policy == Policy::cpu);
  return testing::text_of(comm, result.model);
}

/// A fit that is cancelled after its second iteration.
void cancelled(const std::string& name) {
  const testing::ReferenceCase reference = testing::load_reference_case(name);
  testing::interrupted_after(mpi::Communicator::serial(), 2, [&](Job& job, FitObserver* observer) {
    (void)fit(job, parse_formula(reference.formula), testing::in_blocks(reference.data_path, 64),
              testing::options_of(reference), observer);
  });
}

/// A fit whose thread runs out of memory at one of its allocations. True if it ended with an exception.
bool fails_at(const std::string& name, int allocation) {
  const testing::ReferenceCase reference = testing::load_reference_case(name);
  Job job = testing::cpu_job(mpi::Communicator::serial(), 2);
  const Formula formula = parse_formula(reference.formula);
  const FitOptions options = testing::options_of(reference);
  const Table file = testing::in_blocks(reference.data_path, 64);
  bool failed = false;
  allocations_left = allocation;
  try {
    (void)fit(job, formula, file, options);
  } catch (const std::bad_alloc&) {
    failed = true;
  } catch (const Error& error) {
    failed = std::string(error.what()).find("out of memory") != std::string::npos ||
             std::string(error.what()).find("bad_alloc") != std::string::npos;
  }
  allocations_left = 0;
  return failed;
}

TEST(SerialFits, InFourThreadsEndEachByItself) {
  const std::vector<std::string> names{"c06_gs4_by_factor", "c03_gs1_poisson"};
  std::map<std::string, std::string> alone;
  for (const std::string& name : names) alone[name] = fitted_text(name);
  std::vector<std::thread> threads;
  for (const std::string& name : names) {
    threads.emplace_back([&alone, name] {
      for (int repeat = 0; repeat < 4; ++repeat) EXPECT_EQ(fitted_text(name), alone.at(name)) << name;
    });
  }
  threads.emplace_back([] {
    for (int repeat = 0; repeat < 4; ++repeat) cancelled("c03_gs1_poisson");
  });
  threads.emplace_back([] {
    for (const int allocation : {1, 10, 50, 70, 100, 1000, 3000})
      EXPECT_TRUE(fails_at("c03_gs1_poisson", allocation)) << "allocation " << allocation;
  });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& name : names) EXPECT_EQ(fitted_text(name), alone.at(name)) << name;
}

/// Requests a stop at a message of the fit.
class StopAt : public FitObserver {
 public:
  StopAt(StopRequest& stop, std::string what) : stop_(stop), what_(std::move(what)) {}
  void now(std::string_view what) override { note(what); }
  void note(std::string_view what) override {
    if (what.starts_with(what_)) stop_.request("the test");
  }

 private:
  StopRequest& stop_;
  std::string what_;
};

/// The end of a fit to a table of y, x, z and a factor g that is asked to stop at this message.
std::string end_of_fit_stopped_at(const std::string& what, const std::string& formula) {
  const TemporaryFolder folder;
  const std::string path = (folder / "data.csv").string();
  std::ofstream file(path);
  file << "y,x,z,g\n";
  for (int i = 0; i < 200; ++i)
    file << i * 37 % 101 << ',' << i << ',' << i * 53 % 97 << ",g" << i % 7 << '\n';
  file.close();
  const auto comm = mpi::Communicator::serial();
  StopRequest stop(comm, {.signals = {}});
  StopAt observer(stop, what);
  Job job(comm, on_cpu(2, &stop));
  FitOptions of_fit{.largest_tested_effect = 2};
  try {
    (void)fit(job, parse_formula(formula), Table{path}, of_fit, &observer);
    return "a model";
  } catch (const Error& error) {
    return error.code() == ErrorCode::interrupted ? "interrupted" : error.what();
  }
}

TEST(SerialFits, AreCancelledBetweenPassesToo) {
  EXPECT_EQ(end_of_fit_stopped_at("finding knots", "y ~ I(0 * x) + s(z)"), "interrupted")
      << "before the constant column is found";
  EXPECT_EQ(end_of_fit_stopped_at("random effects not tested", "y ~ s(x) + s(g, bs=\"re\")"), "interrupted")
      << "after the last pass";
}

TEST(SerialFits, AskWhetherToGoOnBeforeEachStep) {
  std::atomic<int> asked = 0;
  const auto count = [&] { ++asked; };
  const auto stop = [&] {
    if (++asked == 3) throw Error(ErrorCode::interrupted, "asked to stop");
  };
  HostTeam team(2);
  const auto three_blocks = [&] { (void)team.for_each_block({0, 3}, 1, [](int, Range) {}); };
  {
    const base::CancellationScope cancellation(count);
    (void)multiply(identity(2), identity(2));
    EXPECT_EQ(asked, 1);
    three_blocks();
    EXPECT_EQ(asked, 4);
    asked = 0;
    const base::CancellationScope other(stop);
    EXPECT_THROW(three_blocks(), Error);
    EXPECT_THROW(
        {
          asked = 2;
          (void)multiply(identity(2), identity(2));
        },
        Error);
  }
  asked = 0;
  three_blocks();
  EXPECT_EQ(asked, 0);
}

TEST(SerialFits, ShareADevice) {
  const tessera::testing::ScopedVariable simulate("TESSERA_SIMULATE", "rank0:H200");
  const std::vector<std::string> names{"c06_gs4_by_factor", "c03_gs1_poisson"};
  std::map<std::string, std::string> alone;
  for (const std::string& name : names) alone[name] = fitted_text(name, Policy::gpu);
  std::vector<std::thread> threads;
  for (const std::string& name : names) {
    threads.emplace_back([&alone, name] {
      for (int repeat = 0; repeat < 3; ++repeat)
        EXPECT_EQ(fitted_text(name, Policy::gpu), alone.at(name)) << name;
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Tries other fits during an iteration of a fit.
class Meanwhile : public FitObserver {
 public:
  void now(std::string_view what) override {
    if (!what.starts_with("iteration") || std::exchange(is_done_, true)) return;
    std::thread([] {
      StopRequest stop(mpi::Communicator::serial(), {.signals = {}, .time_limit = std::chrono::seconds(1)});
      error_of(ErrorCode::interrupted, [&] { (void)fitted_text("c03_gs1_poisson", Policy::gpu, &stop); });
      EXPECT_NE(fitted_text("c03_gs1_poisson"), "") << "that of another fit does not keep the CPU";
    }).join();
  }
  [[nodiscard]] bool is_done() const { return is_done_; }

 private:
  bool is_done_ = false;
};

TEST(SerialFits, HaveADeviceFromTheirFirstPassToTheirEnd) {
  const tessera::testing::ScopedVariable simulate("TESSERA_SIMULATE", "rank0:H200");
  const std::string alone = fitted_text("c03_gs1_poisson", Policy::gpu);
  Meanwhile observer;
  EXPECT_EQ(fitted_text("c03_gs1_poisson", Policy::gpu, nullptr, &observer), alone);
  EXPECT_TRUE(observer.is_done());
}

TEST(SerialFits, InAForkedChildHaveTheBitsOfTheParent) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer allows no threads in a forked child";
#endif
  const std::string name = "c03_gs1_poisson";
  const std::string parents = fitted_text(name);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      _exit(fitted_text(name) == parents ? 0 : 1);
    } catch (...) {
      _exit(2);
    }
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  EXPECT_EQ(fitted_text(name), parents);
}

TEST(SerialFits, PredictWithoutMpi) {
  const auto comm = mpi::Communicator::serial();
  const testing::ReferenceCase reference = testing::load_reference_case("c03_gs1_poisson");
  const FittedModel model =
      testing::fitted(comm, reference.formula, Table{reference.data_path}, testing::options_of(reference), 2);
  Job job = testing::cpu_job(comm, 2);
  const testing::AllPredictions all = testing::predicted_from_file(job, model, reference.data_path);
  EXPECT_LT(testing::relative_to_range(all.fit, reference.linear_predictor), 1e-6);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
