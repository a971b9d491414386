// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/number_form.hpp"

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

/// Reads and decompresses chunks of HDF5 datasets on any thread. The HDF5 library, which is not thread-safe,
/// only reads the compressed bytes.
namespace TESSERA_NAMESPACE::gam {

/// The mutex to lock during a use of HDF5 if other threads may use HDF5.
[[nodiscard]] std::mutex& hdf5_mutex();

/// Nothing if only the library can convert the type, e.g. from another byte order.
[[nodiscard]] std::optional<NumberForm> number_form(hid_t type);

struct ChunkPacking {
  std::vector<hsize_t> extents{};  ///< by dimension
  std::size_t value_bytes = 0;
  /// Index of the shuffle filter in the dataset's filter pipeline. If the bit of this index is set in a
  /// chunk's filter mask, the chunk skipped the filter. Nothing: no such filter.
  std::optional<unsigned> shuffle{};
  std::optional<unsigned> deflate{};
  std::optional<unsigned> lzf{};
  [[nodiscard]] std::size_t bytes() const noexcept;  ///< decompressed size of a chunk
};

/// Nothing if only the library can decompress the chunks. Supported filters: deflate, lzf, shuffle, and
/// shuffle followed by deflate or lzf.
[[nodiscard]] std::optional<ChunkPacking> packing_of(hid_t creation, std::size_t value_bytes);

/// Not thread-safe: one per thread.
class ChunkUnpacker {
 public:
  /// The values of the chunk that begins at element `first` (by dimension), including padding after the last
  /// element; valid until the next call. Nothing if the chunk is unreadable, damaged or was never written.
  std::optional<std::span<const char>> unpack(hid_t dataset, const ChunkPacking& packing,
                                              const hsize_t* first);

 private:
  /// Returns the chunk's filter mask: a bit for each skipped filter.
  std::optional<std::uint32_t> load(hid_t dataset, const ChunkPacking& packing, const hsize_t* first);

  std::vector<char> packed_;
  std::vector<char> inflated_;
  std::vector<char> values_;
};

}  // namespace TESSERA_NAMESPACE::gam
