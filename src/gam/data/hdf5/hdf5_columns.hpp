// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/frame/frame_builder.hpp"
#include "gam/data/frame/read_plan.hpp"
#include "gam/data/hdf5/hdf5_contents.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// Reads the columns of an HDF5 file that a plan requests, on one rank, without communication.
namespace TESSERA_NAMESPACE::gam {

/// All referenced objects must outlive the scans.
struct Hdf5Rows {
  hid_t hdf5;
  const files::InputFile& file;
  const Hdf5Contents& contents;
  std::int64_t chunk_rows;  ///< approximate number of rows that are read together
  BetweenReads between;
  std::atomic<std::int64_t>& bytes_read;  ///< increased by the bytes read from the file
};

/// A scan of the rows on several threads. The library reads masks and some columns, on one thread while the
/// others wait: columns of matrices, texts of variable length, numbers of other than native type and byte
/// order, and chunks of more than 2^18 rows or with filters other than deflate, lzf and shuffle. Throws
/// `Error(input)` for values that cannot be read, and rethrows exceptions of `FramePart`.
[[nodiscard]] std::unique_ptr<RowScan> scan_hdf5(const Hdf5Rows& rows, const ReadPlan& plan, int threads);

}  // namespace TESSERA_NAMESPACE::gam
