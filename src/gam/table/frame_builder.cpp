// SPDX-License-Identifier: Apache-2.0
#include "gam/table/frame_builder.hpp"

#include "base/at.hpp"
#include "base/utf8.hpp"
#include "gam/table/csv_rows.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>
#include <tessera/topology/memory_shortage.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/did_you_mean.hpp"
#include "base/pack.hpp"

namespace tessera::gam {
namespace {

using base::at;

// A factor has a coefficient for each level, so a column with more texts than this is not meant as one.
constexpr std::size_t max_levels = 100000;
// Names of columns that a message lists.
constexpr std::size_t max_listed = 20;
// Unseen levels that a message lists.
constexpr std::size_t listed_levels = 5;
// Rows that are looked at before the columns' types are agreed on.
constexpr std::int64_t sampled_rows = 1000;

[[noreturn]] void unknown_column(const std::string& path, std::span<const std::string> names,
                                 const std::string& wanted, std::string_view table_word) {
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), max_listed); ++i)
    list += fmt::format("{}{}", i == 0 ? "" : ", ", names[i]);
  if (names.size() > max_listed) list += fmt::format(" and {} more", names.size() - max_listed);
  throw Error(ErrorCode::input, fmt::format("{}: unknown column '{}'{}; {} has: {}", path, wanted,
                                            base::did_you_mean(names, wanted), table_word, list));
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

/// What a message shows of a text of any length.
std::string excerpt(std::string_view text) {
  std::size_t most = 60;
  while (most < text.size() && (text[most] & 0xC0) == 0x80) --most;  // no character is cut
  std::string shown(text.substr(0, most));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text.size() > most ? shown + "..." : shown;
}

[[noreturn]] void refuse_levels(const ReadPlan& plan, const UsedColumn& column) {
  throw Error(ErrorCode::input, fmt::format("{}: the text column '{}' has more than {} distinct values; a "
                                            "factor has a coefficient for each",
                                            plan.path(), column.name, max_levels));
}

/// False for most texts that are no number, before they are looked at as one.
bool begins_like_number(std::string_view text) {
  return !text.empty() && std::string_view("0123456789+-.iInN").find(text[0]) != std::string_view::npos;
}

/// What R takes for a logical value.
bool all_truth_values(std::span<const std::string> texts) {
  return std::all_of(texts.begin(), texts.end(), [](const std::string& text) {
    return text == "T" || text == "F" || text == "TRUE" || text == "FALSE";
  });
}

/// One of them written in full.
std::string truth_value(std::string_view text) {
  return text == "T" ? "TRUE" : text == "F" ? "FALSE" : std::string(text);
}

/// Over the ranks. *Collective.*
std::vector<FieldCounts> sums_over(const tessera::mpi::Communicator& comm, std::vector<FieldCounts> counts) {
  std::vector<std::int64_t> flat;
  for (const FieldCounts& column : counts)
    flat.insert(flat.end(), {column.numbers, column.texts, column.missing, column.blank});
  comm.allreduce(std::span(flat), mpi::Reduction::sum);
  for (std::size_t c = 0; c < counts.size(); ++c)
    counts[c] = {flat[4 * c], flat[4 * c + 1], flat[4 * c + 2], flat[4 * c + 3]};
  return counts;
}

}  // namespace

ReadPlan::ReadPlan(const FrameRequest& request, std::span<const std::string> file_columns, std::string path,
                   std::string_view table_word)
    : missing_(request.options.missing),
      unseen_is_complete_(request.unseen_is_complete),
      numbers_may_be_missing_(
          std::any_of(missing_.begin(), missing_.end(),
                      [](const std::string& field) { return parse_number(trimmed(field)).has_value(); })),
      path_(std::move(path)) {
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
        if (found == file_columns.end()) unknown_column(path_, file_columns, name, table_word);
        UsedColumn column;
        column.name = name;
        column.position = static_cast<int>(found - file_columns.begin());
        used = columns_.insert(columns_.end(), std::move(column));
      }
      if (needs_numbers) used->numbers_for = expression.text;
      variable.columns.push_back(static_cast<int>(used - columns_.begin()));
    }
    for (const auto& [name, levels] : request.known_levels) {
      if (name != expression.text || !expression.is_column()) continue;
      UsedColumn& column = columns_[at(variable.columns[0])];
      column.known_levels = &levels;
      column.text = column.typed = true;
    }
    variables_.push_back(std::move(variable));
  }
  apply(request.options);
}

