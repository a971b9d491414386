// SPDX-License-Identifier: Apache-2.0
#include "files/output_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <tessera/error.hpp>

#include "support/errors.hpp"
#include "temporary_folder.hpp"

namespace tessera::files {
namespace {

namespace fs = std::filesystem;

class OutputFolders : public ::testing::Test {
 protected:
  static void put(const OutputFolder& folder, const std::string& name) {
    std::ofstream(folder.temporary() + "/" + name) << "content";
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.insert(entry.path().filename());
    return found;
  }

  TemporaryFolder folder_;
};

TEST_F(OutputFolders, AppearWithAllTheirFiles) {
  const std::string path = folder_ / "parts";
  {
    const OutputFolder folder(path + "//");
    put(folder, "one");
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
  fs::create_directory(path);  // an empty one is replaced
  OutputFolder folder(path + "/");
  put(folder, "one");
  put(folder, "two");
  EXPECT_TRUE(fs::is_empty(path));
  EXPECT_EQ(folder.commit(), "");
  EXPECT_TRUE(fs::exists(path + "/one") && fs::exists(path + "/two"));
  EXPECT_EQ(names(), std::set<std::string>{"parts"});
}

TEST_F(OutputFolders, ReplaceNothing) {
  const auto fault_of = [](const std::string& path) {
    return error_of(ErrorCode::input, [&] { const OutputFolder folder(path); });
  };
  std::ofstream(folder_ / "file") << "mine";
  fs::create_directory(folder_ / "full");
  std::ofstream(folder_ / "full" / "file") << "mine";
  EXPECT_NE(fault_of(folder_ / "file").find("a file has this name, but a folder is needed"),
            std::string::npos);
  EXPECT_NE(fault_of(folder_ / "full/").find("the folder is not empty"), std::string::npos);
  EXPECT_NE(fault_of(folder_ / "none" / "parts").find("cannot be created: No such file"), std::string::npos);
  EXPECT_NE(fault_of(folder_ / "file" / "parts").find("cannot be created: Not a directory"),
            std::string::npos);
  OutputFolder folder(folder_ / "late");
  fs::create_directory(folder_ / "late");
  std::ofstream(folder_ / "late" / "file") << "of another";
  EXPECT_NE(error_of(ErrorCode::input, [&] { static_cast<void>(folder.commit()); })
                .find("late: cannot be put in place: Directory not empty"),
            std::string::npos);
}

TEST_F(OutputFolders, RemoveThoseOfDeadProgramsAlone) {
  const pid_t child = ::fork();
  if (child == 0) {
    const OutputFolder folder(folder_ / "parts");
    put(folder, "part");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(names().size(), 1U);
  const std::string abandoned = *names().begin();
  fs::create_directory(folder_ / ".tessera-of the user's");
  fs::create_directory(folder_ / ".tessera-0123456789abcdef0123456789abcdef");

  const OutputFolder living(folder_ / "parts");
  EXPECT_EQ(names().count(abandoned), 0U);
  {
    const OutputFolder second(folder_ / "others");
    EXPECT_TRUE(fs::is_directory(living.temporary()));
    EXPECT_EQ(names().size(), 4U);
  }
  EXPECT_EQ(names().size(), 3U);
}

}  // namespace
}  // namespace tessera::files
