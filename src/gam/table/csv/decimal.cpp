// SPDX-License-Identifier: Apache-2.0
#include "gam/table/csv/decimal.hpp"

namespace tessera::gam::decimal {
namespace {

/// Up to eight digits behind those of a number. `fault` is no longer 0 once one is none; beyond 19 in all the
/// number is no longer right.
void append_eight(const char* at, int count, std::uint64_t& number, std::uint64_t& fault) noexcept {
  // Digits of nothing come before them; by two shifts, as one of 64 bits is undefined.
  const int shift = 32 - 4 * count;
  const std::uint64_t eight = (eight_at(at) << shift) << shift;
  fault |= no_digits(eight);
  number = number * powers_of_ten[static_cast<std::size_t>(count)] + value_of(eight);
}

void append_digits(const char* at, int count, std::uint64_t& number, std::uint64_t& fault) noexcept {
  for (; count > 0; at += 8, count -= 8) append_eight(at, std::min(count, 8), number, fault);
}

/// Of 9 to 20 characters, with the point among the first eight or without one; false for all others.
bool read_by_eights(std::string_view text, Scaled& read) noexcept {
  const std::uint64_t first = eight_at(text.data());
  const int point = no_digits(first) != 0 ? 1 : 0;
  const int rest = static_cast<int>(std::min<std::size_t>(text.size(), std::size_t{2} * max_digits)) - 8;
  if (8 - point + rest > max_digits || !read_eight(first, read)) return false;
  std::uint64_t fault = 0;
  // As many steps for each size, which differ from field to field.
  const int second = std::min(rest, 8);
  append_eight(text.data() + 8, second, read.number, fault);
  append_eight(text.data() + 8 + second, rest - second, read.number, fault);
  read.places += point * rest;
  return fault == 0;
}

/// Digits up to the first character that is none, `size` at most.
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
  constexpr std::size_t longest = 1000;  // that is looked at: zeros in front are no fault
  const char* const at = text.data();
  const int size = static_cast<int>(std::min(text.size(), longest));
  const int whole = count_digits(at, size);
  const int places = std::max(0, size - whole - 1);
  if (whole + places == 0 || whole > max_digits || (whole < size && at[whole] != '.')) return false;
  std::uint64_t fault = 0;
  read = {.number = 0, .places = places};
  append_digits(at, whole, read.number, fault);
  const int digits = read.number == 0 ? places : whole + places;  // zeros in front take no room
  if (digits > max_digits) return false;
  append_digits(at + whole + 1, places, read.number, fault);
  return fault == 0;
}

std::uint64_t quotient_of(std::uint64_t number, std::uint64_t power) noexcept {
  const Wide dividend = static_cast<Wide>(number) << 63;
  const auto quotient = static_cast<std::uint64_t>(dividend / power);
  return static_cast<Wide>(quotient) * power == dividend ? quotient : quotient | 1;
}

}  // namespace tessera::gam::decimal
