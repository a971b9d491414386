// SPDX-License-Identifier: Apache-2.0
#include "table_files.hpp"

#include "simulated.hpp"
#include "temporary_folder.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <new>
#include <string_view>

namespace tessera::bench {
namespace {

constexpr std::size_t bytes_at_once = std::size_t{1} << 20;
constexpr std::size_t bytes_of_block = 65280;  // of bgzip
constexpr int compression_level = 1;

template <class... Values>
void append(std::string& text, fmt::format_string<Values...> format, Values&&... values) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
}

void append_digits(std::string& text, std::int64_t row) {
  for (int column = 0; column < 8; ++column)
    append(text, "{}{}", column == 0 ? "" : ",", uniform(column, row) * 200 - 100);
}

void append_decimals(std::string& text, std::int64_t row) {
  for (int column = 0; column < 12; ++column)
    append(text, "{}{:.4f}", column == 0 ? "" : ",", uniform(column, row) * 2000 - 1000);
}

void append_mix(std::string& text, std::int64_t row) {
  static constexpr std::array<const char*, 5> cuts{"Fair", "Good", "Very Good", "Premium", "Ideal"};
  const auto below = [row](int stream, int limit) { return static_cast<int>(uniform(stream, row) * limit); };
  append(text, R"({},"{}","site {:03}",)", row + 1, cuts[static_cast<std::size_t>(below(0, 5))],
         below(1, 400));
  append(text, "{},{:.4f},{:.2f},", below(2, 100000), uniform(3, row) * 100, uniform(4, row) * 1e4);
  if (below(5, 50) == 0)
    append(text, "NA,{}", uniform(6, row));
  else
    append(text, "{:.4f},{}", uniform(7, row), uniform(6, row));
}

void append_little_endian(std::string& bytes, std::uint32_t value, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xFF);
}

/// A gzip member with its size in an extra field (SAM/BAM specification, 4.1).
std::string block_of(std::string_view bytes) {
  auto* const first = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  std::string packed(compressBound(bytes_of_block), '\0');
  z_stream stream{};
  stream.next_in = first;
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflateInit2(&stream, compression_level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  std::string block("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0", 16);
  append_little_endian(block, static_cast<std::uint32_t>(packed.size() + 25), 2);
  block += packed;
  append_little_endian(block, static_cast<std::uint32_t>(crc32_z(0, first, bytes.size())), 4);
  append_little_endian(block, static_cast<std::uint32_t>(bytes.size()), 4);
  return block;
}

/// Calls `work(bytes)` for each piece of a file, of the size of a bgzip block.
template <class Work>
void for_each_part(const std::filesystem::path& path, const Work& work) {
  std::ifstream file(path, std::ios::binary);
  std::string part(bytes_of_block, '\0');
  while (file.read(part.data(), static_cast<std::streamsize>(part.size())) || file.gcount() > 0)
    work(std::string_view(part).substr(0, static_cast<std::size_t>(file.gcount())));
}

}  // namespace

void write_csv(const std::string& table, std::int64_t bytes, const std::filesystem::path& path) {
  std::string text = "a,b,c,d,e,f,g,h,i,j,k,l\n";
  auto append_row = append_decimals;
  if (table == "digits") {
    text = "a,b,c,d,e,f,g,h\n";
    append_row = append_digits;
  } else if (table == "mix") {
    text = "id,cut,site,count,a,b,c,d\n";
    append_row = append_mix;
  }
  WholeFile file(path);
  for (std::int64_t row = 0; file.written() < bytes; ++row) {
    append_row(text, row);
    text += '\n';
    if (text.size() < bytes_at_once && file.written() + std::ssize(text) < bytes) continue;
    file.write(text);
    text.clear();
  }
  file.close();
}

void write_gzip(const std::filesystem::path& plain, const std::filesystem::path& packed) {
  gzFile file = gzopen(packed.c_str(), fmt::format("wb{}", compression_level).c_str());
  bool whole = file != nullptr;
  for_each_part(plain, [&](std::string_view part) {
    whole = whole && gzwrite(file, part.data(), static_cast<unsigned>(part.size())) > 0;
  });
  if (file == nullptr || gzclose(file) != Z_OK || !whole) WholeFile::refuse(packed);
}

void write_bgzip(const std::filesystem::path& plain, const std::filesystem::path& packed) {
  WholeFile file(packed);
  for_each_part(plain, [&](std::string_view part) { file.write(block_of(part)); });
  file.write(block_of({}));  // an empty block marks the end of the file
  file.close();
}

}  // namespace tessera::bench
