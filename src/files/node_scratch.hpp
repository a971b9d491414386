// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace tessera::files {

/// Memory backed by a scratch file that the processes of a node share: one process creates it, the others
/// open it by name. The creator unlinks the file; after `forget_name` the system also frees it if all
/// processes are killed. Move-only.
class NodeScratch {
 public:
  NodeScratch() = default;
  /// Creates the file. Throws like `ScratchMemory`.
  NodeScratch(const std::string& folder, std::size_t bytes);
  /// Opens the file at `path`, which another process has created. Throws `Error(input)`.
  [[nodiscard]] static NodeScratch open(const std::string& path, std::size_t bytes);
  ~NodeScratch();
  NodeScratch(NodeScratch&& other) noexcept { swap(other); }
  NodeScratch& operator=(NodeScratch&& other) noexcept {
    swap(other);
    return *this;
  }

  /// The file's path; empty after `forget_name`, and in processes that opened the file by `open`.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Unlinks the file. Call it after the other processes have opened the file.
  void forget_name() noexcept;
  [[nodiscard]] void* data() const noexcept { return data_; }

 private:
  void swap(NodeScratch& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  std::string path_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tessera::files
