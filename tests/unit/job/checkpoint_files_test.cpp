// SPDX-License-Identifier: Apache-2.0
#include "job/checkpoint/checkpoint_files.hpp"

#include "base/own_digits.hpp"
#include "job/checkpoint/checkpoint_format.hpp"
#include "support/errors.hpp"
#include "temporary_folder.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;

const Fingerprint print = {{"formula", "y ~ x"}, {"rows", "100"}};

CheckpointRefusal refusal_of(std::string_view bytes, const Fingerprint& expected = print) {
  auto unpacked = unpack_checkpoint(bytes, expected);
  if (auto* refusal = std::get_if<CheckpointRefusal>(&unpacked)) return *refusal;
  ADD_FAILURE() << "it was used: " << std::get<StoredState>(unpacked).state;
  return {};
}

using Kind = CheckpointRefusal::Kind;

TEST(CheckpointFormat, GivesBackAnyState) {
  for (const std::string& state : {std::string(), std::string("a state"), std::string("\0\n\xff 7", 5)}) {
    const auto unpacked = unpack_checkpoint(pack_checkpoint({7, state}, print), print);
    ASSERT_TRUE(std::holds_alternative<StoredState>(unpacked)) << state;
    EXPECT_EQ(std::get<StoredState>(unpacked).state, state);
    EXPECT_EQ(std::get<StoredState>(unpacked).generation, 7);
  }
}

TEST(CheckpointFormat, NeverTakesAnotherByteForWhole) {
  const std::string whole = pack_checkpoint({7, "a state"}, print);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {1, 2, 0x20, 0x80, 0xff}) {
      std::string torn = whole;
      torn[at] = static_cast<char>(torn[at] ^ flip);
      const auto unpacked = unpack_checkpoint(torn, print);
      ASSERT_TRUE(std::holds_alternative<CheckpointRefusal>(unpacked)) << at << ' ' << flip;
      // Damage after the first line leaves no doubt about the file's origin.
      if (at >= whole.find('\n')) {
        EXPECT_EQ(std::get<CheckpointRefusal>(unpacked).kind, Kind::torn) << at;
      }
    }
  }
}

TEST(CheckpointFormat, ABeginningOrMoreIsTorn) {
  const std::string whole = pack_checkpoint({7, "a state"}, print);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(refusal_of(whole.substr(0, size)).kind, Kind::torn) << size;
  EXPECT_EQ(refusal_of(whole + "\n").kind, Kind::torn);
  EXPECT_EQ(refusal_of(whole + whole).kind, Kind::torn);
  EXPECT_EQ(refusal_of(whole.substr(0, whole.size() / 2) + std::string(whole.size() / 2, '\0')).kind,
            Kind::torn);
}

TEST(CheckpointFormat, AnotherFingerprintIsForeignAndSaysWhatDiffers) {
  const auto refusal =
      refusal_of(pack_checkpoint({7, "a state"}, {{"formula", "y ~ z"}, {"rows", "100"}, {"old", "1"}}));
  EXPECT_EQ(refusal.kind, Kind::foreign);
  EXPECT_TRUE(contains(refusal.why,
                       "formula is \"y ~ z\" there and \"y ~ x\" here, old is \"1\" there and not given "
                       "here"));
  EXPECT_EQ(refusal.why.find("rows"), std::string::npos) << refusal.why;
  EXPECT_EQ(refusal_of(pack_checkpoint({7, "a"}, {print[1], print[0]})).kind, Kind::foreign);
  // A value cannot be mistaken for the end of another.
  EXPECT_EQ(refusal_of(pack_checkpoint({7, "a"}, {{"formula", "y ~ x\n4 rows\n3 100"}})).kind, Kind::foreign);
}

TEST(CheckpointFormat, AForgedGenerationIsTorn) {
  for (const std::int64_t generation : {std::int64_t{-1}, last_generation + 1, std::int64_t{INT64_MAX}})
    EXPECT_EQ(refusal_of(pack_checkpoint({generation, "a"}, print)).kind, Kind::torn) << generation;
}

TEST(CheckpointFormat, OtherFilesAndNewerFormatsAreNamed) {
  EXPECT_EQ(refusal_of("y,x\n1,2\n").kind, Kind::foreign);
  EXPECT_NE(refusal_of("y,x\n1,2\n").why.find("is not a checkpoint"), std::string::npos);
  const auto newer = refusal_of("tessera checkpoint 2\nwhat will be");
  EXPECT_EQ(newer.kind, Kind::newer);
  EXPECT_NE(newer.why.find("format 2"), std::string::npos) << newer.why;
}

