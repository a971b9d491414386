// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace tessera::bench {

/// RAII: a temporary folder, which the destructor removes.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw Error(ErrorCode::input, "cannot create a temporary folder: set TMPDIR to one with free space");
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::filesystem::path file(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// An output file whose write errors are reported.
class WholeFile {
 public:
  explicit WholeFile(const std::filesystem::path& path) : path_(path), file_(path, std::ios::binary) {}
  void write(std::string_view bytes) {
    file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    written_ += static_cast<std::int64_t>(bytes.size());
  }
  [[nodiscard]] std::int64_t written() const { return written_; }
  /// Throws `tessera::Error(input)` if a write has failed.
  void close() {
    file_.close();
    if (!file_) refuse(path_);
  }
  [[noreturn]] static void refuse(const std::filesystem::path& path) {
    throw Error(ErrorCode::input,
                "'" + path.string() + "' cannot be written: set TMPDIR to a folder with free space");
  }

 private:
  std::filesystem::path path_;
  std::ofstream file_;
  std::int64_t written_ = 0;
};

}  // namespace tessera::bench
