// SPDX-License-Identifier: Apache-2.0
#include "files/output_stream.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "base/errors.hpp"
#include "files/standard_output.hpp"

namespace tessera::files {
namespace {

constexpr const char* standard_output = "standard output";

/// Whether the file is a pipe or a character device such as a terminal, which cannot be replaced by a rename.
bool is_sequential(const struct stat& status) {
  return S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode);
}

/// Suppresses SIGPIPE for writes of this thread.
class NoPipeSignal {
 public:
  NoPipeSignal() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec at_once{};
    if (!was_pending_) (void)sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace

bool is_standard_output(std::string_view path) {
  constexpr std::array<std::string_view, 4> names{"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
  return std::find(names.begin(), names.end(), path) != names.end();
}

OutputStream::OutputStream(const std::string& path) : name_(path) {
  struct stat status {};
  if (is_standard_output(path)) {
    name_ = standard_output;
    descriptor_ = base::Descriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!descriptor_.is_open()) fail();
  } else if (::stat(path.c_str(), &status) == 0 && is_sequential(status)) {
    descriptor_ = base::Descriptor(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    if (!descriptor_.is_open()) fail();
    // Another file may have taken the path since the check, and must not be overwritten.
    if (const auto opened = descriptor_.status(); !opened || !is_sequential(*opened))
      throw base::input_error("{}: the file was replaced while it was being opened: start again", name_);
  } else {
    file_.emplace(path);
  }
}

void OutputStream::write(std::string_view text) {
  if (file_) return file_->write(text);
  const NoPipeSignal no_signal;
  if (!descriptor_.write(text)) fail();
}

std::string OutputStream::commit() {
  if (file_) return file_->commit();
  if (!descriptor_.close()) fail();
  return {};
}

void OutputStream::fail() const {
  if (errno == EPIPE) output_is_unread = true;
  throw base::input_error("{}{} cannot be written: {}", name_, name_ == standard_output ? "" : ":",
                          std::strerror(errno));
}

}  // namespace tessera::files
