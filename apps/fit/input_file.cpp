// SPDX-License-Identifier: Apache-2.0
#include "input_file.hpp"

#include <tessera/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace tessera::fit {
namespace {

std::string words_of(int code) {
  return std::generic_category().message(code);
}

}  // namespace

InputFile::InputFile(std::string path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  if (descriptor_ < 0) fail(words_of(errno));
  struct stat status {};
  std::string problem;
  if (::fstat(descriptor_, &status) != 0)
    problem = words_of(errno);
  else if (!S_ISREG(status.st_mode))
    problem = S_ISDIR(status.st_mode) ? "it is a directory" : "it is no regular file";
  if (problem.empty()) return;
  ::close(descriptor_);
  fail(problem);
}

InputFile::~InputFile() {
  ::close(descriptor_);
}

std::size_t InputFile::read_at(std::int64_t offset, std::span<char> buffer) const {
  std::size_t got = 0;
  while (got < buffer.size()) {
    const ssize_t count = ::pread(descriptor_, buffer.data() + got, buffer.size() - got,
                                  offset + static_cast<std::int64_t>(got));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(words_of(errno));
    if (count == 0) break;
    got += static_cast<std::size_t>(count);
  }
  return got;
}

void InputFile::fail(const std::string& reason) const {
  throw Error(ErrorCode::input, fmt::format("{}: cannot be read: {}", path_, reason));
}

}  // namespace tessera::fit