/// A new folder for each test.
class Files : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return (folder_ / "c").string(); }
  /// A state as stored on disk.
  static std::string state(std::string_view text) { return std::string(checkpoint_magic).append(text); }
  [[nodiscard]] std::string text(const std::string& ending = {}) const {
    const auto bytes = read_if_there(path() + ending);
    if (!bytes) return "nothing";
    return bytes->starts_with(checkpoint_magic) ? bytes->substr(checkpoint_magic.size())
                                                : "a stranger: " + *bytes;
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_)) all.insert(entry.path().filename());
    return all;
  }
  static std::string write(CheckpointFiles& files, std::string_view text, const char* fault = "",
                           bool keep_previous = true) {
    files.set_faults(fault::Faults(fault::parse(fault), 0));
    return files.write(state(text), keep_previous);
  }

  TemporaryFolder folder_;
};

using Names = std::set<std::string>;

TEST_F(Files, KeepTheStateAndTheOneBefore) {
  {
    CheckpointFiles files(path());
    files.take_generation(1);
    EXPECT_EQ(files.generation(), 1);
    EXPECT_EQ(write(files, "one"), "");
    EXPECT_EQ(text(), "one");
    EXPECT_EQ(text(".previous"), "nothing");
    EXPECT_EQ(write(files, "two"), "");
    EXPECT_EQ(write(files, "three"), "");
    EXPECT_EQ(text(), "three");
    EXPECT_EQ(text(".previous"), "two");
    EXPECT_EQ(names(), (Names{"c", "c.previous", "c.generation-1"}));
    EXPECT_EQ(write(files, "four", "", false), "");
    EXPECT_EQ(text(".previous"), "two");
  }
  EXPECT_EQ(names(), (Names{"c", "c.previous"}));
  CheckpointFiles files(path());
  files.take_generation(5);
  EXPECT_EQ(files.generation(), 5);
  files.remove();
  EXPECT_EQ(names(), Names{});
}

TEST_F(Files, AreNotReadWhereTheyAreLargerThanTheMemory) {
  std::ofstream(path()) << "tessera checkpoint 1\n";
  // A sparse file of a terabyte, with only the first line.
  if (::truncate(path().c_str(), off_t{1} << 42) != 0) GTEST_SKIP() << "no files with holes here";
  EXPECT_EQ(error_of(ErrorCode::input, [&] { static_cast<void>(read_if_there(path())); }),
            path() +
                ": cannot be read: it has 4398046511104 bytes, which is more than the free memory: name "
                "another file");
}

TEST_F(Files, MayLieInTheCurrentFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  CheckpointFiles files("c");
  files.take_generation(1);
  EXPECT_EQ(write(files, "one"), "");
  fs::current_path(before);
  EXPECT_EQ(text(), "one");
}

TEST_F(Files, AnOlderStartReplacesNothing) {
  CheckpointFiles older(path());
  older.take_generation(1);
  ASSERT_EQ(write(older, "old"), "");
  CheckpointFiles newer(path());
  newer.take_generation(1);
  EXPECT_EQ(newer.generation(), 2);
  const auto expect_overrun = [&] {
    const Names before = names();
    const std::string found = text();
    expect_error(ErrorCode::job_fault, "a later start of the job has taken over " + path(),
                 [&] { (void)write(older, "too late"); });
    EXPECT_EQ(names(), before);
    EXPECT_EQ(text(), found);
  };
  expect_overrun();
  newer.remove_older_generations();
  expect_overrun();
  EXPECT_EQ(write(newer, "new"), "");
  expect_overrun();
  older.remove();
  EXPECT_EQ(text(), "new");
  newer.remove();
  expect_overrun();
  EXPECT_EQ(names(), Names{});
  // Another job begins, with the number of the old one.
  CheckpointFiles another(path());
  another.take_generation(1);
  EXPECT_EQ(another.generation(), 1);
  expect_overrun();
  EXPECT_EQ(write(another, "another"), "");
}

TEST_F(Files, AStartMakesWhatAnOlderOneHasUnderWayFail) {
  CheckpointFiles older(path());
  older.take_generation(1);
  ASSERT_EQ(write(older, "old"), "");
  // The writer is delayed just before its rename, after it was found to be the newest.
  const std::string under_way = path() + ".generation-1.0123456789abcdef.new";
  std::ofstream(under_way) << state("older");
  CheckpointFiles newer(path());
  newer.take_generation(1);
  EXPECT_FALSE(fs::exists(under_way));
}

