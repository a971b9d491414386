// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::base {

/// RAII owner of a file descriptor. Functions that fail set `errno`.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes ownership of the result of `open`; a negative number means that no file is open.
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() { (void)close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }
  [[nodiscard]] int number() const noexcept { return number_; }
  /// Closes the file. False on failure: some file systems report write errors only now.
  [[nodiscard]] bool close() noexcept { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

  [[nodiscard]] std::optional<struct stat> status() const noexcept {
    struct stat status {};
    return ::fstat(number_, &status) == 0 ? std::optional(status) : std::nullopt;
  }

  /// Writes all bytes.
  [[nodiscard]] bool write(std::string_view bytes) const noexcept {
    return write_all(bytes,
                     [&](std::string_view left) { return ::write(number_, left.data(), left.size()); });
  }
  [[nodiscard]] bool write_at(std::int64_t offset, std::string_view bytes) const noexcept {
    return write_all(bytes, [&](std::string_view left) {
      const std::size_t written = bytes.size() - left.size();
      return ::pwrite(number_, left.data(), left.size(), offset + static_cast<std::int64_t>(written));
    });
  }

  /// Flushes written data to disk. EINVAL, from pipes and other files that cannot be flushed, counts as
  /// success.
  [[nodiscard]] bool flush() const noexcept {
    int flushed = 0;
    do flushed = ::fsync(number_);
    while (flushed != 0 && errno == EINTR);
    return flushed == 0 || errno == EINVAL;
  }

  /// Reads into `buffer` from byte `offset`. Returns the number of bytes read, less than the buffer's size
  /// only at the end of the file; empty on failure.
  [[nodiscard]] std::optional<std::size_t> read_at(std::int64_t offset,
                                                   std::span<char> buffer) const noexcept {
    std::size_t got = 0;
    while (got < buffer.size()) {
      const ssize_t count =
          ::pread(number_, buffer.data() + got, buffer.size() - got, offset + static_cast<std::int64_t>(got));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return std::nullopt;
      if (count == 0) break;
      got += static_cast<std::size_t>(count);
    }
    return got;
  }

  /// Reads the file from beginning to end, at most `max_bytes`. Ignores the size that `fstat` reports, which
  /// is 0 for files of /proc; other files may grow. Empty on failure.
  [[nodiscard]] std::optional<std::string> read_text(
      std::size_t max_bytes = std::numeric_limits<std::size_t>::max()) const {
    constexpr std::size_t step = std::size_t{1} << 16;
    std::string text;
    while (text.size() < max_bytes) {
      const std::size_t begin = text.size();
      const std::size_t wanted = std::min(step, max_bytes - begin);
      text.resize(begin + wanted);
      const auto got = read_at(static_cast<std::int64_t>(begin), std::span(text).subspan(begin));
      if (!got) return std::nullopt;
      text.resize(begin + *got);
      if (*got < wanted) break;
    }
    return text;
  }

 private:
  template <class Write>
  static bool write_all(std::string_view bytes, const Write& write_some) noexcept {
    while (!bytes.empty()) {
      const ssize_t written = write_some(bytes);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }

  int number_ = -1;
};

}  // namespace tessera::base
