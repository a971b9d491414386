// SPDX-License-Identifier: Apache-2.0
#include "gam/table/gzip/gzip_members.hpp"

#include "gam/table/gzip/gzip_unpacker.hpp"

#include <algorithm>

namespace tessera::gam {

std::optional<std::size_t> unpack_gzip(std::span<const char> packed, std::span<char> room) {
  Inflater inflater;
  std::size_t unpacked = 0;
  do {
    const auto member = inflater.gzip_member(packed, room.subspan(unpacked));
    if (!member) return std::nullopt;
    unpacked += member->unpacked;
    packed = packed.subspan(member->packed);
  } while (!packed.empty() && packed.front() != 0);
  const bool zeros = std::all_of(packed.begin(), packed.end(), [](char byte) { return byte == 0; });
  return zeros ? std::optional(unpacked) : std::nullopt;
}

std::size_t GzipMembers::read(std::span<char> buffer) {
  std::size_t got = 0;
  while (got < buffer.size()) {
    if (at_ == text_.size()) {
      if (next_ == points_.all.size() - 1) break;  // the end of the file
      load(next_);
    }
    const std::size_t taken = std::min(buffer.size() - got, text_.size() - at_);
    std::copy_n(text_.data() + at_, taken, buffer.data() + got);
    at_ += taken;
    got += taken;
  }
  return got;
}

void GzipMembers::seek(std::int64_t offset) {
  const std::size_t member = std::min(points_.before(offset), points_.all.size() - 2);
  if (next_ != member + 1) load(member);
  at_ = std::min(static_cast<std::size_t>(offset - points_.all[member].unpacked), text_.size());
}

void GzipMembers::load(std::size_t member) {
  const GzipPoint& begin = points_.all[member];
  const GzipPoint& end = points_.all[member + 1];
  text_.resize(static_cast<std::size_t>(end.unpacked - begin.unpacked));
  at_ = 0;
  next_ = member + 1;
  if (!inflate(begin.packed, end.packed)) refuse_damage(begin.unpacked);
}

/// True if the bytes of the file from `begin` to `end` are a member that unpacks to as many as there are to
/// be.
bool GzipMembers::inflate(std::int64_t begin, std::int64_t end) {
  packed_.resize(static_cast<std::size_t>(end - begin));
  const std::size_t got = file_.read_at(begin, packed_);
  bytes_read_ += static_cast<std::int64_t>(got);
  const auto amounts = inflater_.gzip_member(std::span(packed_).first(got), text_);
  return amounts && amounts->packed == packed_.size() && amounts->unpacked == text_.size();
}

// What unpacks a stream finds what is wrong with it, and where.
void GzipMembers::refuse_damage(std::int64_t offset) {
  GzipUnpacker unpacker(file_, points_, bytes_read_);
  unpacker.seek(offset);
  std::vector<char> text(text_.size() + 1);  // to the end of the member, and its checksum
  static_cast<void>(unpacker.read(text));
  file_.fail("damaged gzip data (a block does not unpack to what it says)");
}

}  // namespace tessera::gam
