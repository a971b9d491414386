// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/read_plan.hpp"

#include "base/at.hpp"
#include "base/did_you_mean.hpp"
#include "base/errors.hpp"
#include "gam/data/frame/factor_levels.hpp"
#include "gam/data/frame/field_parsing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

constexpr std::size_t max_listed_names = 20;

[[noreturn]] void unknown_column(const std::string& path, std::span<const std::string> names,
                                 const std::string& wanted) {
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), max_listed_names); ++i)
    list += fmt::format("{}{}", i == 0 ? "" : ", ", visible_text(names[i]));
  if (names.size() > max_listed_names) list += fmt::format(" and {} more", names.size() - max_listed_names);
  const bool other_separator = names.size() == 1 && names[0].find_first_of(";\t|, ") != std::string::npos;
  throw base::input_error(
      "{}: unknown column '{}'{}; it has: {}{}", path, visible_text(wanted),
      visible_text(base::did_you_mean(names, wanted)), list,
      other_separator
          ? " (one column, because no separator splits all rows into the same number of fields: give the "
            "separator by the option sep, or the number of lines above the header by the option skip)"
          : "");
}

/// Makes the column a factor, of numbers unless a field turns out to be a text. Keeps known levels.
void make_number_factor(UsedColumn& column) {
  column.text = column.typed = column.made_factor = true;
  if (column.known_levels == nullptr) column.number_levels = true;
}

}  // namespace

std::optional<std::size_t> UsedColumn::position_among(std::span<const std::string> file_columns) const {
  // Files of one table usually have the same order.
  if (at(position) < file_columns.size() && file_columns[at(position)] == name) return at(position);
  const auto found = std::ranges::find(file_columns, name);
  if (found == file_columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - file_columns.begin());
}

void UsedColumn::make_factor(const std::vector<std::string>* order) {
  level_order = order;
  text = typed = true;
  made_factor = number_levels = false;
}

ReadPlan::ReadPlan(const FrameRequest& request, std::span<const std::string> file_columns, std::string path)
    : request_(&request), path_(std::move(path)) {
  numbers_may_be_missing_ = std::ranges::any_of(request.options.missing, [](const std::string& field) {
    return field_number(trimmed_field(field), false) || field_number(trimmed_field(field), true);
  });
  // A hash map, because there may be tens of thousands of columns. A duplicate name means its first column.
  std::unordered_map<std::string_view, int> position_of;
  for (std::size_t i = 0; i < file_columns.size(); ++i)
    position_of.emplace(file_columns[i], static_cast<int>(i));
  std::unordered_set<std::string_view> planned;
  std::map<std::pair<std::string, std::string>, std::size_t> place_of;  // by name and factor call
  for (const Expression& expression : request.variables) {
    if (!planned.insert(expression.text).second) continue;
    const auto is_among = [&](const std::vector<std::string>& texts) {
      return std::ranges::find(texts, expression.text) != texts.end();
    };
    PlannedVariable variable{.expression = &expression,
                             .columns = {},
                             .may_be_infinite = is_among(request.unbounded),
                             .wants_median = is_among(request.medians),
                             .left_out_if_infinite = is_among(request.left_out_if_infinite),
                             .unseen_is_complete = is_among(request.unseen_is_complete)};
    const bool needs_numbers = !expression.is_column() || is_among(request.numeric);
    if (needs_numbers && expression.factor)
      throw base::usage_error("{} has levels, but the model needs numbers: convert the column to numbers",
                              expression.text);
    const std::string factor_call = expression.factor ? expression.text : std::string();
    for (const std::string& name : expression.columns()) {
      const auto [place, is_new] = place_of.emplace(std::pair(name, factor_call), columns_.size());
      if (is_new) {
        const auto found = position_of.find(name);
        if (found == position_of.end()) unknown_column(path_, file_columns, name);
        UsedColumn column;
        column.name = name;
        column.factor_call = factor_call;
        column.position = found->second;
        if (expression.factor) make_number_factor(column);
        columns_.push_back(std::move(column));
      }
      if (needs_numbers) columns_[place->second].numbers_for = expression.text;
      variable.columns.push_back(static_cast<int>(place->second));
    }
    for (const auto& [name, levels] : request.known_levels) {
      if (name != expression.text || !expression.is_column()) continue;
      UsedColumn& column = columns_[at(variable.columns[0])];
      column.known_levels = &levels;
      column.text = column.typed = true;
      column.number_levels = are_number_levels(levels);
    }
    if (expression.is_column() && is_among(request.texts)) {
      UsedColumn& column = columns_[at(variable.columns[0])];
      column.text = column.typed = true;
    }
    variables_.push_back(std::move(variable));
  }
  set_known_units(request);
  apply(request.options);
}

void ReadPlan::set_known_units(const FrameRequest& request) {
  for (UsedColumn& column : columns_) {
    const auto known =
        std::ranges::find(request.units, column.name, &std::pair<std::string, std::string>::first);
    if (known == request.units.end() || column.text) continue;
    column.known_unit = known->second;
    column.dates = DateFields::texts;
    if (column.numbers_for.empty()) column.numbers_for = column.name;
  }
}

// Throws for an option that has no effect on this table.
void ReadPlan::apply(const TableOptions& options) {
  // Options do not change factor(x), which is always a factor.
  const auto for_each = [&](const std::string& name, const char* kind, const auto& work) {
    bool found = false;
    for (UsedColumn& column : columns_) {
      if (column.name != name) continue;
      found = true;
      if (column.factor_call.empty()) work(column);
    }
    if (!found)
      throw base::usage_error(
          "{} '{}': the formula does not use a column of this name: leave the name out, or correct the name",
          kind, name);
  };
  for (const std::string& name : options.numbers) {
    for_each(name, "numeric column", [&](UsedColumn& column) {
      if (column.numbers_for.empty()) column.numbers_for = name;
    });
  }
  for (const std::string& name : options.dates) {
    for_each(name, "date", [&](UsedColumn& column) {
      if (column.text)
        throw base::usage_error("date '{}': the model needs the levels of this column: leave it out", name);
      if (column.numbers_for.empty()) column.numbers_for = name;
      column.dates = DateFields::all;
    });
  }
  for (const std::string& name : options.factors) {
    for_each(name, "factor", [&](UsedColumn& column) {
      if (!column.numbers_for.empty())
        throw base::usage_error(
            "factor '{}': {} numbers in this column: leave it out of the factors", name,
            column.numbers_for == name ? "the model needs" : column.numbers_for + " needs");
      make_number_factor(column);
    });
  }
}

std::string ReadPlan::place(std::int64_t row_number) const {
  return places_ ? places_(row_number) : fmt::format("{}, row {}", path_, row_number);
}

void ReadPlan::set_quotes(std::string_view quotes) {
  has_quotes_ = true;
  if (quotes.find_first_not_of('"') == std::string_view::npos) return;
  for (UsedColumn& column : columns_)
    column.quoted_apart = at(column.position) < quotes.size() && quotes[at(column.position)] == '"';
}

bool ReadPlan::is_factor(const PlannedVariable& variable) const {
  return variable.expression->is_column() && columns_[at(variable.columns[0])].text;
}

const ColumnNumbers* ReadPlan::in_memory(const PlannedVariable& variable) const {
  if (!variable.expression->is_column()) return nullptr;
  return columns_[at(variable.columns[0])].in_memory;
}

bool ReadPlan::is_missing(std::string_view field) const {
  return std::ranges::find(request_->options.missing, field) != request_->options.missing.end();
}

}  // namespace TESSERA_NAMESPACE::gam
