// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>

#include <cstdlib>
#include <filesystem>
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

}  // namespace tessera::bench
