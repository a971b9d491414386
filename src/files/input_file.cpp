// SPDX-License-Identifier: Apache-2.0
#include "files/input_file.hpp"

#include "base/errors.hpp"

#include <tessera/topology/host_limits.hpp>

#include <fcntl.h>
#include <fmt/format.h>
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

FileState state_of(const struct stat& status) {
  constexpr std::int64_t second = 1'000'000'000;
  // Unsigned, because a damaged file system may report any time, and signed overflow is undefined behaviour.
  const auto written = static_cast<std::uint64_t>(status.st_mtim.tv_sec) * second +
                       static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .written_ns = static_cast<std::int64_t>(written)};
}

std::optional<FileState> state_of(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  return state_of(status);
}

InputFile::InputFile(std::string path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  if (!descriptor_.is_open()) fail(words_of(errno));
  const auto status = descriptor_.status();
  if (!status) fail(words_of(errno));
  if (!S_ISREG(status->st_mode))
    fail(S_ISDIR(status->st_mode) ? "it is a directory" : "it is not a regular file");
}

std::size_t InputFile::read_at(std::int64_t offset, std::span<char> buffer) const {
  const auto got = descriptor_.read_at(offset, buffer);
  if (!got) fail(words_of(errno));
  return *got;
}

FileState InputFile::state() const {
  const std::optional<FileState> state = state_of(descriptor_.number());
  if (!state) fail(words_of(errno));
  return *state;
}

std::int64_t InputFile::size() const {
  return state().size;
}

void InputFile::fail(const std::string& reason) const {
  throw base::input_error("{}: cannot be read: {}", path_, reason);
}

std::string InputFile::text(std::int64_t max_bytes) const {
  const auto most = static_cast<std::size_t>(max_bytes);
  std::optional<std::string> text;
  const bool fits = size() <= max_bytes;
  if (fits) text = descriptor_.read_text(most + 1);
  if (fits && !text) fail(words_of(errno));
  if (!fits || text->size() > most) fail(fmt::format("the file has more than {} bytes", max_bytes));
  return *std::move(text);
}

std::string read_text(const std::string& path, std::int64_t max_bytes) {
  return InputFile(path).text(max_bytes);
}

std::int64_t memory_left() {
  const HostLimits limits = host_limits();
  const MemoryLimit* const tightest = limits.tightest_memory();
  return tightest == nullptr ? std::numeric_limits<std::int64_t>::max() : tightest->free_bytes;
}

}  // namespace tessera::files
