// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/frame_part.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/utf8.hpp"
#include "gam/data/frame/factor_levels.hpp"
#include "gam/data/frame/field_parsing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

// Rows processed together, so that their columns stay in the L1 cache.
constexpr std::size_t rows_of_strip = 1024;
/// Rows passed together from columns in memory: long runs are read at full memory bandwidth, and a
/// `NumberTaker` copies long runs.
constexpr std::size_t rows_in_memory_at_once = std::size_t{1} << 17;
/// Rows of `rows_in_memory_at_once` scanned together, so that they stay in the cache.
constexpr std::size_t rows_in_cache = std::size_t{1} << 13;

/// In `codes_of_kind`: the text has another `FieldKind` or no code, or has not been looked up.
constexpr std::int32_t other_kind = std::numeric_limits<std::int32_t>::min();
constexpr double no_limit = std::numeric_limits<double>::infinity();

/// Whether a text is a date, such as 2020-01-31, 31.1.2020 or 1/31/20, with or without a time.
bool looks_like_date(std::string_view text) {
  int numbers = 0;
  char separator = 0;
  while (numbers < 3) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits > 4) return false;
    text.remove_prefix(digits);
    if (++numbers == 3) break;
    if (text.empty() || std::string_view("-/.").find(text[0]) == std::string_view::npos ||
        (separator != 0 && text[0] != separator))
      return false;
    separator = text[0];
    text.remove_prefix(1);
  }
  return text.empty() || text[0] == ' ' || text[0] == 'T';
}

/// A cheap test that rejects most texts that are not numbers.
bool begins_like_number(std::string_view text) {
  return !text.empty() && std::string_view("0123456789+-.,iInN").find(text[0]) != std::string_view::npos;
}

FieldKind kind_of(const ReadPlan& plan, std::string_view core, bool number, bool quoted) {
  if (core.empty()) return FieldKind::blank;
  if (plan.is_missing(core)) return FieldKind::not_a_level;
  if (!number) return FieldKind::text;
  return quoted ? FieldKind::quoted_number : FieldKind::number;
}

/// The dictionary entry for a text, without a code.
Dictionary::Entry entry_of(const ReadPlan& plan, const UsedColumn& used, std::string_view text,
                           bool decimal_comma = false) {
  const std::string_view core = trimmed_field(text);
  const bool may_be_number = !used.typed || used.made_factor;
  // Levels of numbers have decimal points, even if the file's numbers have commas.
  const bool number = may_be_number && begins_like_number(core) &&
                      (field_number(core, decimal_comma) || (used.number_levels && field_number(core)));
  return {.plain = kind_of(plan, core, number, false), .quoted = kind_of(plan, core, number, true)};
}

/// Number of rows buffered before they are processed; small if columns in several pieces of memory may have
/// to be joined.
std::size_t rows_waiting_for(const ReadPlan& plan) {
  std::size_t rows = rows_of_strip;
  for (const UsedColumn& column : plan.columns()) {
    if (column.in_memory == nullptr) continue;
    if (!column.in_memory->is_one_run()) return rows_in_cache;
    rows = rows_in_memory_at_once;
  }
  return rows;
}

}  // namespace

bool all_levels(std::span<const std::int32_t> codes, std::size_t levels) {
  constexpr std::size_t block = 256;  // compilers vectorise a loop of constant length
  const std::uint32_t last = static_cast<std::uint32_t>(levels) - 1;
  std::uint32_t signs = 0;
  const auto add = [&](std::int32_t code) {
    const auto bits = static_cast<std::uint32_t>(code);
    signs |= bits | (last - bits);
  };
  for (; codes.size() >= block; codes = codes.subspan(block)) {
    for (std::size_t i = 0; i < block; ++i) add(codes[i]);
  }
  for (const std::int32_t code : codes) add(code);
  return signs >> 31 == 0;
}

