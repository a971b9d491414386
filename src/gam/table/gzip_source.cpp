// SPDX-License-Identifier: Apache-2.0
#include "gam/table/byte_source.hpp"
#include "gam/table/gzip_members.hpp"
#include "gam/table/gzip_points.hpp"
#include "gam/table/gzip_unpacker.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "files/input_file.hpp"

namespace tessera::gam {
namespace {

/// Points in a stream, each with a window: no more memory than for some buffers of each thread.
constexpr std::size_t max_stream_points = 1024;

/// Memory for all of a file at once, packed: of a larger one nobody is to wait for the end.
constexpr std::int64_t most_at_once = std::int64_t{1} << 30;
/// Bytes that are taken of it between two calls of `between`.
constexpr std::size_t step_bytes = std::size_t{4} << 20;
/// Unpacked bytes that tell how well the whole file is packed.
constexpr std::int64_t least_to_judge_by = std::int64_t{64} << 20;

/// Some thread's place in a file that another source has open.
template <class Unpacker>
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
    const std::size_t got = unpacker_.read(buffer, [this] { leave_point(); });
    if (got < buffer.size()) points_.size = unpacker_.position();
    return got;
  }
  void seek(std::int64_t offset) override { unpacker_.seek(offset); }
  [[nodiscard]] std::unique_ptr<ByteSource> for_another_thread() override {
    if (!points_.complete()) return nullptr;
    if (points_.by_members) return std::make_unique<PlaceInGzip<GzipMembers>>(file_, points_, bytes_read_);
    return std::make_unique<PlaceInGzip<GzipUnpacker>>(file_, points_, bytes_read_);
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
  [[nodiscard]] std::optional<std::int64_t> unpack_all(std::span<char> room) override {
    if (room.size() < size_of_last_member(file_)) return std::nullopt;
    if (file_.size() <= most_at_once) {
      if (const auto size = unpack_at_once(room)) return size;
    }
    return unpack_in_order(room);
  }
  [[nodiscard]] std::string points() const override { return pack(points_); }
  void set_points(std::string_view points) override { points_ = unpack_points(points); }

 private:
  std::optional<std::int64_t> unpack_at_once(std::span<char> room) {
    const auto size = static_cast<std::size_t>(file_.size());
    const std::unique_ptr<char[]> packed(new (std::nothrow) char[size]);
    if (packed == nullptr) return std::nullopt;
    for (std::size_t at = 0; at < size; at += step_bytes) {
      if (between_) between_();
      const std::span<char> step(packed.get() + at, std::min(step_bytes, size - at));
      const std::size_t got = file_.read_at(static_cast<std::int64_t>(at), step);
      bytes_read_ += static_cast<std::int64_t>(got);
      if (got < step.size()) return std::nullopt;
    }
    const auto unpacked = unpack_gzip({packed.get(), size}, room);
    return unpacked ? std::optional(static_cast<std::int64_t>(*unpacked)) : std::nullopt;
  }

  // As a stream, which leaves points, and says what is wrong with damaged data.
  std::optional<std::int64_t> unpack_in_order(std::span<char> room) {
    seek(0);
    std::size_t unpacked = 0;
    while (unpacked < room.size() && !points_.complete() && may_have_room(room.size()))
      unpacked += read(room.subspan(unpacked, std::min(step_bytes, room.size() - unpacked)));
    return points_.complete() ? std::optional(points_.size) : std::nullopt;
  }

  // Of a file that does not seem to, little is unpacked in vain.
  [[nodiscard]] bool may_have_room(std::size_t room_bytes) const {
    if (unpacker_.position() < least_to_judge_by) return true;
    const auto of_each =
        static_cast<double>(unpacker_.position()) / static_cast<double>(unpacker_.packed_position());
    return of_each * static_cast<double>(file_.size()) <= static_cast<double>(room_bytes);
  }

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
  GzipUnpacker unpacker_{file_, points_, bytes_read_};
};

}  // namespace

std::unique_ptr<PackedSource> open_gzip(const std::string& path, BetweenReads between,
                                        std::int64_t point_bytes) {
  return std::make_unique<GzipSource>(path, std::move(between), point_bytes);
}

}  // namespace tessera::gam
