// SPDX-License-Identifier: Apache-2.0
#include "gam/data/csv/decimal.hpp"

namespace TESSERA_NAMESPACE::gam::decimal {
namespace {

/// Appends up to eight digits to a number. Sets `fault` for a character that is not a digit. The number is
/// wrong with more than 19 digits in total.
void append_eight(const char* at, int count, std::uint64_t& number, std::uint64_t& fault) noexcept {
  // Pads with leading zeros. Two shifts, because one shift by 64 bits would be undefined.
  const int shift = 32 - 4 * count;
  const std::uint64_t eight = (eight_at(at) << shift) << shift;
  fault |= no_digits(eight);
  number = number * powers_of_ten[static_cast<std::size_t>(count)] + value_of(eight);
}

void append_digits(const char* at, int count, std::uint64_t& number, std::uint64_t& fault) noexcept {
  for (; count > 0; at += 8, count -= 8) append_eight(at, std::min(count, 8), number, fault);
}

/// Reads 9 to 20 characters without a point, or with a point among the first eight; false for other texts.
bool read_by_eights(std::string_view text, Scaled& read) noexcept {
  const std::uint64_t first = eight_at(text.data());
  const int point = no_digits(first) != 0 ? 1 : 0;
  const int rest = static_cast<int>(std::min<std::size_t>(text.size(), std::size_t{2} * max_digits)) - 8;
  if (8 - point + rest > max_digits || !read_eight(first, read)) return false;
  std::uint64_t fault = 0;
  // The same steps for every length, because branches on the varying lengths of fields would be mispredicted.
  const int second = std::min(rest, 8);
  append_eight(text.data() + 8, second, read.number, fault);
  append_eight(text.data() + 8 + second, rest - second, read.number, fault);
  read.places += point * rest;
  return fault == 0;
}

/// The number of digits before the first character that is not a digit, at most `size`.
int count_digits(const char* at, int size) noexcept {
  int count = 0;
  for (;;) {
    const int digits = std::countr_zero(no_digits(eight_at(at + count))) / 8;
    count += digits;
    if (digits < 8 || count >= size) return std::min(count, size);
  }
}

}  // namespace

bool read_long(std::string_view text, Scaled& read) noexcept {
  if (read_by_eights(text, read)) return true;
  constexpr std::size_t longest = 1000;  // limit for texts with leading zeros
  const char* const at = text.data();
  const int size = static_cast<int>(std::min(text.size(), longest));
  const int whole = count_digits(at, size);
  const int places = std::max(0, size - whole - 1);
  if (whole + places == 0 || whole > max_digits || (whole < size && at[whole] != '.')) return false;
  std::uint64_t fault = 0;
  read = {.number = 0, .places = places};
  append_digits(at, whole, read.number, fault);
  const int digits = read.number == 0 ? places : whole + places;  // leading zeros are not counted
  if (digits > max_digits) return false;
  append_digits(at + whole + 1, places, read.number, fault);
  return fault == 0;
}

std::uint64_t quotient_of(std::uint64_t number, std::uint64_t power) noexcept {
  const Wide dividend = static_cast<Wide>(number) << 63;
  const auto quotient = static_cast<std::uint64_t>(dividend / power);
  return static_cast<Wide>(quotient) * power == dividend ? quotient : quotient | 1;
}

}  // namespace TESSERA_NAMESPACE::gam::decimal
