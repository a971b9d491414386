// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <zlib.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::gam::testing {

/// A gzip member; `header`: null, or an additional header.
inline std::string gzip_member(std::string_view text, gz_header* header = nullptr) {
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  if (header != nullptr) deflateSetHeader(&stream, header);
  std::string member(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(member.data());
  stream.avail_out = static_cast<uInt>(member.size());
  deflate(&stream, Z_FINISH);
  member.resize(stream.total_out);
  deflateEnd(&stream);
  return member;
}

/// A gzip member of at most 64 KiB with its size in an extra field, as written by bgzip.
inline std::string bgzip_block(std::string_view text) {
  std::array<Bytef, 6> extra{'B', 'C', 2, 0, 0, 0};
  gz_header header{};
  header.extra = extra.data();
  header.extra_len = static_cast<uInt>(extra.size());
  std::string block = gzip_member(text, &header);
  block[16] = static_cast<char>((block.size() - 1) & 0xFF);
  block[17] = static_cast<char>((block.size() - 1) >> 8);
  return block;
}

/// A text in blocks of `block_bytes`, and the empty end-of-file block.
inline std::string bgzip(std::string_view text, std::size_t block_bytes) {
  std::string blocks;
  for (std::size_t at = 0; at < text.size(); at += block_bytes)
    blocks += bgzip_block(text.substr(at, block_bytes));
  return blocks + bgzip_block({});
}

}  // namespace TESSERA_NAMESPACE::gam::testing
