// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/frame/frame.hpp"

#include <tessera/partition/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::gam {

/// How a column lies in a file of columns, value behind value, so that its reader has the same column again:
/// numbers as doubles, NaN where one is missing; a factor as an enumeration of its levels, or as texts where
/// levels cannot be members of one. A missing level is the level `NA`.
struct ColumnEncoding {
  enum class Kind : std::uint8_t { number, enumeration, text };
  static constexpr const char* missing = "NA";

  Kind kind = Kind::number;
  std::size_t value_bytes = sizeof(double);
  std::vector<std::string> texts{};  ///< by the values of an enumeration; the last is that of a missing one

  /// The bytes of rows, counted from the first that this rank has.
  [[nodiscard]] std::string bytes_of(const Variable& variable, Range rows) const;
};

/// Of a column of the job, which has missing values or not: the same on every rank. Throws `Error(input)`,
/// which begins with `path`, for a level that would not be read as it is.
[[nodiscard]] ColumnEncoding encoding_of(const Variable& variable, const ColumnReading& column,
                                         const std::string& path);

}  // namespace tessera::gam
