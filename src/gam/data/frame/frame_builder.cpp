// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/frame_builder.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/message.hpp"
#include "base/utf8.hpp"
#include "gam/data/frame/factor_levels.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

// Number of runs of rows that each thread reads between two checks for a request to stop.
constexpr std::size_t runs_between = 16;

std::string unit_of(const UsedColumn& column, const FieldCounts& counts) {
  if (counts.dates > 0) return std::string(days_unit);
  return counts.times > 0 ? std::string(seconds_unit) : column.unit;
}

[[noreturn]] void refuse_levels(const ReadPlan& plan, const UsedColumn& column) {
  throw base::input_error(
      "{}: the text column '{}' has more than {} distinct values, the maximum number of levels of a factor: "
      "leave the column out",
      plan.path(), column.name, max_levels);
}

/// Returns places for the variables' columns, then for the flags of complete rows. The flags get memory
/// first, because they are accessed first.
std::vector<RowMemory::Place> place_columns(const ReadPlan& plan, std::size_t rows, RowMemory& memory) {
  const RowMemory::Place marks = memory.place<std::uint8_t>(rows);
  std::vector<RowMemory::Place> places;
  for (const ReadPlan::PlannedVariable& variable : plan.variables()) {
    places.push_back(plan.is_factor(variable)              ? memory.place<std::int32_t>(rows)
                     : plan.in_memory(variable) != nullptr ? RowMemory::Place{}
                                                           : memory.place<double>(rows));
  }
  places.push_back(marks);
  return places;
}

/// Columns that are in memory already are borrowed. Vectors are allocated in parallel, because filling them
/// with zeros maps their pages.
Frame frame_for(const ReadPlan& plan, Range rows, HostTeam& team, RowMemory memory) {
  Frame frame;
  frame.rows = rows;
  frame.variables.resize(plan.variables().size());
  frame.memory = std::move(memory);
  const auto places = place_columns(plan, at(rows.size()), frame.memory);
  const auto column_at = [&]<class T>(const RowMemory::Place& place, T) {
    return plan.request().as_vectors ? frame.memory.column<T>(place) : frame.memory.zeros<T>(place);
  };
  team.for_each_block({0, std::ssize(frame.variables) + 1}, 1, [&](int /*thread*/, Range one) {
    const RowMemory::Place& place = places[at(one.begin)];
    if (one.begin == std::ssize(frame.variables)) {
      frame.complete = frame.memory.zeros<std::uint8_t>(place);
      return;
    }
    const ReadPlan::PlannedVariable& planned = plan.variables()[at(one.begin)];
    Variable& variable = frame.variables[at(one.begin)];
    variable.name = planned.expression->text;
    variable.factor = plan.is_factor(planned);
    const ColumnNumbers* const in_memory = plan.in_memory(planned);
    if (variable.factor)
      variable.codes = column_at(place, std::int32_t{});
    else if (in_memory != nullptr)
      variable.numbers = *in_memory;
    else
      variable.numbers = column_at(place, double{});
  });
  return frame;
}

}  // namespace

FrameBuilder::FrameBuilder(const ReadPlan& plan, Range rows, HostTeam& team, RowMemory memory,
                           NumberTaker* taker)
    : plan_(plan),
      team_(team),
      known_(known_levels_of(plan)),
      frame_(frame_for(plan, rows, team, std::move(memory))) {
  for (int thread = 0; thread < team.size(); ++thread)
    parts_.emplace_back(plan_, known_, frame_, FramePart::Thread{thread, team.size(), taker});
  if (taker != nullptr) taker->begin();
}

void FrameBuilder::for_each_part(const std::function<void(std::size_t part)>& work) const {
  team_.for_each_block({0, std::ssize(parts_)}, 1, [&](int /*thread*/, Range one) { work(at(one.begin)); });
}

void FrameBuilder::read_run(RowScan& scan, int thread, Range run, FramePart& part) {
  part.begin(run);
  try {
    scan.read(thread, run, part);
  } catch (...) {
    part.stop();
    throw;
  }
  part.end();
}