// An option that says nothing of this table is a slip of the pen.
void ReadPlan::apply(const TableOptions& options) {
  const auto named = [&](const std::string& name, const char* kind) -> UsedColumn& {
    const auto found = std::find_if(columns_.begin(), columns_.end(),
                                    [&](const UsedColumn& column) { return column.name == name; });
    if (found == columns_.end())
      throw Error(ErrorCode::usage,
                  fmt::format("{} '{}': the formula uses no column of this name", kind, name));
    return *found;
  };
  for (const std::string& name : options.numbers) {
    UsedColumn& column = named(name, "numeric column");
    if (column.numbers_for.empty()) column.numbers_for = name;
  }
  for (const std::string& name : options.factors) {
    UsedColumn& column = named(name, "factor");
    if (!column.numbers_for.empty())
      throw Error(ErrorCode::usage, fmt::format("factor '{}': {} numbers", name,
                                                column.numbers_for == name ? "the model needs"
                                                                           : column.numbers_for + " needs"));
    column.text = column.typed = true;
  }
}

bool ReadPlan::is_factor(const PlannedVariable& variable) const {
  return variable.expression->is_column() && columns_[at(variable.columns[0])].text;
}

bool ReadPlan::is_missing(std::string_view field) const {
  return std::find(missing_.begin(), missing_.end(), field) != missing_.end();
}

bool ReadPlan::unseen_is_complete(const PlannedVariable& variable) const {
  const auto& names = unseen_is_complete_;
  return std::find(names.begin(), names.end(), variable.expression->text) != names.end();
}

