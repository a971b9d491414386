// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/checkpoint.hpp>

#include <tessera/error.hpp>

#include "mpi/job/job_testing.hpp"
#include "support/errors.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace tessera::testing {
namespace {

namespace fs = std::filesystem;

const Fingerprint print = {{"formula", "y ~ x"}};

/// A folder of its own for each test, the same on every rank.
class Checkpoints : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tessera-checkpoint-XXXXXX").string();
    if (comm_.rank() == 0) {
      ASSERT_NE(mkdtemp(name.data()), nullptr);
    }
    folder_ = comm_.broadcast_text(name, 0);
    path_ = (folder_ / "c").string();
  }
  void TearDown() override {
    comm_.barrier();
    if (comm_.rank() == 0) fs::remove_all(folder_);
  }

  [[nodiscard]] std::string read(const std::string& ending = {}) const {
    comm_.barrier();
    std::ifstream file(path_ + ending, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    comm_.barrier();
    return text;
  }
  void write(const std::string& text, const std::string& ending = {}) const {
    comm_.barrier();
    if (comm_.rank() == 0) std::ofstream(path_ + ending, std::ios::binary) << text;
    comm_.barrier();
  }
  void save(const std::string& state) const {
    Checkpoint checkpoint(comm_, path_, print);
    EXPECT_EQ(checkpoint.save(state), "");
  }
  /// Every rank's state, or "none", followed by the remarks.
  [[nodiscard]] std::string found(const Fingerprint& mine = print) const {
    const Checkpoint checkpoint(comm_, path_, mine);
    std::string text = checkpoint.state().value_or("none");
    for (const std::string& remark : checkpoint.remarks()) text += "; " + remark;
    expect_same_on_all_ranks(comm_, text);
    return text;
  }
  /// The error that every rank gets.
  [[nodiscard]] std::string error_of(ErrorCode code, const std::function<void()>& work) const {
    return on_all_ranks(comm_, error_if_any(code, work));
  }
  [[nodiscard]] std::string refusal(const Fingerprint& mine = print) const {
    const std::string before = read() + "|" + read(".previous");
    const std::string text = error_of(ErrorCode::input, [&] { Checkpoint(comm_, path_, mine); });
    EXPECT_EQ(read() + "|" + read(".previous"), before);
    return text;
  }

  mpi::Communicator comm_ = world();
  fs::path folder_;
  std::string path_;
};

TEST_F(Checkpoints, GoOnFromTheLastState) {
  EXPECT_EQ(found(), "none");
  {
    Checkpoint checkpoint(comm_, path_, print);
    EXPECT_EQ(checkpoint.generation(), 1);
    EXPECT_EQ(checkpoint.save(comm_.rank() == 0 ? "one" : "not rank 0's"), "");
    EXPECT_EQ(checkpoint.save("two"), "");
  }
  EXPECT_EQ(found(), "two");
  Checkpoint checkpoint(comm_, path_, print);
  EXPECT_EQ(checkpoint.generation(), 2);
  checkpoint.remove();
  comm_.barrier();
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Checkpoints, WhatIsTornIsNamedAndThePreviousUsed) {
  save("one");
  save("two");
  const std::string whole = read();
  for (const std::string& torn : {std::string(), whole.substr(0, whole.size() / 2), whole + "x"}) {
    write(torn);
    EXPECT_EQ(found(), "one; " + path_ + " is damaged or incomplete; " + path_ + ".previous is used instead");
  }
  // A torn file does not replace the previous state.
  const std::string previous = read(".previous");
  save("three");
  EXPECT_EQ(read(".previous"), previous);
  EXPECT_EQ(found(), "three");
  write(previous.substr(0, previous.size() / 2), ".previous");
  EXPECT_EQ(found(), "three");
  write("");
  EXPECT_EQ(found(),
            "none; " + path_ + " is damaged or incomplete; " + path_ + ".previous is damaged or incomplete");
}

TEST_F(Checkpoints, AStateBeforeTheLastIsNotKeptInThePlaceOfAnothersFile) {
  const std::string stays =
      path_ + ".previous stays: named like checkpoint files, but perhaps not written by a checkpoint";
  for (const char* others : {"", "y,x\n"}) {
    write(others, ".previous");
    EXPECT_EQ(found(), "none; " + stays);
    {
      Checkpoint checkpoint(comm_, path_, print);
      EXPECT_EQ(checkpoint.save("one"), "");
      EXPECT_EQ(checkpoint.save("two"), "");
      EXPECT_TRUE(checkpoint.is_saved());
    }
    EXPECT_EQ(found(), "two; " + stays);
    Checkpoint(comm_, path_, print).remove();
    EXPECT_EQ(read(), "");
    EXPECT_EQ(read(".previous"), others);
  }
}

TEST_F(Checkpoints, WhatIsForeignOrNewerIsRefusedAndLeft) {
  save("one");
  const std::string whole = read();
  const Fingerprint other = {{"formula", "y ~ z"}};
  EXPECT_NE(refusal(other).find("formula is \"y ~ x\" there and \"y ~ z\" here"), std::string::npos);
  write("tessera checkpoint 9\n");
  EXPECT_NE(refusal().find("format 9"), std::string::npos);
  write("y,x\n");
  EXPECT_NE(refusal().find("is not a checkpoint"), std::string::npos);
  // A newer file is no error if the previous checkpoint is valid.
  write(whole, ".previous");
  write("tessera checkpoint 9\n");
  EXPECT_TRUE(found().starts_with("one; " + path_ + " is of format 9")) << found();
}

TEST_F(Checkpoints, ARefusalDoesNotDisturbAJobThatIsThere) {
  Checkpoint here(comm_, path_, print);
  EXPECT_EQ(here.save("one"), "");
  EXPECT_NE(refusal({{"formula", "y ~ z"}}), "no error");
  EXPECT_EQ(here.save("two"), "");
}

TEST_F(Checkpoints, AnOlderStartIsToldOnEveryRank) {
  Checkpoint older(comm_, path_, print);
  EXPECT_EQ(older.save("one"), "");
  Checkpoint newer(comm_, path_, print);
  EXPECT_EQ(newer.state(), "one");
  EXPECT_NE(error_of(ErrorCode::job_fault, [&] { (void)older.save("too late"); }).find("taken over"),
            std::string::npos);
  older.remove();
  EXPECT_EQ(newer.save("two"), "");
  EXPECT_NE(error_of(ErrorCode::job_fault, [&] { (void)older.save("too late"); }).find("taken over"),
            std::string::npos);
  newer.remove();
}

TEST_F(Checkpoints, AFullDiskIsToldOnEveryRankAndMayPass) {
  const ScopedVariable fault("TESSERA_FAULT", "checkpoint-full@rank0:pass2");
  Checkpoint checkpoint(comm_, path_, print);
  EXPECT_EQ(checkpoint.save("one"), "");
  const std::string problem = checkpoint.save("two");
  expect_same_on_all_ranks(comm_, problem);
  EXPECT_EQ(problem, path_ + ": cannot be written: No space left on device");
  EXPECT_FALSE(checkpoint.is_saved());
  EXPECT_EQ(checkpoint.save("three"), "");
  EXPECT_TRUE(checkpoint.is_saved());
}

}  // namespace
}  // namespace tessera::testing
