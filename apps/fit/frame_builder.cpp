// SPDX-License-Identifier: Apache-2.0
#include "frame_builder.hpp"

#include "utf8.hpp"

#include <tessera/error.hpp>
#include <tessera/topology/memory_shortage.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "common/did_you_mean.hpp"

namespace tessera::fit {
namespace {

// A factor has a coefficient for each level, so a column with more texts than this is not meant as one.
constexpr std::size_t max_levels = 100000;
// Names of columns that a message lists.
constexpr std::size_t max_listed = 20;
// Rows that are looked at before the columns' types are agreed on.
constexpr std::int64_t sampled_rows = 1000;

[[noreturn]] void unknown_column(const std::string& path, std::span<const std::string> names,
                                 const std::string& wanted) {
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), max_listed); ++i)
    list += fmt::format("{}{}", i == 0 ? "" : ", ", names[i]);
  if (names.size() > max_listed) list += fmt::format(" and {} more", names.size() - max_listed);
  throw Error(ErrorCode::input, fmt::format("{}: unknown column '{}'{}; the file has: {}", path, wanted,
                                            apps::did_you_mean(names, wanted), list));
}

/// Bytes of a frame for each row: the least that a rank needs for its part of the table.
std::int64_t bytes_per_row(const ReadPlan& plan) {
  std::size_t bytes = sizeof(Frame{}.complete[0]);
  for (const ReadPlan::PlannedVariable& variable : plan.variables())
    bytes += plan.is_factor(variable) ? sizeof(std::int32_t) : sizeof(double);
  return static_cast<std::int64_t>(bytes);
}

/// Refuses a table that cannot be held, before the kernel ends a rank that tries. *Collective.*
void require_memory(const tessera::mpi::Communicator& comm, const ReadPlan& plan, tessera::Range rows) {
  const auto shortage = find_memory_shortage(comm, rows.size() * bytes_per_row(plan));
  if (shortage)
    throw Error(ErrorCode::input, fmt::format("{}: the rows {}", plan.path(), to_string(*shortage)));
}

}  // namespace

ReadPlan::ReadPlan(const FrameRequest& request, std::span<const std::string> file_columns, std::string path)
    : path_(std::move(path)) {
  for (const Expression& expression : request.variables) {
    const bool repeated = std::any_of(variables_.begin(), variables_.end(), [&](const PlannedVariable& v) {
      return v.expression->text == expression.text;
    });
    if (repeated) continue;
    PlannedVariable variable;
    variable.expression = &expression;
    const bool needs_numbers =
        !expression.is_column() ||
        std::find(request.numeric.begin(), request.numeric.end(), expression.text) != request.numeric.end();
    for (const std::string& name : expression.columns()) {
      auto used = std::find_if(columns_.begin(), columns_.end(),
                               [&](const UsedColumn& column) { return column.name == name; });
      if (used == columns_.end()) {
        const auto found = std::find(file_columns.begin(), file_columns.end(), name);
        if (found == file_columns.end()) unknown_column(path_, file_columns, name);
        UsedColumn column;
        column.name = name;
        column.place = static_cast<int>(found - file_columns.begin());
        used = columns_.insert(columns_.end(), std::move(column));
      }
      if (needs_numbers) used->numbers_for = expression.text;
      variable.columns.push_back(static_cast<int>(used - columns_.begin()));
    }
    for (const auto& [name, levels] : request.known_levels) {
      if (name != expression.text || !expression.is_column()) continue;
      UsedColumn& column = columns_[static_cast<std::size_t>(variable.columns[0])];
      column.known_levels = &levels;
      column.text = true;
    }
    variables_.push_back(std::move(variable));
  }
}

bool ReadPlan::is_factor(const PlannedVariable& variable) const {
  return variable.expression->is_column() && columns_[static_cast<std::size_t>(variable.columns[0])].text;
}

FrameBuilder::FrameBuilder(const ReadPlan& plan, tessera::Range rows, std::string_view row_word)
    : plan_(plan), row_word_(row_word) {
  const auto count = static_cast<std::size_t>(rows.size());
  const std::size_t columns = plan.columns().size();
  numbers_.resize(columns);
  codes_.resize(columns);
  arguments_.resize(columns);
  found_text_.resize(columns);
  dictionaries_.resize(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    if (plan.columns()[c].known_levels == nullptr) continue;
    Dictionary& dictionary = dictionaries_[c];
    dictionary.texts = *plan.columns()[c].known_levels;
    for (const std::string& level : dictionary.texts)
      dictionary.codes.emplace(level, static_cast<std::int32_t>(dictionary.codes.size()));
  }
  frame_.rows = rows;
  frame_.complete.resize(count);
  for (const ReadPlan::PlannedVariable& planned : plan.variables()) {
    Variable variable;
    variable.name = planned.expression->text;
    variable.factor = plan.is_factor(planned);
    if (variable.factor)
      variable.codes.resize(count);
    else
      variable.numbers.resize(count);
    frame_.variables.push_back(std::move(variable));
  }
}

