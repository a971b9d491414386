// SPDX-License-Identifier: Apache-2.0
#include "gam/table/memory/memory_table.hpp"

#include "base/at.hpp"
#include "base/hash.hpp"
#include "gam/table/frame/frame_builder.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Rows that a thread takes at a time.
constexpr std::int64_t rows_of_run = std::int64_t{1} << 14;

[[noreturn]] void refuse_table(ErrorCode code, const std::string& what) {
  throw Error(code, fmt::format("{}: {}", memory_name, what));
}

using base::at;

const Factor* factor_of(const Table::Column& column) {
  return std::get_if<Factor>(&column.values);
}

/// Checks a column on this rank alone.
void check_column(HostTeam& team, const Table::Column& column, std::int64_t rows) {
  const Factor* factor = factor_of(column);
  const auto size = factor != nullptr ? std::ssize(factor->codes)
                                      : std::ssize(std::get<std::vector<double>>(column.values));
  if (size != rows)
    refuse_table(ErrorCode::usage,
                 fmt::format("the column '{}' has {} rows on a rank whose part of the plan has {}",
                             column.name, size, rows));
  if (factor == nullptr) return;
  if (std::set(factor->levels.begin(), factor->levels.end()).size() != factor->levels.size())
    refuse_table(ErrorCode::usage, fmt::format("the column '{}' has a level twice", column.name));
  const auto levels = static_cast<std::int32_t>(factor->levels.size());
  // The first fault is that of the earliest block.
  team.for_each_block({0, rows}, rows_of_run, [&](int /*thread*/, Range block) {
    const auto end = factor->codes.begin() + block.end;
    const auto beyond = std::find_if(factor->codes.begin() + block.begin, end,
                                     [&](std::int32_t code) { return code >= levels; });
    if (beyond != end)
      refuse_table(ErrorCode::usage,
                   fmt::format("the column '{}' has the code {}, and {} levels, whose codes begin at 0",
                               column.name, *beyond, levels));
  });
}

/// Names and levels of the columns, packed one text each.
std::vector<std::string> outline_of(const Table& table) {
  std::vector<std::string> outline;
  for (const Table::Column& column : table.columns) {
    const Factor* factor = factor_of(column);
    outline.push_back(column.name);
    outline.push_back(factor != nullptr ? "levels " + pack(factor->levels) : "numbers");
  }
  return outline;
}

/// Throws unless this rank has the columns of rank 0, whose outline is `first`.
void check_outline(const std::vector<std::string>& mine, const std::vector<std::string>& first, int rank) {
  if (mine.size() != first.size())
    refuse_table(ErrorCode::usage, fmt::format("rank {} has {} columns, and rank 0 has {}", rank,
                                               mine.size() / 2, first.size() / 2));
  for (std::size_t i = 0; i < mine.size(); i += 2) {
    if (mine[i] != first[i])
      refuse_table(ErrorCode::usage, fmt::format("column {} is '{}' on rank {}, and '{}' on rank 0",
                                                 i / 2 + 1, mine[i], rank, first[i]));
    if (mine[i + 1] != first[i + 1])
      refuse_table(
          ErrorCode::usage,
          fmt::format("the column '{}' has other levels on rank {} than on rank 0: give every rank the same",
                      mine[i], rank));
  }
}

/// *Collective.* Throws unless the columns are valid and the same on every rank.
void check_table(const Workers& workers, const Table& table) {
  const mpi::Communicator& comm = workers.comm;
  together(comm, [&] {
    if (table.plan.ranks() != comm.size())
      refuse_table(ErrorCode::usage, fmt::format("its plan is over {} ranks, and the job has {}",
                                                 table.plan.ranks(), comm.size()));
    if (table.plan.units() == 0) refuse_table(ErrorCode::input, "there is no row");
    std::set<std::string_view> names;
    for (const Table::Column& column : table.columns) {
      if (!names.insert(column.name).second)
        refuse_table(ErrorCode::usage, fmt::format("two columns have the name '{}'", column.name));
      check_column(workers.team, column, table.plan.range_of(comm.rank()).size());
    }
  });
  const std::vector<std::string> mine = outline_of(table);
  const std::vector<std::string> first = unpack(comm.broadcast_text(pack(mine), 0));
  together(comm, [&] { check_outline(mine, first, comm.rank()); });
}

class MemoryTable final : public TableReader {
 public:
  MemoryTable(const Table& table, BetweenReads between) : table_(table), between_(std::move(between)) {}

