// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/packed_source.hpp"

#include "base/signals_blocked.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <limits>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr Packing packings[] = {
    gzip_packing,
#if TESSERA_HAVE_ZSTD
    {"zstd", "\x28\xB5\x2F\xFD", &make_zstd_decoder},
#endif
#if TESSERA_HAVE_XZ
    {"xz", {"\xFD\x37zXZ\0", 6}, &make_xz_decoder},
#endif
#if TESSERA_HAVE_BZIP2
    {"bzip2", "BZh", &make_bzip2_decoder},
#endif
};

/// Bytes read between two calls of `between`.
constexpr std::size_t step_bytes = std::size_t{4} << 20;
/// Compression ratio above which a file is logged; text usually has a ratio of 3 to 10.
constexpr std::int64_t many_times = 100;
/// Minimum number of decompressed bytes for an estimate of the file's ratio.
constexpr std::int64_t least_to_judge_by = std::int64_t{64} << 20;
/// Maximum size of a file that is read into memory as a whole; a larger file would block for too long.
constexpr std::int64_t most_at_once = std::int64_t{1} << 30;

/// Like `unpack_gzip`, on a separate thread, because the decompression of a large member cannot be
/// interrupted. If `between` throws, the thread is left running; it shares ownership of its buffers.
std::optional<std::size_t> unpack_beside(const std::shared_ptr<char[]>& packed, std::size_t packed_bytes,
                                         const std::shared_ptr<char[]>& room, std::size_t room_bytes,
                                         const BetweenReads& between) {
  using Unpacking = std::packaged_task<std::optional<std::size_t>()>;
  const auto unpacking = std::make_shared<Unpacking>([=] {
    return unpack_gzip({packed.get(), packed_bytes}, {room.get(), room_bytes});
  });
  auto unpacked = unpacking->get_future();
  try {
    const base::SignalsBlocked blocked;
    std::thread([unpacking] { (*unpacking)(); }).detach();
  } catch (const std::system_error&) {  // no thread available
    (*unpacking)();
  }
  constexpr std::chrono::milliseconds pause(20);
  do {
    if (between) between();
  } while (unpacked.wait_for(pause) != std::future_status::ready);
  return unpacked.get();
}

}  // namespace

const Packing* packing_of(const files::InputFile& file) {
  std::array<char, 10> beginning{};
  const std::string_view first(beginning.data(), file.read_at(0, beginning));
  for (const Packing& packing : packings) {
    if (!first.starts_with(packing.mark)) continue;
    // A text may begin with BZh. In bzip2, a block mark or end mark follows the digit for the block size.
    if (packing.name != "bzip2") return &packing;
    const std::string_view behind = first.substr(std::min<std::size_t>(4, first.size()));
    if (behind.starts_with("1AY&SY") || behind.starts_with("\x17\x72\x45\x38\x50\x90")) return &packing;
  }
  return nullptr;
}

PackedStream::PackedStream(const files::InputFile& file, const Packing& packing,
                           std::atomic<std::int64_t>& bytes_read, std::int64_t begin)
    : file_(file),
      packing_(packing),
      bytes_read_(bytes_read),
      decoder_(packing.decoder()),
      packed_(std::size_t{1} << 18),
      packed_end_(begin) {}

std::size_t PackedStream::read(std::span<char> buffer) {
  std::size_t got = 0;
  while (got < buffer.size()) {
    if (at_ == filled_ && !at_end_) refill();
    const Decoder::Step step =
        decoder_->unpack({packed_.data() + at_, filled_ - at_}, buffer.subspan(got), at_end_);
    at_ += step.packed;
    got += step.unpacked;
    position_ += static_cast<std::int64_t>(step.unpacked);
    if (!step.fault.empty()) refuse_damage(step.fault);
    if (step.packed > 0 || step.unpacked > 0 || !at_end_) continue;
    if (!step.complete) refuse_damage("the file ends within compressed data");
    break;
  }
  return got;
}

void PackedStream::restart() {
  decoder_->restart();
  at_ = filled_ = 0;
  packed_end_ = position_ = 0;
  at_end_ = false;
}

void PackedStream::refill() {
  filled_ = file_.read_at(packed_end_, packed_);
  at_ = 0;
  packed_end_ += static_cast<std::int64_t>(filled_);
  bytes_read_ += static_cast<std::int64_t>(filled_);
  at_end_ = filled_ == 0;
}

void PackedStream::refuse_damage(std::string_view reason) const {
  file_.fail(fmt::format("it has damaged {} data at byte {} ({})", packing_.name, packed_position(), reason));
}

PackedSource::PackedSource(const std::string& path, const Packing& packing, OpenOptions options)
    : file_(path),
      options_(std::move(options)),
      is_gzip_(packing.decoder == gzip_packing.decoder),
      stream_(file_, packing, bytes_read_) {}

