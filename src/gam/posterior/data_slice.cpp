// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/number.hpp"
#include "gam/formula/formula.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/posterior.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Maximum number of combinations; larger requests should be made as a table.
constexpr std::int64_t most_rows = 100'000'000;

/// A column of the formula's right-hand side, and its summary in the model or null.
struct ColumnOfModel {
  std::string name;
  const VariableSummary* summary;
};

std::vector<ColumnOfModel> columns_of(const FittedModel& model) {
  const auto summary_of = [&](const std::string& text) -> const VariableSummary* {
    const auto found = std::ranges::find(model.outline.summaries, text, &VariableSummary::name);
    return found == model.outline.summaries.end() ? nullptr : &*found;
  };
  const FormulaTerms terms = parse_terms(model.formula);
  std::vector<ColumnOfModel> columns;
  for (const Expression& variable : terms.variables()) {
    if (variable.text == terms.response.text) continue;
    for (const std::string& name : variable.columns()) {
      // If only factor(x) reads x, the summary of factor(x) is used for x.
      const VariableSummary* summary = summary_of(column_expression(name).text);
      if (summary == nullptr && variable.is_column()) summary = summary_of(variable.text);
      const auto known = std::ranges::find(columns, name, &ColumnOfModel::name);
      if (known == columns.end())
        columns.push_back({name, summary});
      else if (known->summary == nullptr)
        known->summary = summary;
    }
  }
  return columns;
}

struct Values {
  std::vector<double> numbers;
  std::vector<std::string> levels;
  [[nodiscard]] std::size_t count() const { return std::max(numbers.size(), levels.size()); }
};

Values parsed(const ChosenValues& chosen, const VariableSummary& summary) {
  Values values;
  for (const std::string& text : chosen.values) {
    if (summary.factor) {
      values.levels.push_back(text);
      continue;
    }
    const auto number = base::parse_number<double>(text);
    if (!number || !std::isfinite(*number))
      throw base::usage_error("{}: the value '{}' is not a finite number: give numbers", chosen.column, text);
    values.numbers.push_back(*number);
  }
  if (values.count() == 0) throw base::usage_error("{} has no value: give one or more values", chosen.column);
  return values;
}

/// Rows [rows.begin, rows.end) of a column that cycles through its values, each repeated `run` times.
Table::Column column_of(const std::string& name, const Values& values, std::int64_t run, Range rows) {
  const auto place = [&](std::int64_t row) { return at(row / run) % values.count(); };
  if (values.levels.empty()) {
    std::vector<double> numbers;
    for (std::int64_t row = rows.begin; row < rows.end; ++row) numbers.push_back(values.numbers[place(row)]);
    return {name, std::move(numbers)};
  }
  Factor factor;
  for (const std::string& level : values.levels) {
    if (std::ranges::find(factor.levels, level) == factor.levels.end()) factor.levels.push_back(level);
  }
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const auto level = std::ranges::find(factor.levels, values.levels[place(row)]);
    factor.codes.push_back(static_cast<std::int32_t>(level - factor.levels.begin()));
  }
  return {name, std::move(factor)};
}

class Slicer {
 public:
  Slicer(const FittedModel& model, std::span<const ChosenValues> chosen)
      : model_(model), columns_(columns_of(model)) {
    for (const ChosenValues& one : chosen) choose(one);
    for (const ColumnOfModel& column : columns_) {
      if (std::ranges::find(names_, column.name) != names_.end()) continue;
      const VariableSummary& summary = summary_of(column);
      names_.push_back(column.name);
      values_.emplace_back();
      typical_ += typical_.empty() ? "" : ", ";
      if (summary.factor) {
        values_.back().levels = {summary.level};
        typical_ += fmt::format("{} = '{}'", column.name, summary.level);
      } else {
        values_.back().numbers = {summary.median};
        typical_ += fmt::format("{} = {:.7g}", column.name, summary.median);
      }
    }
  }

  [[nodiscard]] std::int64_t rows() const {
    std::int64_t rows = 1;
    for (const Values& values : values_) {
      const auto count = static_cast<std::int64_t>(values.count());
      if (rows > most_rows / count)
        throw base::usage_error("the given values have more than {} combinations: give fewer values",
                                most_rows);
      rows *= count;
    }
    return rows;
  }
  [[nodiscard]] std::vector<Table::Column> columns(Range rows) const {
    std::vector<Table::Column> columns(names_.size());
    std::int64_t run = 1;
    for (std::size_t i = names_.size(); i-- > 0;) {
      columns[i] = column_of(names_[i], values_[i], run, rows);
      run *= static_cast<std::int64_t>(values_[i].count());
    }
    return columns;
  }
  [[nodiscard]] const std::string& typical() const { return typical_; }

 private:
  void choose(const ChosenValues& chosen) {
    const auto column = std::ranges::find(columns_, chosen.column, &ColumnOfModel::name);
    if (column == columns_.end()) {
      std::string known;
      for (const ColumnOfModel& one : columns_) known += (known.empty() ? "" : ", ") + one.name;
      throw base::usage_error("the model has no column '{}': the columns are {}", chosen.column,
                              known.empty() ? "none" : known);
    }
    if (std::ranges::find(names_, chosen.column) != names_.end())
      throw base::usage_error("values of {} are given twice: give all values of a column at once",
                              chosen.column);
    names_.push_back(chosen.column);
    values_.push_back(parsed(chosen, summary_of(*column)));
  }
  [[nodiscard]] const VariableSummary& summary_of(const ColumnOfModel& column) const {
    if (column.summary != nullptr) return *column.summary;
    throw base::input_error(
        "{}: the model has no typical value of '{}', because an earlier version of tessera-fit wrote it or "
        "the residuals were not stored: give a value",
        model_.path.empty() ? "the model" : model_.path, column.name);
  }

  const FittedModel& model_;
  std::vector<ColumnOfModel> columns_;
  std::vector<std::string> names_;
  std::vector<Values> values_;
  std::string typical_;
};

}  // namespace

DataSlice data_slice(const Job& job, const Model& model, std::span<const ChosenValues> chosen) {
  DataSlice slice;
  together(job.comm(), [&] {
    const Slicer slicer(model.fitted(), chosen);
    const Plan plan = job.plan_for_hosts(slicer.rows());
    slice = {{plan, slicer.columns(job.local_range(plan))}, slicer.typical()};
  });
  return slice;
}

}  // namespace TESSERA_NAMESPACE::gam