  [[nodiscard]] std::int64_t rows() const override { return table_.plan.units(); }
  [[nodiscard]] std::vector<std::string> columns() const override {
    std::vector<std::string> names;
    for (const Table::Column& column : table_.columns) names.push_back(column.name);
    return names;
  }
  [[nodiscard]] files::FileState opened() const override { return {}; }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_read_; }

  [[nodiscard]] Frame read(const Workers& workers, const FrameRequest& request, Range rows) override {
    const std::vector<std::string> names = columns();
    ReadPlan plan(request, names, memory_name, "it");
    for (std::size_t c = 0; c < plan.columns().size(); ++c) set_type(plan, c);
    first_ = rows.begin;
    return read_frame(workers, std::move(plan), rows, this->rows(), "row",
                      [this](Range part, FrameBuilder& builder) { scan(part, builder); });
  }

 private:
  [[nodiscard]] const Table::Column& column_of(const UsedColumn& used) const {
    return table_.columns[static_cast<std::size_t>(used.position)];
  }

  /// Numbers and levels have their types, whatever their texts; numbers are not copied.
  void set_type(ReadPlan& plan, std::size_t c) const {
    const UsedColumn& used = plan.columns()[c];
    const bool factor = factor_of(column_of(used)) != nullptr;
    if (factor && !used.numbers_for.empty())
      refuse_table(ErrorCode::input,
                   fmt::format("the column '{}' has levels, but {} needs numbers", used.name,
                               used.numbers_for == used.name ? "the model" : used.numbers_for));
    if (!factor && used.text && !used.made_factor)
      refuse_table(ErrorCode::input,
                   fmt::format("the column '{}' has numbers, but the model has its levels", used.name));
    if (factor)
      plan.set_factor(c);
    else if (!used.text)
      plan.set_in_memory(c, std::get<std::vector<double>>(column_of(used).values));
  }

  void scan(Range rows, FrameBuilder& builder) {
    std::vector<Range> runs;
    for (std::int64_t begin = rows.begin; begin < rows.end; begin += rows_of_run)
      runs.push_back({begin, std::min(rows.end, begin + rows_of_run)});
    builder.read(runs, between_, [&](int /*thread*/, std::size_t run, FramePart& part) {
      for (std::int64_t row = runs[run].begin; row < runs[run].end;)
        row += set_rows(part, {row, std::min(runs[run].end, row + static_cast<std::int64_t>(part.room()))});
    });
    bytes_read_ += rows.size() * std::ssize(builder.plan().columns()) * std::int64_t{sizeof(double)};
  }

  /// Returns the number of rows.
  std::int64_t set_rows(FramePart& part, Range rows) const {
    const std::vector<UsedColumn>& used = part.plan().columns();
    const auto first = static_cast<std::size_t>(rows.begin - first_);
    const auto count = static_cast<std::size_t>(rows.size());
    std::vector<std::size_t> fields;  // columns of numbers that are requested as factors
    for (std::size_t c = 0; c < used.size(); ++c) {
      const Table::Column& column = column_of(used[c]);
      if (const Factor* factor = factor_of(column))
        part.set_levels(c, std::span(factor->codes).subspan(first, count), factor->levels, rows.begin + 1);
      else if (used[c].text)
        fields.push_back(c);
      else
        part.set_numbers(c, std::span(std::get<std::vector<double>>(column.values)).subspan(first, count));
    }
    if (fields.empty()) {
      part.end_rows(rows.begin + 1, count);
      return rows.size();
    }
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      for (const std::size_t c : fields)
        part.set_number_field(c, std::get<std::vector<double>>(column_of(used[c]).values)[at(row - first_)],
                              row + 1);
      part.end_row(row + 1);
    }
    return rows.size();
  }

  const Table& table_;
  BetweenReads between_;
  std::int64_t first_ = 0;  // the row of the columns' first values
  std::int64_t bytes_read_ = 0;
};

/// A sum over rows, so that their order does not matter.
std::uint64_t hash_of_column(HostTeam& team, const Table::Column& column, Range rows) {
  const std::uint64_t name = base::fnv1a(column.name);
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(team.size()));
  const auto add_all = [&](const auto& value_at) {
    team.for_each_block({0, rows.size()}, rows_of_run, [&](int thread, Range block) {
      std::uint64_t sum = 0;
      for (std::int64_t i = block.begin; i < block.end; ++i)
        sum += base::split_mix(base::split_mix(name + static_cast<std::uint64_t>(rows.begin + i)) ^
                               value_at(static_cast<std::size_t>(i)));
      sums[static_cast<std::size_t>(thread)] += sum;
    });
  };
  if (const Factor* factor = factor_of(column)) {
    std::vector<std::uint64_t> levels;
    for (const std::string& level : factor->levels) levels.push_back(base::fnv1a(level));
    add_all([&](std::size_t i) {
      return factor->codes[i] < 0 ? 0 : levels[static_cast<std::size_t>(factor->codes[i])];
    });
  } else {
    const auto& numbers = std::get<std::vector<double>>(column.values);
    add_all(
        [&](std::size_t i) { return std::isnan(numbers[i]) ? 0 : std::bit_cast<std::uint64_t>(numbers[i]); });
  }
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

}  // namespace

std::unique_ptr<TableReader> open_memory(const Workers& workers, const Table& table,
                                         const BetweenReads& between) {
  check_table(workers, table);
  return std::make_unique<MemoryTable>(table, between);
}

std::uint64_t hash_of(const Workers& workers, const Table& table) {
  check_table(workers, table);
  const Range rows = table.plan.range_of(workers.comm.rank());
  std::uint64_t mine = 0;
  for (const Table::Column& column : table.columns) mine += hash_of_column(workers.team, column, rows);
  return workers.comm.allreduce(mine, mpi::Reduction::sum);
}

}  // namespace TESSERA_NAMESPACE::gam