// Infinite values are reported after all threads have finished, because another thread may find one in an
// earlier row.
void FrameBuilder::guard(const std::function<void()>& read_rows) {
  try {
    read_rows();
  } catch (...) {
    refuse_lasting_infinity();
    throw;
  }
  refuse_lasting_infinity();
}

void FrameBuilder::read(RowScan& scan) {
  const std::vector<Range> runs = scan.runs(frame_.rows);
  const std::size_t step = runs_between * parts_.size();
  for (std::size_t begin = 0; begin < runs.size(); begin += step) {
    const std::size_t end = std::min(runs.size(), begin + step);
    scan.prepare(std::span(runs).subspan(begin, end - begin));
    guard([&] {
      if (scan.in_order()) {
        for (std::size_t run = begin; run < end; ++run) read_run(scan, 0, runs[run], parts_.front());
        return;
      }
      team_.for_each_block(
          {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)}, 1,
          [&](int thread, Range one) { read_run(scan, thread, runs[at(one.begin)], parts_[at(thread)]); });
    });
  }
}

const Infinity* FrameBuilder::first_infinity() const {
  const Infinity* first = nullptr;
  for (const FramePart& part : parts_) {
    const auto& infinity = part.infinity();
    if (infinity && (first == nullptr || infinity->row < first->row)) first = &*infinity;
  }
  return first;
}

void FrameBuilder::refuse(const Infinity& infinity) const {
  throw base::input_error("{}: {} is infinite: leave the row out or make the value NA",
                          plan_.place(infinity.row_number), frame_.variables[infinity.variable].name);
}

// Throws for the first infinite value if it is `lasting` and precedes every row whose fault ended a run.
void FrameBuilder::refuse_lasting_infinity() const {
  const Infinity* const first = first_infinity();
  if (first == nullptr || !first->lasting) return;
  const bool in_front = std::all_of(parts_.begin(), parts_.end(),
                                    [&](const FramePart& part) { return first->row < part.stopped_at(); });
  if (in_front) refuse(*first);
}

std::vector<FieldCounts> FrameBuilder::counts() const {
  std::vector<FieldCounts> counts(plan_.columns().size());
  for (const FramePart& part : parts_) {
    for (std::size_t c = 0; c < counts.size(); ++c) counts[c] += part.found(c).counts;
  }
  return counts;
}

std::vector<FieldCounts> FrameBuilder::counts(const mpi::Communicator& comm) const {
  std::vector<FieldCounts> counts = this->counts();
  std::vector<std::int64_t> sums{std::ranges::count_if(parts_, &FramePart::has_bare_field)};
  for (const FieldCounts& of : counts) {
    for (const auto count : FieldCounts::all) sums.push_back(of.*count);
  }
  comm.allreduce(std::span(sums), mpi::Reduction::sum);
  auto sum = sums.begin() + 1;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    FieldCounts& of = counts[c];
    for (const auto count : FieldCounts::all) of.*count = *sum++;
    const bool all_in_quotes = of.numbers == 0 && of.texts == of.quoted_numbers;
    if (plan_.has_quotes() && (sums[0] == 0 || (plan_.columns()[c].quoted_apart && all_in_quotes)))
      of.ignore_quotes();
  }
  return counts;
}

ColumnFindings::Stray FrameBuilder::first_of(ColumnFindings::Stray ColumnFindings::*kind,
                                             std::size_t column) const {
  ColumnFindings::Stray first;
  for (const FramePart& part : parts_) {
    const ColumnFindings::Stray& stray = part.found(column).*kind;
    if (stray.row_number != 0 && (first.row_number == 0 || stray.row_number < first.row_number))
      first = stray;
  }
  return first;
}

std::int64_t FrameBuilder::first_not_utf8(std::size_t column) const {
  std::int64_t first = 0;
  for (const FramePart& part : parts_) {
    const std::int64_t row_number = part.found(column).not_utf8;
    if (row_number != 0 && (first == 0 || row_number < first)) first = row_number;
  }
  return first;
}

