// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/descriptor.hpp"

#include <string>

namespace tessera::files {

/// Creates a folder with all its files atomically: `commit` renames a temporary folder in the same parent
/// folder. Without `commit` the temporary folder is removed. Temporary folders that killed programs of this
/// user left there are removed too (see `OutputFile`). Throws `tessera::Error(input)` with the path and the
/// system's reason.
class OutputFolder {
 public:
  /// Creates the temporary folder. `path` must be absent or an empty folder, which `commit` replaces.
  explicit OutputFolder(std::string path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  [[nodiscard]] const std::string& temporary() const noexcept { return temporary_; }
  /// Renames the folder into place. Returns an empty string, or one line of warning if the parent folder
  /// could not be flushed.
  std::string commit();

 private:
  [[noreturn]] void fail(const char* what, int error) const;
  void remove_abandoned() const;
  [[nodiscard]] bool create_temporary();

  std::string path_;
  std::string above_;  ///< the parent folder
  std::string temporary_;
  base::Descriptor held_;  ///< the temporary folder, locked to show that it is in use
  bool committed_ = false;
};

}  // namespace tessera::files
