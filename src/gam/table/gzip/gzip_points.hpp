// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/input_file.hpp"

/// Where the unpacking of a gzip file can begin, so that threads and ranks unpack parts of it side by side.
///
/// A file of small members that tell their sizes, as bgzip writes them, is walked through by these sizes. Of
/// any other file they are found while it is unpacked from its beginning once: at the end of a deflate block,
/// with the 32 KiB before it, which what follows refers to (zlib's examples/zran.c).
namespace tessera::gam {

struct GzipPoint {
  std::int64_t packed = 0;    ///< the byte of the file
  std::int64_t unpacked = 0;  ///< the byte that is unpacked first
  int bits = 0;               ///< of the byte before that belong to it
  bool in_member = false;     ///< else at the beginning of one
  std::string window{};       ///< the bytes before it; of a point in a member
};

struct GzipPoints {
  std::vector<GzipPoint> all{{}};  ///< in order; the first is the beginning of the file
  std::int64_t size = -1;          ///< unpacked; -1: not known yet, and points may be missing
  bool by_members = false;         ///< every member begins at one, and the last ends with the file

  [[nodiscard]] bool complete() const noexcept { return size >= 0; }
  /// The place of the last point at or before an unpacked byte.
  [[nodiscard]] std::size_t before(std::int64_t unpacked) const;
  /// True if a member begins at a byte of the file, or the last one ends there.
  [[nodiscard]] bool has_member(std::int64_t packed) const;
};

/// Those of a file of members that tell their sizes; incomplete for another. Cost: 26 bytes are read of each
/// member.
[[nodiscard]] GzipPoints members_of(const files::InputFile& file);

/// What the last member of a file says that it unpacks to, modulo 2^32: the file unpacks to no less. 0 of a
/// file that zeros fill up.
[[nodiscard]] std::size_t size_of_last_member(const files::InputFile& file);

/// As one text, and back.
[[nodiscard]] std::string pack(const GzipPoints& points);
[[nodiscard]] GzipPoints unpack_points(std::string_view packed);

}  // namespace tessera::gam
