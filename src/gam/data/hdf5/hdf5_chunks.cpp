// SPDX-License-Identifier: Apache-2.0
#include "gam/data/hdf5/hdf5_chunks.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Reverses the shuffle filter, which stores the first bytes of all values, then the second ones, and so on.
template <std::size_t ValueBytes>
void unshuffle_values(const char* from, std::size_t count, char* to) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t byte = 0; byte < ValueBytes; ++byte) to[i * ValueBytes + byte] = from[byte * count + i];
  }
}

void unshuffle(std::span<const char> from, std::size_t value_bytes, char* to) {
  const std::size_t count = from.size() / value_bytes;
  switch (value_bytes) {
    case 2: return unshuffle_values<2>(from.data(), count, to);
    case 4: return unshuffle_values<4>(from.data(), count, to);
    case 8: return unshuffle_values<8>(from.data(), count, to);
    default: break;
  }
  for (std::size_t byte = 0; byte < value_bytes; ++byte) {
    for (std::size_t i = 0; i < count; ++i) to[i * value_bytes + byte] = from[byte * count + i];
  }
}

/// Whether a chunk was written with a filter of its dataset.
bool has(std::optional<unsigned> filter, std::uint32_t left_out) {
  return filter && (left_out >> *filter & 1) == 0;
}

}  // namespace

std::mutex& hdf5_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::optional<ChunkPacking> packing_of(hid_t creation, std::size_t value_bytes) {
  ChunkPacking packing{.value_bytes = value_bytes};
  hsize_t rows = 0;
  unsigned options = 0;
  if (H5Pget_chunk(creation, 1, &rows) != 1 || H5Pget_chunk_opts(creation, &options) < 0 || options != 0)
    return std::nullopt;
  packing.rows = static_cast<std::size_t>(rows);
  const int filters = H5Pget_nfilters(creation);
  for (unsigned i = 0; i < static_cast<unsigned>(filters); ++i) {
    unsigned flags = 0;
    std::size_t parameters = 1;
    unsigned parameter = 0;
    switch (H5Pget_filter2(creation, i, &flags, &parameters, &parameter, 0, nullptr, nullptr)) {
      case H5Z_FILTER_SHUFFLE:
        if (packing.shuffle || packing.deflate || parameter != value_bytes) return std::nullopt;
        packing.shuffle = i;
        break;
      case H5Z_FILTER_DEFLATE:
        if (packing.deflate) return std::nullopt;
        packing.deflate = i;
        break;
      default: return std::nullopt;
    }
  }
  return packing;
}

/// Returns the filters that the chunk was written without, as a bit mask.
std::optional<std::uint32_t> ChunkUnpacker::load(hid_t dataset, const ChunkPacking& packing,
                                                 hsize_t first_row) {
  const std::lock_guard lock(hdf5_mutex());
  hsize_t bytes = 0;
  if (H5Dget_chunk_storage_size(dataset, &first_row, &bytes) < 0 || bytes == 0) return std::nullopt;
  // Deflate enlarges incompressible data only slightly.
  if (bytes > 2 * packing.rows * packing.value_bytes + 64) return std::nullopt;
  packed_.resize(static_cast<std::size_t>(bytes));
  std::uint32_t left_out = 0;
  if (H5Dread_chunk(dataset, H5P_DEFAULT, &first_row, &left_out, packed_.data()) < 0) return std::nullopt;
  return left_out;
}

std::optional<std::span<const char>> ChunkUnpacker::unpack(hid_t dataset, const ChunkPacking& packing,
                                                           hsize_t first_row) {
  const auto left_out = load(dataset, packing, first_row);
  if (!left_out) return std::nullopt;
  const std::size_t bytes = packing.rows * packing.value_bytes;
  std::span<const char> values = packed_;
  if (has(packing.deflate, *left_out)) {
    inflated_.resize(bytes);
    if (inflater_.zlib(packed_, inflated_) != bytes) return std::nullopt;
    values = inflated_;
  }
  if (values.size() != bytes) return std::nullopt;
  if (!has(packing.shuffle, *left_out)) return values;
  values_.resize(bytes);
  unshuffle(values, packing.value_bytes, values_.data());
  return values_;
}

}  // namespace TESSERA_NAMESPACE::gam
