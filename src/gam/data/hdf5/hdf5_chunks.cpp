// SPDX-License-Identifier: Apache-2.0
#include "gam/data/hdf5/hdf5_chunks.hpp"

#include "gam/data/bytes/inflater.hpp"
#include "gam/data/bytes/lzf.hpp"

#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// The id of the filter of h5py's compression="lzf", as registered with the HDF Group.
constexpr H5Z_filter_t lzf_filter = 32000;

/// Reverses the shuffle filter, which stores the first bytes of all values, then all second bytes, and so on.
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

/// `left_out`: the chunk's filter mask.
bool has(std::optional<unsigned> filter, std::uint32_t left_out) {
  return filter && (left_out >> *filter & 1) == 0;
}

}  // namespace

std::mutex& hdf5_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::optional<NumberForm> number_form(hid_t type) {
  const std::pair<hid_t, NumberForm> native[]{
      {H5T_NATIVE_DOUBLE, form_of<double>()},      {H5T_NATIVE_FLOAT, form_of<float>()},
      {H5T_NATIVE_INT8, form_of<std::int8_t>()},   {H5T_NATIVE_UINT8, form_of<std::uint8_t>()},
      {H5T_NATIVE_INT16, form_of<std::int16_t>()}, {H5T_NATIVE_UINT16, form_of<std::uint16_t>()},
      {H5T_NATIVE_INT32, form_of<std::int32_t>()}, {H5T_NATIVE_UINT32, form_of<std::uint32_t>()},
      {H5T_NATIVE_INT64, form_of<std::int64_t>()}, {H5T_NATIVE_UINT64, form_of<std::uint64_t>()}};
  for (const auto& [one, form] : native) {
    if (H5Tequal(type, one) > 0) return form;
  }
  return std::nullopt;
}

std::size_t ChunkPacking::bytes() const noexcept {
  std::size_t bytes = value_bytes;
  for (const hsize_t extent : extents) bytes *= static_cast<std::size_t>(extent);
  return bytes;
}

std::optional<ChunkPacking> packing_of(hid_t creation, std::size_t value_bytes) {
  ChunkPacking packing{.value_bytes = value_bytes};
  unsigned options = 0;
  const int dimensions = H5Pget_chunk(creation, 0, nullptr);
  if (dimensions < 1) return std::nullopt;
  packing.extents.resize(static_cast<std::size_t>(dimensions));
  if (H5Pget_chunk(creation, dimensions, packing.extents.data()) != dimensions ||
      H5Pget_chunk_opts(creation, &options) < 0 || options != 0)
    return std::nullopt;
  const int filters = H5Pget_nfilters(creation);
  for (unsigned i = 0; i < static_cast<unsigned>(filters); ++i) {
    unsigned flags = 0;
    std::size_t parameters = 1;
    unsigned parameter = 0;
    switch (H5Pget_filter2(creation, i, &flags, &parameters, &parameter, 0, nullptr, nullptr)) {
      case H5Z_FILTER_SHUFFLE:
        if (packing.shuffle || packing.deflate || packing.lzf || parameter != value_bytes)
          return std::nullopt;
        packing.shuffle = i;
        break;
      case H5Z_FILTER_DEFLATE:
        if (packing.deflate || packing.lzf) return std::nullopt;
        packing.deflate = i;
        break;
      case lzf_filter:
        if (packing.deflate || packing.lzf) return std::nullopt;
        packing.lzf = i;
        break;
      default: return std::nullopt;
    }
  }
  return packing;
}

std::optional<std::span<const char>> ChunkUnpacker::unpack(hid_t dataset, const ChunkPacking& packing,
                                                           const hsize_t* first) {
  const auto left_out = load(dataset, packing, first);
  if (!left_out) return std::nullopt;
  const std::size_t bytes = packing.bytes();
  std::span<const char> values = packed_;
  const bool deflated = has(packing.deflate, *left_out);
  if (deflated || has(packing.lzf, *left_out)) {
    inflated_.resize(bytes);
    if ((deflated ? inflate_zlib(packed_, inflated_) : inflate_lzf(packed_, inflated_)) != bytes)
      return std::nullopt;
    values = inflated_;
  }
  if (values.size() != bytes) return std::nullopt;
  if (!has(packing.shuffle, *left_out)) return values;
  values_.resize(bytes);
  unshuffle(values, packing.value_bytes, values_.data());
  return values_;
}

std::optional<std::uint32_t> ChunkUnpacker::load(hid_t dataset, const ChunkPacking& packing,
                                                 const hsize_t* first) {
  const std::lock_guard lock(hdf5_mutex());
  hsize_t bytes = 0;
  if (H5Dget_chunk_storage_size(dataset, first, &bytes) < 0 || bytes == 0) return std::nullopt;
  // A longer chunk is damaged: deflate enlarges incompressible data only slightly.
  if (bytes > 2 * packing.bytes() + 64) return std::nullopt;
  packed_.resize(static_cast<std::size_t>(bytes));
  std::uint32_t left_out = 0;
  if (H5Dread_chunk(dataset, H5P_DEFAULT, first, &left_out, packed_.data()) < 0) return std::nullopt;
  return left_out;
}

}  // namespace TESSERA_NAMESPACE::gam
