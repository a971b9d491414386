// SPDX-License-Identifier: Apache-2.0
// A fit that is killed repeatedly, at random moments, never loses saved progress, leaves no process, and
// finally gives the bytes of an undisturbed fit's model.
//
// TESSERA_TEST_KILLS (6) is the number of kills, TESSERA_TEST_SEED the seed. Most moments are counted, in
// passes or in calls that change a file of the checkpoint; some are by the clock, where any state may be hit.
#include "support/file_content.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

/// How a start of the fit is ended.
struct Kill {
  enum class Of { itself, everything, launcher } of = Of::itself;
  std::string fault;                ///< where it kills itself
  std::chrono::milliseconds at{0};  ///< when it is killed from outside

  friend std::ostream& operator<<(std::ostream& out, const Kill& kill) {
    if (kill.of == Of::itself) return out << (kill.fault.empty() ? "nothing" : kill.fault);
    return out << (kill.of == Of::launcher ? "mpirun" : "everything") << " after " << kill.at.count()
               << " ms";
  }
};

class KilledFit : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream table(folder_ / "data.csv");
    table.precision(17);
    table << "y,x,z,f\n";
    for (int i = 0; i < 300; ++i) {
      const double x = std::fmod(i * 0.6180339887498949, 1.0);
      const double z = std::fmod(i * 0.7548776662466927, 1.0);
      table << std::exp(std::sin(6 * x) + z * z + 0.1 * std::cos(97.0 * i)) << ',' << x << ',' << z << ','
            << "abc"[i % 3] << '\n';
    }
  }

  /// Runs the fit until it ends or is killed, and returns its exit status; 128 + n if signal n ended it.
  int go(const std::string& model, const Kill& kill, int ranks) {
    const fs::path log = folder_ / "log";
    const std::string command =
        "exec " TESSERA_MPIRUN " " + std::to_string(ranks) + " " TESSERA_FIT " fit " +
        (folder_ / "data.csv").string() +
        " --formula 'y ~ f + s(x, bs=\"ps\", k=12) + s(z, bs=\"cr\", k=8)' --family gamma --device cpu"
        " --threads 1 --block-rows 32 --checkpoint " +
        (folder_ / "state").string() + " --out " + (folder_ / model).string();
    const pid_t launcher = fork();
    if (launcher == 0) {
      const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
      dup2(out, STDOUT_FILENO);
      dup2(out, STDERR_FILENO);
      setenv("TESSERA_FAULT", kill.fault.c_str(), 1);
      // Files that a killed launcher leaves are removed with the folder.
      setenv("OMPI_MCA_orte_tmpdir_base", folder_.path().c_str(), 1);
      setenv("OMPI_MCA_btl_vader_backing_directory", folder_.path().c_str(), 1);
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      std::_Exit(127);
    }
    if (kill.of != Kill::Of::itself) {
      std::this_thread::sleep_for(kill.at);
      if (kill.of == Kill::Of::launcher) {
        ::kill(launcher, SIGKILL);
      } else {
        for (const pid_t one : processes()) ::kill(one, SIGKILL);
      }
    }
    int status = 0;
    waitpid(launcher, &status, 0);
    log_ = testing::content_of(log);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  /// All processes of the fit: each has the folder's name in its command.
  [[nodiscard]] std::vector<pid_t> processes() const {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (!std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; })) continue;
      if (testing::content_of(entry.path() / "cmdline").find(folder_.path()) != std::string::npos)
        found.push_back(std::stoi(name));
    }
    return found;
  }
  void expect_no_process() const {
    const auto end = Clock::now() + 30s;
    while (!processes().empty() && Clock::now() < end) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(processes(), std::vector<pid_t>{}) << "30 s after the end of the job";
  }

  /// The progress of a state: the start that wrote it, and its last completed iteration.
  struct Progress {
    int generation = 0;
    int iteration = 0;
  };
  [[nodiscard]] Progress kept() const {
    std::istringstream state(testing::content_of(folder_ / "state"));
    std::string line;
    Progress progress;
    // Format and checksum; then the generation, with its length before it.
    std::getline(state, line);
    std::getline(state, line);
    int length = 0;
    state >> length >> progress.generation;
    const std::string text = state.str();
    const std::string key = "\"iteration\":";
    const std::size_t at = text.find(key);
    if (at != std::string::npos) progress.iteration = std::stoi(text.substr(at + key.size()));
    return progress;
  }

  TemporaryFolder folder_;
  std::string log_;
};

TEST_F(KilledFit, LosesNothing) {
  const auto kills = static_cast<int>(number_from("TESSERA_TEST_KILLS", 6));
  const std::uint64_t seed = number_from("TESSERA_TEST_SEED", 20261121);
  std::cout << kills << " kills of seed " << seed << std::endl;
  std::mt19937_64 random(seed);
  const auto draw = [&](std::uint64_t from, std::uint64_t to) { return from + random() % (to - from + 1); };

  const auto start = Clock::now();
  ASSERT_EQ(go("whole.json", {}, 2), 0) << log_;
  const auto whole_ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
  const std::string whole = testing::content_of(folder_ / "whole.json");
  ASSERT_NE(whole, "");

  const auto any_kill = [&]() -> Kill {
    switch (draw(0, 4)) {
      case 0:
      case 1: return {.fault = "checkpoint-step@rank0:pass" + std::to_string(draw(1, 30))};
      case 2:
        return {.fault = "kill@rank" + std::to_string(draw(0, 1)) + ":pass" + std::to_string(draw(1, 10))};
      default:
        return {.of = draw(0, 1) == 0 ? Kill::Of::everything : Kill::Of::launcher,
                .fault = {},
                .at = std::chrono::milliseconds(draw(0, static_cast<std::uint64_t>(whole_ms)))};
    }
  };
  Progress last;
  int killed = 0;
  bool finished = false;
  for (int starts = 0; killed < kills || !finished; ++starts) {
    ASSERT_LT(starts, 4 * kills + 10) << "it does not come to an end";
    const Kill kill = killed < kills ? any_kill() : Kill{};
    SCOPED_TRACE(::testing::PrintToString(kill));
    const auto ranks = static_cast<int>(draw(1, 3));
    const int status = go("model.json", kill, ranks);
    finished = status == 0;
    EXPECT_EQ(log_.find("torn"), std::string::npos) << log_;
    const Progress now = kept();
    std::cout << "  " << ranks << " ranks, killed by " << kill << ": status " << status << ", generation "
              << now.generation << ", iteration " << now.iteration << std::endl;
    if (finished) {
      expect_no_process();
      EXPECT_EQ(testing::content_of(folder_ / "model.json"), whole);
      for (const auto& entry : fs::directory_iterator(folder_))
        EXPECT_FALSE(entry.path().filename().string().starts_with("state")) << entry.path();
      fs::remove(folder_ / "model.json");
      last = {};
      continue;
    }
    ++killed;
    // If only the launcher died, its job still runs when the next one starts.
    if (kill.of != Kill::Of::launcher) expect_no_process();
    if (fs::exists(folder_ / "model.json")) {
      // Killed after its answer: the state may be half removed.
      EXPECT_EQ(testing::content_of(folder_ / "model.json"), whole);
      fs::remove(folder_ / "model.json");
      last = {};
      continue;
    }
    EXPECT_GE(now.iteration, last.iteration);
    EXPECT_GE(now.generation, last.generation);
    last = now;
  }
  expect_no_process();
}

}  // namespace
}  // namespace tessera
