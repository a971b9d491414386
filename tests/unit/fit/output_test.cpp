// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
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

}  // namespace
}  // namespace tessera::fit
