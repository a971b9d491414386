// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/number.hpp"
#include "base/text.hpp"

#include <tessera/gam/options.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Parsing and printing of option values, by the type of the member that stores the value.
namespace TESSERA_NAMESPACE::gam {

[[noreturn]] void refuse(const NamedOption& given, std::string_view why);

/// An option's name in lower case, with '-' between words and without leading '-'.
[[nodiscard]] std::string plain_name(std::string_view name);

struct NumberRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

/// Names and values of an enumeration, in the order of the help.
template <class Value>
struct OptionChoices;

template <>
struct OptionChoices<PredictionType> {
  static constexpr std::array<std::pair<std::string_view, PredictionType>, 5> all{
      {{"link", PredictionType::link},
       {"response", PredictionType::response},
       {"terms", PredictionType::terms},
       {"iterms", PredictionType::iterms},
       {"lpmatrix", PredictionType::lpmatrix}}};
};
template <>
struct OptionChoices<ResidualType> {
  static constexpr std::array<std::pair<std::string_view, ResidualType>, 10> all{
      {{"deviance", ResidualType::deviance},
       {"pearson", ResidualType::pearson},
       {"response", ResidualType::response},
       {"working", ResidualType::working},
       {"partial", ResidualType::partial},
       {"fitted", ResidualType::fitted},
       {"linear-predictor", ResidualType::linear_predictor},
       {"working-weight", ResidualType::working_weight},
       {"all", ResidualType::all},
       {"fit", ResidualType::fit}}};
};
template <>
struct OptionChoices<NewLevels> {
  static constexpr std::array<std::pair<std::string_view, NewLevels>, 4> all{
      {{"mgcv", NewLevels::mgcv},
       {"population", NewLevels::population},
       {"na", NewLevels::na},
       {"error", NewLevels::error}}};
};
template <>
struct OptionChoices<ResponsesIn> {
  static constexpr std::array<std::pair<std::string_view, ResponsesIn>, 3> all{
      {{"auto", ResponsesIn::automatic}, {"rows", ResponsesIn::rows}, {"columns", ResponsesIn::columns}}};
};
template <>
struct OptionChoices<CurveTest> {
  static constexpr std::array<std::pair<std::string_view, CurveTest>, 5> all{
      {{"association", CurveTest::association},
       {"start-vs-end", CurveTest::start_vs_end},
       {"diff-end", CurveTest::diff_end},
       {"pattern", CurveTest::pattern},
       {"condition", CurveTest::condition}}};
};
template <>
struct OptionChoices<Policy> {
  static constexpr std::array<std::pair<std::string_view, Policy>, 3> all{
      {{"auto", Policy::automatic}, {"gpu", Policy::gpu}, {"cpu", Policy::cpu}}};
};
template <>
struct OptionChoices<OnDeviceFailure> {
  static constexpr std::array<std::pair<std::string_view, OnDeviceFailure>, 3> all{
      {{"cpu", OnDeviceFailure::cpu},
       {"error", OnDeviceFailure::error},
       {"exclude", OnDeviceFailure::exclude}}};
};
template <>
struct OptionChoices<ScoreModel> {
  static constexpr std::array<std::pair<std::string_view, ScoreModel>, 2> all{
      {{"spec", ScoreModel::spec}, {"throughput", ScoreModel::throughput}}};
};

/// Parses an option's text and sets `value`, or appends to a list of names. Throws `Error(usage)`.
void set_value(const NamedOption& given, const NumberRange& range, bool& value);
void set_value(const NamedOption& given, const NumberRange& range, double& value);
void set_value(const NamedOption& given, const NumberRange& range, std::optional<double>& value);
void set_value(const NamedOption& given, const NumberRange& range, std::string& value);
void set_value(const NamedOption& given, const NumberRange& range, std::vector<double>& value);
void set_value(const NamedOption& given, const NumberRange& range, std::vector<std::string>& value);
void set_value(const NamedOption& given, const NumberRange& range,
               std::optional<std::vector<std::string>>& value);
void set_value(const NamedOption& given, const NumberRange& range, std::optional<std::int64_t>& bytes);

template <std::integral Integer>
void set_value(const NamedOption& given, const NumberRange& range, Integer& value) {
  const auto number = base::parse_number<Integer>(base::trimmed(given.value));
  if (number && static_cast<double>(*number) >= range.least && static_cast<double>(*number) <= range.most) {
    value = *number;
    return;
  }
  refuse(given, std::isinf(range.most)
                    ? fmt::format("give a whole number, {} or more", range.least)
                    : fmt::format("give a whole number from {} to {}", range.least, range.most));
}

template <class Value>
requires std::is_enum_v<Value>
void set_value(const NamedOption& given, const NumberRange&, Value& value) {
  std::string words;
  for (const auto& [word, own] : OptionChoices<Value>::all) {
    if (word == given.value) {
      value = own;
      return;
    }
    words.append(words.empty() ? "" : ", ").append(word);
  }
  refuse(given, "give one of " + words);
}

/// Parses "dose=low,mid,high"; a text in double quotes may contain ',' and '='. `all`: refuses a column
/// without levels.
void add_levels(std::map<std::string, std::vector<std::string>>& lists, const NamedOption& given, bool all);

/// The inverse of `set_value`; levels are written as "dose=low,mid site=a". Empty for an empty optional.
template <class Value>
[[nodiscard]] std::string text_of_value(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    const auto& all = OptionChoices<Value>::all;
    return std::string(std::ranges::find(all, value, [](const auto& one) { return one.second; })->first);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? text_of_value(*value) : std::string();
  } else if constexpr (requires { typename Value::mapped_type; }) {
    std::string text;
    for (const auto& [name, list] : value)
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, fmt::join(list, ","));
    return text;
  } else if constexpr (requires { typename Value::value_type; } && !std::same_as<Value, std::string>) {
    return fmt::format("{}", fmt::join(value, ","));
  } else {
    return fmt::format("{}", value);
  }
}

template <class Value>
[[nodiscard]] constexpr OptionKind option_kind_of() {
  if constexpr (std::same_as<Value, bool>)
    return OptionKind::flag;
  else if constexpr (std::is_enum_v<Value>)
    return OptionKind::choice;
  else if constexpr (std::integral<Value>)
    return OptionKind::integer;
  else if constexpr (std::floating_point<Value> || std::same_as<Value, std::optional<double>>)
    return OptionKind::number;
  else if constexpr (std::same_as<Value, std::optional<std::int64_t>>)
    return OptionKind::size;
  else if constexpr (std::same_as<Value, std::vector<double>>)
    return OptionKind::numbers;
  else if constexpr (std::same_as<Value, std::string>)
    return OptionKind::text;
  else
    return OptionKind::names;
}

}  // namespace TESSERA_NAMESPACE::gam
