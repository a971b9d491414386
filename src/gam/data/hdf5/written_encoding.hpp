// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"

#include <tessera/partition/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The contiguous storage of a column, which reads back as the same column: numbers as doubles, with NaN for
/// missing; a factor as an enumeration of its levels, or as texts if the levels cannot be an enumeration. A
/// missing level is stored as the text `NA`.
struct ColumnEncoding {
  enum class Kind : std::uint8_t { number, enumeration, text };
  static constexpr const char* missing = "NA";

  Kind kind = Kind::number;
  std::size_t value_bytes = sizeof(double);
  std::vector<std::string> texts{};  ///< texts by code; the last one is for missing values

  [[nodiscard]] std::string bytes_of(const Variable& variable, Range rows) const;
};

/// Throws `Error(input)`, beginning with `path`, for a level that a reader would take for a missing value.
void require_no_missing_level(const Variable& variable, const std::string& column, const std::string& path);

/// The encoding of a column of the job, the same on every rank. Throws `Error(input)`, beginning with `path`,
/// for a level that a reader would not read back.
[[nodiscard]] ColumnEncoding encoding_of(const Variable& variable, const std::string& column,
                                         bool may_be_missing, const std::string& path);

}  // namespace TESSERA_NAMESPACE::gam
