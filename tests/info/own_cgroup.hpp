// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include "topology/linux/cgroups.hpp"

namespace tessera {

/// A cgroup below that of this process, where it may create one.
class OwnCgroup {
 public:
  explicit OwnCgroup(const char* controller) {
    const auto above = detail::cgroups_of_this_process("/", controller);
    if (above.empty()) {
      problem_ = std::string("no cgroup of ") + controller + " is mounted";
      return;
    }
    version_ = above.front().version;
    folder_ = above.front().folder / ("tessera-test-" + std::to_string(getpid()));
    std::error_code failed;
    if (!std::filesystem::create_directory(folder_, failed)) {
      problem_ = folder_.string() + " cannot be made: " + failed.message();
      folder_.clear();
    }
  }
  ~OwnCgroup() {
    if (folder_.empty()) return;
    // MPI's daemon of a program without mpirun ends shortly after it.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (rmdir(folder_.c_str()) != 0 && errno == EBUSY && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  OwnCgroup(const OwnCgroup&) = delete;
  OwnCgroup& operator=(const OwnCgroup&) = delete;

  [[nodiscard]] int version() const { return version_; }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] const std::string& problem() const { return problem_; }

  void set(const std::string& name, const std::string& value) {
    if (!problem_.empty()) return;
    // Opens the file without creating it, as the kernel may lack it.
    std::ofstream out(file(name), std::ios::in | std::ios::out);
    out << value << std::flush;
    if (!out) problem_ = file(name) + " cannot be written: " + std::strerror(errno);
  }
  /// Runs `program`, a shell command without single quotes, in the cgroup.
  [[nodiscard]] std::string command(const std::string& program) const {
    return "sh -c 'echo $$ >" + file("cgroup.procs") + " && exec " + program + "'";
  }

 private:
  std::filesystem::path folder_;
  int version_ = 0;
  std::string problem_;
};

}  // namespace tessera
