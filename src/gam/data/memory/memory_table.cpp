// SPDX-License-Identifier: Apache-2.0
#include "gam/data/memory/memory_table.hpp"

#include "base/at.hpp"
#include "base/hash.hpp"
#include "base/message.hpp"
#include "base/pack.hpp"
#include "gam/data/frame/frame_builder.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t rows_of_run = std::int64_t{1} << 14;
/// Rows per run when reading a large table: long runs of a column use the full memory and bus bandwidth.
constexpr std::int64_t rows_of_read = std::int64_t{1} << 17;
/// Minimum number of runs per thread, for load balance.
constexpr std::int64_t runs_of_thread = 8;

template <class... Values>
[[noreturn]] void refuse_table(ErrorCode code, fmt::format_string<Values...> what, Values&&... values) {
  throw Error(code, fmt::format("{}: {}", memory_name, fmt::format(what, std::forward<Values>(values)...)));
}

using base::at;

using Codes = ColumnPieces<std::int32_t>;

struct MemoryColumn {
  explicit MemoryColumn(const Table::Column& column) : name(&column.name) {
    std::visit([this](const auto& values) { set(values); }, column.values);
  }
  [[nodiscard]] std::int64_t size() const {
    return static_cast<std::int64_t>(codes.size() > 0 ? codes.size() : numbers.size());
  }

  const std::string* name;
  ColumnNumbers numbers;
  Codes codes;                                       // codes of levels, or integers without levels
  const std::vector<std::string>* levels = nullptr;  // null: no factor
  bool integer = false;
  LevelOrder order = LevelOrder::sorted;

  /// The numbers of rows [begin, end), in place or copied to `copy`.
  [[nodiscard]] std::span<const double> rows(std::size_t begin, std::size_t end,
                                             std::vector<double>& copy) const {
    if (!integer) return numbers.rows(begin, end, copy);
    copy.clear();
    codes.for_each(begin, end, [&](std::span<const std::int32_t> some) {
      std::ranges::transform(some, std::back_inserter(copy), number_of);
    });
    return copy;
  }

 private:
  void set(const std::vector<double>& values) {
    const std::span<const double> all(values);
    numbers = ColumnNumbers::borrow(std::span(&all, 1));
  }
  void set(const NumberSpans& values) { numbers = ColumnNumbers::borrow(values.pieces); }
  void set(const IntegerSpans& values) {
    codes = Codes(values.pieces);
    integer = true;
  }
  void set(const Factor& factor) {
    const std::span<const std::int32_t> all(factor.codes);
    codes = Codes(std::span(&all, 1));
    levels = &factor.levels;
    order = factor.order;
  }
  void set(const FactorSpans& factor) {
    codes = Codes(factor.codes);
    levels = &factor.levels;
    order = factor.order;
  }
};

std::vector<MemoryColumn> columns_of(const Table& table) {
  return {table.columns.begin(), table.columns.end()};
}

void check_column(HostTeam& team, const MemoryColumn& column, std::int64_t rows) {
  if (column.size() != rows)
    refuse_table(ErrorCode::usage,
                 "the column '{}' has {} rows on a rank, but the plan has {} rows there: give each rank the "
                 "rows of the plan",
                 *column.name, column.size(), rows);
  if (column.levels == nullptr) return;
  std::set<std::string_view> distinct;
  for (const std::string& level : *column.levels)
    if (!distinct.insert(level).second)
      refuse_table(ErrorCode::usage, "the column '{}' has the level '{}' twice: give distinct levels",
                   *column.name, level);
  const auto levels = static_cast<std::int32_t>(column.levels->size());
  // Reports the fault in the earliest block.
  team.for_each_block({0, rows}, rows_of_run, [&](int /*thread*/, Range block) {
    column.codes.for_each(at(block.begin), at(block.end), [&](std::span<const std::int32_t> codes) {
      const auto beyond = std::ranges::find_if(codes, [&](std::int32_t code) { return code >= levels; });
      if (beyond != codes.end())
        refuse_table(ErrorCode::usage, "the column '{}' has the code {}, but {} levels (codes begin at 0)",
                     *column.name, *beyond, levels);
    });
  });
}

std::string kind_of(LevelOrder order) {
  switch (order) {
    case LevelOrder::sorted: return "levels ";
    case LevelOrder::given: return "levels in order ";
    default: return "ordered levels ";
  }
}

std::string pack(std::span<const std::string> texts) {
  std::string packed;
  for (const std::string& text : texts) base::pack(packed, text, base::tight);
  return packed;
}

/// The outline of the table: for each column two texts, its name and its kind with the packed levels.
std::vector<std::string> outline_of(std::span<const MemoryColumn> columns) {
  std::vector<std::string> outline;
  for (const MemoryColumn& column : columns) {
    outline.push_back(*column.name);
    outline.push_back(column.levels == nullptr ? "numbers" : kind_of(column.order) + pack(*column.levels));
  }
  return outline;
}

