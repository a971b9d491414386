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

/// Reads columns of record batches as numbers, or as codes and texts.
namespace TESSERA_NAMESPACE::gam {

struct ArrowColumn {
  std::string name;
  std::int64_t place = 0;  ///< index in the schema
  const ArrowSchema* schema = nullptr;
  ArrowType type{};
  ArrowType dictionary{};  ///< value type of the dictionary
  bool ordered = false;

  /// Unit of the column's numbers: "days since 1970-01-01", "seconds since 1970-01-01 UTC", or empty.
  [[nodiscard]] std::string_view unit() const;
  [[nodiscard]] bool coded() const noexcept { return schema->dictionary != nullptr; }
  [[nodiscard]] bool factor() const noexcept {
    return coded() || type.is_text() || type.kind == ArrowType::Kind::boolean;
  }
};

/// The description of a column from the batches' schema. Throws `Error(input)` for an unsupported type.
[[nodiscard]] ArrowColumn arrow_column(const ArrowSchema& batches, std::int64_t place);

/// A column of one batch: numbers, or codes with their texts (a value without a text is missing). The values
/// are in `own_…` unless they are used in place.
struct ArrowPart {
  std::span<const double> numbers{};
  std::span<const std::int32_t> codes{};
  std::vector<std::optional<std::string_view>> texts{};
  std::span<double> to{};  ///< memory for converted numbers; used instead of `own_numbers` if its size is the
                           ///< number of values
  std::vector<double> own_numbers{};
  std::vector<std::int32_t> own_codes{};
  std::int64_t inexact = 0;  ///< 64-bit integers above 2^53 in magnitude, after conversion
};

/// Reads a column of a batch; the batch must outlive the part. A part of another batch may be given: its
/// memory is used again. Throws `Error(input)` for an inconsistent array; `what` names column and batch.
void read_part(const ArrowColumn& column, const ArrowArray& batch, const std::string& what, ArrowPart& part);

/// "the column 'x'", for messages.
[[nodiscard]] std::string quoted_column(const std::string& column);
[[noreturn]] void refuse_many_texts(const std::string& what);

}  // namespace TESSERA_NAMESPACE::gam
