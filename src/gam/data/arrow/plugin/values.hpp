// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/array.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace tessera::arrow_plugin {

/// The type to which values of `type` are converted: see `tessera_arrow_contents::schema`.
[[nodiscard]] std::shared_ptr<arrow::DataType> converted_type(const std::shared_ptr<arrow::DataType>& type);

/// Values converted to `converted_type`; adds to `inexact` the decimals with more digits than a double.
[[nodiscard]] arrow::Result<std::shared_ptr<arrow::Array>> converted(
    const std::shared_ptr<arrow::Array>& values, std::atomic<std::int64_t>& inexact);

/// Checks what Arrow's readers do not check: offsets of texts, and UTF-8. The engine checks dictionary
/// indices. The values of a dictionary are not checked again if they are `known`; otherwise `known` is set to
/// them.
[[nodiscard]] arrow::Status validate(const arrow::Array& values, std::shared_ptr<arrow::Array>& known);

}  // namespace tessera::arrow_plugin
