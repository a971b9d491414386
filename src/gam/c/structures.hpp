// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/c/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

/// Access to structures of the C interface, whose size may differ between versions of the library.
namespace TESSERA_NAMESPACE::gam::c {

/// The size in bytes of a structure in its first version, which does not change when members are added.
template <class Structure>
constexpr std::size_t first_size = 0;
template <>
constexpr std::size_t first_size<tessera_gam_error_info> = offsetof(tessera_gam_error_info, lines) +
                                                           sizeof(const char*);
template <>
constexpr std::size_t first_size<tessera_gam_call> = offsetof(tessera_gam_call, context) + sizeof(void*);
template <>
constexpr std::size_t first_size<tessera_gam_answer_info> = offsetof(tessera_gam_answer_info, constant) +
                                                            sizeof(double);
template <>
constexpr std::size_t first_size<tessera_gam_column_info> = offsetof(tessera_gam_column_info, levels) +
                                                            sizeof(std::size_t);
template <>
constexpr std::size_t first_size<tessera_gam_responses> = offsetof(tessera_gam_responses, offsets) +
                                                          sizeof(void*);

/// Structures with a larger `size` are refused.
constexpr std::size_t largest_structure = 4096;

/// The number of bytes that a caller's structure of `size` bytes shares with this version's structure. Throws
/// `Error(usage)` if `size` is below that of the first version, or above `largest_structure`.
template <class Structure>
[[nodiscard]] std::size_t shared_size(std::size_t size, const char* name) {
  static_assert(first_size<Structure> > 0);
  if (size < first_size<Structure> || size > largest_structure)
    refuse(fmt::format("{} has size {}: set it to the sizeof of the structure, {}", name, size,
                       sizeof(Structure)));
  return std::min(size, sizeof(Structure));
}

/// The defaults `own`, overwritten by the members of the caller's structure. Throws `Error(usage)` if the
/// caller sets a member that this version does not have.
template <class Structure>
[[nodiscard]] Structure read_structure(const Structure* given, Structure own, const char* name) {
  const std::size_t shared = shared_size<Structure>(given->size, name);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (std::any_of(bytes + shared, bytes + given->size, [](unsigned char byte) { return byte != 0; }))
    refuse(fmt::format(
        "{} sets a member that this version of the library does not have: link with a newer version", name));
  std::memcpy(&own, given, shared);
  return own;
}

/// Copies the members that the caller's version of the structure has.
template <class Structure>
void write_structure(Structure* to, Structure filled) {
  filled.size = to->size;
  std::memcpy(to, &filled, shared_size<Structure>(to->size, "info"));
}

}  // namespace TESSERA_NAMESPACE::gam::c