void FieldCounts::add(FieldKind kind, std::int64_t count) noexcept {
  switch (kind) {
    case FieldKind::number: numbers += count; break;
    case FieldKind::text: texts += count; break;
    case FieldKind::quoted_number: texts += count, quoted_numbers += count; break;
    case FieldKind::missing: missing += count; break;
    case FieldKind::blank: blank += count; break;
    case FieldKind::not_a_level: break;
  }
}

FieldCounts& FieldCounts::operator+=(const FieldCounts& other) noexcept {
  for (const auto count : all) this->*count += other.*count;
  return *this;
}

void FieldCounts::ignore_quotes() noexcept {
  without_quotes = true;
  numbers += quoted_numbers;
  texts -= quoted_numbers;
}

void Dictionary::add(std::string_view text, Entry entry) {
  entry.code = static_cast<std::int32_t>(texts.size());
  texts.emplace_back(text);
  entries.emplace(text, entry);
}

std::vector<Dictionary> known_levels_of(const ReadPlan& plan) {
  std::vector<Dictionary> known(plan.columns().size());
  for (std::size_t c = 0; c < known.size(); ++c) {
    const UsedColumn& used = plan.columns()[c];
    if (used.known_levels == nullptr) continue;
    Dictionary& dictionary = known[c];
    for (const std::string& level : *used.known_levels) dictionary.add(level, entry_of(plan, used, level));
    if (!all_truth_values(dictionary.texts)) continue;
    for (const char* shorthand : {"T", "F"}) {
      const auto whole = dictionary.entries.find(truth_value(shorthand));
      if (whole != dictionary.entries.end()) dictionary.entries.emplace(shorthand, whole->second);
    }
  }
  return known;
}

std::string excerpt(std::string_view text) {
  std::size_t most = 60;
  while (most < text.size() && (text[most] & 0xC0) == 0x80) --most;  // do not split a UTF-8 character
  std::string shown(text.substr(0, most));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  shown = visible_text(std::move(shown));
  return text.size() > most ? shown + "..." : shown;
}

FramePart::FramePart(const ReadPlan& plan, std::span<const Dictionary> known, Frame& frame,
                     const Thread& thread)
    : plan_(&plan),
      known_(known),
      frame_(&frame),
      columns_(plan.columns().size()),
      most_waiting_(rows_waiting_for(plan)),
      found_(plan.columns().size()),
      rows_without_(plan.variables().size()),
      extents_(plan.variables().size()),
      waiting_extents_(plan.variables().size()),
      near_medians_(plan.variables().size()),
      most_kept_(most_kept_of_thread(at(frame.rows.size()), at(thread.count))),
      thread_(thread.number),
      taker_(thread.taker) {
  for (std::size_t v = 0; v < plan.variables().size(); ++v) {
    const ReadPlan::PlannedVariable& planned = plan.variables()[v];
    if (planned.near_median) near_medians_[v].range = *planned.near_median;
    if (!planned.expression->is_column()) continue;
    Column& column = columns_[at(planned.columns[0])];
    if (planned.near_median) column.near_median = near_medians_[v];
    Variable& variable = frame.variables[v];
    if (variable.factor) {
      column.column_of_codes = variable.codes.writable();
    } else if (plan.in_memory(planned) == nullptr) {
      column.column_to = variable.numbers.writable();
    }
  }
  for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c].in_memory = plan.columns()[c].in_memory;
  for (const ReadPlan::PlannedVariable& planned : plan.variables()) {
    for (const int c : planned.columns) {
      Column& column = columns_[at(c)];
      if (column.column_to != nullptr || column.in_memory != nullptr || column.numbers != nullptr ||
          planned.expression->is_column())
        continue;
      column.to = scratch_.emplace_back(most_waiting_, missing_number).data();
      column.numbers = column.to;
    }
  }
}

void FramePart::begin(Range rows) {
  runs_.push_back(rows);
  before_ = 0;
  constants_ = {};
  at_ = at(rows.begin - frame_->rows.begin);
  for (Column& column : columns_) {
    if (column.column_to != nullptr) column.numbers = column.to = column.column_to + at_;
    if (column.column_of_codes != nullptr) column.codes = column.column_of_codes + at_;
  }
}