bool FrameBuilder::has_too_many_levels(std::size_t column) const {
  std::unordered_set<std::string_view> texts;
  for (const FramePart& part : parts_) {
    const ColumnFindings& found = part.found(column);
    if (found.too_many_levels) return true;
    if (parts_.size() > 1) texts.insert(found.dictionary.texts.begin(), found.dictionary.texts.end());
  }
  return texts.size() > max_levels;
}

// Only a rank that has read a date with a time throws for mixed dates.
void FrameBuilder::refuse_units(std::size_t column, const FieldCounts& counts) const {
  const UsedColumn& used = plan_.columns()[column];
  if (!used.unit.empty() && !used.known_unit.empty() && used.unit != used.known_unit)
    throw base::input_error("{}: the column '{}' has {}, but the model was fitted to {}: convert the column",
                            plan_.path(), used.name, used.unit, used.known_unit);
  const bool of_dates = counts.mixes_dates_and_times() || used.known_unit == days_unit;
  const ColumnFindings::Stray time = first_of(&ColumnFindings::time, column);
  if (time.row_number == 0 || !of_dates || plan_.strays() != nullptr) return;
  throw base::input_error(
      "{}: the column '{}' holds the time '{}', but {}: give a time with every date, or with no date",
      plan_.place(time.row_number), used.name, excerpt(time.text),
      used.known_unit.empty() ? fmt::format("{} of its dates have no time", counts.dates)
                              : "the model was fitted to dates without a time");
}

void FrameBuilder::refuse_faults(std::span<const FieldCounts> counts) const {
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const UsedColumn& used = plan_.columns()[c];
    if (used.text) {
      if (plan_.strays() == nullptr && has_too_many_levels(c)) refuse_levels(plan_, used);
      const std::int64_t not_utf8 = first_not_utf8(c);
      if (not_utf8 != 0)
        throw base::input_error("{}: the column '{}' holds a text that is not UTF-8: {}",
                                plan_.place(not_utf8), used.name, base::how_to_utf8);
      continue;
    }
    refuse_units(c, counts[c]);
    const ColumnFindings::Stray stray = first_of(&ColumnFindings::stray, c);
    if (stray.row_number == 0 || plan_.strays() != nullptr) continue;
    const std::string text = excerpt(stray.text);
    throw base::input_error(
        "{}: the column '{}' holds the text '{}', but most of its fields are numbers ({} of {}): to "
        "read it as missing, give the NA strings 'NA,{}'; to read it as a level, name '{}' among the factors",
        plan_.place(stray.row_number), used.name, text, counts[c].numbers,
        counts[c].numbers + counts[c].texts, text, used.name);
  }
  if (const Infinity* const infinity = first_infinity()) refuse(*infinity);
}

