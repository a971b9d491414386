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

/// Reads the chunks of HDF5 datasets, which any thread may unpack: the library, which is not thread-safe,
/// only reads their packed bytes.
namespace TESSERA_NAMESPACE::gam {

/// Lock it while using HDF5 if other threads may use it.
[[nodiscard]] std::mutex& hdf5_mutex();

/// Nothing for numbers that only the library converts, such as numbers of the other byte order.
[[nodiscard]] std::optional<NumberForm> number_form(hid_t type);

/// The filters and chunks of a dataset.
struct ChunkPacking {
  std::vector<hsize_t> extents{};  ///< of a chunk, by dimension
  std::size_t value_bytes = 0;
  /// Index of the filter among the dataset's filters, which is its bit in a chunk's mask of skipped filters;
  /// nothing: not used.
  std::optional<unsigned> shuffle{};
  std::optional<unsigned> deflate{};
  std::optional<unsigned> lzf{};
  [[nodiscard]] std::size_t bytes() const noexcept;  ///< of an unpacked chunk
};

/// Nothing if only the library can unpack the chunks: deflate or lzf are unpacked here, and shuffle before
/// them or alone.
[[nodiscard]] std::optional<ChunkPacking> packing_of(hid_t creation, std::size_t value_bytes);

/// One thread's buffers for unpacking chunks.
class ChunkUnpacker {
 public:
  /// The values of the chunk that begins at an element, by dimension, including padding after the last one;
  /// valid until the next call. Nothing if it cannot be read, is damaged, or was never written.
  std::optional<std::span<const char>> unpack(hid_t dataset, const ChunkPacking& packing,
                                              const hsize_t* first);

 private:
  /// Returns the filters that the chunk was written without, as a bit mask.
  std::optional<std::uint32_t> load(hid_t dataset, const ChunkPacking& packing, const hsize_t* first);

  std::vector<char> packed_;
  std::vector<char> inflated_;
  std::vector<char> values_;
};

}  // namespace TESSERA_NAMESPACE::gam