std::int32_t FrameBuilder::code_of(std::size_t column, std::string_view text, std::int64_t row_number) {
  Dictionary& dictionary = dictionaries_[column];
  if (const auto known = dictionary.codes.find(text); known != dictionary.codes.end()) return known->second;
  const UsedColumn& used = plan_.columns()[column];
  if (used.known_levels != nullptr)
    throw Error(ErrorCode::input, fmt::format("{}, {} {}: '{}' is not a level of '{}' in the model",
                                              plan_.path(), row_word_, row_number, text, used.name));
  if (dictionary.texts.size() == max_levels)
    throw Error(ErrorCode::input, fmt::format("{}: the text column '{}' has more than {} distinct values; a "
                                              "factor has a coefficient for each",
                                              plan_.path(), used.name, max_levels));
  if (!is_utf8(text))
    throw Error(ErrorCode::input, fmt::format("{}, {} {}: the column '{}' holds a text that is not UTF-8: {}",
                                              plan_.path(), row_word_, row_number, used.name, how_to_utf8));
  const auto code = static_cast<std::int32_t>(dictionary.texts.size());
  dictionary.texts.emplace_back(text);
  dictionary.codes.emplace(text, code);
  return code;
}

void FrameBuilder::set_text(std::size_t column, std::string_view text, std::int64_t row_number) {
  const UsedColumn& used = plan_.columns()[column];
  if (!used.numbers_for.empty())
    throw Error(ErrorCode::input,
                fmt::format("{}, {} {}: the column '{}' holds the text '{}', but {} needs numbers: give a "
                            "number, not in quotes, or NA",
                            plan_.path(), row_word_, row_number, used.name, text,
                            used.numbers_for == used.name ? "the model" : used.numbers_for));
  if (used.text) {
    codes_[column] = code_of(column, text, row_number);
  } else {
    found_text_[column] = 1;
    set_missing(column);
  }
}

void FrameBuilder::end_row(std::int64_t row_number) {
  bool complete = true;
  const Variable* infinite = nullptr;
  bool stays_infinite = false;
  for (std::size_t v = 0; v < frame_.variables.size(); ++v) {
    const ReadPlan::PlannedVariable& planned = plan_.variables()[v];
    Variable& variable = frame_.variables[v];
    if (variable.factor) {
      const std::int32_t code = codes_[static_cast<std::size_t>(planned.columns[0])];
      variable.codes[row_] = code;
      complete = complete && code >= 0;
      continue;
    }
    double value = 0;
    if (planned.expression->is_column()) {
      value = numbers_[static_cast<std::size_t>(planned.columns[0])];
    } else {
      for (std::size_t a = 0; a < planned.columns.size(); ++a)
        arguments_[a] = numbers_[static_cast<std::size_t>(planned.columns[a])];
      value = planned.expression->evaluate(arguments_);
    }
    variable.numbers[row_] = value;
    complete = complete && !std::isnan(value);
    if (std::isinf(value) && !stays_infinite) {
      infinite = &variable;
      stays_infinite = !planned.expression->is_column() ||
                       !plan_.columns()[static_cast<std::size_t>(planned.columns[0])].numbers_for.empty();
    }
  }
  // R drops a row with a missing value before it looks for infinite ones.
  if (complete && infinite != nullptr && infinity_.empty()) {
    infinity_ = fmt::format("{}, {} {}: {} is infinite; leave the row out or make the value NA", plan_.path(),
                            row_word_, row_number, infinite->name);
    if (stays_infinite) refuse_infinity();
  }
  frame_.complete[row_] = complete ? 1 : 0;
  ++row_;
}

void FrameBuilder::refuse_infinity() const {
  if (!infinity_.empty()) throw Error(ErrorCode::input, infinity_);
}