TEST_F(Files, AFullDiskLeavesTheStateBefore) {
  CheckpointFiles files(path());
  files.take_generation(1);
  ASSERT_EQ(write(files, "one"), "");
  const std::string problem = write(files, "two", "checkpoint-full@rank0");
  EXPECT_EQ(problem, path() + ": cannot be written: No space left on device");
  EXPECT_EQ(text(), "one");
  EXPECT_EQ(names(), (Names{"c", "c.generation-1"}));
  EXPECT_EQ(write(files, "two"), "");
  EXPECT_EQ(text(), "two");
}

TEST_F(Files, AFolderThatIsNotThereIsNamed) {
  CheckpointFiles files(path() + "/no/c");
  expect_error(ErrorCode::input, "/no: cannot be listed: No such file", [&] { files.take_generation(1); });
}

TEST_F(Files, NamesThatNoStartHasTakenAreNoGenerations) {
  const char* const others[] = {"-1", "0", "-9223372036854775807", "9223372036854775807", "1000000000001"};
  for (const char* number : others) std::ofstream(path() + ".generation-" + number) << "another's";
  {
    CheckpointFiles files(path());
    files.take_generation(1);
    EXPECT_EQ(files.generation(), 1);
    files.remove_older_generations();
    EXPECT_EQ(write(files, "one"), "");
    files.remove();
  }
  EXPECT_EQ(names().size(), std::size(others));

  std::ofstream(path() + ".generation-1000000000000") << "the last";
  CheckpointFiles files(path());
  expect_error(ErrorCode::input,
               "generation-1000000000000: the generation number of this file is the highest possible",
               [&] { files.take_generation(1); });
}

/// Text under a name.
using Contents = std::map<std::string, std::string>;

TEST_F(Files, OfOthersStayUnderTheNamesOfACheckpoint) {
  const std::string old_token = "0123456789abcdef";
  const std::string own_digits = base::new_own_digits();
  const Contents others = {{".generation-1", "y,x\n1,2\n"},
                           {".generation-2", ""},
                           {".generation-3", "node7, process 12\n0123456789abcdeg\n"},
                           {".generation-4", "node7, process 12\n0123456789abcdef\nand more\n"},
                           {".generation-5", "tessera generation; node7, process 12; "},
                           {".generation-6.csv", "y\n"},
                           {".generation-6." + old_token + ".new", "another's"},
                           {".generation-7." + old_token + ".new", ""},
                           {".generation-8." + own_digits + ".new", "tessera check, please"},
                           {".generation-8." + own_digits + ".new.previous", "another's"},
                           {".generation-9." + own_digits + ".new.csv", ""},
                           {".previous", "another's"}};
  for (const auto& [name, bytes] : others) std::ofstream(path() + name) << bytes;
  fs::create_symlink("c.previous", path() + ".generation-10");
  fs::create_directory(path() + ".generation-11");
  {
    CheckpointFiles files(path());
    files.take_generation(1);
    EXPECT_EQ(files.generation(), 12);
    files.remove_older_generations();
    EXPECT_EQ(files.strangers().size(), others.size() + 2 - 2) << "two names are none that a start gives";
    EXPECT_EQ(write(files, "one"), "");
    EXPECT_EQ(write(files, "two"), "");
    EXPECT_EQ(text(), "two");
    files.remove();
  }
  EXPECT_EQ(names().size(), others.size() + 2) << ::testing::PrintToString(names());
  for (const auto& [name, bytes] : others) EXPECT_EQ(read_if_there(path() + name), bytes) << name;
  EXPECT_EQ(fs::read_symlink(path() + ".generation-10"), "c.previous");
}

TEST_F(Files, OfKilledStartsGoWhicheverProgramMadeThem) {
  const std::string old_token = "0123456789abcdef";
  const std::string own_digits = base::new_own_digits();
  const Contents own = {{".generation-1", "node7, process 12\n0123456789abcdef\n"},
                        {".generation-1." + old_token + ".new", state("old")},
                        {".generation-2", "tessera generation; node7, process 12; " + own_digits},
                        {".generation-2." + own_digits + ".new", ""},
                        {".generation-3." + own_digits + ".new", "tessera"},
                        {".generation-3." + own_digits + ".new.previous", state("old")},
                        {".previous", state("old")}};
  for (const auto& [name, bytes] : own) std::ofstream(path() + name) << bytes;
  CheckpointFiles files(path());
  files.take_generation(1);
  EXPECT_EQ(files.generation(), 3);
  files.remove_older_generations();
  EXPECT_EQ(files.strangers(), std::vector<std::string>{});
  EXPECT_EQ(names(), (Names{"c.generation-3", "c.previous"}));
  EXPECT_EQ(write(files, "one"), "");
  EXPECT_EQ(write(files, "two"), "");
  EXPECT_EQ(text(".previous"), "one");
  files.remove();
  EXPECT_EQ(names(), Names{});
}

