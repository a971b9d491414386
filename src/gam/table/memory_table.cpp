// SPDX-License-Identifier: Apache-2.0
#include "gam/table/memory_table.hpp"

#include "base/hash.hpp"
#include "gam/table/frame_builder.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

namespace tessera::gam {
namespace {

/// Rows between two looks at whether the job is to stop.
constexpr std::int64_t rows_between = std::int64_t{1} << 16;

[[noreturn]] void refuse(ErrorCode code, const std::string& what) {
  throw Error(code, fmt::format("{}: {}", memory_name, what));
}

const Factor* factor_of(const Table::Column& column) {
  return std::get_if<Factor>(&column.values);
}

/// What is wrong with a column whatever the other ranks have.
void check_column(const Table::Column& column, std::int64_t rows) {
  const Factor* factor = factor_of(column);
  const auto size = factor != nullptr ? std::ssize(factor->codes)
                                      : std::ssize(std::get<std::vector<double>>(column.values));
  if (size != rows)
    refuse(ErrorCode::usage,
           fmt::format("the column '{}' has {} rows on a rank whose part of the plan has {}", column.name,
                       size, rows));
  if (factor == nullptr) return;
  if (std::set(factor->levels.begin(), factor->levels.end()).size() != factor->levels.size())
    refuse(ErrorCode::usage, fmt::format("the column '{}' has a level twice", column.name));
  const auto beyond = std::find_if(factor->codes.begin(), factor->codes.end(),
                                   [&](std::int32_t code) { return code >= std::ssize(factor->levels); });
  if (beyond != factor->codes.end())
    refuse(ErrorCode::usage,
           fmt::format("the column '{}' has the code {}, and {} levels, whose codes begin at 0", column.name,
                       *beyond, factor->levels.size()));
}

/// Names and levels of the columns, a text each.
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
    refuse(ErrorCode::usage,
           fmt::format("rank {} has {} columns, and rank 0 has {}", rank, mine.size() / 2, first.size() / 2));
  for (std::size_t i = 0; i < mine.size(); i += 2) {
    if (mine[i] != first[i])
      refuse(ErrorCode::usage, fmt::format("column {} is '{}' on rank {}, and '{}' on rank 0", i / 2 + 1,
                                           mine[i], rank, first[i]));
    if (mine[i + 1] != first[i + 1])
      refuse(
          ErrorCode::usage,
          fmt::format("the column '{}' has other levels on rank {} than on rank 0: give every rank the same",
                      mine[i], rank));
  }
}

/// *Collective.*
void check_table(const mpi::Communicator& comm, const Table& table) {
  together(comm, [&] {
    if (table.plan.ranks() != comm.size())
      refuse(ErrorCode::usage,
             fmt::format("its plan is over {} ranks, and the job has {}", table.plan.ranks(), comm.size()));
    if (table.plan.units() == 0) refuse(ErrorCode::input, "there is no row");
    std::set<std::string_view> names;
    for (const Table::Column& column : table.columns) {
      if (!names.insert(column.name).second)
        refuse(ErrorCode::usage, fmt::format("two columns have the name '{}'", column.name));
      check_column(column, table.plan.range_of(comm.rank()).size());
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

  [[nodiscard]] Frame read(const mpi::Communicator& comm, const FrameRequest& request, Range rows) override {
    const std::vector<std::string> names = columns();
    ReadPlan plan(request, names, memory_name, "it");
    for (std::size_t c = 0; c < plan.columns().size(); ++c) set_type(plan, c);
    first_ = rows.begin;
    return read_frame(comm, std::move(plan), rows, this->rows(), "row",
                      [this](Range part, FrameBuilder& builder) { scan(part, builder); });
  }

 private:
  [[nodiscard]] const Table::Column& column_of(const UsedColumn& used) const {
    return table_.columns[static_cast<std::size_t>(used.position)];
  }

  /// Numbers and levels are what they are, whatever their texts.
  void set_type(ReadPlan& plan, std::size_t c) const {
    const UsedColumn& used = plan.columns()[c];
    const bool factor = factor_of(column_of(used)) != nullptr;
    if (factor && !used.numbers_for.empty())
      refuse(ErrorCode::input, fmt::format("the column '{}' has levels, but {} needs numbers", used.name,
                                           used.numbers_for == used.name ? "the model" : used.numbers_for));
    if (!factor && used.text)
      refuse(ErrorCode::input,
             fmt::format("the column '{}' has numbers, but the model has its levels", used.name));
    if (factor) plan.set_factor(c);
  }

  void scan(Range rows, FrameBuilder& builder) {
    const std::vector<UsedColumn>& used = builder.plan().columns();
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      if (between_ && (row - rows.begin) % rows_between == 0) between_();
      const auto i = static_cast<std::size_t>(row - first_);
      for (std::size_t c = 0; c < used.size(); ++c) {
        const Table::Column& column = column_of(used[c]);
        if (const Factor* factor = factor_of(column)) {
          const std::int32_t code = factor->codes[i];
          if (code < 0)
            builder.set_missing(c);
          else
            builder.set_field(c, factor->levels[static_cast<std::size_t>(code)], true, row + 1);
          continue;
        }
        const double number = std::get<std::vector<double>>(column.values)[i];
        if (std::isnan(number))
          builder.set_missing(c);
        else
          builder.set_number(c, number);
      }
      builder.end_row(row + 1);
    }
    bytes_read_ += rows.size() * std::ssize(used) * static_cast<std::int64_t>(sizeof(double));
  }

  const Table& table_;
  BetweenReads between_;
  std::int64_t first_ = 0;  // the row of the columns' first values
  std::int64_t bytes_read_ = 0;
};

/// A sum, so that rows may be added in any order.
std::uint64_t hash_of_column(const Table::Column& column, std::int64_t first) {
  const std::uint64_t name = base::fnv1a(column.name);
  std::uint64_t sum = 0;
  const auto add = [&](std::size_t i, std::uint64_t value) {
    sum += base::split_mix(base::split_mix(name + static_cast<std::uint64_t>(first) + i) ^ value);
  };
  if (const Factor* factor = factor_of(column)) {
    std::vector<std::uint64_t> levels;
    for (const std::string& level : factor->levels) levels.push_back(base::fnv1a(level));
    for (std::size_t i = 0; i < factor->codes.size(); ++i)
      add(i, factor->codes[i] < 0 ? 0 : levels[static_cast<std::size_t>(factor->codes[i])]);
  } else {
    const auto& numbers = std::get<std::vector<double>>(column.values);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      add(i, std::isnan(numbers[i]) ? 0 : std::bit_cast<std::uint64_t>(numbers[i]));
  }
  return sum;
}

}  // namespace

std::unique_ptr<TableReader> open_memory(const mpi::Communicator& comm, const Table& table,
                                         const BetweenReads& between) {
  check_table(comm, table);
  return std::make_unique<MemoryTable>(table, between);
}

std::uint64_t hash_of(const mpi::Communicator& comm, const Table& table) {
  check_table(comm, table);
  std::uint64_t mine = 0;
  for (const Table::Column& column : table.columns)
    mine += hash_of_column(column, table.plan.range_of(comm.rank()).begin);
  return comm.allreduce(mine, mpi::Reduction::sum);
}

}  // namespace tessera::gam
