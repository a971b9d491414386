// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace tessera::files {

/// The folder for temporary files that are too large for memory: $TMPDIR, or else /var/tmp, which is on a
/// disk where /tmp is in memory (file-hierarchy(7)).
[[nodiscard]] std::string default_scratch_folder();

/// Memory, all zero, in a file without a name that the system writes its pages to and reads them back from
/// as it needs the room. The file goes when this does, or when the process ends in whatever way. Move-only.
class ScratchMemory {
 public:
  ScratchMemory() = default;
  /// Takes the room on the disk before it is written to, where the file system can: a full one is found here.
  /// Throws `Error(input)` naming the folder: one that is not there, without that much room, or whose files
  /// are in memory (tmpfs).
  ScratchMemory(const std::string& folder, std::size_t bytes);
  ~ScratchMemory();
  ScratchMemory(ScratchMemory&& other) noexcept { swap(other); }
  ScratchMemory& operator=(ScratchMemory&& other) noexcept {
    swap(other);
    return *this;
  }

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }

  /// Takes bytes out of the process' resident memory. They keep their values; the system has their pages for
  /// as long as it needs the room for nothing else.
  void let_go(std::size_t begin, std::size_t end) const noexcept;
  /// Whoever reads the memory in order calls this before bytes [begin, end), on any thread: what follows is
  /// read ahead, and what is far behind let go, so that some MiB are resident.
  void prepare_to_read(std::size_t begin, std::size_t end) const noexcept;
  /// Lets go what is behind bytes that were written in order.
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
