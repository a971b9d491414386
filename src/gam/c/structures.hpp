// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/c/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

/// Structures that callers of other versions know in other sizes.
namespace TESSERA_NAMESPACE::gam::c {

/// No version has a structure of more bytes: another size is none.
constexpr std::size_t largest_structure = 4096;

/// Throws `Error(usage)` unless `size` may be that of a structure which was `first` bytes in version 1.
inline void require_size(std::size_t size, std::size_t first, const char* name) {
  if (size < first || size > largest_structure)
    refuse(fmt::format("{} has size {}: set it to the sizeof of the structure, {}", name, size, first));
}

/// The structure of a caller over `own`, the defaults. Throws `Error(usage)` for one that sets what this
/// version does not know.
template <class Structure>
[[nodiscard]] Structure read_structure(const Structure* given, Structure own, const char* name) {
  require_size(given->size, sizeof own, name);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (std::any_of(bytes + sizeof own, bytes + given->size, [](unsigned char byte) { return byte != 0; }))
    refuse(
        fmt::format("{} sets what this version of the library does not have: link with a newer one", name));
  std::memcpy(&own, given, sizeof own);
  return own;
}

/// Fills the structure of a caller, as far as it goes.
template <class Structure>
void write_structure(Structure* to, Structure filled) {
  const std::size_t size = to->size;
  require_size(size, sizeof filled, "info");
  filled.size = size;
  std::memcpy(to, &filled, sizeof filled);
}

}  // namespace TESSERA_NAMESPACE::gam::c
