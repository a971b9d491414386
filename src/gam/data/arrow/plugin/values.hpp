// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/array.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace tessera::arrow_plugin {

/// The type that values of this one are converted to: `tessera_arrow_contents::schema`.
[[nodiscard]] std::shared_ptr<arrow::DataType> converted_type(const std::shared_ptr<arrow::DataType>& type);

/// Values of that type; decimals that have more digits than it are counted.
[[nodiscard]] arrow::Result<std::shared_ptr<arrow::Array>> converted(
    const std::shared_ptr<arrow::Array>& values, std::atomic<std::int64_t>& inexact);

/// Checks what Arrow's readers take from a file as it is: offsets of texts and UTF-8. Indices of a
/// dictionary are left to the caller; its values are checked unless it is `known`, which it becomes.
[[nodiscard]] arrow::Status validate(const arrow::Array& values, std::shared_ptr<arrow::Array>& known);

}  // namespace tessera::arrow_plugin
