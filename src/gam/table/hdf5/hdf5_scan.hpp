// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/bytes/byte_source.hpp"
#include "gam/table/frame/frame_builder.hpp"
#include "gam/table/hdf5/hdf5_storage.hpp"

#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// The columns and the rows of an HDF5 file as one rank reads them, whatever the others do.
namespace tessera::gam {

/// What the root of a file has.
struct Hdf5Contents {
  std::vector<std::string> columns;
  std::map<std::string, std::string> unusable;  ///< what else it has, and why that is no column
  std::int64_t rows = 0;
};

/// The file that is open, as HDF5 opens it. Throws `Error(input)` if it cannot, or has opened another file
/// that came into its place.
[[nodiscard]] Handle open_hdf5_file(const files::InputFile& opened);

/// Throws `Error(input)`: no column, columns of different lengths or without a row, a name that is not UTF-8.
[[nodiscard]] Hdf5Contents contents_of(hid_t file, const std::string& path);

/// Hands rows of the file to the builder, about `chunk_rows` at a time, on all threads of its team, with a
/// call of `between` again and again. Columns that only the library can read, by one thread at a time, keep
/// the others waiting: variable texts, numbers of types or byte orders that are not native, chunks of more
/// than 2^18 rows or packed otherwise than by deflate and shuffle. Returns the bytes that they have in the
/// file. Throws `Error(input)` for values that cannot be read, and whatever the builder throws.
std::int64_t scan_hdf5(hid_t hdf5, const files::InputFile& file, std::int64_t chunk_rows,
                       const BetweenReads& between, Range rows, FrameBuilder& builder);

}  // namespace tessera::gam
