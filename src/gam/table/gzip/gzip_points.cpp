// SPDX-License-Identifier: Apache-2.0
#include "gam/table/gzip/gzip_points.hpp"

#include "base/pack.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>

namespace tessera::gam {
namespace {

constexpr std::size_t header_bytes = 18;  // of a member with nothing but its size beside the data
constexpr std::size_t size_bytes = 4;     // at the end of a member: of what is unpacked
constexpr std::int64_t least_bytes = 26;  // with the checksum
constexpr std::int64_t most_unpacked = 1 << 16;

std::int64_t little_endian(std::span<const char> bytes) {
  std::int64_t number = 0;
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte)
    number = number << 8 | static_cast<unsigned char>(*byte);
  return number;
}

/// The bytes of the member that begins so; nothing if it does not tell them.
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

std::size_t GzipPoints::before(std::int64_t unpacked) const {
  const auto after =
      std::upper_bound(all.begin(), all.end(), unpacked,
                       [](std::int64_t byte, const GzipPoint& point) { return byte < point.unpacked; });
  return static_cast<std::size_t>(after - all.begin()) - 1;
}

bool GzipPoints::has_member(std::int64_t packed) const {
  return std::binary_search(all.begin(), all.end(), GzipPoint{.packed = packed},
                            [](const GzipPoint& a, const GzipPoint& b) { return a.packed < b.packed; });
}

GzipPoints members_of(const files::InputFile& file) {
  GzipPoints points;
  points.by_members = true;
  points.all.clear();
  std::array<char, size_bytes + header_bytes> bytes{};
  std::string_view header(bytes.data(), file.read_at(0, std::span(bytes).first(header_bytes)));
  GzipPoint at;
  while (const auto size = member_bytes(header)) {
    points.all.push_back(at);
    at.packed += *size;
    const std::size_t got = file.read_at(at.packed - static_cast<std::int64_t>(size_bytes), bytes);
    if (got < size_bytes) return {};
    const std::int64_t unpacked = little_endian(std::span(bytes).first(size_bytes));
    if (unpacked > most_unpacked) return {};
    at.unpacked += unpacked;
    header = std::string_view(bytes.data(), got).substr(size_bytes);
    if (header.empty()) {
      points.all.push_back(at);
      points.size = at.unpacked;
      return points;
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

std::string pack(const GzipPoints& points) {
  std::string packed = fmt::format("{} {} ", points.size, points.by_members ? 1 : 0);
  for (const GzipPoint& point : points.all) {
    fmt::format_to(std::back_inserter(packed), "{} {} {} {} ", point.packed, point.unpacked, point.bits,
                   point.in_member ? 1 : 0);
    base::pack(packed, point.window, base::tight);
  }
  return packed;
}

GzipPoints unpack_points(std::string_view packed) {
  const auto number = [&] {
    const auto value = base::unpack_number(packed, ' ');
    if (!value) throw Error(ErrorCode::job_fault, "a list of the points of a gzip file arrived damaged");
    return static_cast<std::int64_t>(*value);
  };
  GzipPoints points;
  points.size = number();
  points.by_members = number() != 0;
  points.all.clear();
  while (!packed.empty()) {
    GzipPoint point{.packed = number(), .unpacked = number()};
    point.bits = static_cast<int>(number());
    point.in_member = number() != 0;
    point.window = base::unpack(packed, base::tight).value_or("");
    points.all.push_back(std::move(point));
  }
  return points;
}

}  // namespace tessera::gam