// The levels of the job are those of its complete rows, as R drops the levels that no row uses.
void FrameBuilder::agree_on_levels(const tessera::mpi::Communicator& comm, Variable& variable,
                                   std::size_t column) {
  const UsedColumn& used = plan_.columns()[column];
  if (used.known_levels != nullptr) {
    variable.levels = *used.known_levels;
    return;
  }
  const std::vector<std::string>& texts = dictionaries_[column].texts;
  std::vector<std::uint8_t> seen(texts.size());
  for (std::size_t i = 0; i < variable.codes.size(); ++i) {
    if (frame_.complete[i] != 0) seen[static_cast<std::size_t>(variable.codes[i])] = 1;
  }
  std::vector<std::string> mine;
  for (std::size_t code = 0; code < texts.size(); ++code) {
    if (seen[code] != 0) mine.push_back(texts[code]);
  }
  for (const std::string& packed : comm.allgather_text(pack(mine))) {
    for (std::string& level : unpack(packed)) variable.levels.push_back(std::move(level));
  }
  // std::string compares bytes as unsigned: byte order, the same in every locale.
  std::sort(variable.levels.begin(), variable.levels.end());
  variable.levels.erase(std::unique(variable.levels.begin(), variable.levels.end()), variable.levels.end());
  if (variable.levels.size() > max_levels)
    throw Error(ErrorCode::input, fmt::format("{}: the text column '{}' has more than {} distinct values; a "
                                              "factor has a coefficient for each",
                                              plan_.path(), used.name, max_levels));
  std::vector<std::int32_t> final_code(texts.size(), -1);
  for (std::size_t code = 0; code < texts.size(); ++code) {
    const auto place = std::lower_bound(variable.levels.begin(), variable.levels.end(), texts[code]);
    if (place != variable.levels.end() && *place == texts[code])
      final_code[code] = static_cast<std::int32_t>(place - variable.levels.begin());
  }
  for (std::int32_t& code : variable.codes) {
    if (code >= 0) code = final_code[static_cast<std::size_t>(code)];
  }
}

Frame FrameBuilder::finish(const tessera::mpi::Communicator& comm, std::int64_t file_rows) {
  frame_.file_rows = file_rows;
  const std::int64_t mine = std::count(frame_.complete.begin(), frame_.complete.end(), std::uint8_t{1});
  frame_.complete_rows = comm.allreduce(mine, mpi::Reduction::sum);
  for (std::size_t v = 0; v < frame_.variables.size(); ++v) {
    if (frame_.variables[v].factor)
      agree_on_levels(comm, frame_.variables[v], static_cast<std::size_t>(plan_.variables()[v].columns[0]));
  }
  return std::move(frame_);
}

Frame read_frame(const tessera::mpi::Communicator& comm, ReadPlan plan, tessera::Range rows,
                 std::int64_t file_rows, std::string_view row_word, const RowScan& scan) {
  // A pass over rows; true if it met text in a column planned as numbers, which the plan then has as text.
  const auto retyped = [&](const FrameBuilder& builder) {
    std::vector<std::int32_t> text = builder.found_text();
    comm.allreduce(std::span(text), mpi::Reduction::max);
    for (std::size_t c = 0; c < text.size(); ++c) {
      if (text[c] != 0) plan.set_text(c);
    }
    return std::any_of(text.begin(), text.end(), [](std::int32_t found) { return found != 0; });
  };
  {
    // The rank with the first rows looks at some of them.
    const std::int64_t first = comm.allreduce(
        rows.empty() ? std::numeric_limits<std::int64_t>::max() : rows.begin, mpi::Reduction::min);
    tessera::Range sample = rows;
    sample.end = rows.begin == first ? std::min(rows.end, first + sampled_rows) : rows.begin;
    std::optional<FrameBuilder> builder;
    together(comm, [&] { scan(sample, builder.emplace(plan, sample, row_word)); });
    retyped(*builder);
  }
  require_memory(comm, plan, rows);
  for (;;) {
    std::optional<FrameBuilder> builder;
    together(comm, [&] { scan(rows, builder.emplace(plan, rows, row_word)); });
    if (retyped(*builder)) continue;
    together(comm, [&] { builder->refuse_infinity(); });
    return builder->finish(comm, file_rows);
  }
}

std::string pack(std::span<const std::string> texts) {
  std::string packed;
  for (const std::string& text : texts) {
    const auto size = static_cast<std::uint64_t>(text.size());
    char bytes[sizeof size];
    std::memcpy(bytes, &size, sizeof size);
    packed.append(bytes, sizeof size).append(text);
  }
  return packed;
}

std::vector<std::string> unpack(std::string_view packed) {
  std::vector<std::string> texts;
  while (!packed.empty()) {
    std::uint64_t size = 0;
    std::memcpy(&size, packed.data(), sizeof size);
    texts.emplace_back(packed.substr(sizeof size, size));
    packed.remove_prefix(sizeof size + size);
  }
  return texts;
}

}  // namespace tessera::fit
