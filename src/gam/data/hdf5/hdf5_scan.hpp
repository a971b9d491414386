// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/frame/frame_builder.hpp"
#include "gam/data/hdf5/hdf5_storage.hpp"

#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Reads the columns and rows of an HDF5 file on one rank, without communication.
namespace TESSERA_NAMESPACE::gam {

/// The contents of a file's root.
struct Hdf5Contents {
  std::vector<std::string> columns;
  std::map<std::string, std::string> unusable;  ///< all other links, with the reason why they are not columns
  std::int64_t rows = 0;
};

/// Opens in HDF5 a file that is already open. Throws `Error(input)` if HDF5 cannot, or has opened a
/// replacement of the file.
[[nodiscard]] Handle open_hdf5_file(const files::InputFile& opened);

/// Throws `Error(input)`: no column, columns of different lengths or without a row, a name that is not UTF-8.
[[nodiscard]] Hdf5Contents contents_of(hid_t file, const std::string& path);

/// Passes rows of the file to the builder, about `chunk_rows` at a time, on all threads of its team, and
/// calls `between` repeatedly. Columns that only the library can read, one thread at a time, block the other
/// threads: texts of variable length, numbers that are not of a native type and byte order, and chunks of
/// more than 2^18 rows or with filters other than deflate and shuffle. Returns the bytes read from the file.
/// Throws `Error(input)` for values that cannot be read, and what the builder throws.
std::int64_t scan_hdf5(hid_t hdf5, const files::InputFile& file, std::int64_t chunk_rows,
                       const BetweenReads& between, Range rows, FrameBuilder& builder);

}  // namespace TESSERA_NAMESPACE::gam
