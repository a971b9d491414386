// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/iso_date.hpp"

#include <chrono>
#include <cstdint>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t seconds_of_day = 86'400;

/// Parses a text from its beginning; each `take` consumes the characters that it recognises.
class DateText {
 public:
  explicit DateText(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool ended() const { return rest_.empty(); }
  [[nodiscard]] bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// Takes a number of exactly `digits` digits that is at most `most`.
  [[nodiscard]] bool take(std::size_t digits, std::int64_t most, std::int64_t& number) {
    if (rest_.size() < digits) return false;
    number = 0;
    for (const char c : rest_.substr(0, digits)) {
      if (c < '0' || c > '9') return false;
      number = 10 * number + (c - '0');
    }
    rest_.remove_prefix(digits);
    return number <= most;
  }
  [[nodiscard]] std::size_t digits() const {
    const std::size_t end = rest_.find_first_not_of("0123456789");
    return end == std::string_view::npos ? rest_.size() : end;
  }

 private:
  std::string_view rest_;
};

/// Seconds plus `fraction` / 10^`digits`: a number of microseconds (or nanoseconds, for more than 6 digits),
/// divided by a power of ten. The result has the same bits as for an Arrow column of this unit.
double with_fraction(std::int64_t seconds, std::int64_t fraction, std::size_t digits) {
  const std::size_t kept = digits <= 6 ? 6 : 9;
  std::int64_t power = 1;
  for (std::size_t i = 0; i < kept; ++i) {
    power *= 10;
    if (i >= digits) fraction *= 10;
  }
  std::int64_t whole = 0;
  if (__builtin_mul_overflow(seconds, power, &whole) || __builtin_add_overflow(whole, fraction, &whole))
    return static_cast<double>(seconds) + static_cast<double>(fraction) / static_cast<double>(power);
  return static_cast<double>(whole) / static_cast<double>(power);
}

/// Takes an offset at the end of a time, as seconds east of UTC; nothing if the text is not an offset.
std::optional<std::int64_t> take_offset(DateText& text) {
  if (text.ended() || (text.take('Z') && text.ended())) return 0;
  const bool west = text.take('-');
  std::int64_t hours = 0;
  std::int64_t minutes = 0;
  if ((!west && !text.take('+')) || !text.take(2, 23, hours)) return std::nullopt;
  if (!text.ended()) {
    const bool colon = text.take(':');
    if (!text.take(2, 59, minutes) || (!colon && !text.ended())) return std::nullopt;
  }
  if (!text.ended()) return std::nullopt;
  return (west ? -60 : 60) * (60 * hours + minutes);
}

}  // namespace

std::optional<IsoDate> parse_iso_date(std::string_view text) {
  DateText rest(text);
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
  if (!rest.take(4, 9999, year) || !rest.take('-') || !rest.take(2, 12, month) || !rest.take('-') ||
      !rest.take(2, 31, day))
    return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  IsoDate found{.days = static_cast<double>(days), .seconds = static_cast<double>(days * seconds_of_day)};
  if (rest.ended()) return found;

  std::int64_t hour = 0;
  std::int64_t minute = 0;
  std::int64_t second = 0;
  std::int64_t fraction = 0;
  std::size_t digits = 0;
  if ((!rest.take('T') && !rest.take(' ')) || !rest.take(2, 23, hour) || !rest.take(':') ||
      !rest.take(2, 59, minute))
    return std::nullopt;
  if (rest.take(':')) {
    if (!rest.take(2, 59, second)) return std::nullopt;
    if (rest.take('.') || rest.take(',')) {
      digits = rest.digits();
      if (digits == 0 || digits > 9 || !rest.take(digits, 999'999'999, fraction)) return std::nullopt;
    }
  }
  const std::optional<std::int64_t> offset = take_offset(rest);
  if (!offset) return std::nullopt;
  found.has_time = true;
  found.seconds =
      with_fraction(days * seconds_of_day + 3600 * hour + 60 * minute + second - *offset, fraction, digits);
  return found;
}

}  // namespace TESSERA_NAMESPACE::gam