void FramePart::set_file(std::int64_t before, std::span<const Constant> constants) {
  before_ = before;
  constants_ = constants;
  set_decimal_comma(false);
  for (Column& column : columns_) column.levels.clear();
}

void FramePart::set_decimal_comma(bool decimal_comma) noexcept {
  if (decimal_comma == decimal_comma_) return;
  decimal_comma_ = decimal_comma;
  for (Column& column : columns_) column.cache.reset();
}

void FramePart::set_constants(std::int64_t row_number) {
  for (const Constant& constant : constants_) {
    if (constant.text)
      set_field(constant.column, *constant.text, false, row_number);
    else
      set_missing(constant.column);
  }
}

void FramePart::set_missing(std::size_t column) noexcept {
  ++found_[column].counts.missing;
  Column& of = columns_[column];
  if (of.codes != nullptr) of.codes[waiting_] = Variable::missing;
  if (of.to != nullptr) of.to[waiting_] = missing_number;
}

Dictionary::Entry FramePart::look_up(std::size_t column, std::string_view text, std::int64_t row_number) {
  const UsedColumn& used = plan_->columns()[column];
  ColumnFindings& found = found_[column];
  const bool known = used.known_levels != nullptr;
  const Dictionary& dictionary = known ? known_[column] : found.dictionary;
  if (const auto hit = dictionary.entries.find(text); hit != dictionary.entries.end()) return hit->second;
  if (used.number_levels) {
    const std::string_view core = trimmed_field(text);
    if (core.empty()) return {.plain = FieldKind::blank, .quoted = FieldKind::blank};
    const auto number = field_number(core, decimal_comma_);
    if (plan_->is_missing(core) || (number && std::isnan(*number)))
      return {.plain = FieldKind::missing, .quoted = FieldKind::missing};
    if (number) {
      const std::string level = number_level(core, *number);
      if (level != text) return look_up(column, level, row_number);
    }
  }
  Dictionary::Entry entry = entry_of(*plan_, used, text, decimal_comma_);
  if (!known && found.dictionary.texts.size() == max_levels) {
    found.too_many_levels = true;
    return entry;
  }
  if (!base::is_utf8(text) && (found.not_utf8 == 0 || before_ + row_number < found.not_utf8))
    found.not_utf8 = before_ + row_number;
  if (known) {
    entry.code = Variable::unseen;
    found.unseen_levels.emplace(text);
    // The job's first levels are among the first levels of the threads.
    if (found.unseen_levels.size() > listed_levels + 1)
      found.unseen_levels.erase(std::prev(found.unseen_levels.end()));
    return entry;
  }
  found.dictionary.add(text, entry);
  entry.code = static_cast<std::int32_t>(found.dictionary.texts.size()) - 1;
  return entry;
}

void FramePart::set_level(std::size_t column, std::string_view text, bool quoted, std::int64_t row_number) {
  Column& of = columns_[column];
  if (!of.cache) of.cache = std::make_unique<LevelCache<Dictionary::Entry>>();
  const Dictionary::Entry* entry = of.cache->find(text);
  std::optional<Dictionary::Entry> looked_up;
  if (entry == nullptr) {
    if (plan_->is_missing(text)) return set_missing(column);
    entry = &looked_up.emplace(look_up(column, text, row_number));
    of.cache->keep(text, *entry);
  }
  ColumnFindings& found = found_[column];
  found.counts.add(quoted ? entry->quoted : entry->plain);
  if (entry->code == Variable::unseen) ++found.unseen_rows;
  of.codes[waiting_] = entry->code;
}

