// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/gzip_members.hpp"

#include "gam/data/bytes/inflater.hpp"
#include "gam/data/bytes/packed_source.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::size_t header_bytes = 18;  // header size of a member whose only extra field is its size
constexpr std::size_t size_bytes = 4;     // ISIZE, at the end of a member
constexpr std::int64_t least_bytes = 26;  // smallest member, including the checksum
constexpr std::int64_t most_unpacked = 1 << 16;

std::int64_t little_endian(std::span<const char> bytes) {
  std::int64_t number = 0;
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte)
    number = number << 8 | static_cast<unsigned char>(*byte);
  return number;
}

/// The size of a member in bytes, from its header; nothing if the header has no size.
std::optional<std::int64_t> member_bytes(std::string_view header) {
  constexpr std::string_view magic("\x1f\x8b\x08\x04", 4);  // deflate, with extra fields
  constexpr std::string_view extra(
      "\x06\x00"
      "BC\x02\x00",
      6);
  if (header.size() < header_bytes || !header.starts_with(magic) || header.substr(10, 6) != extra)
    return std::nullopt;
  const std::int64_t size = little_endian(header.substr(16, 2)) + 1;
  return size > least_bytes ? std::optional(size) : std::nullopt;
}

}  // namespace

std::vector<GzipMember> members_of(const files::InputFile& file) {
  std::vector<GzipMember> members;
  std::array<char, size_bytes + header_bytes> bytes{};
  std::string_view header(bytes.data(), file.read_at(0, std::span(bytes).first(header_bytes)));
  GzipMember at;
  while (const auto size = member_bytes(header)) {
    members.push_back(at);
    at.packed += *size;
    const std::size_t got = file.read_at(at.packed - static_cast<std::int64_t>(size_bytes), bytes);
    if (got < size_bytes) return {};
    const std::int64_t unpacked = little_endian(std::span(bytes).first(size_bytes));
    if (unpacked > most_unpacked) return {};
    at.unpacked += unpacked;
    header = std::string_view(bytes.data(), got).substr(size_bytes);
    if (header.empty()) {
      members.push_back(at);
      return members;
    }
  }
  return {};
}

std::size_t size_of_last_member(const files::InputFile& file) {
  std::array<char, size_bytes> bytes{};
  const std::int64_t at = file.size() - static_cast<std::int64_t>(size_bytes);
  if (at < 0 || file.read_at(at, bytes) < bytes.size()) return 0;
  return static_cast<std::size_t>(little_endian(bytes));
}

std::optional<std::size_t> unpack_gzip(std::span<const char> packed, std::span<char> room) {
  std::size_t unpacked = 0;
  do {
    const auto member = inflate_gzip_member(packed, room.subspan(unpacked));
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
      if (next_ == members_.size() - 1) break;
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
  const auto behind =
      std::upper_bound(members_.begin(), members_.end() - 1, offset,
                       [](std::int64_t byte, const GzipMember& member) { return byte < member.unpacked; });
  const auto member = static_cast<std::size_t>(behind - members_.begin()) - 1;
  if (next_ != member + 1) load(member);
  at_ = std::min(static_cast<std::size_t>(offset - members_[member].unpacked), text_.size());
}

void GzipMembers::load(std::size_t member) {
  const GzipMember& begin = members_[member];
  const GzipMember& end = members_[member + 1];
  text_.resize(static_cast<std::size_t>(end.unpacked - begin.unpacked));
  at_ = 0;
  next_ = member + 1;
  if (!inflate(begin.packed, end.packed)) refuse_damage(begin.packed);
}

/// Decompresses bytes [begin, end) of the file; false unless these are one member of the declared sizes.
bool GzipMembers::inflate(std::int64_t begin, std::int64_t end) {
  packed_.resize(static_cast<std::size_t>(end - begin));
  const std::size_t got = file_.read_at(begin, packed_);
  bytes_read_ += static_cast<std::int64_t>(got);
  const auto amounts = inflate_gzip_member(std::span(packed_).first(got), text_);
  return amounts && amounts->packed == packed_.size() && amounts->unpacked == text_.size();
}

// Decompresses the member as a stream, which throws with the offset of the damage.
void GzipMembers::refuse_damage(std::int64_t begin) {
  PackedStream stream(file_, gzip_packing, bytes_read_, begin);
  std::vector<char> text(text_.size() + 1);  // one byte more, to reach the member's end and checksum
  static_cast<void>(stream.read(text));
  file_.fail("it has damaged gzip data (a block does not unpack to its declared size)");
}

}  // namespace TESSERA_NAMESPACE::gam
