// SPDX-License-Identifier: Apache-2.0
// Compressed tables give the whole content or an error, for any buffer and position; and a table has the same
// content packed as plain.
#include "csv_reading.hpp"
#include "fuzz_target.hpp"
#include "gam/data/bytes/packed_source.hpp"
#include "memory_source.hpp"

#include <zlib.h>

#include <vector>

namespace {

using namespace tessera::fuzz;

struct Unpacked {
  std::string bytes;
  std::string fault;
  bool operator==(const Unpacked&) const = default;
};

const MemoryFile& file() {
  static const MemoryFile one;
  return one;
}

std::unique_ptr<tessera::gam::PackedSource> open_gzip() {
  return std::make_unique<tessera::gam::PackedSource>(file().path(), tessera::gam::gzip_packing);
}

constexpr std::size_t max_bytes = std::size_t{1} << 20;

/// The unpacked content of the file from an offset on, with a buffer of this many bytes.
Unpacked unpacked(std::int64_t offset, std::size_t buffer_bytes) {
  Unpacked out;
  std::vector<char> buffer(buffer_bytes);
  const auto fault = refusal(
      [&] {
        const auto source = open_gzip();
        if (offset > 0) source->seek(offset);
        for (std::size_t got = buffer.size(); got == buffer.size() && out.bytes.size() < max_bytes;) {
          got = source->read(buffer);
          out.bytes.append(buffer.data(), got);
        }
      },
      {tessera::ErrorCode::input});
  out.fault = fault.value_or("");
  return out;
}

std::string packed(std::string_view text) {
  z_stream stream{};
  require(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 1, Z_DEFAULT_STRATEGY) == Z_OK, "a compressor");
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "compressed bytes");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// Unpacking at once equals unpacking in order, if there is room, and gives nothing otherwise.
void check_whole(std::string_view bytes) {
  const std::shared_ptr<char[]> room(new char[bytes.size() + 1]);
  const auto size = open_gzip()->unpack_all(room, bytes.size() + 1);
  require(size == std::ssize(bytes) && std::string_view(room.get(), bytes.size()) == bytes,
          "the same is unpacked at once");
  if (bytes.empty()) return;
  require(!open_gzip()->unpack_all(room, bytes.size() - 1), "what has no room is not unpacked");
}

/// Bytes of a file that may be gzip.
void check_file(std::string_view bytes, std::int64_t offset) {
  file().write(bytes);
  const Unpacked all = unpacked(0, 4096);
  if (all.bytes.size() >= max_bytes) return;
  const Unpacked small = unpacked(0, 7);
  require(small.fault == all.fault, "the same is said for each buffer:", all.fault);
  if (!all.fault.empty()) return;
  require(small.bytes == all.bytes, "the same is read with each buffer");
  const auto begin = std::min(static_cast<std::size_t>(offset), all.bytes.size());
  require(unpacked(offset, 64).bytes == all.bytes.substr(begin), "the same is read from each place");
  check_whole(all.bytes);
}

/// A text in two members gives the table of the plain file.
void check_table(std::string_view text, std::size_t cut) {
  const std::string members = packed(text.substr(0, cut)) + packed(text.substr(cut));
  file().write(members);
  require(unpacked(0, 512).bytes == text, "what was packed is unpacked");
  MemorySource plain(text);
  const auto source = open_gzip();
  const auto bytes = static_cast<std::int64_t>(text.size());
  require(read_csv(*source, bytes, {}) == read_csv(plain, bytes, {}), "a packed table is the plain one");
  check_whole(text);

  // Nothing of a file is skipped: a flipped bit at the second member's beginning does not end the file.
  std::string damaged = members;
  damaged[packed(text.substr(0, cut)).size()] ^= 1;
  file().write(damaged);
  require(!unpacked(0, 512).fault.empty(), "a damaged member is an error");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = text_of(data, size);
  if (input.starts_with("\x1f")) {
    check_file(input, static_cast<std::int64_t>(input.size() % 61));
    return 0;
  }
  const unsigned place = take_byte(input);
  check_table(input, input.size() * (place % 97) / 97);
  return 0;
}
