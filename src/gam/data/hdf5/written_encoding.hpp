// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"

#include <tessera/partition/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Contiguous storage of a column's values in a file, such that a reader gets the same column: numbers as
/// doubles, with NaN for missing; a factor as an enumeration of its levels, or as texts if the levels cannot
/// be members of one. A missing level is the level `NA`.
struct ColumnEncoding {
  enum class Kind : std::uint8_t { number, enumeration, text };
  static constexpr const char* missing = "NA";

  Kind kind = Kind::number;
  std::size_t value_bytes = sizeof(double);
  std::vector<std::string> texts{};  ///< by value of the enumeration; the last is for missing values

  /// The stored bytes of local rows.
  [[nodiscard]] std::string bytes_of(const Variable& variable, Range rows) const;
};

/// Throws `Error(input)`, beginning with `path`, for a level that would be read as a missing value.
void require_no_missing_level(const Variable& variable, const std::string& column, const std::string& path);

/// The encoding of a column of the job; the same on every rank. Throws `Error(input)`, beginning with `path`,
/// for a level that could not be read back.
[[nodiscard]] ColumnEncoding encoding_of(const Variable& variable, const std::string& column,
                                         bool may_be_missing, const std::string& path);

}  // namespace TESSERA_NAMESPACE::gam