TEST_F(Files, OfAStartThatBeganMeanwhileStay) {
  CheckpointFiles files(path());
  files.take_generation(1);
  EXPECT_EQ(write(files, "one"), "");
  // Files of other users too: their owner cannot be determined.
  std::ofstream(path() + ".generation-2") << "y,x\n";
  EXPECT_THROW((void)write(files, "two"), Error);
  files.remove();
  EXPECT_EQ(names(), (Names{"c", "c.generation-1", "c.generation-2"}));
}

TEST_F(Files, APipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(error_of(ErrorCode::input, [&] { (void)read_if_there(path()); }),
            path() + ": cannot be read: it is not a regular file");
}

TEST_F(Files, AStateIsNotWrittenThroughALinkThatLiesInItsWay) {
  CheckpointFiles files(path());
  files.take_generation(1);
  std::ofstream(folder_ / "victim") << "precious";
  // The token is in the file of the generation, for all who may read the folder.
  const std::string holder = fs::read_symlink(path() + ".generation-1");
  const std::string token = holder.substr(holder.rfind(' ') + 1);
  fs::create_symlink("victim", path() + ".generation-1." + token + ".new");
  EXPECT_EQ(write(files, "one"), "");
  EXPECT_EQ(text(), "one");
  EXPECT_EQ(read_if_there(folder_ / "victim"), "precious");
}

TEST_F(Files, AWriterThatDiesAtAnyStepLeavesTheStateOrTheNextAndNothingThatStays) {
  ::testing::GTEST_FLAG(death_test_style) = "fast";
  bool died = true;
  for (int step = 1; died; ++step) {
    ASSERT_LT(step, 50);
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    {
      CheckpointFiles files(path());
      files.take_generation(1);
      ASSERT_EQ(write(files, "one"), "");
      ASSERT_EQ(write(files, "two"), "");
    }
    EXPECT_EXIT(
        {
          CheckpointFiles files(path());
          files.set_faults(fault::Faults({{fault::Stage::checkpoint_step, 0, {}, step}}, 0));
          files.take_generation(1);
          files.remove_older_generations();
          (void)files.write(state("three"), true);
          files.remove();
          std::_Exit(0);
        },
        [&](int status) {
          died = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
          return died || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
        },
        "");
    const std::string found = text();
    EXPECT_TRUE(found == "two" || found == "three" || found == "nothing") << step << ": " << found;
    // The rest is the beginning of a removal, or has a state to resume from.
    if (found == "nothing") {
      EXPECT_EQ(text(".previous"), "nothing") << step;
    }
    CheckpointFiles files(path());
    files.take_generation(1);
    files.remove_older_generations();
    EXPECT_EQ(write(files, "four"), "") << step;
    EXPECT_EQ(text(".previous"), found) << step;
    files.remove();
    EXPECT_EQ(names(), Names{}) << step;
  }
}

TEST_F(Files, AWriterThatDiesLeavesAState) {
  ::testing::GTEST_FLAG(death_test_style) = "fast";
  const auto start_and_write = [&](std::string_view bytes, const char* fault) {
    CheckpointFiles files(path());
    files.take_generation(1);
    (void)write(files, bytes, fault);
  };
  EXPECT_EXIT(start_and_write("one", "checkpoint-write@rank0"), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(text(), "nothing");
  start_and_write("one", "");
  start_and_write("two", "");
  EXPECT_EXIT(start_and_write("three", "checkpoint-write@rank0"), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(text(), "two");
  EXPECT_EQ(text(".previous"), "one");
  EXPECT_EXIT(start_and_write("three", "checkpoint-swap@rank0"), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(text(), "two");
  EXPECT_EQ(text(".previous"), "two");
  EXPECT_EQ(names().size(), 6U);  // two generations and two temporary files besides
  {
    CheckpointFiles files(path());
    files.take_generation(1);
    files.remove_older_generations();
    EXPECT_EQ(write(files, "three"), "");
  }
  EXPECT_EQ(names(), (Names{"c", "c.previous"}));
}

}  // namespace
}  // namespace tessera
