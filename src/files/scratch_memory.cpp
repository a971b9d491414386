// SPDX-License-Identifier: Apache-2.0
#include "files/scratch_memory.hpp"

#include "base/descriptor.hpp"
#include "base/errors.hpp"
#include "files/node_scratch.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tessera::files {
namespace {

/// Size of the chunks that are read ahead or released.
constexpr std::size_t stretch = std::size_t{1} << 20;
constexpr std::size_t stretches_ahead = 2;

[[noreturn]] void fail(const std::string& folder, const std::string& what, int reason) {
  throw base::input_error("{}: {}: {}: name another folder for scratch files", folder, what,
                          std::strerror(reason));
}

/// Creates a file with a unique name, and sets `path` to it.
base::Descriptor open_named(const std::string& folder, std::string& path) {
  path = folder + "/tessera-scratch-XXXXXX";
  return base::Descriptor(::mkostemp(path.data(), O_CLOEXEC));
}

/// Opens an unnamed file. On a file system without O_TMPFILE, creates a named file and unlinks it.
base::Descriptor open_unnamed(const std::string& folder) {
  base::Descriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.is_open() || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  std::string path;
  file = open_named(folder, path);
  if (file.is_open()) ::unlink(path.c_str());
  return file;
}

void refuse_memory(const std::string& folder, const base::Descriptor& file) {
  struct statfs system {};
  if (::fstatfs(file.number(), &system) != 0) return;
  if (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC)
    throw base::input_error("{}: the folder is in memory (tmpfs): name a folder on a disk for scratch files",
                            folder);
}

void allocate(const std::string& folder, const base::Descriptor& file, std::size_t bytes) {
  refuse_memory(folder, file);
  int refused = 0;
  do refused = ::posix_fallocate(file.number(), 0, static_cast<off_t>(bytes));
  while (refused == EINTR);
  if (refused != 0) fail(folder, fmt::format("has no room for {} bytes", bytes), refused);
}

void* map_shared(int descriptor, const std::string& name, std::size_t bytes) {
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) fail(name, fmt::format("{} bytes cannot be mapped", bytes), errno);
  return mapped;
}

}  // namespace

std::string default_scratch_folder() {
  const char* const named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/var/tmp";
}

ScratchMemory::ScratchMemory(const std::string& folder, std::size_t bytes) {
  if (bytes == 0) return;
  const base::Descriptor file = open_unnamed(folder);
  if (!file.is_open()) fail(folder, "no scratch file can be created", errno);
  allocate(folder, file, bytes);
  data_ = map_shared(file.number(), folder, bytes);
  size_bytes_ = bytes;
  advise(0, bytes, MADV_SEQUENTIAL);
}

ScratchMemory::~ScratchMemory() {
  if (data_ != nullptr) ::munmap(data_, size_bytes_);
}

void ScratchMemory::evict(std::size_t begin, std::size_t end) const noexcept {
  advise(begin, end, MADV_DONTNEED);
}

void ScratchMemory::prepare_to_read(std::size_t begin, std::size_t end) const noexcept {
  const std::size_t first = (begin + stretch - 1) / stretch * stretch;
  if (first >= end) return;
  advise(first == 0 ? 0 : first + stretches_ahead * stretch, first + (stretches_ahead + 1) * stretch,
         MADV_WILLNEED);
  // Keeps the previous chunk resident, because other threads may still read it.
  if (first >= 2 * stretch) evict(first - 2 * stretch, first - stretch);
}

void ScratchMemory::release_written(std::size_t begin, std::size_t end) const noexcept {
  const std::size_t last = end / stretch * stretch;
  if (last > begin) evict(last - stretch, last);
}

// Errors are ignored: advice affects speed only.
void ScratchMemory::advise(std::size_t begin, std::size_t end, int advice) const noexcept {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  begin = begin / page * page;
  end = std::min(end, size_bytes_);
  if (begin < end) (void)::madvise(static_cast<std::byte*>(data_) + begin, end - begin, advice);
}

NodeScratch::NodeScratch(const std::string& folder, std::size_t bytes) {
  const base::Descriptor file = open_named(folder, path_);
  if (!file.is_open()) fail(folder, "no scratch file can be created", errno);
  try {
    allocate(folder, file, bytes);
    data_ = map_shared(file.number(), folder, bytes);
  } catch (...) {
    forget_name();
    throw;
  }
  bytes_ = bytes;
}

NodeScratch NodeScratch::open(const std::string& path, std::size_t bytes) {
  const base::Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.is_open()) fail(path, "the scratch file cannot be opened", errno);
  NodeScratch scratch;
  scratch.data_ = map_shared(file.number(), path, bytes);
  scratch.bytes_ = bytes;
  return scratch;
}

NodeScratch::~NodeScratch() {
  forget_name();
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

void NodeScratch::forget_name() noexcept {
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
}

}  // namespace tessera::files
