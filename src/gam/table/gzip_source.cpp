// SPDX-License-Identifier: Apache-2.0
#include "gam/table/byte_source.hpp"
#include "gam/table/gzip_points.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "files/input_file.hpp"

namespace tessera::gam {
namespace {

constexpr std::size_t packed_buffer_bytes = std::size_t{1} << 18;
constexpr std::size_t passed_buffer_bytes = std::size_t{1} << 18;
constexpr std::size_t max_window_bytes = std::size_t{1} << 15;
/// Of a member with gzip's header and checksum around the data, and of the data alone.
constexpr int member_window = 15 + 16;
constexpr int data_window = -15;
constexpr std::int64_t trailer_bytes = 8;
/// Points in a stream, each with a window: no more memory than for some buffers of each thread.
constexpr std::size_t max_stream_points = 1024;

/// The members of a gzip file, one after another (RFC 1952, 2.2), from any point of it.
///
/// Every byte of the file must belong to a member or be a zero behind the last one, with which tapes and
/// block devices fill up. gzip itself ignores whatever does not begin as a member does, and so takes a member
/// whose first bytes are damaged, and all after it, for the end of the file.
class Unpacker {
 public:
  Unpacker(const files::InputFile& file, const GzipPoints& points, std::atomic<std::int64_t>& bytes_read)
      : file_(file), points_(points), bytes_read_(bytes_read) {
    if (inflateInit2(&stream_, member_window) != Z_OK) throw std::bad_alloc();
  }
  ~Unpacker() { inflateEnd(&stream_); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  /// Fills the buffer; less than its size only at the end. `at_block_end` is called wherever unpacking can go
  /// on later; without one nothing stops there.
  template <class AtBlockEnd>
  std::size_t read(std::span<char> buffer, const AtBlockEnd* at_block_end) {
    std::size_t got = 0;
    while (got < buffer.size() && (in_member_ || begin_member())) {
      got += unpack(buffer.subspan(got), at_block_end != nullptr ? Z_BLOCK : Z_NO_FLUSH);
      // zlib: at the end of a block that is not the last.
      if (at_block_end != nullptr && in_member_ && (stream_.data_type & 0xC0) == 0x80) (*at_block_end)();
    }
    return got;
  }
  std::size_t read(std::span<char> buffer) { return read<void (*)()>(buffer, nullptr); }

  void seek(std::int64_t offset) {
    const std::size_t point = points_.before(offset);
    if (offset < position_ || points_.all[point].unpacked > position_) go_to(points_.all[point]);
    // What is passed over is unpacked all the same.
    std::vector<char> passed(std::min(passed_buffer_bytes, static_cast<std::size_t>(offset - position_)));
    while (position_ < offset) {
      const auto left = static_cast<std::size_t>(offset - position_);
      if (read(std::span(passed).first(std::min(passed.size(), left))) == 0) return;
    }
  }

  [[nodiscard]] std::int64_t position() const noexcept { return position_; }

  /// Where it stands, at the end of a block.
  [[nodiscard]] GzipPoint here() {
    GzipPoint point{.packed = packed_position(),
                    .unpacked = position_,
                    .bits = stream_.data_type & 7,
                    .in_member = true,
                    .window = std::string(max_window_bytes, '\0')};
    uInt size = 0;
    inflateGetDictionary(&stream_, reinterpret_cast<Bytef*>(point.window.data()), &size);
    point.window.resize(size);
    return point;
  }

 private:
  void go_to(const GzipPoint& point) {
    packed_end_ = point.packed;
    position_ = point.unpacked;
    stream_.avail_in = 0;
    in_member_ = point.in_member;
    data_alone_ = point.in_member;
    if (!in_member_) return;
    inflateReset2(&stream_, data_window);
    if (point.bits > 0) {
      std::array<char, 1> byte{};
      if (file_.read_at(point.packed - 1, byte) == 0) damaged("the file ends within compressed data");
      inflatePrime(&stream_, point.bits, static_cast<unsigned char>(byte[0]) >> (8 - point.bits));
    }
    inflateSetDictionary(&stream_, reinterpret_cast<const Bytef*>(point.window.data()),
                         static_cast<uInt>(point.window.size()));
  }

  /// Goes to the first byte of the next member; false if there is none.
  bool begin_member() {
    std::int64_t zeros = 0;
    while (stream_.avail_in > 0 || refill()) {
      if (*stream_.next_in != 0 || packed_position() == 0) {
        if (zeros > 0) damaged(fmt::format("data behind {} zero bytes", zeros));
        inflateReset2(&stream_, member_window);
        in_member_ = true;
        return true;
      }
      ++stream_.next_in;
      --stream_.avail_in;
      ++zeros;
    }
    return false;
  }

  void end_member() {
    in_member_ = false;
    // What began in its midst was checked when the whole file was unpacked.
    for (std::int64_t left = std::exchange(data_alone_, false) ? trailer_bytes : 0; left > 0;) {
      if (stream_.avail_in == 0 && !refill()) damaged("the file ends within compressed data");
      const auto taken = static_cast<uInt>(std::min<std::int64_t>(left, stream_.avail_in));
      stream_.next_in += taken;
      stream_.avail_in -= taken;
      left -= taken;
    }
    if (points_.by_members && !points_.has_member(packed_position()))
      damaged("a block does not end where it says");
  }

  /// Unpacks of the member at hand what there is room for, or some of it. zlib may hold output, or a fault,
  /// when it has taken the last byte of the file.
  std::size_t unpack(std::span<char> buffer, int flush) {
    const auto room =
        static_cast<uInt>(std::min<std::size_t>(buffer.size(), std::numeric_limits<uInt>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = room;
    const uInt packed = stream_.avail_in;
    const int status = inflate(&stream_, flush);
    const std::size_t unpacked = room - stream_.avail_out;
    position_ += static_cast<std::int64_t>(unpacked);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status == Z_STREAM_END)
      end_member();
    else if (status != Z_OK && status != Z_BUF_ERROR)
      damaged(stream_.msg != nullptr ? stream_.msg : "not as gzip writes it");
    else if (unpacked == 0 && packed == 0 && !refill())
      damaged("the file ends within compressed data");
    return unpacked;
  }

  bool refill() {
    const std::size_t got = file_.read_at(packed_end_, packed_);
    packed_end_ += static_cast<std::int64_t>(got);
    bytes_read_ += static_cast<std::int64_t>(got);
    stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
    stream_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }
  /// Of the next byte that zlib is to see.
  [[nodiscard]] std::int64_t packed_position() const { return packed_end_ - stream_.avail_in; }

  [[noreturn]] void damaged(const std::string& reason) const {
    file_.fail(fmt::format("damaged gzip data at byte {} ({})", packed_position(), reason));
  }

  const files::InputFile& file_;
  const GzipPoints& points_;
  std::atomic<std::int64_t>& bytes_read_;
  z_stream stream_{};
  std::vector<char> packed_ = std::vector<char>(packed_buffer_bytes);
  std::int64_t packed_end_ = 0;  ///< of the bytes in `packed_`, in the file
  std::int64_t position_ = 0;    ///< in the unpacked bytes
  bool in_member_ = false;
  bool data_alone_ = false;  ///< the member at hand was begun in its midst
};

/// Some thread's place in a file that another source has open.
class PlaceInGzip final : public ByteSource {
 public:
  PlaceInGzip(const files::InputFile& file, const GzipPoints& points, std::atomic<std::int64_t>& bytes_read)
      : file_(file), points_(points), bytes_read_(bytes_read), unpacker_(file, points, bytes_read) {}

  std::size_t read(std::span<char> buffer) override { return unpacker_.read(buffer); }
  void seek(std::int64_t offset) override { unpacker_.seek(offset); }
  [[nodiscard]] std::unique_ptr<ByteSource> for_another_thread() override {
    return std::make_unique<PlaceInGzip>(file_, points_, bytes_read_);
  }
  [[nodiscard]] std::int64_t begin_of_reading(std::int64_t offset) const override {
    return points_.all[points_.before(offset)].unpacked;
  }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_read_; }
  [[nodiscard]] const files::InputFile& file() const override { return file_; }

 private:
  const files::InputFile& file_;
  const GzipPoints& points_;
  std::atomic<std::int64_t>& bytes_read_;
  Unpacker unpacker_;
};

class GzipSource final : public PackedSource {
 public:
  GzipSource(const std::string& path, BetweenReads between, std::int64_t spacing_bytes)
      : file_(path), between_(std::move(between)), spacing_(spacing_bytes) {}

