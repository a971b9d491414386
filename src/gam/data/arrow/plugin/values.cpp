// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/plugin/values.hpp"

#include <arrow/array/builder_primitive.h>
#include <arrow/extension_type.h>
#include <arrow/util/checked_cast.h>
#include <arrow/util/config.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

namespace tessera::arrow_plugin {
namespace {

using arrow::internal::checked_cast;

/// All integers up to this one are exact as doubles.
constexpr std::int64_t largest_exact = std::int64_t{1} << 53;
/// Significant decimal digits that a double always keeps.
constexpr std::size_t exact_digits = 15;

/// Whether a decimal number's text has more significant digits than a double keeps.
bool has_too_many_digits(std::string_view text) {
  std::string digits;
  for (const char c : text.substr(0, text.find('E'))) {
    if (c >= '0' && c <= '9' && (c != '0' || !digits.empty())) digits += c;
  }
  return digits.find_last_not_of('0') + 1 > exact_digits;
}

/// Rounds decimals to the nearest doubles, like numbers in a text file. Integers of at most 53 bits and
/// powers of ten up to 10^22 are exact, so that their quotient is the nearest double (Clinger 1990).
template <class DecimalArray, class Decimal>
arrow::Result<std::shared_ptr<arrow::Array>> doubles_of(const arrow::Array& values,
                                                        std::atomic<std::int64_t>& inexact) {
  constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const auto& decimals = checked_cast<const DecimalArray&>(values);
  const auto scale = checked_cast<const arrow::DecimalType&>(*values.type()).scale();
  const bool has_power = scale >= 0 && scale < static_cast<std::int32_t>(std::size(powers));
  arrow::DoubleBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Reserve(values.length()));
  std::int64_t too_long = 0;
  for (std::int64_t i = 0; i < values.length(); ++i) {
    if (values.IsNull(i)) {
      builder.UnsafeAppendNull();
      continue;
    }
    const Decimal value(decimals.GetValue(i));
    if (has_power && value <= Decimal(largest_exact) && value >= Decimal(-largest_exact)) {
      // The number fits into the lowest 64 bits.
      std::int64_t whole = 0;
      std::memcpy(&whole, decimals.GetValue(i), std::min(sizeof whole, sizeof(Decimal)));
      if constexpr (sizeof(Decimal) < sizeof whole) whole = static_cast<std::int32_t>(whole);
      builder.UnsafeAppend(static_cast<double>(whole) / powers[scale]);
      continue;
    }
    const std::string text = value.ToString(scale);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
      return arrow::Status::Invalid("the decimal ", text, " is not a number");
    too_long += has_too_many_digits(text) ? 1 : 0;
    builder.UnsafeAppend(number);
  }
  inexact += too_long;
  return builder.Finish();
}

/// Converts values to another primitive type.
template <class From, class To>
arrow::Result<std::shared_ptr<arrow::Array>> each(const arrow::Array& values, const auto& convert) {
  const auto& from = checked_cast<const arrow::NumericArray<From>&>(values);
  arrow::NumericBuilder<To> builder;
  ARROW_RETURN_NOT_OK(builder.Reserve(values.length()));
  for (std::int64_t i = 0; i < values.length(); ++i) {
    if (values.IsNull(i))
      builder.UnsafeAppendNull();
    else
      builder.UnsafeAppend(convert(from.Value(i)));
  }
  return builder.Finish();
}

/// Converts a column of bytes to texts if all its values are UTF-8: some writers, such as older Spark, Impala
/// and Hive, do not mark texts as such.
arrow::Result<std::shared_ptr<arrow::Array>> texts_of(const arrow::Array& bytes,
                                                      const std::shared_ptr<arrow::DataType>& type) {
  const std::shared_ptr<arrow::ArrayData> data = bytes.data()->Copy();
  data->type = type;
  std::shared_ptr<arrow::Array> texts = arrow::MakeArray(data);
  if (!texts->ValidateFull().ok())
    return arrow::Status::Invalid(
        "it has bytes that are not UTF-8: leave the column out, or write UTF-8 texts");
  return texts;
}

}  // namespace

std::shared_ptr<arrow::DataType> converted_type(const std::shared_ptr<arrow::DataType>& type) {
  if (type->id() == arrow::Type::EXTENSION)
    return converted_type(checked_cast<const arrow::ExtensionType&>(*type).storage_type());
  if (arrow::is_decimal(type->id()) || type->id() == arrow::Type::NA) return arrow::float64();
  if (type->id() == arrow::Type::HALF_FLOAT) return arrow::float32();
  if (type->id() == arrow::Type::DATE64) return arrow::date32();
  if (type->id() == arrow::Type::BINARY) return arrow::utf8();
  if (type->id() == arrow::Type::LARGE_BINARY) return arrow::large_utf8();
  return type;
}

arrow::Result<std::shared_ptr<arrow::Array>> converted(const std::shared_ptr<arrow::Array>& values,
                                                       std::atomic<std::int64_t>& inexact) {
  switch (values->type_id()) {
    case arrow::Type::EXTENSION:
      return converted(checked_cast<const arrow::ExtensionArray&>(*values).storage(), inexact);
#if ARROW_VERSION_MAJOR >= 19
    case arrow::Type::DECIMAL32: return doubles_of<arrow::Decimal32Array, arrow::Decimal32>(*values, inexact);
    case arrow::Type::DECIMAL64: return doubles_of<arrow::Decimal64Array, arrow::Decimal64>(*values, inexact);
#endif
    case arrow::Type::DECIMAL128:
      return doubles_of<arrow::Decimal128Array, arrow::Decimal128>(*values, inexact);
    case arrow::Type::DECIMAL256:
      return doubles_of<arrow::Decimal256Array, arrow::Decimal256>(*values, inexact);
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY: return texts_of(*values, converted_type(values->type()));
    case arrow::Type::NA: return arrow::MakeArrayOfNull(arrow::float64(), values->length());
    case arrow::Type::HALF_FLOAT:
      return each<arrow::HalfFloatType, arrow::FloatType>(
          *values, [](std::uint16_t bits) { return arrow::util::Float16::FromBits(bits).ToFloat(); });
    case arrow::Type::DATE64:
      return each<arrow::Date64Type, arrow::Date32Type>(*values, [](std::int64_t milliseconds) {
        constexpr std::int64_t day = 86'400'000;
        return static_cast<std::int32_t>(milliseconds / day - (milliseconds % day < 0 ? 1 : 0));
      });
    default: return values;
  }
}

arrow::Status validate(const arrow::Array& values, std::shared_ptr<arrow::Array>& known) {
  if (values.type_id() != arrow::Type::DICTIONARY) return values.ValidateFull();
  ARROW_RETURN_NOT_OK(values.Validate());
  const std::shared_ptr<arrow::Array> dictionary =
      checked_cast<const arrow::DictionaryArray&>(values).dictionary();
  if (known != nullptr && known->data() == dictionary->data()) return arrow::Status::OK();
  known = nullptr;
  ARROW_RETURN_NOT_OK(dictionary->ValidateFull());
  known = dictionary;
  return arrow::Status::OK();
}

}  // namespace tessera::arrow_plugin
