// SPDX-License-Identifier: Apache-2.0
#include "files/output_file.hpp"
#include "fit/overwrite.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <tessera/error.hpp>

#include "files/input_file.hpp"
#include "support/errors.hpp"
#include "temporary_folder.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  return files::read_text(path, 1 << 20);
}

class Output : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
};

TEST_F(Output, AppearsOnlyWhenItIsWhole) {
  const std::string path = folder_ / "result";
  {
    files::OutputFile file(path);
    file.write("half");
    EXPECT_FALSE(fs::exists(path));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
  files::OutputFile file(path);
  file.write("whole");
  file.commit();
  EXPECT_EQ(text_of(path), "whole");
}

TEST_F(Output, AFailureLeavesWhatWasThere) {
  const std::string path = folder_ / "result";
  {
    files::OutputFile first(path);
    first.write("first");
    first.commit();
  }
  // The system refuses to let a file grow over the limit, as on a full disk.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1024, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_error(ErrorCode::input, path, [&] {
    files::OutputFile second(path);
    second.write(std::string(4096, 'x'));
  });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(text_of(path), "first");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(Output, APlaceThatCannotBeWrittenIsFoundAtOnce) {
  EXPECT_THROW(files::OutputFile(folder_ / "missing" / "result"), Error);
}

TEST_F(Output, IsNoFileThatIsReadOrWrittenUnderAnotherSpelling) {
  fs::create_directory(folder_ / "a");
  fs::create_directory_symlink(folder_ / "a", folder_ / "b");
  files::OutputFile(folder_ / "there").commit();
  const auto refusal = [](const std::string& out, const std::string& state, const std::string& data) {
    const auto check = [&] { refuse_to_overwrite({{"--out", out}, {"--checkpoint", state}}, {data, ""}); };
    return error_if_any(ErrorCode::usage, check).value_or("");
  };
  const std::string there = folder_ / "there";
  const std::string new_one = folder_ / "a" / "new";
  for (const char* spelling : {"a/new", "./a//new", "b/new", "none/../a/new"}) {
    const std::string again = folder_.path().string() + "/" + spelling;
    EXPECT_EQ(refusal(new_one, again, there),
              "--checkpoint " + again + " is also the file of --out: give another file name");
  }
  EXPECT_EQ(refusal(folder_ / "b/../there", "", there),
            "--out " + (folder_ / "b/../there").string() + " is also an input: give another file name");
  EXPECT_EQ(refusal("model.json", fs::current_path() / "model.json", there).substr(0, 12), "--checkpoint");
  EXPECT_EQ(refusal(new_one, "", there), "");
  EXPECT_EQ(refusal(new_one, new_one + "er", there), "");
}

TEST_F(Output, TakesThePlaceOfNothingButAFile) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink(pipe, folder_ / "link");
  const auto why = [](const std::string& path) {
    return error_if_any(ErrorCode::input, [&] { files::OutputFile file(path); }).value_or("taken");
  };
  EXPECT_EQ(why(""), "the name of an output file is empty: give a name");
  EXPECT_EQ(why(folder_.path()), folder_.path().string() + ": is a directory: give the name of a file");
  EXPECT_EQ(why(pipe), pipe + ": is not a regular file: give the name of a file");
  EXPECT_EQ(why(folder_ / "link"),
            (folder_ / "link").string() + ": is not a regular file: give the name of a file");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "a temporary file is left";
  const std::string file = folder_ / "file";
  fs::create_symlink(file, folder_ / "link to a file");
  EXPECT_EQ(why(folder_ / "link to a file"), "taken") << "of one that is not there yet";
  files::OutputFile(file).commit();
  EXPECT_EQ(why(folder_ / "link to a file"), "taken");
}

TEST_F(Output, GoesThroughAnotherUsersLinkNeverAndThroughAnOwnOneOnly) {
  const std::string target = folder_ / "target";
  const std::string link = folder_ / "link";
  files::OutputFile(target).commit();
  fs::create_symlink("target", link);
  files::OutputFile through(link);
  through.write("new");
  through.commit();
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(text_of(target), "new");

  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_THROW(files::OutputFile(folder_ / "loop"), Error);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a link of another user's";
  ASSERT_EQ(::lchown(link.c_str(), 12345, 12345), 0);
  EXPECT_EQ(error_of(ErrorCode::input, [&] { files::OutputFile file(link); }),
            link + ": is a link of another user: give the name of a file");
  EXPECT_EQ(text_of(target), "new");
}

TEST_F(Output, HandsOnThePermissionsOfTheFileThatItReplaces) {
  const std::string path = folder_ / "result";
  for (const mode_t mode : {0600, 0664, 0640}) {
    files::OutputFile(path).commit();
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    files::OutputFile(path).commit();
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, mode);
  }
}

TEST_F(Output, RemovesTheTemporaryFilesOfDeadProgramsAlone) {
  const std::string path = folder_ / "result";
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.insert(entry.path().filename());
    return found;
  };
  const pid_t child = ::fork();
  if (child == 0) {
    files::OutputFile file(path);
    file.write("half");
    ::_exit(0);  // like a kill: nothing is removed
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_EQ(names().size(), 1U);
  const std::string abandoned = *names().begin();
  std::ofstream(folder_ / ".tessera-of the user's.tmp") << "mine";

  files::OutputFile living(path);
  EXPECT_EQ(names().count(abandoned), 0U);
  EXPECT_EQ(names().size(), 2U);
  files::OutputFile second(path);
  second.write("second");
  second.commit();
  living.write("living");
  living.commit();
  EXPECT_EQ(text_of(path), "living");
  EXPECT_EQ(names(), (std::set<std::string>{"result", ".tessera-of the user's.tmp"}));
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
