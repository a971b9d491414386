// SPDX-License-Identifier: Apache-2.0
#include "files/input_file.hpp"

#include <tessera/error.hpp>
#include <tessera/topology/host_limits.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

namespace tessera::files {
namespace {

std::string words_of(int code) {
  return std::generic_category().message(code);
}

}  // namespace

std::optional<FileState> state_of(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  constexpr std::int64_t second = 1'000'000'000;
  // Modulo 2^64: a damaged file system may have any time.
  const auto written = static_cast<std::uint64_t>(status.st_mtim.tv_sec) * second +
                       static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
  return FileState{.device = status.st_dev,
                   .inode = status.st_ino,
                   .size = status.st_size,
                   .written_ns = static_cast<std::int64_t>(written)};
}

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

FileState InputFile::state() const {
  const std::optional<FileState> state = state_of(descriptor_);
  if (!state) fail(words_of(errno));
  return *state;
}

std::int64_t InputFile::size() const {
  return state().size;
}

void InputFile::fail(const std::string& reason) const {
  throw Error(ErrorCode::input, fmt::format("{}: cannot be read: {}", path_, reason));
}

std::string read_text(const std::string& path, std::int64_t most_bytes) {
  const InputFile file(path);
  // Read to its end, wherever that is: files of /proc say that they have no bytes, and others may grow.
  std::string text;
  const auto refuse_size = [&](std::int64_t bytes) {
    if (bytes > most_bytes) file.fail(fmt::format("it has more than {} bytes", most_bytes));
  };
  refuse_size(file.size());
  constexpr std::size_t step = std::size_t{1} << 16;
  for (std::size_t got = step; got == step;) {
    const std::size_t begin = text.size();
    text.resize(begin + step);
    got = file.read_at(static_cast<std::int64_t>(begin), std::span(text).subspan(begin));
    text.resize(begin + got);
    refuse_size(static_cast<std::int64_t>(text.size()));
  }
  return text;
}

std::int64_t memory_left() {
  const HostLimits limits = host_limits();
  const MemoryLimit* const tightest = limits.tightest_memory();
  return tightest == nullptr ? std::numeric_limits<std::int64_t>::max() : tightest->free_bytes;
}

}  // namespace tessera::files