/// Throws unless this rank's outline, `mine`, equals that of rank 0, `first`.
void check_outline(const std::vector<std::string>& mine, const std::vector<std::string>& first, int rank) {
  if (mine.size() != first.size())
    refuse_table(ErrorCode::usage, "rank {} has {} columns, but rank 0 has {}", rank, mine.size() / 2,
                 first.size() / 2);
  for (std::size_t i = 0; i < mine.size(); i += 2) {
    if (mine[i] != first[i])
      refuse_table(ErrorCode::usage,
                   "column {} is '{}' on rank {}, but '{}' on rank 0: give every rank the same columns",
                   i / 2 + 1, mine[i], rank, first[i]);
    if (mine[i + 1] != first[i + 1])
      refuse_table(
          ErrorCode::usage,
          "the column '{}' has other levels on rank {} than on rank 0: give every rank the same levels",
          mine[i], rank);
  }
}

/// *Collective.* The columns of a table. Throws for an invalid column, and unless names and levels are equal
/// on all ranks.
std::vector<MemoryColumn> checked_columns(const Workers& workers, const Table& table) {
  const mpi::Communicator& comm = workers.comm;
  std::vector<MemoryColumn> columns;
  together(comm, [&] {
    if (table.plan.ranks() != comm.size())
      refuse_table(ErrorCode::usage,
                   "its plan is for {} ranks, but the job has {}: create the plan with this job",
                   table.plan.ranks(), comm.size());
    if (table.plan.units() == 0) refuse_table(ErrorCode::input, "it has no row");
    columns = columns_of(table);
    std::set<std::string_view> names;
    for (const MemoryColumn& column : columns) {
      if (!names.insert(*column.name).second)
        refuse_table(ErrorCode::usage, "two columns have the name '{}': rename one", *column.name);
      check_column(workers.team, column, table.plan.range_of(comm.rank()).size());
    }
  });
  const std::vector<std::string> mine = outline_of(columns);
  std::vector<std::string> first = mine;
  base::broadcast_values(comm, 0, first);
  together(comm, [&] { check_outline(mine, first, comm.rank()); });
  return columns;
}

class MemoryTable final : public TableReader {
 public:
  /// `first`: the index in the table of this rank's first row.
  MemoryTable(std::int64_t rows, std::int64_t first, std::vector<MemoryColumn> columns, BetweenReads between)
      : rows_(rows), first_(first), columns_(std::move(columns)), between_(std::move(between)) {}

  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] std::vector<std::string> columns() const override {
    std::vector<std::string> names;
    for (const MemoryColumn& column : columns_) names.push_back(*column.name);
    return names;
  }
  [[nodiscard]] std::vector<std::string> ordered_columns() const override {
    std::vector<std::string> names;
    for (const MemoryColumn& column : columns_) {
      if (column.order == LevelOrder::ordered) names.push_back(*column.name);
    }
    return names;
  }
  [[nodiscard]] const ColumnNumbers* numbers_in_memory(std::string_view column) const override {
    const auto found = std::ranges::find_if(columns_, [&](const MemoryColumn& one) {
      return one.levels == nullptr && !one.integer && *one.name == column;
    });
    return found == columns_.end() ? nullptr : &found->numbers;
  }
  [[nodiscard]] bool has_truths(std::string_view column) const override {
    const auto found = std::ranges::find(columns_, column, [](const MemoryColumn& one) { return *one.name; });
    return found != columns_.end() && found->levels != nullptr &&
           std::ranges::all_of(*found->levels,
                               [](const std::string& one) { return one == "TRUE" || one == "FALSE"; });
  }
  [[nodiscard]] files::FileState opened() const override { return {}; }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_read_; }

  [[nodiscard]] std::string name() const override { return memory_name; }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ReadPlan& plan, int threads) override {
    return std::make_unique<Scan>(*this, plan, threads);
  }

 private:
  void describe(ReadPlan& plan) const override {
    for (std::size_t c = 0; c < plan.columns().size(); ++c) set_type(plan, c);
  }
  [[nodiscard]] const MemoryColumn& column_of(const UsedColumn& used) const {
    return columns_[at(used.position)];
  }

  /// A column with levels stays a factor, even if the levels are texts of numbers such as "3". Numbers are
  /// not copied.
  void set_type(ReadPlan& plan, std::size_t c) const {
    const UsedColumn& used = plan.columns()[c];
    const MemoryColumn& column = column_of(used);
    const bool factor = column.levels != nullptr;
    if (factor && !used.numbers_for.empty())
      refuse_table(ErrorCode::input,
                   "the column '{}' has levels, but {} needs numbers: give a numeric column", used.name,
                   used.numbers_for == used.name ? "the model" : used.numbers_for);
    if (!factor && used.text && !used.made_factor)
      refuse_table(ErrorCode::input,
                   "the column '{}' has numbers, but the model needs its levels: give a factor", used.name);
    if (factor)
      plan.column(c).make_factor(column.order == LevelOrder::sorted ? nullptr : column.levels);
    else if (!used.text && !column.integer)
      plan.column(c).in_memory = &column.numbers;
  }

  class Scan final : public RowScan {
   public:
    Scan(MemoryTable& table, const ReadPlan& plan, int threads)
        : table_(table), columns_(std::ssize(plan.columns())), threads_(threads) {}

    [[nodiscard]] std::vector<Range> runs(Range rows) override {
      const std::int64_t step =
          std::clamp(rows.size() / (runs_of_thread * threads_), rows_of_run, rows_of_read);
      std::vector<Range> runs;
      for (std::int64_t begin = rows.begin; begin < rows.end; begin += step)
        runs.push_back({begin, std::min(rows.end, begin + step)});
      return runs;
    }
    void prepare(std::span<const Range> runs) override {
      if (table_.between_) table_.between_();
      table_.bytes_read_ += (runs.back().end - runs.front().begin) * columns_ * std::int64_t{sizeof(double)};
    }
    void read(int /*thread*/, Range run, FramePart& part) override {
      const std::vector<UsedColumn>& used = part.plan().columns();
      std::vector<Joined> joined(used.size());
      std::vector<BatchColumn> batch(used.size());
      for (std::int64_t row = run.begin; row < run.end;) {
        const std::size_t count = std::min(at(run.end - row), part.room());
        const std::size_t first = at(row - table_.first_);
        for (std::size_t c = 0; c < used.size(); ++c) {
          const MemoryColumn& column = table_.column_of(used[c]);
          batch[c] = {.column = c, .levels = column.levels};
          if (column.levels != nullptr)
            batch[c].codes = column.codes.rows(first, first + count, joined[c].codes);
          else
            batch[c].numbers = column.rows(first, first + count, joined[c].numbers);
        }
        part.set_batch(batch, row + 1, count);
        row += static_cast<std::int64_t>(count);
      }
    }

   private:
    /// Buffers for rows that span several pieces of memory.
    struct Joined {
      std::vector<double> numbers;
      std::vector<std::int32_t> codes;
    };

    MemoryTable& table_;
    std::int64_t columns_;
    int threads_;
  };

  std::int64_t rows_;
  std::int64_t first_;
  std::vector<MemoryColumn> columns_;
  BetweenReads between_;
  std::int64_t bytes_read_ = 0;
};

