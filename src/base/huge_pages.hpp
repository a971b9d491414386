// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::base {

/// Requests 2 MiB pages for memory that was not written to yet: page faults of 4 KiB pages cost more than
/// filling the memory. Does nothing for less than 2 MiB.
inline void prefer_huge_pages(void* memory, std::size_t bytes) noexcept {
  constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + bytes) / page * page;
  // A kernel without huge pages returns an error, which does no harm.
  if (first < last)
    (void)::madvise(static_cast<std::byte*>(memory) + (first - begin), last - first, MADV_HUGEPAGE);
}

/// `values` must be empty; the new elements are zero.
template <class T>
void resize_in_huge_pages(std::vector<T>& values, std::size_t size) {
  values.reserve(size);
  prefer_huge_pages(values.data(), size * sizeof(T));
  values.resize(size);
}

}  // namespace tessera::base
