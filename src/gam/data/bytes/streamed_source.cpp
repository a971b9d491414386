// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/streamed_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Unpacked bytes from which on the ratio of the whole file can be estimated.
constexpr std::int64_t least_to_judge_by = std::int64_t{64} << 20;

}  // namespace

StreamedSource::StreamedSource(const std::string& path, OpenOptions options, const MakeUnpacker& make)
    : file_(path), options_(std::move(options)), unpacker_(make(file_, bytes_read_)) {}

std::size_t StreamedSource::read(std::span<char> buffer) {
  if (options_.between) options_.between();
  const std::size_t got = unpacker_->read(buffer);
  tell_growth(unpacker_->position(), unpacker_->packed_position());
  return got;
}

void StreamedSource::seek(std::int64_t offset) {
  if (offset < unpacker_->position()) unpacker_->restart();
  // Skipped bytes must be unpacked as well.
  std::vector<char> passed(std::min(step_bytes, static_cast<std::size_t>(offset - unpacker_->position())));
  while (unpacker_->position() < offset) {
    const auto left = static_cast<std::size_t>(offset - unpacker_->position());
    if (read(std::span(passed).first(std::min(passed.size(), left))) == 0) return;
  }
}

std::optional<std::int64_t> StreamedSource::unpack_in_order(std::span<char> room) {
  seek(0);
  for (std::size_t unpacked = 0; unpacked < room.size() && may_have_room(room.size());) {
    const std::span<char> step = room.subspan(unpacked, std::min(step_bytes, room.size() - unpacked));
    const std::size_t got = read(step);
    unpacked += got;
    if (got < step.size()) return static_cast<std::int64_t>(unpacked);
  }
  return std::nullopt;
}

// Avoids unpacking much of a file that will probably not fit.
bool StreamedSource::may_have_room(std::size_t room_bytes) const {
  if (unpacker_->position() < least_to_judge_by) return true;
  const auto of_each =
      static_cast<double>(unpacker_->position()) / static_cast<double>(unpacker_->packed_position());
  return of_each * static_cast<double>(file_.size()) <= static_cast<double>(room_bytes);
}

void StreamedSource::tell_growth(std::int64_t unpacked, std::int64_t packed) {
  if (unpacked < next_told_) return;
  constexpr std::int64_t factor = 4;
  while (next_told_ <= unpacked) next_told_ *= factor;
  if (!options_.tell || unpacked / many_times < packed) return;
  const double times = static_cast<double>(unpacked) / static_cast<double>(packed);
  constexpr double gib = 1 << 30;
  options_.tell(fmt::format(
      "{}: unpacks to {:.0f} times its bytes: {:.3g} GiB so far, about {:.2g} GiB in all", file_.path(),
      times, static_cast<double>(unpacked) / gib, times * static_cast<double>(file_.size()) / gib));
}

}  // namespace TESSERA_NAMESPACE::gam
