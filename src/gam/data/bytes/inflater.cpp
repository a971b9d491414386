// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/inflater.hpp"

#include <libdeflate.h>

#include <new>

namespace TESSERA_NAMESPACE::gam {

struct Inflater::State {
  State() {
    if (decompressor == nullptr) throw std::bad_alloc();
  }
  ~State() { libdeflate_free_decompressor(decompressor); }

  libdeflate_decompressor* const decompressor = libdeflate_alloc_decompressor();
};

Inflater::Inflater() : state_(std::make_unique<State>()) {}
Inflater::~Inflater() = default;

std::optional<Inflater::Amounts> Inflater::gzip_member(std::span<const char> packed, std::span<char> room) {
  Amounts amounts;
  const auto result =
      libdeflate_gzip_decompress_ex(state_->decompressor, packed.data(), packed.size(), room.data(),
                                    room.size(), &amounts.packed, &amounts.unpacked);
  return result == LIBDEFLATE_SUCCESS ? std::optional(amounts) : std::nullopt;
}

std::optional<std::size_t> Inflater::zlib(std::span<const char> packed, std::span<char> room) {
  std::size_t unpacked = 0;
  const auto result = libdeflate_zlib_decompress(state_->decompressor, packed.data(), packed.size(),
                                                 room.data(), room.size(), &unpacked);
  return result == LIBDEFLATE_SUCCESS ? std::optional(unpacked) : std::nullopt;
}

}  // namespace TESSERA_NAMESPACE::gam
