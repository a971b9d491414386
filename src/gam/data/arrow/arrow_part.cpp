// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/arrow_part.hpp"

#include "base/at.hpp"
#include "base/cancellation.hpp"
#include "gam/data/arrow/arrow_batches.hpp"
#include "gam/data/frame/frame_part.hpp"
#include "gam/data/frame/level_cache.hpp"

#include <tessera/error.hpp>
#include <tessera/printable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;
using ArrowKind = ArrowType::Kind;

/// Number of values between two checks for a request to stop.
constexpr std::size_t values_between_questions = std::size_t{1} << 16;

/// Calls `use(T{})` with the C++ type T for an Arrow type's numbers.
template <class Use>
void with_numbers_of(const ArrowType& type, const Use& use) {
  if (type.kind == ArrowKind::real) return type.bytes == 4 ? use(float{}) : use(double{});
  const bool is_signed = type.kind == ArrowKind::integer;
  switch (type.bytes) {
    case 1: return is_signed ? use(std::int8_t{}) : use(std::uint8_t{});
    case 2: return is_signed ? use(std::int16_t{}) : use(std::uint16_t{});
    case 4: return is_signed ? use(std::int32_t{}) : use(std::uint32_t{});
    default: return is_signed ? use(std::int64_t{}) : use(std::uint64_t{});
  }
}

/// Converts signed 64-bit integers; `numbers` may be the memory of the values. False if some integer may have
/// no exact double.
bool convert_integers(const ArrowValues& values, std::span<double> numbers) {
  // Processors before AVX-512 have no vector instruction for this. Each half of the bits, placed below the
  // exponent bits of 2^52 or 2^84, is an exact double; the sum of the two halves is rounded once.
  constexpr double low_shift = 0x1p52;
  constexpr double high_shift = 0x1p84 + 0x1p63;  // half of the high range, because it is signed
  constexpr auto low_bits = std::bit_cast<std::uint64_t>(low_shift);
  constexpr auto high_bits = std::bit_cast<std::uint64_t>(high_shift);
  constexpr std::uint64_t low_half = 0xffffffff;
  constexpr std::uint64_t bound = std::uint64_t{1} << 52;
  constexpr std::size_t width = 2;
  using Two = double __attribute__((vector_size(width * sizeof(double))));
  using TwoIntegers = std::uint64_t __attribute__((vector_size(width * sizeof(double))));
  TwoIntegers beyond{};
  const auto convert = [&](TwoIntegers some) {
    beyond |= some + bound;
    const Two low = std::bit_cast<Two>((some & low_half) | low_bits);
    const Two high = std::bit_cast<Two>((some >> 32) ^ high_bits);
    return high - (high_shift + low_shift) + low;
  };
  std::size_t i = 0;
  for (; i + width <= numbers.size(); i += width) {
    const Two converted = convert(std::bit_cast<TwoIntegers>(values.numbers<std::uint64_t, width>(i)));
    std::memcpy(&numbers[i], &converted, sizeof converted);
  }
  if (i < numbers.size()) numbers[i] = convert(TwoIntegers{} + values.number<std::uint64_t>(i))[0];
  return (beyond[0] | beyond[1]) < 2 * bound;
}

void read_numbers(const ArrowType& type, const ArrowValues& values, ArrowPart& part) {
  const bool doubles = type.kind == ArrowKind::real && type.bytes == sizeof(double);
  const auto in_place = doubles ? values.in_place<double>() : std::span<const double>();
  if (!in_place.empty() && !values.has_nulls()) {
    part.numbers = in_place;
    return;
  }
  if (part.to.size() != values.size()) part.own_numbers.resize(values.size());
  const std::span<double> numbers = part.to.size() == values.size() ? part.to : std::span(part.own_numbers);
  bool exact = !type.is_integer() || type.bytes < 8;
  if (!in_place.empty()) {
    std::ranges::copy(in_place, numbers.begin());
  } else if (type.kind == ArrowKind::integer && !exact) {
    exact = convert_integers(values, numbers);
  } else {
    with_numbers_of(type, [&]<class T>(T) {
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(values.number<T>(i));
    });
  }
  if (type.per_unit != 1) {
    for (double& number : numbers) number /= type.per_unit;
  }
  values.for_each_null([&](std::size_t i) { numbers[i] = std::numeric_limits<double>::quiet_NaN(); });
  constexpr double most = 1LL << std::numeric_limits<double>::digits;
  if (!exact)
    part.inexact = std::ranges::count_if(numbers, [](double number) { return std::abs(number) > most; });
  part.numbers = numbers;
}

void read_truths(const ArrowValues& values, ArrowPart& part) {
  part.texts = {"FALSE", "TRUE"};
  part.own_codes.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    part.own_codes[i] = values.is_null(i) ? Variable::missing : static_cast<std::int32_t>(values.truth(i));
  part.codes = part.own_codes;
}

