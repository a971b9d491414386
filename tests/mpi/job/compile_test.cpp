// SPDX-License-Identifier: Apache-2.0
// In a job with simulated devices of several kinds, one rank compiles each kernel, and all ranks get it.
#include "base/cancellation.hpp"
#include "mpi/job/job_testing.hpp"
#include "support/errors.hpp"
#include "unit/device/fake_compiler.hpp"

#include <tessera/error.hpp>

#include <chrono>
#include <filesystem>
#include <future>
#include <string>

namespace {

using namespace tessera;
using tessera::testing::expect_same_on_all_ranks;
using tessera::testing::FakeCompiler;
using tessera::testing::ScopedVariable;
using tessera::testing::world;

class CompileTest : public ::testing::Test {
 protected:
  Job make_job(const std::filesystem::path& directory = {}) {
    JobOptions options;
    options.modules = {.compiler = compiler_, .directory = directory};
    options.collective_timeout = std::chrono::minutes(1);
    return Job(comm_, options);
  }

  static ModuleSource source_of(const std::string& text) {
    return {.name = "test", .text = text, .headers = {}, .options = {}};
  }

  /// Over all ranks. *Collective.*
  [[nodiscard]] std::int64_t compiles() const {
    return comm_.allreduce(std::int64_t{compiler_->compiles}, mpi::Reduction::sum);
  }

  /// Everything about the outcomes, as one line.
  static std::string described(const std::vector<JobModule>& modules) {
    std::string text;
    for (const JobModule& module : modules) {
      text += std::to_string(module.capability.major) + "." + std::to_string(module.capability.minor) + " ";
      if (const auto* compiled = std::get_if<CompiledModule>(&module.outcome))
        text += compiled->target + "|" + compiled->image + "|" + compiled->log + ";";
      else
        text += to_string(std::get<CompileFailure>(module.outcome)) + "|" +
                std::get<CompileFailure>(module.outcome).log + ";";
    }
    return text;
  }

  mpi::Communicator comm_ = world();
  std::shared_ptr<FakeCompiler> compiler_ = std::make_shared<FakeCompiler>();
  // Two kinds, ordered such that rank 1, if it exists, builds the second one.
  ScopedVariable simulate_{"TESSERA_SIMULATE",
                           comm_.size() == 1 ? "*:2xH200+A100" : "rank1:A100+H200; *:2xH200"};
  ScopedVariable fault_{"TESSERA_FAULT", std::nullopt};
};

TEST_F(CompileTest, OnceForEachKindOfDeviceInTheJob) {
  Job job = make_job();
  const auto modules = job.compile(source_of("a"));
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[0].capability, (ComputeCapability{8, 0}));
  EXPECT_EQ(modules[1].capability, (ComputeCapability{9, 0}));
  for (const JobModule& module : modules) {
    const auto* compiled = std::get_if<CompiledModule>(&module.outcome);
    ASSERT_NE(compiled, nullptr);
    EXPECT_EQ(compiled->image, FakeCompiler::code_of(source_of("a"), compiled->target));
  }
  expect_same_on_all_ranks(comm_, described(modules));
  EXPECT_EQ(compiles(), 2);

  // Every rank has the kernel that a tile requests.
  for (const JobModule& module : modules)
    EXPECT_TRUE(
        std::holds_alternative<CompiledModule>(job.modules().compile(source_of("a"), module.capability)));
  EXPECT_EQ(described(job.compile(source_of("a"))), described(modules));
  EXPECT_EQ(compiles(), 2);
}

TEST_F(CompileTest, TheDevicesOfTheJobShareItsKernels) {
  Job job = make_job();
  for (std::size_t i = 0; i < job.devices().size(); ++i)
    EXPECT_EQ(&job.devices().context_at(i).modules(), &job.modules());
}

