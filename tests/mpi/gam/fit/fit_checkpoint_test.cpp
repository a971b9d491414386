// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/fit_checkpoint.hpp"

#include "mpi/job/scoped_variable.hpp"
#include "support/errors.hpp"
#include "support/table_support.hpp"

#include <tessera/job/job.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace fs = std::filesystem;
using tessera::testing::ScopedVariable;

constexpr const char* no_device = "rank99:T4";
const Fingerprint print = {{"formula", "y ~ x"}};

FitState state_after(int iteration) {
  return {.iteration = iteration,
          .deviance = 0.5,
          .coef = {1.5, 1.0 / 3},
          .log_sp = {2.5},
          .course = {},
          .hardware = {},
          .why_on_cpu = {}};
}

/// The notes, in order.
struct Log : FitObserver {
  void note(std::string_view what) override { said += (said.empty() ? "" : "; ") + std::string(what); }
  std::string said;
};

/// One checkpoint at a time, as in a start of the program; its messages are kept.
class FitCheckpointTest : public ::testing::Test {
 protected:
  void start(const char* devices = no_device, bool may_stay_on_cpu = true, const Fingerprint& of = print,
             bool with_file = true) {
    end();
    const ScopedVariable simulated("TESSERA_SIMULATE", devices);
    job_ = std::make_unique<Job>(comm_);
    checkpoint_.emplace(*job_, with_file ? file_.path() : "", of, may_stay_on_cpu, log_);
  }
  void end() {
    checkpoint_.reset();
    job_.reset();
  }
  /// The notes since the last call, on one line.
  [[nodiscard]] std::string said() { return std::exchange(log_.said, ""); }
  /// The error with which all ranks are stopped.
  [[nodiscard]] std::string stopped(ErrorCode expected) {
    const auto stop = [&] { checkpoint_->stop("the test"); };
    const std::string message = error_if_any(expected, stop).value_or("not at all");
    for (const std::string& other : comm_.allgather_text(message)) EXPECT_EQ(other, message);
    return message;
  }
  [[nodiscard]] bool is_root() const { return comm_.rank() == 0; }
  [[nodiscard]] bool is_there(const std::string& ending = {}) const {
    comm_.barrier();
    const bool there = fs::exists(file_.path() + ending);
    comm_.barrier();
    return there;
  }
  void on_root(const std::function<void()>& work) const {
    comm_.barrier();
    if (is_root()) work();
    comm_.barrier();
  }

  mpi::Communicator comm_ = testing::world();
  testing::SharedFile file_{comm_, "state"};
  Log log_;
  std::unique_ptr<Job> job_;
  std::optional<FitCheckpoint> checkpoint_;
};

TEST_F(FitCheckpointTest, WithoutAFileKeepsNothing) {
  start(no_device, true, print, false);
  checkpoint_->keep(state_after(1));
  EXPECT_FALSE(checkpoint_->resumed());
  EXPECT_FALSE(checkpoint_->kept());
  EXPECT_EQ(stopped(ErrorCode::interrupted),
            "stopped by the test: give a checkpoint file to make the fit resumable");
  EXPECT_FALSE(is_there());
}

TEST_F(FitCheckpointTest, GoesOnFromTheLastState) {
  start();
  EXPECT_FALSE(checkpoint_->resumed());
  EXPECT_EQ(stopped(ErrorCode::interrupted),
            "stopped by the test before the end of the first iteration: the same command starts over");
  checkpoint_->keep(state_after(1));
  checkpoint_->keep(state_after(2));
  EXPECT_EQ(checkpoint_->kept(), 2);
  EXPECT_EQ(stopped(ErrorCode::interrupted),
            "stopped by the test after iteration 2: the same command resumes from " + file_.path());
  start();
  FitState expected = state_after(2);
  expected.hardware = "the CPU";
  EXPECT_EQ(checkpoint_->resumed(), expected);
  EXPECT_EQ(checkpoint_->kept(), 2);
  if (is_root()) {
    EXPECT_EQ(said(), "resuming after iteration 2 from " + file_.path());
  }
  checkpoint_->files()->remove();
  EXPECT_FALSE(is_there());
  EXPECT_FALSE(is_there(".previous"));
}

TEST_F(FitCheckpointTest, UsesTheStateBeforeATornOne) {
  start();
  checkpoint_->keep(state_after(1));
  checkpoint_->keep(state_after(2));
  end();
  on_root([&] { fs::resize_file(file_.path(), fs::file_size(file_.path()) - 1); });
  start();
  ASSERT_TRUE(checkpoint_->resumed());
  EXPECT_EQ(checkpoint_->resumed()->iteration, 1);
  if (is_root()) {
    EXPECT_EQ(said(), file_.path() + " is damaged or incomplete; " + file_.path() +
                          ".previous is used instead; resuming after iteration 1 from " + file_.path());
  }
}

