// SPDX-License-Identifier: Apache-2.0
#include "gam/options/option_values.hpp"

#include "base/errors.hpp"

#include <set>

namespace TESSERA_NAMESPACE::gam {
namespace {

double number_from(const NamedOption& given, std::string_view text) {
  const auto number = base::parse_number<double>(base::trimmed(text));
  if (!number || !std::isfinite(*number)) refuse(given, fmt::format("'{}' is not a finite number", text));
  return *number;
}

/// Removes the text before `end` from the front of `rest`, and returns this text. A quoted text may contain
/// `end`, and "" for a quote.
std::string take_text(const NamedOption& given, std::string_view& rest, char end) {
  std::string text;
  if (!rest.starts_with('"')) {
    text = rest.substr(0, rest.find(end));
    rest.remove_prefix(text.size());
    return text;
  }
  for (rest.remove_prefix(1); !rest.empty(); rest.remove_prefix(1)) {
    if (rest[0] == '"') {
      rest.remove_prefix(1);
      if (!rest.starts_with('"')) {
        if (!rest.empty() && rest[0] != end)
          refuse(given, "text follows a closing quote: write a quote inside a quoted text as two quotes");
        return text;
      }
    }
    text += rest[0];
  }
  refuse(given,
         "a quote is not closed: add the closing quote, or write \"\"\"text\" for a text that begins with a "
         "quote");
}

}  // namespace

void refuse(const NamedOption& given, std::string_view why) {
  throw base::usage_error("{} '{}': {}", given.name, given.value, why);
}

std::string plain_name(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string plain(name);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '.' || c == '_') c = '-';
  }
  return plain;
}

void set_value(const NamedOption& given, const NumberRange& /*range*/, bool& value) {
  const std::string word = plain_name(given.value);
  value = word == "true" || word == "yes" || word == "1";
  if (!value && word != "false" && word != "no" && word != "0") refuse(given, "give true or false");
}

void set_value(const NamedOption& given, const NumberRange& range, double& value) {
  value = number_from(given, given.value);
  if (value < range.least || value > range.most)
    refuse(given, fmt::format("give a number from {} to {}", range.least, range.most));
}

void set_value(const NamedOption& given, const NumberRange& range, std::optional<double>& value) {
  set_value(given, range, value.emplace());
}

void set_value(const NamedOption& given, const NumberRange& /*range*/, std::string& value) {
  value = given.value;
}

void set_value(const NamedOption& given, const NumberRange& /*range*/, std::vector<double>& value) {
  value.clear();
  for (const std::string_view part : base::split(given.value, ',')) value.push_back(number_from(given, part));
}

void set_value(const NamedOption& given, const NumberRange& /*range*/, std::vector<std::string>& value) {
  for (std::string& one : labels_in(given.value)) value.push_back(std::move(one));
}

void set_value(const NamedOption& given, const NumberRange& range,
               std::optional<std::vector<std::string>>& value) {
  if (!value) value.emplace();
  set_value(given, range, *value);
}

void set_value(const NamedOption& given, const NumberRange& /*range*/, std::optional<std::int64_t>& bytes) {
  constexpr std::string_view units = "kmgt";  // 2GB and 2GiB are also allowed
  std::string_view text = base::trimmed(given.value);
  const auto number = base::take_number<std::int64_t>(text);
  std::string unit = plain_name(base::trimmed(text));
  if (unit.ends_with('b')) unit.pop_back();
  if (unit.size() > 1 && unit.ends_with('i')) unit.pop_back();
  const std::size_t power = unit.empty() ? 0 : units.find(unit) + 1;
  if (!number || *number < 0 || unit.size() > 1 || (power == 0 && !unit.empty()) ||
      *number > std::numeric_limits<std::int64_t>::max() >> (10 * power))
    refuse(given, "give a size, such as 2G");
  bytes = *number << (10 * power);
}

void add_levels(std::map<std::string, std::vector<std::string>>& lists, const NamedOption& given, bool all) {
  std::string_view rest = given.value;
  const std::string column = take_text(given, rest, '=');
  std::vector<std::string> levels;
  std::set<std::string> known;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    levels.push_back(take_text(given, rest, ','));
    if (!known.insert(levels.back()).second)
      refuse(given, fmt::format("the level '{}' is given twice: remove one of the two", levels.back()));
  }
  if (all && levels.empty()) refuse(given, "give a column with levels, such as site=bay,cape");
  if (!lists.emplace(column, std::move(levels)).second)
    refuse(given, "the column is given twice: give each column once");
}

}  // namespace TESSERA_NAMESPACE::gam
