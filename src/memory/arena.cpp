// SPDX-License-Identifier: Apache-2.0
#include <tessera/memory/arena.hpp>

#include <tessera/error.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

namespace TESSERA_NAMESPACE {
namespace {

/// Maximum size of a new slab, unless a request is larger.
constexpr std::size_t max_growth_bytes = std::size_t{64} << 20;

std::size_t padding(std::uintptr_t at, std::size_t alignment) {
  return (alignment - at % alignment) % alignment;
}

}  // namespace

void* Arena::take_bytes(std::size_t bytes, std::size_t alignment) {
  if (!std::has_single_bit(alignment))
    throw Error(ErrorCode::usage, "arena: an alignment of " + std::to_string(alignment) +
                                      " was requested, but it must be a power of two");
  BufferPool& pool = *pool_;
  if (bytes == 0) return nullptr;
  const auto start = [&] { return static_cast<std::byte*>(slabs_.back().data()); };
  const auto skipped = [&] { return padding(reinterpret_cast<std::uintptr_t>(start()) + used_, alignment); };
  const auto fits = [&] {
    const std::size_t left = slabs_.back().size_bytes() - used_;
    return bytes <= left && skipped() <= left - bytes;
  };
  if (slabs_.empty() || !fits()) {
    // A slab is aligned to 256 bytes; a larger alignment may need padding.
    const std::size_t extra = alignment > default_alignment ? alignment - default_alignment : 0;
    const std::size_t needed = bytes + std::min(extra, std::numeric_limits<std::size_t>::max() - bytes);
    slabs_.reserve(slabs_.size() + 1);
    slabs_.push_back(take_slab(pool, needed));
    used_before_ += used_;
    used_ = 0;
    // Doubling keeps the number of slabs small; the limit bounds unused memory.
    next_bytes_ = std::min(capacity_bytes(), max_growth_bytes);
  }
  used_ += skipped();
  void* memory = start() + used_;
  used_ += bytes;
  return memory;
}

MemoryLease Arena::take_slab(BufferPool& pool, std::size_t needed) const {
  if (next_bytes_ > needed) {
    try {
      return pool.take_bytes(next_bytes_, stream_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::job_fault) throw;
    }
  }
  return pool.take_bytes(needed, stream_);
}

void Arena::reset() noexcept {
  if (slabs_.size() > 1) {
    // One slab will replace all of them. The extra bytes are padding: each old slab began at a multiple of
    // 256 bytes.
    next_bytes_ = used_bytes() + slabs_.size() * default_alignment;
    slabs_.clear();
  }
  used_ = 0;
  used_before_ = 0;
}

std::size_t Arena::capacity_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const MemoryLease& slab : slabs_) bytes += slab.size_bytes();
  return bytes;
}

}  // namespace TESSERA_NAMESPACE
