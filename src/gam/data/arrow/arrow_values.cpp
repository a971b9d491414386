// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/arrow_values.hpp"

#include "gam/data/arrow/arrow_batches.hpp"

#include <tessera/error.hpp>
#include <tessera/printable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace TESSERA_NAMESPACE::gam {
namespace {

struct Format {
  std::string_view format;
  ArrowType type;
};
using ArrowKind = ArrowType::Kind;
constexpr Format arrow_formats[] = {{"b", {ArrowKind::boolean, 0}},
                                    {"c", {ArrowKind::integer, 1}},
                                    {"C", {ArrowKind::unsigned_integer, 1}},
                                    {"s", {ArrowKind::integer, 2}},
                                    {"S", {ArrowKind::unsigned_integer, 2}},
                                    {"i", {ArrowKind::integer, 4}},
                                    {"I", {ArrowKind::unsigned_integer, 4}},
                                    {"l", {ArrowKind::integer, 8}},
                                    {"L", {ArrowKind::unsigned_integer, 8}},
                                    {"f", {ArrowKind::real, 4}},
                                    {"g", {ArrowKind::real, 8}},
                                    {"u", {ArrowKind::text, 4}},
                                    {"U", {ArrowKind::text, 8}},
                                    {"vu", {ArrowKind::text_view, 16}},
                                    {"tdD", {ArrowKind::integer, 4}}};
/// A time zone may follow; it affects only the display.
constexpr Format timestamps[] = {{"tss:", {ArrowKind::integer, 8, 1}},
                                 {"tsm:", {ArrowKind::integer, 8, 1e3}},
                                 {"tsu:", {ArrowKind::integer, 8, 1e6}},
                                 {"tsn:", {ArrowKind::integer, 8, 1e9}}};

/// Maximum number of buffers of an array of text views: views have buffer indices of 32 bits.
constexpr std::int64_t most_buffers = 3 + std::int64_t{std::numeric_limits<std::int32_t>::max()};
/// Maximum bytes of text in one buffer.
constexpr std::int64_t most_text_bytes = std::int64_t{1} << 47;

template <class T>
T read(const unsigned char* bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

ArrowType arrow_type(const ArrowSchema& schema, const std::string& what) {
  if (schema.format == nullptr) refuse_arrow(ErrorCode::input, "{} has no format in the schema", what);
  const std::string_view format = schema.format;
  if (const auto* const found = std::ranges::find(arrow_formats, format, &Format::format);
      found != std::end(arrow_formats))
    return found->type;
  const auto* const found =
      std::ranges::find_if(timestamps, [&](const Format& one) { return format.starts_with(one.format); });
  if (found == std::end(timestamps))
    refuse_arrow(ErrorCode::input,
                 "{} has values of the format '{}', which are neither numbers nor texts: cast "
                 "them, or leave the column out",
                 what, printable(format));
  return found->type;
}

void ArrowValues::refuse(const std::string& fault) const {
  refuse_arrow(ErrorCode::input, "{}: {}", what_, fault);
}

ArrowValues::ArrowValues(const ArrowArray& array, const ArrowType& type, std::int64_t begin,
                         std::int64_t count, const std::string& what)
    : type_(type), what_(what) {
  if (array.release == nullptr) refuse("its array was released, or moved elsewhere");
  if (array.length < 0 || array.offset < 0 || array.length > most_arrow_rows ||
      array.offset > most_arrow_rows)
    refuse(
        fmt::format("the length {} and offset {} of its array are impossible", array.length, array.offset));
  if (begin + count > array.length)
    refuse(fmt::format("its array has {} values, but the batch needs {}", array.length, begin + count));
  if (array.null_count < -1 || array.null_count > array.length)
    refuse(fmt::format("its array has {} values, but declares {} nulls", array.length, array.null_count));
  if (array.n_children != 0)
    refuse(fmt::format("its array has {} children, but its type has none", array.n_children));
  begin_ = static_cast<std::size_t>(array.offset + begin);
  size_ = static_cast<std::size_t>(count);
  check_buffers(array);
}

void ArrowValues::check_buffers(const ArrowArray& array) {
  const bool views = type_.kind == ArrowType::Kind::text_view;
  const int expected = type_.kind == ArrowType::Kind::text || views ? 3 : 2;
  if (views ? array.n_buffers < expected || array.n_buffers > most_buffers : array.n_buffers != expected)
    refuse(fmt::format("its array has {} buffers, but its type has {}{}", array.n_buffers, expected,
                       views ? " or more" : ""));
  if (array.buffers == nullptr) refuse("its array has no buffers");
  if (size_ == 0) return;
  const std::span buffers(array.buffers, static_cast<std::size_t>(array.n_buffers));
  const auto bytes = [&](std::size_t i) { return static_cast<const unsigned char*>(buffers[i]); };
  values_ = bytes(1);
  if (values_ == nullptr) refuse("the buffer of its values is a null pointer");
  if (type_.kind == ArrowType::Kind::text) text_ = static_cast<const char*>(buffers[2]);
  if (views) {
    buffers_ = buffers.subspan(2, buffers.size() - 3);
    sizes_ = bytes(buffers.size() - 1);
    if (!buffers_.empty() && sizes_ == nullptr)
      refuse("the buffer with the sizes of its text buffers is a null pointer");
  }
  if (array.null_count == 0) return;
  const unsigned char* const validity = bytes(0);
  if (validity == nullptr) {
    if (array.null_count > 0)
      refuse(fmt::format("its array has {} nulls, but no validity buffer: give one, or null_count 0",
                         array.null_count));
    return;
  }
  validity_ = validity;
  bool has_null = false;
  for_each_null([&](std::size_t /*i*/) { has_null = true; });
  if (!has_null) validity_ = nullptr;
}

std::string_view ArrowValues::text(std::size_t i) const {
  if (type_.kind == ArrowType::Kind::text_view) return viewed_text(i);
  const std::size_t at = begin_ + i;
  const std::int64_t begin =
      type_.bytes == 4 ? read<std::int32_t>(values_, at) : read<std::int64_t>(values_, at);
  const std::int64_t end =
      type_.bytes == 4 ? read<std::int32_t>(values_, at + 1) : read<std::int64_t>(values_, at + 1);
  if (begin < 0 || end < begin || end > most_text_bytes)
    refuse(
        fmt::format("text {} is from byte {} to {} of its buffer, which is impossible", i + 1, begin, end));
  if (begin == end) return {};
  if (text_ == nullptr) refuse("the buffer of its texts is a null pointer");
  return {text_ + begin, static_cast<std::size_t>(end - begin)};
}

std::string_view ArrowValues::viewed_text(std::size_t i) const {
  constexpr std::int32_t longest_inside = 12;
  const unsigned char* const view = values_ + 16 * (begin_ + i);
  const auto length = read<std::int32_t>(view, 0);
  if (length < 0) refuse(fmt::format("text {} has the length {}, which is impossible", i + 1, length));
  if (length <= longest_inside)
    return {reinterpret_cast<const char*>(view) + 4, static_cast<std::size_t>(length)};
  const auto buffer = read<std::int32_t>(view, 2);
  const auto offset = read<std::int32_t>(view, 3);
  if (buffer < 0 || buffer >= std::ssize(buffers_))
    refuse(fmt::format("text {} refers to data buffer {}, but the array has {} data buffers", i + 1,
                       buffer + 1, buffers_.size()));
  const auto size = read<std::int64_t>(sizes_, static_cast<std::size_t>(buffer));
  const auto* const from = static_cast<const char*>(buffers_[static_cast<std::size_t>(buffer)]);
  if (offset < 0 || from == nullptr || std::int64_t{offset} + length > size)
    refuse(fmt::format("text {} spans bytes {} to {} of a buffer of {} bytes", i + 1, offset,
                       std::int64_t{offset} + length, from == nullptr ? 0 : size));
  return {from + offset, static_cast<std::size_t>(length)};
}

}  // namespace TESSERA_NAMESPACE::gam