/// Sums hashes of the rows, so that the distribution of rows over ranks has no effect.
std::uint64_t hash_of_column(HostTeam& team, const MemoryColumn& column, Range rows) {
  const std::uint64_t name = base::fnv1a(*column.name);
  std::vector<std::uint64_t> levels;
  if (column.levels != nullptr) {
    for (const std::string& level : *column.levels) levels.push_back(base::fnv1a(level));
  }
  std::vector<std::uint64_t> sums(at(team.size()));
  team.for_each_block({0, rows.size()}, rows_of_run, [&](int thread, Range block) {
    std::uint64_t row = name + static_cast<std::uint64_t>(rows.begin + block.begin);
    std::uint64_t sum = 0;
    std::vector<double> copy;
    const auto add = [&](std::uint64_t value) { sum += base::split_mix(base::split_mix(row++) ^ value); };
    if (column.levels != nullptr)
      column.codes.for_each(at(block.begin), at(block.end), [&](std::span<const std::int32_t> codes) {
        for (const std::int32_t code : codes) add(code < 0 ? 0 : levels[at(code)]);
      });
    else
      for (const double number : column.rows(at(block.begin), at(block.end), copy))
        add(std::isnan(number) ? 0 : std::bit_cast<std::uint64_t>(number));
    sums[at(thread)] += sum;
  });
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

}  // namespace

double number_of(std::int32_t value) {
  return value == std::numeric_limits<std::int32_t>::min() ? std::numeric_limits<double>::quiet_NaN() : value;
}

std::unique_ptr<TableReader> open_memory(const Workers& workers, const Table& table,
                                         const BetweenReads& between) {
  std::vector<MemoryColumn> columns = checked_columns(workers, table);
  return std::make_unique<MemoryTable>(table.plan.units(), table.plan.range_of(workers.comm.rank()).begin,
                                       std::move(columns), between);
}

std::uint64_t hash_of(const Workers& workers, const Table& table) {
  const std::vector<MemoryColumn> columns = checked_columns(workers, table);
  const Range rows = table.plan.range_of(workers.comm.rank());
  std::uint64_t mine = 0;
  for (const MemoryColumn& column : columns) {
    mine += hash_of_column(workers.team, column, rows);
    if (column.order == LevelOrder::sorted || workers.comm.rank() != 0) continue;
    const char* const scale = column.order == LevelOrder::ordered ? "ordered" : "";
    mine += base::fnv1a(*column.name + scale + pack(*column.levels));
  }
  return workers.comm.allreduce(mine, mpi::Reduction::sum);
}

}  // namespace TESSERA_NAMESPACE::gam
