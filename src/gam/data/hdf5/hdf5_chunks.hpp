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

/// Reads and unpacks chunks of HDF5 datasets on any thread. The HDF5 library, which is not thread-safe, only
/// reads the packed bytes.
namespace TESSERA_NAMESPACE::gam {

/// Lock this mutex while using HDF5 if other threads may use it.
[[nodiscard]] std::mutex& hdf5_mutex();

/// How numbers of a type are stored; nothing if only the library converts them, e.g. from other byte order.
[[nodiscard]] std::optional<NumberForm> number_form(hid_t type);

/// How the chunks of a dataset are packed.
struct ChunkPacking {
  std::vector<hsize_t> extents{};  ///< extents of a chunk, by dimension
  std::size_t value_bytes = 0;
  /// Index of the shuffle filter among the dataset's filters, and its bit in a chunk's mask of skipped
  /// filters; nothing: no such filter.
  std::optional<unsigned> shuffle{};
  std::optional<unsigned> deflate{};
  std::optional<unsigned> lzf{};
  [[nodiscard]] std::size_t bytes() const noexcept;  ///< size of an unpacked chunk
};

/// How the chunks of a dataset are packed; nothing if only the library can unpack them. Unpacked here:
/// deflate, lzf, shuffle, and shuffle followed by deflate or lzf.
[[nodiscard]] std::optional<ChunkPacking> packing_of(hid_t creation, std::size_t value_bytes);

/// Unpacks chunks on one thread, with its own buffers.
class ChunkUnpacker {
 public:
  /// The values of the chunk that begins at element `first` (by dimension), including padding after the last
  /// element; valid until the next call. Nothing if it cannot be read, is damaged or was never written.
  std::optional<std::span<const char>> unpack(hid_t dataset, const ChunkPacking& packing,
                                              const hsize_t* first);

 private:
  /// Loads a packed chunk; returns a bit mask of the filters that were skipped when it was written.
  std::optional<std::uint32_t> load(hid_t dataset, const ChunkPacking& packing, const hsize_t* first);

  std::vector<char> packed_;
  std::vector<char> inflated_;
  std::vector<char> values_;
};

}  // namespace TESSERA_NAMESPACE::gam