void FramePart::set_field(std::size_t column, std::string_view text, bool quoted, std::int64_t row_number) {
  if (plan_->columns()[column].text) return set_level(column, text, quoted, row_number);
  if (plan_->is_missing(text)) return set_missing(column);
  ColumnFindings& found = found_[column];
  Column& of = columns_[column];
  const std::string_view core = trimmed_field(text);
  const DateFields dates = plan_->columns()[column].dates;
  if (const auto date = dates != DateFields::none ? parse_iso_date(core) : std::nullopt)
    return set_date(column, *date, core, row_number);
  const auto value = dates != DateFields::all && begins_like_number(core) ? field_number(core, decimal_comma_)
                                                                          : std::nullopt;
  const FieldKind kind = kind_of(*plan_, core, value.has_value(), quoted);
  if (value && std::isnan(*value) && kind != FieldKind::not_a_level) ++found.counts.not_numbers;
  found.counts.add(kind == FieldKind::not_a_level ? FieldKind::missing : kind);
  if (kind == FieldKind::text && !value) note_stray(column, core, row_number);
  of.to[waiting_] = value && kind != FieldKind::not_a_level ? *value : missing_number;
}

// A number is treated like its text in a CSV file.
void FramePart::set_number_field(std::size_t column, double value, std::int64_t row_number) {
  if (std::isnan(value)) return set_missing(column);
  set_field(column, fmt::format("{}", value), false, row_number);
}

void FramePart::set_date(std::size_t column, const IsoDate& date, std::string_view text,
                         std::int64_t row_number) {
  ColumnFindings& found = found_[column];
  ++found.counts.numbers;
  const bool of_times = plan_->columns()[column].known_unit == seconds_unit;
  ++(date.has_time || of_times ? found.counts.times : found.counts.dates);
  if (date.has_time && found.time.row_number == 0) found.time = {before_ + row_number, std::string(text)};
  columns_[column].to[waiting_] = date.has_time || of_times ? date.seconds : date.days;
}

// Records the first text in a column of numbers; throws at once if the column must be numeric.
void FramePart::note_stray(std::size_t column, std::string_view text, std::int64_t row_number) {
  const UsedColumn& used = plan_->columns()[column];
  if (used.dates != DateFields::none && plan_->strays() == nullptr)
    throw base::input_error(
        "{}: the column '{}' holds the text '{}', which is not a date: write it as 2020-01-31 or "
        "2020-01-31T12:30:00Z, or name it among the NA strings",
        plan_->place(before_ + row_number), used.name, excerpt(text));
  if (!used.numbers_for.empty() && plan_->strays() == nullptr)
    throw base::input_error(
        "{}: the column '{}' holds the text '{}', but {} needs numbers: {}",
        plan_->place(before_ + row_number), used.name, excerpt(text),
        used.numbers_for == used.name ? "the model" : used.numbers_for,
        looks_like_date(text)
            ? "give dates as numbers, such as days since the first, or fit with the option date"
            : "give a number or NA, or name the text among the NA strings");
  ColumnFindings::Stray& stray = found_[column].stray;
  if (stray.row_number == 0) stray = {before_ + row_number, std::string(text)};
}

void FramePart::set_numbers(std::size_t column, std::span<const double> numbers) noexcept {
  FieldCounts& counts = found_[column].counts;
  Column& of = columns_[column];
  double* const to = of.to;
  if (to != nullptr && numbers.data() != to + waiting_)
    std::copy(numbers.begin(), numbers.end(), to + waiting_);
  counts.numbers += std::ssize(numbers);
  for (std::size_t begin = 0; begin < numbers.size(); begin += rows_in_cache) {
    const auto some = numbers.subspan(begin, std::min(rows_in_cache, numbers.size() - begin));
    const NumberScan scanned =
        of.near_median ? of.near_median->add_and_scan(some, most_waiting_) : scan(some);
    of.scanned.add(scanned);
    // Missing numbers become the standard NaN.
    double* const unified = to == nullptr ? nullptr : to + waiting_ + begin;
    const std::int64_t missing = scanned.all_finite ? 0 : count_beyond(some, no_limit, nullptr, unified);
    counts.numbers -= missing;
    counts.missing += missing;
    if (taker_ != nullptr && of.in_memory != nullptr)
      taker_->take(thread_, *of.in_memory, at_ + waiting_ + begin, some);
  }
  of.scanned_rows += numbers.size();
}

