// SPDX-License-Identifier: Apache-2.0
#include "table_files.hpp"

#include "simulated.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <tessera/error.hpp>
#include <vector>

namespace tessera::bench {
namespace {

constexpr std::int64_t rows_of_piece = 8192;
constexpr std::size_t bytes_at_once = std::size_t{1} << 20;
constexpr std::size_t bytes_of_block = 65280;  // of bgzip
constexpr int compression_level = 1;
constexpr int gzip_window = 15 + 16;
constexpr int raw_window = -15;

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

/// A file that is written and must be whole.
class PieceFile {
 public:
  explicit PieceFile(const std::filesystem::path& path) : path_(path), file_(path, std::ios::binary) {}
  void write(std::string_view bytes) {
    file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void close() {
    file_.close();
    if (!file_)
      throw Error(ErrorCode::input,
                  fmt::format("'{}' cannot be written: set TMPDIR to a place with room", path_.string()));
  }

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

/// A compressor of zlib's, and what it made.
class Compressor {
 public:
  explicit Compressor(int window_bits) {
    if (deflateInit2(&stream_, compression_level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~Compressor() { deflateEnd(&stream_); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  [[nodiscard]] std::string pack(std::string_view bytes, int flush) {
    std::string packed;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      const std::size_t made = packed.size();
      packed.resize(made + bytes_of_block);
      stream_.next_out = reinterpret_cast<Bytef*>(packed.data() + made);
      stream_.avail_out = static_cast<uInt>(bytes_of_block);
      deflate(&stream_, flush);
      packed.resize(packed.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
    return packed;
  }

 private:
  z_stream stream_{};
};

void append_little_endian(std::string& bytes, std::uint32_t value, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xFF);
}

/// A gzip member with its size in an extra field (SAM/BAM specification, 4.1).
std::string block_of(std::string_view bytes) {
  const std::string packed = Compressor(raw_window).pack(bytes, Z_FINISH);
  std::string block("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0", 16);
  append_little_endian(block, static_cast<std::uint32_t>(packed.size() + 25), 2);
  block += packed;
  const auto* const first = reinterpret_cast<const Bytef*>(bytes.data());
  append_little_endian(block, static_cast<std::uint32_t>(crc32_z(0, first, bytes.size())), 4);
  append_little_endian(block, static_cast<std::uint32_t>(bytes.size()), 4);
  return block;
}

/// Calls `work(bytes)` for a file, some of it at a time.
template <class Work>
void for_each_part(const std::filesystem::path& path, std::size_t part_bytes, const Work& work) {
  std::ifstream file(path, std::ios::binary);
  std::string part(part_bytes, '\0');
  while (file.read(part.data(), static_cast<std::streamsize>(part_bytes)) || file.gcount() > 0)
    work(std::string_view(part).substr(0, static_cast<std::size_t>(file.gcount())));
}

/// Pieces that threads make at the same time, written in their order.
void write_pieces(PieceFile& file, HostTeam& team, std::int64_t count,
                  const std::function<std::string(std::int64_t piece)>& make) {
  std::vector<std::string> made(static_cast<std::size_t>(4 * team.size()));
  for (std::int64_t begin = 0; begin < count; begin += std::ssize(made)) {
    const Range pieces{begin, std::min(count, begin + std::ssize(made))};
    team.for_each_block(pieces, 1, [&](int /*thread*/, Range one) {
      made[static_cast<std::size_t>(one.begin - begin)] = make(one.begin);
    });
    for (std::int64_t piece = pieces.begin; piece < pieces.end; ++piece)
      file.write(made[static_cast<std::size_t>(piece - begin)]);
  }
}

}  // namespace

std::string SimulatedText::lines(Range rows) const {
  std::string text;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    append_row(text, row);
    text += '\n';
  }
  return text;
}

std::optional<SimulatedText> simulated_text(std::string_view name) {
  if (name == "digits") return SimulatedText{"a,b,c,d,e,f,g,h\n", append_digits};
  if (name == "decimals") return SimulatedText{"a,b,c,d,e,f,g,h,i,j,k,l\n", append_decimals};
  if (name == "mix") return SimulatedText{"id,cut,site,count,a,b,c,d\n", append_mix};
  return std::nullopt;
}

void write_csv(const SimulatedText& table, std::int64_t bytes, const std::filesystem::path& path,
               HostTeam& team) {
  const std::int64_t rows = rows_of_piece * bytes / std::ssize(table.lines({0, rows_of_piece})) + 1;
  PieceFile file(path);
  file.write(table.header);
  write_pieces(file, team, (rows - 1) / rows_of_piece + 1, [&](std::int64_t piece) {
    return table.lines({piece * rows_of_piece, std::min(rows, (piece + 1) * rows_of_piece)});
  });
  file.close();
}

void write_gzip(const std::filesystem::path& plain, const std::filesystem::path& packed) {
  PieceFile file(packed);
  Compressor compressor(gzip_window);
  for_each_part(plain, bytes_at_once,
                [&](std::string_view part) { file.write(compressor.pack(part, Z_NO_FLUSH)); });
  file.write(compressor.pack({}, Z_FINISH));
  file.close();
}

void write_bgzip(const std::filesystem::path& plain, const std::filesystem::path& packed, HostTeam& team) {
  PieceFile file(packed);
  for_each_part(plain, 64 * bytes_of_block, [&](std::string_view part) {
    const auto blocks = static_cast<std::int64_t>((part.size() - 1) / bytes_of_block + 1);
    write_pieces(file, team, blocks, [&](std::int64_t block) {
      return block_of(part.substr(static_cast<std::size_t>(block) * bytes_of_block, bytes_of_block));
    });
  });
  file.write(block_of({}));  // by which readers know the end of a whole file
  file.close();
}

}  // namespace tessera::bench
