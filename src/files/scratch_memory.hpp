// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace tessera::files {

/// The folder for temporary files that are too large for memory: $TMPDIR, or else /var/tmp, which is on disk
/// even where /tmp is in memory (file-hierarchy(7)).
[[nodiscard]] std::string default_scratch_folder();

/// Zeroed, memory-mapped memory, backed by a file without a name: the system writes pages to it when memory
/// is short. The file disappears with this object, or when the process ends in any way. Move-only.
class ScratchMemory {
 public:
  ScratchMemory() = default;
  /// Allocates the disk space at once, if the file system can do so: a full disk is then detected here.
  /// Throws `Error(input)` naming a folder that does not exist, is too small, or is in memory (tmpfs).
  ScratchMemory(const std::string& folder, std::size_t bytes);
  ~ScratchMemory();
  ScratchMemory(ScratchMemory&& other) noexcept { swap(other); }
  ScratchMemory& operator=(ScratchMemory&& other) noexcept {
    swap(other);
    return *this;
  }

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }

  /// Removes bytes from the process's resident memory. Their values stay in the file, whose pages the system
  /// caches while memory is free.
  void let_go(std::size_t begin, std::size_t end) const noexcept;
  /// Call it, on any thread, before each read of bytes [begin, end) in ascending order. It reads the
  /// following bytes ahead and releases earlier ones, so that only some MiB are resident.
  void prepare_to_read(std::size_t begin, std::size_t end) const noexcept;
  /// Removes bytes that were written in ascending order from resident memory.
  void release_written(std::size_t begin, std::size_t end) const noexcept;

 private:
  void advise(std::size_t begin, std::size_t end, int advice) const noexcept;
  void swap(ScratchMemory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
  }

  void* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace tessera::files