TEST_F(FitCheckpointTest, RefusesAForeignOrNewerState) {
  start();
  checkpoint_->keep(state_after(1));
  end();
  const std::string foreign = testing::common_fault(comm_, [&] {
    start(no_device, true, {{"formula", "y ~ z"}});
  });
  EXPECT_NE(foreign.find("formula is \"y ~ x\" there and \"y ~ z\" here"), std::string::npos) << foreign;
  file_.write("tessera checkpoint 2\nwhatever follows\n");
  const std::string newer = testing::common_fault(comm_, [&] { start(); });
  EXPECT_NE(newer.find("is of format 2, but this program reads formats up to"), std::string::npos) << newer;
  // A complete file of this format, with another state.
  on_root([&] { fs::remove(file_.path()); });
  {
    Checkpoint other(comm_, file_.path(), print);
    EXPECT_EQ(other.save("no state of a fit"), "");
  }
  EXPECT_EQ(
      testing::common_fault(comm_, [&] { start(); }),
      file_.path() +
          ": is not the state of a fit: it is not valid JSON at byte 2: remove this checkpoint file to start "
          "the fit again");
}

TEST_F(FitCheckpointTest, MixesNoTwoKindsOfHardware) {
  const char* devices = "*:H200";
  const auto starts_over = [&](const std::string& there, const std::string& here) {
    return "the fit in " + file_.path() + " started on " + there + ", but this run uses " + here +
           ": starting over";
  };
  const std::string gpu = "Simulated NVIDIA H200 (9.0)";
  start(devices);
  checkpoint_->keep(state_after(3));
  start();
  EXPECT_FALSE(checkpoint_->resumed());
  if (is_root()) {
    EXPECT_EQ(said(), starts_over(gpu, "the CPU"));
  }
  checkpoint_->keep(state_after(1));
  start(devices);
  EXPECT_FALSE(checkpoint_->resumed());
  if (is_root()) {
    EXPECT_EQ(said(), starts_over("the CPU", gpu));
  }
  checkpoint_->keep(state_after(1));
  start(devices);
  EXPECT_EQ(checkpoint_->resumed()->hardware, gpu);
}

TEST_F(FitCheckpointTest, AFitThatChoseTheCpuStaysThereWhateverTheNextRunWouldChoose) {
  const char* devices = "*:H200";
  start(devices);
  checkpoint_->stay_on_cpu("computed on the CPU: few rows");
  checkpoint_->keep(state_after(3));
  start(devices);
  ASSERT_TRUE(checkpoint_->resumed());
  EXPECT_EQ(checkpoint_->resumed()->hardware, "the CPU");
  EXPECT_EQ(checkpoint_->why_on_cpu(), "computed on the CPU: few rows");
  start(devices, false);
  EXPECT_FALSE(checkpoint_->resumed()) << "devices are required";
}

TEST_F(FitCheckpointTest, AFitThatFellBackStaysOnTheCpu) {
  const char* devices = "*:H200";
  start(devices);
  checkpoint_->keep(state_after(4));
  const Plan plan = job_->plan(comm_.size());
  const std::vector<char> units(static_cast<std::size_t>(job_->local_range(plan).size()));
  bool on_device = true;
  (void)job_->map<char>(
      plan, std::span<const char>(units), [](Tile&, std::span<const char>, std::span<char>) {},
      [&](const HostTile&, std::span<const char>, std::span<char>) {
        if (std::exchange(on_device, false)) throw std::runtime_error("a device fails");
      });
  ASSERT_TRUE(job_->on_host());
  checkpoint_->keep_on_cpu();
  EXPECT_EQ(checkpoint_->kept(), 0);
  checkpoint_->keep(state_after(1));

  start(devices);
  ASSERT_TRUE(checkpoint_->resumed());
  EXPECT_EQ(checkpoint_->resumed()->hardware, "the CPU");
  EXPECT_NE(checkpoint_->why_on_cpu().find("a device fails"), std::string::npos) << checkpoint_->why_on_cpu();
  if (is_root()) {
    EXPECT_EQ(said(),
              "resuming after iteration 1 from " + file_.path() + " on the CPU, like the interrupted run");
  }
  checkpoint_->keep(state_after(2));
  start(devices);
  EXPECT_NE(checkpoint_->why_on_cpu(), "") << "nor does the run after that forget it";
  start(devices, false);
  EXPECT_FALSE(checkpoint_->resumed()) << "devices are required";
}

TEST_F(FitCheckpointTest, WarnsOnceOfADiskThatDoesNotTakeTheState) {
  start();
  checkpoint_->keep(state_after(1));
  const fs::path folder = fs::path(file_.path()).parent_path();
  const fs::path elsewhere = folder.string() + "-elsewhere";
  on_root([&] { fs::rename(folder, elsewhere); });
  checkpoint_->keep(state_after(2));
  checkpoint_->keep(state_after(3));
  EXPECT_EQ(checkpoint_->kept(), 1);
  const std::string message = stopped(ErrorCode::job_fault);
  EXPECT_TRUE(message.starts_with("stopped by the test, but the state after iteration 3 cannot be saved: "))
      << message;
  on_root([&] { fs::rename(elsewhere, folder); });
  if (is_root()) {
    const std::string warning = said();
    EXPECT_TRUE(warning.starts_with("the state after iteration 2 was not saved, but the fit continues: "));
    EXPECT_EQ(warning.find("; "), std::string::npos) << warning;
  }
  EXPECT_EQ(stopped(ErrorCode::interrupted),
            "stopped by the test after iteration 3: the same command resumes from " + file_.path());
  start();
  EXPECT_EQ(checkpoint_->resumed()->iteration, 3);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
