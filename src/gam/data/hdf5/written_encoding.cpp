// SPDX-License-Identifier: Apache-2.0
#include "gam/data/hdf5/written_encoding.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"

#include <algorithm>
#include <limits>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

// Maximum size of an enumeration's description, which HDF5 stores in a header of at most 64 KiB. Each member
// takes its name, padded to eight bytes, and its value.
constexpr std::size_t max_member_bytes = 60'000;
constexpr std::size_t bytes_beside_name = 8 + sizeof(std::int16_t);

bool can_be_members(const std::vector<std::string>& texts) {
  std::size_t bytes = 0;
  for (const std::string& text : texts) {
    if (text.empty()) return false;
    bytes += text.size() + bytes_beside_name;
  }
  return bytes <= max_member_bytes;
}

void append(std::string& bytes, const void* value, std::size_t size) {
  bytes.append(static_cast<const char*>(value), size);
}

}  // namespace

std::string ColumnEncoding::bytes_of(const Variable& variable, Range rows) const {
  std::string bytes;
  if (kind == Kind::number) {
    variable.numbers.for_each_piece(at(rows.begin), at(rows.end), [&](std::span<const double> numbers) {
      append(bytes, numbers.data(), numbers.size_bytes());
    });
    return bytes;
  }
  bytes.reserve(at(rows.size()) * value_bytes);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const std::int32_t code = variable.codes[at(row)];
    const std::size_t place = code < 0 ? texts.size() - 1 : at(code);
    if (kind == Kind::text) {
      bytes += texts[place];
      bytes.append(value_bytes - texts[place].size(), '\0');
    } else if (value_bytes == sizeof(std::int8_t)) {
      const auto value = static_cast<std::int8_t>(place);
      append(bytes, &value, sizeof value);
    } else {
      const auto value = static_cast<std::int16_t>(place);
      append(bytes, &value, sizeof value);
    }
  }
  return bytes;
}

void require_no_missing_level(const Variable& variable, const std::string& column, const std::string& path) {
  if (std::ranges::find(variable.levels, ColumnEncoding::missing) != variable.levels.end())
    throw base::input_error(
        "{}: the column '{}' has the level 'NA', which readers take for a missing value: rename the "
        "level, or declare it an NA string",
        path, column);
}

ColumnEncoding encoding_of(const Variable& variable, const std::string& column, bool may_be_missing,
                           const std::string& path) {
  if (!variable.factor) return {};
  ColumnEncoding encoding;
  encoding.texts = variable.levels;
  require_no_missing_level(variable, column, path);
  for (const std::string& level : variable.levels) {
    if (level.find('\0') != std::string::npos)
      throw base::input_error(
          "{}: the column '{}' has a level with a zero byte, which ends a text in HDF5: rename the level",
          path, column);
  }
  if (may_be_missing) encoding.texts.emplace_back(ColumnEncoding::missing);
  if (can_be_members(encoding.texts)) {
    encoding.kind = ColumnEncoding::Kind::enumeration;
    const bool small = encoding.texts.size() <= at(std::numeric_limits<std::int8_t>::max());
    encoding.value_bytes = small ? sizeof(std::int8_t) : sizeof(std::int16_t);
  } else {
    encoding.kind = ColumnEncoding::Kind::text;
    encoding.value_bytes = 1;
    for (const std::string& text : encoding.texts)
      encoding.value_bytes = std::max(encoding.value_bytes, text.size());
  }
  return encoding;
}

}  // namespace TESSERA_NAMESPACE::gam
