// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace tessera::files {

/// $TMPDIR, or else /var/tmp, which is on disk even if /tmp is in memory (file-hierarchy(7)).
[[nodiscard]] std::string default_scratch_folder();

/// Zeroed, memory-mapped memory, backed by an unnamed file to which the system writes pages when memory is
/// short. The system frees the file with this object, or when the process ends in any way. Move-only.
class ScratchMemory {
 public:
  ScratchMemory() = default;
  /// Allocates the disk space now, so that a full disk is detected here. Throws `Error(input)` naming a
  /// folder that does not exist, is too small, or is in memory (tmpfs).
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
  void evict(std::size_t begin, std::size_t end) const noexcept;
  /// Reads the bytes after [begin, end) ahead and releases earlier ones, so that only some MiB are resident.
  /// Call it on any thread before each read, in ascending order.
  void prepare_to_read(std::size_t begin, std::size_t end) const noexcept;
  /// Removes a chunk (1 MiB) from resident memory once it is written. Call it after each write to
  /// [begin, end), in ascending order.
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