TEST_F(CompileTest, TheNextJobFindsTheKernelsOnDisk) {
  std::string name = (std::filesystem::temp_directory_path() / "tessera_job_XXXXXX").string();
  if (comm_.rank() == 0) {
    ASSERT_NE(mkdtemp(name.data()), nullptr);
  }
  const std::filesystem::path folder = comm_.broadcast_text(name, 0);
  const std::string first = described(make_job(folder).compile(source_of("a")));
  EXPECT_EQ(compiles(), 2);
  Job next = make_job(folder);
  const auto modules = next.compile(source_of("a"));
  EXPECT_EQ(compiles(), 2);
  const std::int64_t hits = next.modules().statistics().disk_hits;
  EXPECT_EQ(comm_.allreduce(hits, mpi::Reduction::sum), 2);
  for (const JobModule& module : modules) EXPECT_TRUE(std::holds_alternative<CompiledModule>(module.outcome));
  expect_same_on_all_ranks(comm_, described(modules));
  comm_.barrier();
  if (comm_.rank() == 0) std::filesystem::remove_all(folder);
}

TEST_F(CompileTest, AFailureIsTheSameEverywhereWithItsLog) {
  Job job = make_job();
  const std::string told = described(job.compile(source_of("broken")));
  EXPECT_EQ(
      told,
      "8.0 \"test\" cannot be compiled for sm_80: broken(1): error: it is broken|broken(1): error: it is "
      "broken\n1 error detected;"
      "9.0 \"test\" cannot be compiled for sm_90: broken(1): error: it is broken|broken(1): error: it is "
      "broken\n1 error detected;");
  EXPECT_EQ(compiles(), 2);
  for (const ComputeCapability capability : {ComputeCapability{8, 0}, ComputeCapability{9, 0}})
    EXPECT_TRUE(
        std::holds_alternative<CompileFailure>(job.modules().compile(source_of("broken"), capability)));
  EXPECT_EQ(compiles(), 2);
}

TEST_F(CompileTest, ACompilerThatThrowsHangsNobody) {
  Job job = make_job();
  const std::string told = described(job.compile(source_of("throw")));
  EXPECT_EQ(told,
            "8.0 \"test\" cannot be compiled: the compiler lost its temper|;"
            "9.0 \"test\" cannot be compiled: the compiler lost its temper|;");
  // The job still works.
  EXPECT_EQ(job.compile(source_of("a")).size(), 2u);
}

TEST_F(CompileTest, AJobThatIsToStopLeavesItsCompilation) {
  if (comm_.size() > 1) GTEST_SKIP() << "several ranks stop at passes, together";
  std::promise<void> begun;
  std::promise<void> released;
  const auto compiling = begun.get_future().share();
  compiler_->while_compiling = [this, &begun, until = released.get_future().share()] {
    if (compiler_->compiles > 1) return;
    begun.set_value();
    until.wait();
  };
  const auto stop_once_begun = [&] {
    if (compiling.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
      throw Error(ErrorCode::interrupted, "asked to stop");
  };
  Job job = make_job();
  error_of(ErrorCode::interrupted, [&] {
    const base::CancellationScope cancellation(stop_once_begun);
    (void)job.compile(source_of("a"));
  });
  EXPECT_EQ(job.compile(source_of("a")).size(), 2u);
  released.set_value();
}

TEST_F(CompileTest, RanksThatGiveDifferentSourcesAllHearOfIt) {
  if (comm_.size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  Job job = make_job();
  expect_error(ErrorCode::usage, "compile different sources as \"test\"",
               [&] { (void)job.compile(source_of(comm_.rank() == 0 ? "a" : "b")); });
}

TEST_F(CompileTest, SourceWithoutTextIsMisuse) {
  Job job = make_job();
  error_of(ErrorCode::usage, [&] { (void)job.compile(source_of("")); });
}

TEST_F(CompileTest, AJobOnTheCpuCompilesNothing) {
  JobOptions options;
  options.policy = Policy::cpu;
  options.modules = {.compiler = compiler_, .directory = std::filesystem::path()};
  Job job(comm_, options);
  EXPECT_TRUE(job.compile(source_of("a")).empty());
  EXPECT_EQ(compiles(), 0);
}

}  // namespace