// Looks up new levels in the order of their texts, which is usually the final order: then the codes need no
// recoding.
void FramePart::look_up_new(std::size_t column, std::span<const std::int32_t> codes,
                            std::span<const std::string> levels, std::int64_t first_row_number) {
  Column& of = columns_[column];
  std::vector<std::pair<std::int32_t, std::int64_t>> met;  // codes, with the number of the first row
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] < 0 || of.levels[at(codes[i])]) continue;
    of.levels[at(codes[i])].emplace();
    met.emplace_back(codes[i], first_row_number + static_cast<std::int64_t>(i));
  }
  // If there are too many levels, the first rows decide which have a code.
  if (found_[column].dictionary.texts.size() + met.size() <= max_levels)
    std::ranges::sort(met, {}, [&](const auto& one) { return std::string_view(levels[at(one.first)]); });
  for (const auto& [code, row_number] : met) {
    const std::string& level = levels[at(code)];
    const Dictionary::Entry entry =
        plan_->is_missing(level) ? Dictionary::Entry{.code = Variable::missing, .quoted = FieldKind::missing}
                                 : look_up(column, level, row_number);
    of.levels[at(code)] = entry;
    if (entry.code < 0) continue;
    if (!of.kind) of.kind = entry.quoted;
    if (entry.quoted == *of.kind) of.codes_of_kind[at(code)] = entry.code;
  }
}

void FramePart::set_levels(std::size_t column, std::span<const std::int32_t> codes,
                           std::span<const std::string> levels, std::int64_t first_row_number) {
  Column& of = columns_[column];
  ColumnFindings& found = found_[column];
  if (of.levels.empty()) {
    of.levels.resize(levels.size());
    of.codes_of_kind.assign(levels.size(), other_kind);
    of.kind.reset();
  }
  std::int32_t* const to = of.codes + waiting_;
  std::int32_t least = 0;
  std::int64_t missing = 0;
  const std::int32_t* const codes_of_kind = of.codes_of_kind.data();
  if (all_levels(codes)) {
    const bool same = count_up(of.codes_of_kind);
    std::uint32_t signs = 0;
    if (same) std::ranges::copy(codes, to);
    for (std::size_t i = 0; i < codes.size() && !same; ++i)
      signs |= static_cast<std::uint32_t>(to[i] = codes_of_kind[at(codes[i])]);
    if (signs >> 31 != 0) least = other_kind;
  } else {
    for (std::size_t i = 0; i < codes.size(); ++i) {
      missing += codes[i] < 0 ? 1 : 0;
      to[i] = codes[i] < 0 ? Variable::missing : codes_of_kind[at(codes[i])];
      least = std::min(least, to[i]);
    }
  }
  if (least != other_kind && of.kind) {
    if (least == 0) of.scanned_rows += codes.size();
    found.counts.missing += missing;
    return found.counts.add(*of.kind, std::ssize(codes) - missing);
  }
  look_up_new(column, codes, levels, first_row_number);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    to[i] = Variable::missing;
    if (codes[i] < 0) {
      ++found.counts.missing;
      continue;
    }
    const std::optional<Dictionary::Entry>& entry = of.levels[at(codes[i])];
    found.counts.add(entry->quoted);
    if (entry->code == Variable::unseen) ++found.unseen_rows;
    to[i] = entry->code;
  }
}

void FramePart::set_field(const BatchColumn& of, std::size_t row, std::int64_t row_number) {
  if (of.levels == nullptr && of.texts.empty())
    set_number_field(of.column, of.numbers[row], row_number);
  else if (of.levels == nullptr)
    set_field(of.column, of.texts[row], true, row_number);
  else if (of.codes[row] < 0)
    set_missing(of.column);
  else
    set_field(of.column, (*of.levels)[at(of.codes[row])], true, row_number);
}

