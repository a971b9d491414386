// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tessera/error.hpp>

namespace tessera::fit {
namespace {

namespace fs = std::filesystem;

class Output : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tessera-output-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(Output, AppearsOnlyWhenItIsWhole) {
  const std::string path = folder_ / "result";
  {
    OutputFile file(path);
    file.write("half");
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
  OutputFile file(path);
  file.write("whole");
  file.commit();
  EXPECT_EQ(read_file(path), "whole");
}

TEST_F(Output, AFailureLeavesWhatWasThere) {
  const std::string path = folder_ / "result";
  {
    OutputFile first(path);
    first.write("first");
    first.commit();
  }
  // The system refuses to let a file grow over the limit, as it would on a full disk.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1024, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  try {
    OutputFile second(path);
    second.write(std::string(4096, 'x'));
    ADD_FAILURE() << "a write over the limit went through";
  } catch (const Error& fault) {
    EXPECT_EQ(fault.code(), ErrorCode::input);
    EXPECT_NE(std::string(fault.what()).find(path), std::string::npos) << fault.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(path), "first");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(Output, APlaceThatCannotBeWrittenIsFoundAtOnce) {
  EXPECT_THROW(OutputFile(folder_ / "missing" / "result"), Error);
}

TEST_F(Output, IsNoFileThatIsReadOrWrittenUnderAnotherSpelling) {
  fs::create_directory(folder_ / "a");
  fs::create_directory_symlink(folder_ / "a", folder_ / "b");
  OutputFile(folder_ / "there").commit();
  const auto refusal = [](const std::string& out, const std::string& state,
                          const std::string& data) -> std::string {
    try {
      refuse_to_overwrite({{"--out", out}, {"--checkpoint", state}}, {data, ""});
      return "";
    } catch (const Error& fault) {
      EXPECT_EQ(fault.code(), ErrorCode::usage);
      return fault.what();
    }
  };
  const std::string there = folder_ / "there";
  const std::string new_one = folder_ / "a" / "new";
  for (const char* spelling : {"a/new", "./a//new", "b/new", "none/../a/new"}) {
    const std::string again = folder_.string() + "/" + spelling;
    EXPECT_EQ(refusal(new_one, again, there),
              "--checkpoint " + again + " is a file of --out too: give it another name");
  }
  EXPECT_EQ(refusal(folder_ / "b/../there", "", there),
            "--out " + (folder_ / "b/../there").string() + " is a file that is read: give it another name");
  EXPECT_EQ(refusal("model.json", fs::current_path() / "model.json", there).substr(0, 12), "--checkpoint");
  EXPECT_EQ(refusal(new_one, "", there), "");
  EXPECT_NO_THROW(refuse_to_overwrite({{"--checkpoint", there}, {"--checkpoint", there}}, {}));
  EXPECT_EQ(refusal(new_one, new_one + "er", there), "");
}

TEST_F(Output, TakesThePlaceOfNothingButAFile) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink(pipe, folder_ / "link");
  const auto why = [](const std::string& path) -> std::string {
    try {
      OutputFile file(path);
      return "taken";
    } catch (const Error& fault) {
      EXPECT_EQ(fault.code(), ErrorCode::input);
      return fault.what();
    }
  };
  EXPECT_EQ(why(""), "a file to be written has an empty name");
  EXPECT_EQ(why(folder_), folder_.string() + ": is a directory: give the name of a file");
  EXPECT_EQ(why(pipe), pipe + ": is no regular file: give the name of a file");
  EXPECT_EQ(why(folder_ / "link"),
            (folder_ / "link").string() + ": is no regular file: give the name of a file");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "a temporary file is left";
  const std::string file = folder_ / "file";
  fs::create_symlink(file, folder_ / "link to a file");
  EXPECT_EQ(why(folder_ / "link to a file"), "taken") << "of one that is not there yet";
  OutputFile(file).commit();
  EXPECT_EQ(why(folder_ / "link to a file"), "taken");
}

}  // namespace
}  // namespace tessera::fit
