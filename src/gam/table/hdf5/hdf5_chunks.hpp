// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/bytes/inflater.hpp"
#include "gam/table/hdf5/hdf5_storage.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

/// Chunks of datasets that are unpacked by any thread. HDF5, which one thread at a time may use, only gives
/// their bytes as they lie in the file.
namespace tessera::gam {

/// Held by who uses HDF5 while other threads may.
[[nodiscard]] std::mutex& hdf5_mutex();

/// How the chunks of a one-dimensional dataset are packed.
struct ChunkPacking {
  std::size_t rows = 0;
  std::size_t value_bytes = 0;
  /// The places of the filters among those of the dataset, by which a chunk names those that it was written
  /// without; nothing: the dataset has none.
  std::optional<unsigned> shuffle{};
  std::optional<unsigned> deflate{};
};

/// Nothing for a dataset whose chunks only the library unpacks: with other filters than deflate, shuffle, or
/// that after this.
[[nodiscard]] std::optional<ChunkPacking> packing_of(hid_t creation, std::size_t value_bytes);

/// What one thread unpacks chunks with.
class ChunkUnpacker {
 public:
  /// The values of the chunk that begins with a row, until the next call: also those behind the last row.
  /// Nothing if it cannot be read, or is damaged.
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

}  // namespace tessera::gam