void FramePart::set_batch(std::span<const BatchColumn> columns, std::int64_t first_row_number,
                          std::size_t rows) {
  std::vector<const BatchColumn*> by_row;
  for (std::size_t begin = 0; begin < rows;) {
    const std::size_t count = std::min(room(), rows - begin);
    const std::int64_t row_number = first_row_number + static_cast<std::int64_t>(begin);
    by_row.clear();
    for (const BatchColumn& one : columns) {
      const bool text = plan_->columns()[one.column].text;
      if (one.levels != nullptr && text)
        set_levels(one.column, one.codes.subspan(begin, count), *one.levels, row_number);
      else if (one.levels == nullptr && one.texts.empty() && !text && !plan_->numbers_may_be_missing())
        set_numbers(one.column, one.numbers.subspan(begin, count));
      else
        by_row.push_back(&one);
    }
    if (by_row.empty()) end_rows(row_number, count);
    for (std::size_t i = 0; !by_row.empty() && i < count; ++i) {
      for (const BatchColumn* const one : by_row)
        set_field(*one, begin + i, row_number + static_cast<std::int64_t>(i));
      end_row(row_number + static_cast<std::int64_t>(i));
    }
    begin += count;
  }
}

void FramePart::end_rows(std::int64_t first_row_number, std::size_t count) {
  note_row_number(first_row_number);
  for (std::size_t i = 0; !constants_.empty() && i < count; ++i, ++waiting_)
    set_constants(first_row_number + static_cast<std::int64_t>(i));
  if (constants_.empty()) waiting_ += count;
  if (waiting_ == most_waiting_) flush();
}

void FramePart::stop() {
  flush();
  stopped_at_ = frame_->rows.begin + static_cast<std::int64_t>(at_);
}

// The buffered numbers of a column; joins them at the first call if the column is in several pieces.
const double* FramePart::numbers_of(Column& column) {
  if (column.numbers == nullptr && column.in_memory != nullptr)
    column.numbers = column.in_memory->rows(at_, at_ + processed_, column.joined).data();
  return column.numbers;
}

const double* FramePart::numbers_of(std::size_t variable) {
  const ReadPlan::PlannedVariable& planned = plan_->variables()[variable];
  return planned.expression->is_column() ? numbers_of(columns_[at(planned.columns[0])])
                                         : frame_->variables[variable].numbers.writable() + at_;
}

void FramePart::evaluate(std::size_t variable, std::size_t count) {
  const ReadPlan::PlannedVariable& planned = plan_->variables()[variable];
  arguments_.clear();
  for (const int c : planned.columns) arguments_.push_back(numbers_of(columns_[at(c)]));
  planned.expression->evaluate(arguments_, {frame_->variables[variable].numbers.writable() + at_, count});
}

// Reuses the scan of `set_numbers` if it covers all rows.
NumberScan FramePart::scan_of(std::size_t variable, std::size_t count) {
  const ReadPlan::PlannedVariable& planned = plan_->variables()[variable];
  if (planned.expression->is_column()) {
    const Column& column = columns_[at(planned.columns[0])];
    if (column.scanned_rows == count) return column.scanned;
  }
  return scan({numbers_of(variable), count});
}