// The job's levels are those of complete rows, because R drops unused levels.
void FrameBuilder::agree_on_levels(const mpi::Communicator& comm, Variable& variable, std::size_t column) {
  const UsedColumn& used = plan_.columns()[column];
  if (used.known_levels != nullptr) {
    variable.levels = *used.known_levels;
    return;
  }
  // By thread and the thread's code.
  std::vector<std::vector<std::string>> texts;
  for (const FramePart& part : parts_) texts.push_back(part.found(column).dictionary.texts);
  const bool as_given = used.typed && !used.made_factor;
  const bool truths = !as_given && std::all_of(texts.begin(), texts.end(),
                                               [](const auto& of_part) { return all_truth_values(of_part); });
  if (comm.allreduce(truths ? 1 : 0, mpi::Reduction::min) != 0) {
    for (std::vector<std::string>& of_part : texts) {
      for (std::string& text : of_part) text = truth_value(text);
    }
  }
  // Calls `work` for rows of a part, until it returns false.
  const auto for_each_code = [&](std::size_t part, const auto& work) {
    for (const Range run : parts_[part].runs()) {
      for (std::int64_t row = run.begin; row < run.end; ++row) {
        if (!work(at(row - frame_.rows.begin))) return;
      }
    }
  };
  std::vector<std::vector<std::uint8_t>> seen(parts_.size());
  for_each_part([&](std::size_t part) {
    std::int64_t rows = 0;
    for (const Range run : parts_[part].runs()) rows += run.size();
    const bool all_seen = parts_[part].complete_rows() == rows;  // then each text has a row
    seen[part].assign(texts[part].size(), all_seen ? 1 : 0);
    if (all_seen) return;
    std::size_t left = texts[part].size();
    for_each_code(part, [&](std::size_t i) {
      if (frame_.complete[i] == 0 || variable.codes[i] < 0) return true;
      left -= 1 - std::exchange(seen[part][at(variable.codes[i])], std::uint8_t{1});
      return left > 0;
    });
  });
  std::vector<std::string> mine;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    for (std::size_t code = 0; code < texts[part].size(); ++code) {
      if (seen[part][code] != 0) mine.push_back(texts[part][code]);
    }
  }
  sort_levels(mine);
  for (std::vector<std::string>& of_rank : base::allgather_values(comm, std::move(mine)))
    std::ranges::move(of_rank, std::back_inserter(variable.levels));
  sort_levels(variable.levels);
  if (used.level_order != nullptr) {
    // `every_row`: a later step decides which levels are kept, so levels without a row are kept here.
    const std::unordered_set<std::string> there(variable.levels.begin(), variable.levels.end());
    variable.levels.clear();
    std::ranges::copy_if(
        *used.level_order, std::back_inserter(variable.levels), [&](const std::string& level) {
          return plan_.request().every_row ? !plan_.is_missing(level) : there.contains(level);
        });
  }
  if (plan_.strays() == nullptr && variable.levels.size() > max_levels) refuse_levels(plan_, used);
  std::unordered_map<std::string_view, std::int32_t> code_of;
  for (const std::string& level : variable.levels)
    code_of.emplace(level, static_cast<std::int32_t>(code_of.size()));
  for_each_part([&](std::size_t part) {
    std::vector<std::int32_t> final_code(texts[part].size(), Variable::missing);
    for (std::size_t code = 0; code < final_code.size(); ++code) {
      const auto found = code_of.find(texts[part][code]);
      if (found != code_of.end()) final_code[code] = found->second;
    }
    if (count_up(final_code)) return;
    std::int32_t* const codes = variable.codes.writable();
    for_each_code(part, [&](std::size_t i) {
      if (codes[i] >= 0) codes[i] = final_code[at(codes[i])];
      return true;
    });
  });
}

Frame FrameBuilder::finish(const mpi::Communicator& comm, std::int64_t file_rows) {
  frame_.file_rows = file_rows;
  std::int64_t mine = 0;
  for (const FramePart& part : parts_) mine += part.complete_rows();
  frame_.complete_rows = comm.allreduce(mine, mpi::Reduction::sum);
  if (!plan_.request().every_row) frame_.extents.resize(frame_.variables.size());
  for (const FramePart& part : parts_) {
    for (std::size_t v = 0; v < frame_.extents.size(); ++v) frame_.extents[v].add(part.extents()[v]);
  }
  frame_.near_medians.resize(frame_.variables.size());
  for (std::size_t v = 0; v < frame_.variables.size(); ++v) {
    if (!plan_.variables()[v].near_median) continue;
    for (FramePart& part : parts_) frame_.near_medians[v].push_back(std::move(part.near_median(v)));
  }
  for (std::size_t v = 0; v < frame_.variables.size(); ++v) {
    if (frame_.variables[v].factor)
      agree_on_levels(comm, frame_.variables[v], at(plan_.variables()[v].columns[0]));
  }
  describe_columns(comm);
  return std::move(frame_);
}

