// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace tessera {

struct ProgramResult {
  int status = -1;
  std::string out;
  std::string err;
};

/// A file of this process's own, removed with the object.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& text = {}) {
    std::string name = (std::filesystem::temp_directory_path() / "tessera_info_test_XXXXXX").string();
    const int descriptor = mkstemp(name.data());
    if (descriptor < 0) throw std::runtime_error("cannot make " + name);
    close(descriptor);
    path_ = name;
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~ScratchFile() { std::remove(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

/// Runs a shell command to its end.
inline ProgramResult run(const std::string& command) {
  const ScratchFile out;
  const ScratchFile err;
  const int status = std::system(("( " + command + " ) >" + out.path() + " 2>" + err.path()).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out.text(), err.text()};
}

/// The output of a program, which must end with status 0.
inline ProgramResult successful(ProgramResult result) {
  EXPECT_EQ(result.status, 0) << result.err;
  return result;
}

}  // namespace tessera