void FramePart::flush() {
  const std::size_t count = std::exchange(waiting_, 0);
  std::uint8_t* const complete = frame_->complete.writable() + at_;
  std::fill_n(complete, count, std::uint8_t{1});
  bool infinite = false;
  bool all_complete = true;
  processed_ = count;
  for (Column& column : columns_) {
    if (column.in_memory != nullptr) column.numbers = nullptr;
  }
  for (std::size_t v = 0; v < frame_->variables.size(); ++v) {
    const Variable& variable = frame_->variables[v];
    if (!plan_->variables()[v].expression->is_column()) evaluate(v, count);
    if (plan_->request().every_row) continue;
    if (variable.factor) {
      const std::span codes(variable.codes.data() + at_, count);
      const bool known = columns_[at(plan_->variables()[v].columns[0])].scanned_rows == count;
      if (known || all_levels(codes)) continue;
      all_complete = false;
      const std::int32_t least = plan_->variables()[v].unseen_is_complete ? Variable::unseen : 0;
      for (std::size_t i = 0; i < count; ++i)
        complete[i] &= static_cast<std::uint8_t>(codes[i] >= least && codes[i] != Variable::missing);
      continue;
    }
    const NumberScan scanned = scan_of(v, count);
    waiting_extents_[v] = scanned.extent;
    if (scanned.all_finite) continue;
    all_complete = false;
    const ReadPlan::PlannedVariable& planned = plan_->variables()[v];
    rows_without_[v] += count_beyond(
        {numbers_of(v), count}, planned.left_out_if_infinite ? std::numeric_limits<double>::max() : no_limit,
        complete, nullptr);
    if (scanned.extent.min == -no_limit || scanned.extent.max == no_limit)
      infinite = infinite || !planned.may_be_infinite;
  }
  if (!plan_->request().every_row) {
    if (!all_complete) measure_complete(count);
    for (std::size_t v = 0; v < extents_.size(); ++v) extents_[v].add(waiting_extents_[v]);
  }
  look_near_medians(count, all_complete);
  if (infinite && !infinity_) find_infinity(count);
  complete_rows_ += all_complete ? static_cast<std::int64_t>(count) : count_flags({complete, count});
  row_numbers_.clear();
  frame_->release_written(at_, at_ + count);
  at_ += count;
  for (Column& column : columns_) {
    column.scanned = {};
    column.scanned_rows = 0;
    if (column.column_to != nullptr) column.numbers = column.to += count;
    if (column.column_of_codes != nullptr) column.codes += count;
  }
}

// Measures the complete rows among the buffered rows while these are in the cache.
void FramePart::measure_complete(std::size_t count) {
  const std::uint8_t* const complete = frame_->complete.data() + at_;
  for (std::size_t v = 0; v < extents_.size(); ++v) {
    if (!frame_->variables[v].factor) waiting_extents_[v] = scan_flagged({numbers_of(v), count}, complete);
  }
}

void FramePart::look_near_medians(std::size_t count, bool all_complete) {
  const std::uint8_t* const complete = frame_->complete.data() + at_;
  for (std::size_t v = 0; v < near_medians_.size(); ++v) {
    const ReadPlan::PlannedVariable& planned = plan_->variables()[v];
    if (!planned.near_median) continue;
    if (planned.expression->is_column()) {
      Column& column = columns_[at(planned.columns[0])];
      if (all_complete && column.scanned_rows == count) {
        near_medians_[v].take(*column.near_median, most_kept_);
        continue;
      }
      column.near_median->clear();
    }
    std::span<const double> numbers(numbers_of(v), count);
    if (!all_complete) {
      complete_values_.clear();
      for (std::size_t i = 0; i < count; ++i) {
        if (complete[i] != 0) complete_values_.push_back(numbers[i]);
      }
      numbers = complete_values_;
    }
    near_medians_[v].add(numbers, most_kept_);
  }
}

std::int64_t FramePart::row_number_of(std::size_t waiting) const {
  const auto after = std::ranges::upper_bound(row_numbers_, waiting, {}, &RowNumbers::first);
  const RowNumbers& of = *std::prev(after);
  return of.number + static_cast<std::int64_t>(waiting - of.first);
}

// As in R, a row with a missing value is dropped before infinite values are searched.
void FramePart::find_infinity(std::size_t count) {
  for (std::size_t i = 0; i < count && !infinity_; ++i) {
    if (frame_->complete[at_ + i] == 0) continue;
    for (std::size_t v = 0; v < frame_->variables.size(); ++v) {
      if (frame_->variables[v].factor || !std::isinf(numbers_of(v)[i])) continue;
      const ReadPlan::PlannedVariable& planned = plan_->variables()[v];
      if (planned.may_be_infinite) continue;
      infinity_ = {.row = frame_->rows.begin + static_cast<std::int64_t>(at_ + i),
                   .row_number = row_number_of(i),
                   .variable = v,
                   .lasting = !planned.expression->is_column() ||
                              !plan_->columns()[at(planned.columns[0])].numbers_for.empty()};
      if (infinity_->lasting) break;
    }
  }
}

}  // namespace TESSERA_NAMESPACE::gam