void read_texts(const ArrowValues& values, const std::string& what, ArrowPart& part) {
  std::unordered_map<std::string_view, std::int32_t> code_of;
  const auto cache = std::make_unique<LevelCache<std::int32_t>>();
  part.own_codes.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % values_between_questions == 0) base::check_cancelled();
    std::int32_t& code = part.own_codes[i];
    code = Variable::missing;
    if (values.is_null(i)) continue;
    const std::string_view text = values.text(i);
    if (const std::int32_t* const cached = cache->find(text)) {
      code = *cached;
      continue;
    }
    const auto [found, is_new] = code_of.emplace(text, static_cast<std::int32_t>(code_of.size()));
    if (is_new) {
      if (part.texts.size() == max_levels) refuse_many_texts(what);
      part.texts.emplace_back(text);
    }
    code = found->second;
    cache->keep(text, code);
  }
  part.codes = part.own_codes;
}

void read_codes(const ArrowColumn& column, const ArrowArray& array, const ArrowValues& values,
                const std::string& what, ArrowPart& part) {
  const std::string of_dictionary = what + ", its dictionary";
  const ArrowArray& dictionary = *array.dictionary;
  if (dictionary.length > static_cast<std::int64_t>(max_levels)) refuse_many_texts(of_dictionary);
  const ArrowValues texts(dictionary, column.dictionary, 0, std::max<std::int64_t>(dictionary.length, 0),
                          of_dictionary);
  for (std::size_t i = 0; i < texts.size(); ++i)
    part.texts.push_back(texts.is_null(i) ? std::nullopt : std::optional(texts.text(i)));
  if (column.type.kind == ArrowKind::integer && column.type.bytes == sizeof(std::int32_t) &&
      !values.has_nulls() && !texts.has_nulls()) {
    part.codes = values.in_place<std::int32_t>();
    if (part.codes.size() == values.size() && all_levels(part.codes, texts.size())) return;
  }
  std::vector<std::int32_t>& codes = part.own_codes;
  codes.resize(values.size());
  constexpr std::int32_t beyond = std::numeric_limits<std::int32_t>::min();
  with_numbers_of(column.type, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const T index = values.number<T>(i);
        const bool known = std::cmp_greater_equal(index, 0) && std::cmp_less(index, texts.size());
        codes[i] = known ? static_cast<std::int32_t>(index) : beyond;
      }
      values.for_each_null([&](std::size_t i) { codes[i] = Variable::missing; });
      const auto fault = static_cast<std::size_t>(std::ranges::find(codes, beyond) - codes.begin());
      if (fault < codes.size())
        refuse_arrow(ErrorCode::input,
                     "{}: value {} has the index {}, but the dictionary has {} entries (indices begin at 0)",
                     what, fault + 1, values.number<T>(fault), texts.size());
    }
  });
  for (std::int32_t& code : codes) {
    if (texts.has_nulls() && code >= 0 && texts.is_null(at(code))) code = Variable::missing;
  }
  part.codes = codes;
}

}  // namespace

std::string quoted_column(const std::string& column) {
  return fmt::format("the column '{}'", printable(column));
}

void refuse_many_texts(const std::string& what) {
  refuse_arrow(
      ErrorCode::input,
      "{} has more than {} distinct texts, the maximum number of levels of a factor: leave the column out",
      what, max_levels);
}

std::string_view ArrowColumn::unit() const {
  const std::string_view format = schema->format;
  if (format == "tdD") return days_unit;
  return format.starts_with("ts") ? seconds_unit : "";
}

ArrowColumn arrow_column(const ArrowSchema& batches, std::int64_t place) {
  const ArrowSchema& schema = *batches.children[place];
  const std::string name = schema.name == nullptr ? "" : schema.name;
  ArrowColumn column{
      .name = name, .place = place, .schema = &schema, .type = arrow_type(schema, quoted_column(name))};
  if (column.coded()) {
    column.dictionary = arrow_type(*schema.dictionary, "the dictionary of " + quoted_column(name));
    column.ordered = (schema.flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0;
    if (!column.type.is_integer() || !column.dictionary.is_text())
      refuse_arrow(
          ErrorCode::input,
          "{} has a dictionary of the format '{}' with indices of the "
          "format '{}': only texts with integer indices are read: cast the column, or leave the column out",
          quoted_column(name), printable(schema.dictionary->format), printable(schema.format));
  }
  return column;
}

void read_part(const ArrowColumn& column, const ArrowArray& batch, const std::string& what, ArrowPart& part) {
  part.numbers = {};
  part.codes = {};
  part.texts.clear();
  part.inexact = 0;
  const ArrowArray* const array = batch.children[column.place];
  if (array == nullptr) refuse_arrow(ErrorCode::input, what + ": its array is a null pointer");
  if ((array->dictionary != nullptr) != column.coded())
    refuse_arrow(ErrorCode::input, "{}: its array has {} dictionary, contrary to the schema", what,
                 column.coded() ? "no" : "a");
  const ArrowValues values(*array, column.type, batch.offset, batch.length, what);
  if (column.coded())
    read_codes(column, *array, values, what, part);
  else if (column.type.is_text())
    read_texts(values, what, part);
  else if (column.type.kind == ArrowKind::boolean)
    read_truths(values, part);
  else
    read_numbers(column.type, values, part);
}

}  // namespace TESSERA_NAMESPACE::gam