StrayTexts FrameBuilder::strays_in(const mpi::Communicator& comm, std::size_t column,
                                   const FieldCounts& counts) const {
  if (plan_.columns()[column].text) return {};
  StrayTexts strays{.count = counts.texts - (counts.without_quotes ? 0 : counts.quoted_numbers)};
  auto kind = &ColumnFindings::stray;
  if (strays.count == 0 && counts.mixes_dates_and_times()) {
    strays.count = counts.times;
    kind = &ColumnFindings::time;
  }
  if (strays.count == 0) return strays;
  const ColumnFindings::Stray mine = first_of(kind, column);
  std::vector<std::string> told;
  if (mine.row_number != 0) told = {excerpt(mine.text), plan_.place(mine.row_number)};
  for (std::vector<std::string>& of_rank : base::allgather_values(comm, told)) {
    if (of_rank.empty()) continue;
    strays.first = std::move(of_rank[0]);
    strays.place = std::move(of_rank[1]);
    break;
  }
  return strays;
}

void FrameBuilder::describe_columns(const mpi::Communicator& comm) {
  const std::vector<FieldCounts> counts = this->counts(comm);
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const UsedColumn& used = plan_.columns()[c];
    const bool of_texts = used.text && !used.number_levels;
    ColumnReading reading{
        .name = used.factor_call.empty() ? used.name : used.factor_call,
        .variable = used.variable(),
        .factor = used.text,
        .missing = counts[c].missing + counts[c].not_numbers + (of_texts ? 0 : counts[c].blank),
        .blank = of_texts ? counts[c].blank : 0,
        .inexact = counts[c].inexact,
        .unit = used.text ? "" : unit_of(used, counts[c]),
        .without_quotes = counts[c].without_quotes && counts[c].quoted_numbers > 0 && !used.text &&
                          used.numbers_for.empty()};
    if (used.text) {
      for (const Variable& variable : frame_.variables) {
        if (variable.name != reading.variable) continue;
        reading.levels = static_cast<std::int64_t>(variable.levels.size());
        if (!variable.levels.empty()) reading.first = variable.levels.front();
      }
    }
    if (used.known_levels != nullptr) {
      std::int64_t unseen = 0;
      std::set<std::string> levels;
      for (const FramePart& part : parts_) {
        unseen += part.found(c).unseen_rows;
        levels.insert(part.found(c).unseen_levels.begin(), part.found(c).unseen_levels.end());
      }
      reading.unseen = comm.allreduce(unseen, mpi::Reduction::sum);
      for (const auto& of_rank :
           base::allgather_values(comm, std::vector<std::string>(levels.begin(), levels.end())))
        levels.insert(of_rank.begin(), of_rank.end());
      reading.unseen_levels.assign(levels.begin(), levels.end());
      reading.more_unseen = levels.size() > listed_levels;
      if (reading.more_unseen) reading.unseen_levels.resize(listed_levels);
    }
    frame_.columns.push_back(std::move(reading));
    if (plan_.strays() != nullptr) plan_.strays()->push_back(strays_in(comm, c, counts[c]));
  }
  describe_expressions(comm);
}

// Reports expressions that are NaN in more rows than their columns, e.g. roots of negative numbers.
void FrameBuilder::describe_expressions(const mpi::Communicator& comm) {
  std::vector<std::int64_t> without(plan_.variables().size());
  for (const FramePart& part : parts_) {
    for (std::size_t v = 0; v < without.size(); ++v) without[v] += part.rows_without(v);
  }
  comm.allreduce(std::span(without), mpi::Reduction::sum);
  for (std::size_t v = 0; v < without.size(); ++v) {
    const ReadPlan::PlannedVariable& planned = plan_.variables()[v];
    if (planned.expression->is_column()) continue;
    std::int64_t explained = 0;
    for (const int column : planned.columns) explained += frame_.columns[at(column)].missing;
    const std::string& name = planned.expression->text;
    if (without[v] > explained)
      frame_.columns.push_back({.name = name, .variable = name, .missing = without[v]});
  }
}

}  // namespace TESSERA_NAMESPACE::gam