std::size_t PackedSource::read(std::span<char> buffer) {
  if (options_.between) options_.between();
  const std::size_t got = stream_.read(buffer);
  tell_growth(stream_.position(), stream_.packed_position());
  return got;
}

void PackedSource::seek(std::int64_t offset) {
  if (offset < stream_.position()) stream_.restart();
  std::vector<char> passed(std::min(step_bytes, static_cast<std::size_t>(offset - stream_.position())));
  while (stream_.position() < offset) {
    const auto left = static_cast<std::size_t>(offset - stream_.position());
    if (read(std::span(passed).first(std::min(passed.size(), left))) == 0) return;
  }
}

std::unique_ptr<ByteReader> PackedSource::for_another_thread() {
  return members_.empty() ? nullptr : std::make_unique<GzipMembers>(file_, members_, bytes_read_);
}

std::int64_t PackedSource::most_bytes() const {
  constexpr std::int64_t most_of_packed = 1032;  // maximum compression ratio of deflate
  return is_gzip_ ? file_.size() * most_of_packed : std::numeric_limits<std::int64_t>::max();
}

const std::vector<GzipMember>& PackedSource::find_members() {
  if (is_gzip_ && members_.empty()) {
    members_ = members_of(file_);
    if (!members_.empty()) tell_growth(members_.back().unpacked, file_.size());
  }
  return members_;
}

std::optional<std::int64_t> PackedSource::unpack_all(const std::shared_ptr<char[]>& room,
                                                     std::size_t room_bytes) {
  if (is_gzip_) {
    if (room_bytes < size_of_last_member(file_)) return std::nullopt;
    if (file_.size() <= most_at_once) {
      if (const auto size = unpack_at_once(room, room_bytes)) return size;
    }
  }
  return unpack_in_order({room.get(), room_bytes});
}

// Returns nothing for a high compression ratio: `unpack_in_order` then reports progress.
std::optional<std::int64_t> PackedSource::unpack_at_once(const std::shared_ptr<char[]>& room,
                                                         std::size_t room_bytes) {
  const auto size = static_cast<std::size_t>(file_.size());
  const std::shared_ptr<char[]> packed(new (std::nothrow) char[size]);
  if (packed == nullptr) return std::nullopt;
  for (std::size_t at = 0; at < size; at += step_bytes) {
    if (options_.between) options_.between();
    const std::span<char> step(packed.get() + at, std::min(step_bytes, size - at));
    const std::size_t got = file_.read_at(static_cast<std::int64_t>(at), step);
    bytes_read_ += static_cast<std::int64_t>(got);
    if (got < step.size()) return std::nullopt;
  }
  const std::size_t most = std::min(room_bytes, static_cast<std::size_t>(many_times) * size);
  const auto unpacked = unpack_beside(packed, size, room, most, options_.between);
  return unpacked ? std::optional(static_cast<std::int64_t>(*unpacked)) : std::nullopt;
}

// Decompresses as a stream, which finds the offset of damage.
std::optional<std::int64_t> PackedSource::unpack_in_order(std::span<char> room) {
  seek(0);
  for (std::size_t unpacked = 0; unpacked < room.size() && may_have_room(room.size());) {
    const std::span<char> step = room.subspan(unpacked, std::min(step_bytes, room.size() - unpacked));
    const std::size_t got = read(step);
    unpacked += got;
    if (got < step.size()) return static_cast<std::int64_t>(unpacked);
  }
  return std::nullopt;
}

// Estimates from the compression ratio so far whether the file will fit into `room_bytes`.
bool PackedSource::may_have_room(std::size_t room_bytes) const {
  if (stream_.position() < least_to_judge_by) return true;
  const auto of_each =
      static_cast<double>(stream_.position()) / static_cast<double>(stream_.packed_position());
  return of_each * static_cast<double>(file_.size()) <= static_cast<double>(room_bytes);
}

void PackedSource::tell_growth(std::int64_t unpacked, std::int64_t packed) {
  if (unpacked < next_told_) return;
  constexpr std::int64_t factor = 4;
  while (next_told_ <= unpacked) next_told_ *= factor;
  if (!options_.tell || unpacked / many_times < packed) return;
  const double times = static_cast<double>(unpacked) / static_cast<double>(packed);
  constexpr double gib = 1 << 30;
  options_.tell(
      fmt::format("{}: the data unpack to {:.0f} times the size of the file: {:.3g} GiB so far, about {:.2g} "
                  "GiB in total",
                  file_.path(), times, static_cast<double>(unpacked) / gib,
                  times * static_cast<double>(file_.size()) / gib));
}

}  // namespace TESSERA_NAMESPACE::gam
