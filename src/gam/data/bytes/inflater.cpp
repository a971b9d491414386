// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/inflater.hpp"

#include <libdeflate.h>

#include <memory>
#include <new>

namespace TESSERA_NAMESPACE::gam {
namespace {

libdeflate_decompressor* decompressor() {
  thread_local const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> own(
      libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  if (own == nullptr) throw std::bad_alloc();
  return own.get();
}

}  // namespace

std::optional<InflatedAmounts> inflate_gzip_member(std::span<const char> packed, std::span<char> room) {
  InflatedAmounts amounts;
  const auto result = libdeflate_gzip_decompress_ex(decompressor(), packed.data(), packed.size(), room.data(),
                                                    room.size(), &amounts.packed, &amounts.unpacked);
  return result == LIBDEFLATE_SUCCESS ? std::optional(amounts) : std::nullopt;
}

std::optional<std::size_t> inflate_zlib(std::span<const char> packed, std::span<char> room) {
  std::size_t unpacked = 0;
  const auto result = libdeflate_zlib_decompress(decompressor(), packed.data(), packed.size(), room.data(),
                                                 room.size(), &unpacked);
  return result == LIBDEFLATE_SUCCESS ? std::optional(unpacked) : std::nullopt;
}

}  // namespace TESSERA_NAMESPACE::gam
