// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/arrow/arrow_values.hpp"

#include <tessera/gam/arrow_abi.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Columns of record batches, as a table has them: numbers, or codes of texts.
namespace TESSERA_NAMESPACE::gam {

struct ArrowColumn {
  std::string name;
  std::int64_t place = 0;  ///< index in the schema
  const ArrowSchema* schema = nullptr;
  ArrowType type{};
  ArrowType dictionary{};  ///< type of its values
  bool ordered = false;

  /// What its numbers count: "days since 1970-01-01", "seconds since 1970-01-01 UTC", or nothing.
  [[nodiscard]] std::string_view unit() const;
  [[nodiscard]] bool coded() const noexcept { return schema->dictionary != nullptr; }
  [[nodiscard]] bool factor() const noexcept {
    return coded() || type.is_text() || type.kind == ArrowType::Kind::boolean;
  }
};

/// A column of the batches' schema. Throws `Error(input)` for a type that a table does not have.
[[nodiscard]] ArrowColumn arrow_column(const ArrowSchema& batches, std::int64_t place);

/// A column of one batch: numbers, or codes and their texts (nothing: missing). Stored in `own_…` unless used
/// in place.
struct ArrowPart {
  std::span<const double> numbers{};
  std::span<const std::int32_t> codes{};
  std::vector<std::optional<std::string_view>> texts{};
  std::vector<double> own_numbers{};
  std::vector<std::int32_t> own_codes{};
  std::int64_t inexact = 0;  ///< integers that are no double
};

/// Reads a column of a batch, which must outlive the part. Throws `Error(input)` for an array that is
/// inconsistent; `what` names the column and the batch.
void read_part(const ArrowColumn& column, const ArrowArray& batch, const std::string& what, ArrowPart& part);

/// "the column 'x'", for messages.
[[nodiscard]] std::string quoted_column(const std::string& column);
[[noreturn]] void refuse_many_texts(const std::string& what);

}  // namespace TESSERA_NAMESPACE::gam
