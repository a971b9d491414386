// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace tessera::bench {

/// A folder that goes when it goes out of scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw Error(ErrorCode::input, "no temporary folder can be made: set TMPDIR to a place with room");
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
