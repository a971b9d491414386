// SPDX-License-Identifier: Apache-2.0
// A fit does not change files of other users, under any name that a fit gives its own files: complete, killed
// before each call that changes a file of the checkpoint, resumed and stopped. No own file is left.
#include "support/file_content.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// A file's kind and content.
std::string description_of(const fs::path& path) {
  if (fs::is_symlink(path)) return "link to " + fs::read_symlink(path).string();
  if (fs::is_directory(path)) return "folder";
  return "file: " + testing::content_of(path);
}

using Files = std::map<std::string, std::string>;

class Bystanders : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(work_);
    std::ofstream table(root_ / "data.csv");
    std::ofstream groups(root_ / "groups.csv");
    table << "y,x,f\n";
    groups << "y,g\n";
    for (int i = 0; i < 90; ++i) {
      const double x = std::fmod(i * 0.6180339887498949, 1.0);
      table << std::exp(std::sin(6 * x) + 0.3 * std::cos(97.0 * i)) << ',' << x << ',' << "abc"[i % 3]
            << '\n';
    }
    for (int i = 0; i < 1100; ++i)
      groups << std::sin(i % 530) + 0.3 * std::cos(97.0 * i) << ",g" << i % 530 << '\n';
  }

  /// Runs the program, and returns its exit status; 128 + n if signal n ended it.
  int run(const std::string& arguments, const std::string& fault = {}) {
    const std::string log = root_ / "log";
    const pid_t child = fork();
    if (child == 0) {
      const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
      dup2(out, STDOUT_FILENO);
      dup2(out, STDERR_FILENO);
      setenv("TESSERA_FAULT", fault.c_str(), 1);
      if (chdir(work_.c_str()) == 0)
        execl("/bin/sh", "sh", "-c", ("exec " TESSERA_FIT " " + arguments).c_str(), nullptr);
      std::_Exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    log_ = testing::content_of(log);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int fit(const std::string& more = {}, const std::string& fault = {}) {
    return run("fit " + (root_ / "data.csv").string() +
                   " --formula 'y ~ f + s(x, bs=\"ps\", k=6)' --family gamma --device cpu --threads 1 "
                   "--checkpoint ck --out m.json " +
                   more,
               fault);
  }
  int fit_groups(const std::string& more = {}) {
    return run("fit " + (root_ / "groups.csv").string() +
               " --formula 'y ~ s(g, bs=\"re\")' --device cpu --threads 1 --out m.json " + more);
  }

  [[nodiscard]] Files files() const {
    Files all;
    for (const auto& entry : fs::directory_iterator(work_))
      all[entry.path().filename().string()] = description_of(entry.path());
    return all;
  }
  void put(const std::string& name, const std::string& bytes) {
    std::ofstream(work_ / name, std::ios::binary) << bytes;
    others_[name] = "file: " + bytes;
  }
  /// Writes other users' files under these names; one is empty.
  void put_others(const std::vector<std::string>& names) {
    for (const std::string& name : names) put(name, "what stands in " + name + '\n');
  }
  void expect_others_unchanged() const {
    const Files now = files();
    for (const auto& [name, expected] : others_) {
      const auto its = now.find(name);
      if (its == now.end())
        ADD_FAILURE() << name << " is gone";
      else
        EXPECT_EQ(its->second, expected) << name;
    }
  }
  void expect_others_and(const std::vector<std::string>& own) const {
    for (const auto& [name, content] : files())
      EXPECT_TRUE(others_.contains(name) || std::ranges::find(own, name) != own.end())
          << name << " is left: " << content.substr(0, 200);
  }

  TemporaryFolder root_;
  fs::path work_ = root_ / "work";
  Files others_;
  std::string log_;
};

TEST_F(Bystanders, KeepTheirBytesBesideACheckpoint) {
  // The names from a fit that was killed when it has most files; files of another user are then put there.
  std::vector<std::string> names = {"ck.previous",
                                    "ck.generation-1",
                                    "ck.generation-3",
                                    "ck.generation-7.csv",
                                    "ck.generation-7.csv.new",
                                    "ck.generation-2.0123456789abcdef.new",
                                    "ck.generation-2.0123456789abcdef.new.previous",
                                    "m.json.cov",
                                    "m.json.cov-01234567",
                                    ".tessera-0123456789abcdef.tmp",
                                    ".tessera-0123456789abcdef0123456789abcdef.tmp"};
  for (const char* fault : {"checkpoint-write@rank0:pass2", "checkpoint-swap@rank0:pass3"}) {
    ASSERT_EQ(fit({}, fault), 128 + SIGKILL) << log_;
    for (const auto& [name, content] : files())
      if (name != "ck") names.push_back(name);
    for (const auto& entry : fs::directory_iterator(work_)) fs::remove(entry.path());
  }
  put_others(names);
  put("ck.generation-4", "");
  put("ck.generation-5.fedcba9876543210.new", "");
  fs::create_directory(work_ / "ck.generation-6");
  others_["ck.generation-6"] = "folder";
  fs::create_symlink("m.json.cov", work_ / "ck.generation-8");
  others_["ck.generation-8"] = "link to m.json.cov";
  expect_others_unchanged();

  EXPECT_EQ(fit(), 0) << log_;
  expect_others_unchanged();
  expect_others_and({"m.json"});
  const std::string answer = testing::content_of(work_ / "m.json");
  // One line lists all names that could be a checkpoint's.
  EXPECT_NE(log_.find("ck.generation-3"), std::string::npos) << log_;

  // Stopped before convergence, and by a signal; then resumed.
  EXPECT_EQ(fit("--max-iterations 3"), 4) << log_;
  expect_others_unchanged();
  EXPECT_EQ(fit({}, "signal@rank0:pass3"), 75) << log_;
  expect_others_unchanged();
  EXPECT_EQ(fit(), 0) << log_;
  EXPECT_NE(log_.find("resuming after iteration"), std::string::npos) << log_;
  expect_others_unchanged();
  expect_others_and({"m.json"});
  EXPECT_EQ(testing::content_of(work_ / "m.json"), answer);

  int step = 1;
  // Each of the first names, and some of the similar ones of later saves.
  for (int status = 128 + SIGKILL; status != 0; step += step < 16 ? 1 : 8) {
    ASSERT_LT(step, 200);
    status = fit({}, "checkpoint-step@rank0:pass" + std::to_string(step));
    ASSERT_TRUE(status == 0 || status == 128 + SIGKILL) << step << ": " << status << '\n' << log_;
    expect_others_unchanged();
    // One start later no file is left, and the state was not lost.
    EXPECT_EQ(fit(), 0) << log_;
    expect_others_unchanged();
    expect_others_and({"m.json"});
    EXPECT_EQ(testing::content_of(work_ / "m.json"), answer) << step;
    if (HasFailure()) break;
  }
  EXPECT_GT(step, 12) << "the steps are not those of a checkpoint any more";
}

TEST_F(Bystanders, KeepTheirBytesBesideACovariance) {
  put_others({"m.json.cov", "m.json.cov-01234567", "m.json.cov-8", ".tessera-0123456789abcdef.tmp"});
  put("m.json.cov-00000000", "");
  ASSERT_EQ(fit_groups(), 0) << log_;
  expect_others_unchanged();
  const Files first = files();
  EXPECT_EQ(first.size(), others_.size() + 2);
  // The next fit writes another covariance, and the one after it none.
  ASSERT_EQ(fit_groups("--block-rows 100"), 0) << log_;
  EXPECT_NE(log_.find("m.json.cov-01234567"), std::string::npos) << log_;
  expect_others_unchanged();
  EXPECT_EQ(files().size(), others_.size() + 2);
  ASSERT_EQ(fit(), 0) << log_;
  expect_others_unchanged();
  expect_others_and({"m.json"});
}

TEST_F(Bystanders, AreNotTheFilesOfOptions) {
  put("ck.generation-3", testing::content_of(root_ / "data.csv"));
  fs::create_hard_link(work_ / "ck.generation-3", work_ / "hard.csv");
  fs::create_symlink("ck.generation-3", work_ / "soft.csv");
  fs::create_symlink("hard.csv", work_ / "ck.generation-4");
  fs::create_directory_symlink(work_, root_ / "there");
  const std::string start = "fit ";
  const std::string end =
      " --formula 'y ~ f + s(x, bs=\"ps\", k=6)' --family gamma --device cpu --threads 1 --checkpoint ck ";
  const Files before = files();
  for (const char* data : {"ck.generation-3", "hard.csv", "soft.csv", "ck.generation-4",
                           "../there/ck.generation-3", "../there/hard.csv"}) {
    EXPECT_EQ(run(start + data + end + "--out m.json"), 2) << data << '\n' << log_;
    EXPECT_EQ(std::ranges::count(log_, '\n'), 1) << log_;
    EXPECT_EQ(files(), before) << data;
  }
  const std::string table = (root_ / "data.csv").string();
  EXPECT_EQ(run(start + table + end + "--out ck.generation-1"), 2) << log_;
  EXPECT_EQ(run(start + table + end + "--out m.json --family @ck.generation-1"), 2) << log_;
  for (const char* out :
       {"ck", "ck.previous", "hard.csv", "../there/ck.generation-9", "ck.generation-2.0123456789abcdef.new",
        "ck.generation-2.0123456789abcdef.new.previous"}) {
    EXPECT_EQ(run(start + table + end + "--out m.json --run-report " + out), 2) << out << '\n' << log_;
    EXPECT_EQ(files(), before) << out;
  }
}

}  // namespace
}  // namespace tessera
