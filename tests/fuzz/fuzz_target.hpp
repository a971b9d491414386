// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "temporary_folder.hpp"

/// Functions of fuzz targets.
///
/// A target is one function, which libFuzzer or the replay (replay_main.cpp) calls with one input after
/// another. It passes if it returns: a crash, a finding of a sanitizer, an exception other than `Error`, and
/// a violated property end the process.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace tessera::fuzz {

/// Ends the process, naming the violated property.
inline void require(bool holds, std::string_view property, std::string_view shown = {}) {
  if (holds) return;
  const std::string said = "does not hold: " + std::string(property) + ' ' + std::string(shown) + '\n';
  std::fputs(said.c_str(), stderr);
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return size == 0 ? std::string_view() : std::string_view(reinterpret_cast<const char*>(data), size);
}

/// Removes one byte from the front; 0 if there is none.
inline unsigned take_byte(std::string_view& input) {
  if (input.empty()) return 0;
  const auto byte = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  return byte;
}

/// The message of `read` for an input that it refuses, which is an `Error` of one of these kinds in one line;
/// nothing if it accepts the input.
inline std::optional<std::string> refusal(const std::function<void()>& read,
                                          std::initializer_list<ErrorCode> kinds) {
  try {
    read();
    return std::nullopt;
  } catch (const Error& error) {
    const std::string said = error.what();
    require(std::find(kinds.begin(), kinds.end(), error.code()) != kinds.end(),
            "the kind of the error:", said);
    require(!said.empty(), "an error says what is wrong");
    return said;
  }
}

/// A file in memory that has a path and is written in place.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    require(descriptor_ >= 0, "a file in memory");
    path_ = "/proc/self/fd/" + std::to_string(descriptor_);
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  void write(std::string_view bytes) const {
    require(::ftruncate(descriptor_, 0) == 0, "an empty file");
    require(::pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
            "all bytes written");
  }

 private:
  int descriptor_;
  std::string path_;
};

/// A folder for code that needs named files. `scripts/run-fuzzers` has the temporary directory in memory.
class InputFolder {
 public:
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_.path(); }
  [[nodiscard]] std::string operator/(std::string_view name) const { return (path() / name).string(); }
  void write(std::string_view name, std::string_view bytes) const {
    const int file = ::open((*this / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(file >= 0, "a file that can be written", name);
    require(::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
            "all bytes written");
    ::close(file);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace tessera::fuzz