  std::size_t read(std::span<char> buffer) override {
    if (between_) between_();
    if (points_.complete()) return unpacker_.read(buffer);
    const auto leave_point = [this] { this->leave_point(); };
    const std::size_t got = unpacker_.read(buffer, &leave_point);
    if (got < buffer.size()) points_.size = unpacker_.position();
    return got;
  }
  void seek(std::int64_t offset) override { unpacker_.seek(offset); }
  [[nodiscard]] std::unique_ptr<ByteSource> for_another_thread() override {
    if (!points_.complete()) return nullptr;
    return std::make_unique<PlaceInGzip>(file_, points_, bytes_read_);
  }
  [[nodiscard]] std::int64_t begin_of_reading(std::int64_t offset) const override {
    return points_.all[points_.before(offset)].unpacked;
  }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_read_; }
  [[nodiscard]] const files::InputFile& file() const override { return file_; }

  [[nodiscard]] std::optional<std::int64_t> find_size() override {
    if (!points_.complete()) {
      GzipPoints members = members_of(file_);
      if (members.complete()) points_ = std::move(members);
    }
    return points_.complete() ? std::optional(points_.size) : std::nullopt;
  }
  [[nodiscard]] std::string points() const override { return pack(points_); }
  void set_points(std::string_view points) override { points_ = unpack_points(points); }

 private:
  // Behind the last one; of a stream that is longer than was thought half of them, twice as far apart.
  void leave_point() {
    std::vector<GzipPoint>& all = points_.all;
    if (unpacker_.position() < all.back().unpacked + spacing_) return;
    if (all.size() == max_stream_points) {
      for (std::size_t i = 1; 2 * i < all.size(); ++i) all[i] = std::move(all[2 * i]);
      all.resize((all.size() + 1) / 2);
      spacing_ *= 2;
    }
    all.push_back(unpacker_.here());
  }

  files::InputFile file_;
  BetweenReads between_;
  std::int64_t spacing_;
  GzipPoints points_;
  std::atomic<std::int64_t> bytes_read_ = 0;
  Unpacker unpacker_{file_, points_, bytes_read_};
};

}  // namespace

std::unique_ptr<PackedSource> open_gzip(const std::string& path, BetweenReads between,
                                        std::int64_t point_bytes) {
  return std::make_unique<GzipSource>(path, std::move(between), point_bytes);
}

}  // namespace tessera::gam
