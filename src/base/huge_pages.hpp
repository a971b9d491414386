// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::base {

/// Makes an empty vector as large as this, all zero. The system is asked for pages of 2 MiB where there are
/// that many bytes: to be given 4 KiB at a time costs more than to fill them.
template <class T>
void resize_in_huge_pages(std::vector<T>& values, std::size_t size) {
  constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
  values.reserve(size);
  const auto begin = reinterpret_cast<std::uintptr_t>(values.data());
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + size * sizeof(T)) / page * page;
  // A kernel without them refuses, and nothing is lost.
  if (first < last) (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  values.resize(size);
}

}  // namespace tessera::base