FrameBuilder::FrameBuilder(const ReadPlan& plan, tessera::Range rows, std::string_view row_word)
    : plan_(plan), row_word_(row_word) {
  const auto count = at(rows.size());
  const std::size_t columns = plan.columns().size();
  numbers_.resize(columns);
  codes_.resize(columns);
  arguments_.resize(columns);
  counts_.resize(columns);
  strays_.resize(columns);
  unseen_.resize(columns);
  dictionaries_.resize(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    if (plan.columns()[c].known_levels == nullptr) continue;
    Dictionary& dictionary = dictionaries_[c];
    dictionary.texts = *plan.columns()[c].known_levels;
    for (const std::string& level : dictionary.texts) {
      const auto code = static_cast<std::int32_t>(&level - dictionary.texts.data());
      dictionary.codes.emplace(level, code);
    }
    if (!all_truth_values(dictionary.texts)) continue;
    for (const char* shorthand : {"T", "F"}) {
      const auto whole = dictionary.codes.find(truth_value(shorthand));
      if (whole != dictionary.codes.end()) dictionary.codes.emplace(shorthand, whole->second);
    }
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

std::int32_t FrameBuilder::unseen_code(std::size_t column, std::string_view text, std::int64_t row_number) {
  Dictionary& dictionary = dictionaries_[column];
  if (dictionary.fault.empty() && !base::is_utf8(text)) dictionary.fault = not_utf8(column, row_number);
  Unseen& unseen = unseen_[column];
  ++unseen.rows;
  unseen.levels.emplace(text);
  // The job's first levels are among the first of each rank.
  if (unseen.levels.size() > listed_levels + 1) unseen.levels.erase(std::prev(unseen.levels.end()));
  return Variable::unseen;
}

std::int32_t FrameBuilder::code_of(std::size_t column, std::string_view text, std::int64_t row_number) {
  Dictionary& dictionary = dictionaries_[column];
  if (const auto known = dictionary.codes.find(text); known != dictionary.codes.end()) return known->second;
  if (plan_.columns()[column].known_levels != nullptr) return unseen_code(column, text, row_number);
  if (dictionary.texts.size() == max_levels) {
    dictionary.full = true;
    return Variable::missing;
  }
  if (dictionary.fault.empty() && !base::is_utf8(text)) dictionary.fault = not_utf8(column, row_number);
  const auto code = static_cast<std::int32_t>(dictionary.texts.size());
  dictionary.texts.emplace_back(text);
  dictionary.codes.emplace(text, code);
  return code;
}

std::string FrameBuilder::not_utf8(std::size_t column, std::int64_t row_number) const {
  return fmt::format("{}, {} {}: the column '{}' holds a text that is not UTF-8: {}", plan_.path(), row_word_,
                     row_number, plan_.columns()[column].name, base::how_to_utf8);
}

void FrameBuilder::set_field(std::size_t column, std::string_view text, bool quoted,
                             std::int64_t row_number) {
  const UsedColumn& used = plan_.columns()[column];
  if (plan_.is_missing(text)) return set_missing(column);
  const std::string_view core = trimmed(text);
  const bool needs_no_look = used.typed && used.text;
  const auto value = needs_no_look || !begins_like_number(core) ? std::nullopt : parse_number(core);
  FieldCounts& counts = counts_[column];
  if (core.empty()) {
    ++counts.blank;
  } else if (plan_.is_missing(core)) {
    // Blanks around it: missing among numbers, and a level among levels.
    if (!used.text) ++counts.missing;
  } else if (value && !quoted) {
    ++counts.numbers;
  } else {
    ++counts.texts;
    if (!value && !needs_no_look) note_stray(column, core, row_number);
  }
  if (used.text)
    codes_[column] = code_of(column, text, row_number);
  else if (value && !plan_.is_missing(core))
    numbers_[column] = *value;
  else
    set_nothing(column);
}

// The first text where a column holds numbers otherwise; at once an error where it cannot hold anything else.
void FrameBuilder::note_stray(std::size_t column, std::string_view text, std::int64_t row_number) {
  const UsedColumn& used = plan_.columns()[column];
  if (!used.numbers_for.empty())
    throw Error(ErrorCode::input,
                fmt::format("{}, {} {}: the column '{}' holds the text '{}', but {} needs numbers: give a "
                            "number or NA, or name the text among the NA strings",
                            plan_.path(), row_word_, row_number, used.name, excerpt(text),
                            used.numbers_for == used.name ? "the model" : used.numbers_for));
  if (strays_[column].row_number == 0) strays_[column] = {row_number, std::string(text)};
}

void FrameBuilder::end_row(std::int64_t row_number) {
  bool complete = true;
  const Variable* infinite = nullptr;
  bool stays_infinite = false;
  for (std::size_t v = 0; v < frame_.variables.size(); ++v) {
    const ReadPlan::PlannedVariable& planned = plan_.variables()[v];
    Variable& variable = frame_.variables[v];
    if (variable.factor) {
      const std::int32_t code = codes_[at(planned.columns[0])];
      variable.codes[row_] = code;
      complete = complete && (code >= 0 || (code == Variable::unseen && plan_.unseen_is_complete(planned)));
      continue;
    }
    double value = 0;
    if (planned.expression->is_column()) {
      value = numbers_[at(planned.columns[0])];
    } else {
      for (std::size_t a = 0; a < planned.columns.size(); ++a)
        arguments_[a] = numbers_[at(planned.columns[a])];
      value = planned.expression->evaluate(arguments_);
    }
    variable.numbers[row_] = value;
    complete = complete && !std::isnan(value);
    if (std::isinf(value) && !stays_infinite) {
      infinite = &variable;
      stays_infinite =
          !planned.expression->is_column() || !plan_.columns()[at(planned.columns[0])].numbers_for.empty();
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

void FrameBuilder::refuse_faults(std::span<const FieldCounts> counts) const {
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const UsedColumn& used = plan_.columns()[c];
    const Dictionary& dictionary = dictionaries_[c];
    if (used.text && dictionary.full) refuse_levels(plan_, used);
    if (used.text && !dictionary.fault.empty()) throw Error(ErrorCode::input, dictionary.fault);
    if (used.text || strays_[c].row_number == 0) continue;
    const std::string text = excerpt(strays_[c].text);
    throw Error(
        ErrorCode::input,
        fmt::format("{}, {} {}: the column '{}' holds the text '{}', but most of its fields are "
                    "numbers ({} of {}): it is a missing value if the NA strings are 'NA,{}', or a level if "
                    "'{}' is among the factors",
                    plan_.path(), row_word_, strays_[c].row_number, used.name, text, counts[c].numbers,
                    counts[c].numbers + counts[c].texts, text, used.name));
  }
  refuse_infinity();
}

// The levels of the job are those of its complete rows, as R drops the levels that no row uses.
void FrameBuilder::agree_on_levels(const tessera::mpi::Communicator& comm, Variable& variable,
                                   std::size_t column) {
  const UsedColumn& used = plan_.columns()[column];
  if (used.known_levels != nullptr) {
    variable.levels = *used.known_levels;
    return;
  }
  std::vector<std::string> texts = dictionaries_[column].texts;
  const std::int32_t truths = !used.typed && all_truth_values(texts) ? 1 : 0;
  if (comm.allreduce(truths, mpi::Reduction::min) != 0) {
    for (std::string& text : texts) text = truth_value(text);
  }
  std::vector<std::uint8_t> seen(texts.size());
  for (std::size_t i = 0; i < variable.codes.size(); ++i) {
    if (frame_.complete[i] != 0) seen[at(variable.codes[i])] = 1;
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
  if (variable.levels.size() > max_levels) refuse_levels(plan_, used);
  std::vector<std::int32_t> final_code(texts.size(), -1);
  for (std::size_t code = 0; code < texts.size(); ++code) {
    const auto found = std::lower_bound(variable.levels.begin(), variable.levels.end(), texts[code]);
    if (found != variable.levels.end() && *found == texts[code])
      final_code[code] = static_cast<std::int32_t>(found - variable.levels.begin());
  }
  for (std::int32_t& code : variable.codes) {
    if (code >= 0) code = final_code[at(code)];
  }
}

Frame FrameBuilder::finish(const tessera::mpi::Communicator& comm, std::int64_t file_rows) {
  frame_.file_rows = file_rows;
  const std::int64_t mine = std::count(frame_.complete.begin(), frame_.complete.end(), std::uint8_t{1});
  frame_.complete_rows = comm.allreduce(mine, mpi::Reduction::sum);
  for (std::size_t v = 0; v < frame_.variables.size(); ++v) {
    if (frame_.variables[v].factor)
      agree_on_levels(comm, frame_.variables[v], at(plan_.variables()[v].columns[0]));
  }
  describe_columns(comm);
  return std::move(frame_);
}

// What the log and predictions tell of each column.
void FrameBuilder::describe_columns(const tessera::mpi::Communicator& comm) {
  const std::vector<FieldCounts> counts = sums_over(comm, counts_);
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const UsedColumn& used = plan_.columns()[c];
    ColumnReading reading{.name = used.name,
                          .factor = used.text,
                          .missing = counts[c].missing + (used.text ? 0 : counts[c].blank),
                          .blank = used.text ? counts[c].blank : 0};
    for (const Variable& variable : frame_.variables) {
      if (!used.text || variable.name != column_expression(used.name).text) continue;
      reading.levels = static_cast<std::int64_t>(variable.levels.size());
      if (!variable.levels.empty()) reading.first = variable.levels.front();
    }
    if (used.known_levels != nullptr) {
      reading.unseen = comm.allreduce(unseen_[c].rows, mpi::Reduction::sum);
      const std::vector<std::string> mine(unseen_[c].levels.begin(), unseen_[c].levels.end());
      std::set<std::string> all;
      for (const std::string& packed : comm.allgather_text(pack(mine))) {
        for (std::string& level : unpack(packed)) all.insert(std::move(level));
      }
      reading.unseen_levels.assign(all.begin(), all.end());
      reading.more_unseen = all.size() > listed_levels;
      if (reading.more_unseen) reading.unseen_levels.resize(listed_levels);
    }
    frame_.columns.push_back(std::move(reading));
  }
}

Frame read_frame(const tessera::mpi::Communicator& comm, ReadPlan plan, tessera::Range rows,
                 std::int64_t file_rows, std::string_view row_word, const RowScan& scan) {
  // Types by what was met: true if they are not those that the rows were read by.
  const auto retyped = [&](std::span<const FieldCounts> counts) {
    bool changed = false;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      const UsedColumn& used = plan.columns()[c];
      if (used.typed || !used.numbers_for.empty() || used.text == counts[c].factor()) continue;
      plan.set_text(c, counts[c].factor());
      changed = true;
    }
    return changed;
  };
  {
    // The rank with the first rows looks at some of them.
    const std::int64_t first = comm.allreduce(
        rows.empty() ? std::numeric_limits<std::int64_t>::max() : rows.begin, mpi::Reduction::min);
    tessera::Range sample = rows;
    sample.end = rows.begin == first ? std::min(rows.end, first + sampled_rows) : rows.begin;
    std::optional<FrameBuilder> builder;
    together(comm, [&] { scan(sample, builder.emplace(plan, sample, row_word)); });
    static_cast<void>(retyped(sums_over(comm, builder->counts())));
  }
  require_memory(comm, plan, rows);
  for (;;) {
    std::optional<FrameBuilder> builder;
    together(comm, [&] { scan(rows, builder.emplace(plan, rows, row_word)); });
    const std::vector<FieldCounts> counts = sums_over(comm, builder->counts());
    if (retyped(counts)) continue;
    together(comm, [&] { builder->refuse_faults(counts); });
    return builder->finish(comm, file_rows);
  }
}

std::string pack(std::span<const std::string> texts) {
  std::string packed;
  for (const std::string& text : texts) base::pack(packed, text, base::tight);
  return packed;
}

std::vector<std::string> unpack(std::string_view packed) {
  std::vector<std::string> texts;
  while (const auto text = base::unpack(packed, base::tight)) texts.emplace_back(*text);
  return texts;
}

}  // namespace tessera::gam
