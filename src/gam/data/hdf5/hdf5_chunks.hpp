// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/inflater.hpp"
#include "gam/data/hdf5/hdf5_storage.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

/// Unpacks chunks of datasets on any thread. HDF5, which is not thread-safe, only reads their raw bytes.
namespace TESSERA_NAMESPACE::gam {

/// Lock it while using HDF5 if other threads may use it.
[[nodiscard]] std::mutex& hdf5_mutex();

/// The filters and chunks of a one-dimensional dataset.
struct ChunkPacking {
  std::size_t rows = 0;
  std::size_t value_bytes = 0;
  /// Index of the filter among those of the dataset, which is its bit in a chunk's mask of skipped filters;
  /// nothing: not used.
  std::optional<unsigned> shuffle{};
  std::optional<unsigned> deflate{};
};

/// Nothing if only the library can unpack the chunks: it supports deflate, or shuffle followed by deflate.
[[nodiscard]] std::optional<ChunkPacking> packing_of(hid_t creation, std::size_t value_bytes);

/// One thread's buffers for unpacking chunks.
class ChunkUnpacker {
 public:
  /// The values of the chunk that begins at a row, including padding after the last row; valid until the next
  /// call. Nothing if it cannot be read, or is damaged.
  [[nodiscard]] std::optional<std::span<const char>> unpack(hid_t dataset, const ChunkPacking& packing,
                                                            hsize_t first_row);

 private:
  [[nodiscard]] std::optional<std::uint32_t> load(hid_t dataset, const ChunkPacking& packing,
                                                  hsize_t first_row);

  Inflater inflater_;
  std::vector<char> packed_;
  std::vector<char> inflated_;
  std::vector<char> values_;
};

}  // namespace TESSERA_NAMESPACE::gam
