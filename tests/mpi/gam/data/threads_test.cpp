// SPDX-License-Identifier: Apache-2.0
// Any number of threads read the same columns, bit for bit, the same levels, and report the same first fault
// as a single thread.
#include "base/math/elementary.hpp"
#include "gam/data/csv/csv_table.hpp"
#include "gam/data/frame/extents.hpp"
#include "gam/data/memory/memory_table.hpp"
#include "support/table_support.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <tessera/gam/table.hpp>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

/// The whole content of a frame, its numbers as bits.
std::string to_bytes(const Frame& frame) {
  std::string bytes;
  const auto add = [&](const auto& values) {
    bytes += std::to_string(values.size()) + ":";
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  };
  for (const Variable& variable : frame.variables) {
    bytes += variable.name + (variable.factor ? " factor " : " numbers ");
    add(ColumnNumbers(variable.numbers).own());
    add(variable.codes);
    for (const std::string& level : variable.levels) add(level);
  }
  add(frame.complete);
  for (const ColumnReading& column : frame.columns) {
    bytes += to_string(column) + " " + std::to_string(column.unseen);
    for (const std::string& level : column.unseen_levels) add(level);
  }
  return bytes + std::to_string(frame.complete_rows);
}

/// Expects the extents that the reading has taken to be those of the rows.
void expect_extents_of_rows(const Workers& workers, Frame& frame) {
  const std::vector<Extent> taken = std::exchange(frame.extents, {});
  ASSERT_EQ(taken.size(), frame.variables.size());
  for (std::size_t v = 0; v < taken.size(); ++v) {
    std::array<Extent, 1> all{taken[v]};
    unite(workers.comm, all);
    if (frame.variables[v].factor) continue;
    const Extent found = extent_of(workers, frame, static_cast<int>(v));
    EXPECT_EQ(all[0].min, found.min) << frame.variables[v].name;
    EXPECT_EQ(all[0].max, found.max) << frame.variables[v].name;
  }
}

/// The frame that this many threads read, or their error.
template <class Read>
std::string outcome_of(const mpi::Communicator& comm, int threads, const Read& read) {
  HostTeam team(threads);
  try {
    const Workers workers{comm, team};
    Frame frame = read(workers);
    expect_extents_of_rows(workers, frame);
    return to_bytes(frame);
  } catch (const Error& error) {
    return std::string("fault: ") + error.what();
  }
}

/// Expects that two, three and eight threads give the result of one, in memory and in scratch files, and
/// returns it. `read(workers, wanted)`.
template <class Read>
std::string common_outcome(const mpi::Communicator& comm, FrameRequest wanted, const Read& read) {
  const auto outcome = [&](int threads) {
    return outcome_of(comm, threads, [&](const Workers& workers) { return read(workers, wanted); });
  };
  std::string one = outcome(1);
  for (const int threads : {2, 3, 8}) EXPECT_TRUE(outcome(threads) == one) << threads;
  wanted.memory = MemoryOptions{.node_bytes = 0};
  for (const int threads : {1, 3}) EXPECT_TRUE(outcome(threads) == one) << threads << ", spilled";
  return one;
}

class RandomRows {
 public:
  explicit RandomRows(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(count));
  }
  double number() { return static_cast<double>(below(2'000'001) - 1'000'000) / 1024; }

 private:
  std::mt19937_64 random_;
};

/// Some runs of rows for each thread.
constexpr std::int64_t memory_rows = 150'000;

/// The whole table, of numbers x and z and factors f and g; the same on every rank.
struct MemoryColumns {
  std::vector<double> x, z;
  Factor f, g;
};

MemoryColumns random_columns(std::uint64_t seed) {
  RandomRows random(seed);
  MemoryColumns columns;
  columns.f.levels = {"c", "a", "none", "b"};
  for (int level = 0; level < 700; ++level) columns.g.levels.push_back(std::to_string((level * 331) % 700));
  for (std::int64_t i = 0; i < memory_rows; ++i) {
    columns.x.push_back(random.below(50) == 0 ? not_a_number : random.number());
    columns.z.push_back(random.below(50) == 0 ? -not_a_number : random.number());
    columns.f.codes.push_back(static_cast<std::int32_t>(random.below(5)) - 1);
    // Rare levels, and levels that occur only late.
    columns.g.codes.push_back(static_cast<std::int32_t>(random.below(1 + i * 700 / memory_rows)));
  }
  return columns;
}

Table table_of(const mpi::Communicator& comm, const MemoryColumns& columns) {
  Table table{Plan::over_hosts(memory_rows, comm.size()), {}};
  const Range mine = table.plan.range_of(comm.rank());
  const auto part = [&](const auto& values) {
    return std::decay_t<decltype(values)>(values.begin() + mine.begin, values.begin() + mine.end);
  };
  table.columns = {{"x", part(columns.x)},
                   {"z", part(columns.z)},
                   {"f", Factor{part(columns.f.codes), columns.f.levels}},
                   {"g", Factor{part(columns.g.codes), columns.g.levels}}};
  return table;
}

std::string read_memory(const mpi::Communicator& comm, const MemoryColumns& columns,
                        const FrameRequest& request) {
  const Table table = table_of(comm, columns);
  return common_outcome(comm, request, [&](const Workers& workers, const FrameRequest& wanted) {
    return open_memory(workers, table)->read(workers, wanted, table.plan.range_of(comm.rank()));
  });
}

FrameRequest memory_request() {
  FrameRequest wanted = request({"g", "log(x + 1000)", "x", "f", "I(x * z)"});
  wanted.options.missing = {"none"};
  return wanted;
}

using Threads = OverRanks;

TEST_F(Threads, ReadTheSameOfATableInMemory) {
  const MemoryColumns columns = random_columns(7);
  EXPECT_FALSE(read_memory(comm, columns, memory_request()).starts_with("fault"));
  // Levels of a model, and others.
  FrameRequest known = memory_request();
  known.known_levels = {{"f", {"a", "b"}}, {"g", {"1", "10", "100", "2", "20"}}};
  known.unseen_is_complete = {"g"};
  EXPECT_FALSE(read_memory(comm, columns, known).starts_with("fault"));
}

/// The same table as spans: each column in pieces of its own, some of them empty.
Table in_spans(const Table& table) {
  RandomRows random(77);
  const auto pieces_of = [&]<class T>(const std::vector<T>& values) {
    std::vector<std::span<const T>> pieces;
    for (std::span<const T> rest(values); !rest.empty(); rest = rest.subspan(pieces.back().size()))
      pieces.push_back(rest.first(std::min(rest.size(), static_cast<std::size_t>(random.below(3000)))));
    return pieces;
  };
  Table out{table.plan, {}};
  for (const Table::Column& column : table.columns) {
    if (const Factor* factor = std::get_if<Factor>(&column.values))
      out.columns.push_back({column.name, FactorSpans{pieces_of(factor->codes), factor->levels}});
    else
      out.columns.push_back(
          {column.name, NumberSpans{pieces_of(std::get<std::vector<double>>(column.values))}});
  }
  return out;
}

/// Stores the numbers that it receives, by column, and how often each row was received.
class TakenNumbers final : public NumberTaker {
 public:
  explicit TakenNumbers(std::int64_t rows) : rows_(static_cast<std::size_t>(rows)) {}

  void begin() noexcept override { columns_.clear(); }
  void take(int thread, const ColumnNumbers& column, std::size_t first,
            std::span<const double> numbers) noexcept override {
    const std::lock_guard lock(mutex_);
    EXPECT_GE(thread, 0);
    auto& [values, times] = columns_[&column];
    values.resize(rows_);
    times.resize(rows_);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      values.at(first + i) = numbers[i];
      ++times.at(first + i);
    }
  }
  void expect_all_of(const ColumnNumbers& column) const {
    const auto found = columns_.find(&column);
    ASSERT_NE(found, columns_.end());
    const auto& [values, times] = found->second;
    EXPECT_TRUE(std::ranges::all_of(times, [](int given) { return given == 1; }));
    std::vector<double> copy;
    const auto all = column.rows(0, rows_, copy);
    EXPECT_EQ(std::memcmp(values.data(), all.data(), rows_ * sizeof(double)), 0);
  }
  [[nodiscard]] std::size_t columns() const { return columns_.size(); }

 private:
  std::size_t rows_;
  std::mutex mutex_;
  std::map<const ColumnNumbers*, std::pair<std::vector<double>, std::vector<int>>> columns_;
};

// Each number once, at its row, including missing ones; not those of the rows that determine types.
TEST_F(Threads, GiveEachNumberInMemoryToWhatTakesThem) {
  const Table table = table_of(comm, random_columns(7));
  const Table spans = in_spans(table);
  for (const Table* of : {&table, &spans}) {
    for (const int threads : {1, 3}) {
      HostTeam team(threads);
      const Workers workers{comm, team};
      const Range mine = of->plan.range_of(comm.rank());
      TakenNumbers taken(mine.size());
      FrameRequest wanted = memory_request();
      wanted.taker = &taken;
      const auto reader = open_memory(workers, *of);
      (void)reader->read(workers, wanted, mine);
      EXPECT_EQ(taken.columns(), mine.empty() ? 0 : 2);
      if (mine.empty()) continue;
      taken.expect_all_of(*reader->numbers_in_memory("x"));
      taken.expect_all_of(*reader->numbers_in_memory("z"));
      EXPECT_EQ(reader->numbers_in_memory("f"), nullptr);
      EXPECT_EQ(reader->numbers_in_memory("y"), nullptr);
    }
  }
}

TEST_F(Threads, ReadTheSameOfSpansInMemory) {
  MemoryColumns columns = random_columns(7);
  for (double& x : columns.x) x = std::round(x / 100);  // few levels
  const Table table = table_of(comm, columns);
  const Table spans = in_spans(table);
  const auto read = [&](const FrameRequest& request, const Table& of) {
    return common_outcome(comm, request, [&](const Workers& workers, const FrameRequest& wanted) {
      return open_memory(workers, of)->read(workers, wanted, of.plan.range_of(comm.rank()));
    });
  };
  for (const FrameRequest& wanted : {memory_request(), request({"factor(g)", "factor(x)", "z"})})
    EXPECT_TRUE(read(wanted, spans) == read(wanted, table));
  HostTeam team(2);
  EXPECT_EQ(hash_of({comm, team}, spans), hash_of({comm, team}, table));
}

TEST_F(Threads, LeaveTheNumbersOfSpansWhereTheyAre) {
  const Table table = table_of(comm, random_columns(8));
  const Table spans = in_spans(table);
  HostTeam team(3);
  const Range mine = table.plan.range_of(comm.rank());
  const Frame frame = open_memory({comm, team}, spans)->read({comm, team}, memory_request(), mine);
  const double* next = std::get<std::vector<double>>(table.columns[0].values).data();
  frame.at("x").numbers.for_each_piece(0, static_cast<std::size_t>(mine.size()),
                                       [&](std::span<const double> piece) {
                                         EXPECT_EQ(piece.data(), next);
                                         next += piece.size();
                                       });
}

TEST_F(Threads, HaveTheColumnsOfATableInMemory) {
  const MemoryColumns columns = random_columns(8);
  const Table table = table_of(comm, columns);
  HostTeam team(3);
  const Range mine = table.plan.range_of(comm.rank());
  const Workers workers{comm, team};
  const Frame frame = open_memory(workers, table)->read(workers, memory_request(), mine);
  std::vector<double> copy;
  EXPECT_EQ(frame.at("x").numbers.rows(0, static_cast<std::size_t>(mine.size()), copy).data(),
            std::get<std::vector<double>>(table.columns[0].values).data());
  for (std::int64_t row = mine.begin; row < mine.end; ++row) {
    const auto i = static_cast<std::size_t>(row);
    const auto at = static_cast<std::size_t>(row - mine.begin);
    const double expected[] = {columns.x[i], base::log(columns.x[i] + 1000), columns.x[i] * columns.z[i]};
    const double found[] = {frame.at("x").numbers[at], frame.at("log(x + 1000)").numbers[at],
                            frame.at("I(x * z)").numbers[at]};
    bool complete = true;
    for (std::size_t k = 0; k < std::size(expected); ++k) {
      ASSERT_TRUE(found[k] == expected[k] || (std::isnan(found[k]) && std::isnan(expected[k]))) << row;
      complete = complete && !std::isnan(expected[k]);
    }
    const std::int32_t f = columns.f.codes[i];
    const std::int32_t code = frame.at("f").codes[at];
    const bool missing = f < 0 || columns.f.levels[static_cast<std::size_t>(f)] == "none";
    ASSERT_EQ(missing, code < 0) << row;
    complete = complete && !missing;
    ASSERT_EQ(complete, frame.complete[at] != 0) << row;
    if (!complete) continue;
    ASSERT_EQ(frame.at("f").levels[static_cast<std::size_t>(code)],
              columns.f.levels[static_cast<std::size_t>(f)]);
    ASSERT_EQ(frame.at("g").levels[static_cast<std::size_t>(frame.at("g").codes[at])],
              columns.g.levels[static_cast<std::size_t>(columns.g.codes[i])]);
  }
}

TEST_F(Threads, MakeLevelsOfNumbersInMemory) {
  MemoryColumns columns = random_columns(9);
  // Values go from 10 down, so that their order is neither that of the rows nor that of their bytes.
  for (std::size_t i = 0; i < columns.x.size(); ++i)
    if (!std::isnan(columns.x[i])) columns.x[i] = 10.5 - static_cast<double>(i % 4);
  FrameRequest wanted = request({"factor(x)", "x", "f"});
  EXPECT_FALSE(read_memory(comm, columns, wanted).starts_with("fault"));
  const Table table = table_of(comm, columns);
  HostTeam team(2);
  const Range mine = table.plan.range_of(comm.rank());
  const Frame frame = open_memory({comm, team}, table)->read({comm, team}, wanted, mine);
  const Variable& factor = frame.at("factor(x)");
  EXPECT_EQ(factor.levels, (std::vector<std::string>{"7.5", "8.5", "9.5", "10.5"}));
  for (std::int64_t row = mine.begin; row < mine.end; ++row) {
    const double x = columns.x[static_cast<std::size_t>(row)];
    ASSERT_EQ(factor.codes[static_cast<std::size_t>(row - mine.begin)], std::isnan(x) ? -1 : x - 7.5) << row;
  }
}

TEST_F(Threads, SayTheFirstFaultOfATableInMemory) {
  for (std::uint64_t seed = 20; seed < 26; ++seed) {
    MemoryColumns columns = random_columns(seed);
    RandomRows random(seed);
    std::int64_t first = memory_rows;
    for (int fault = 0; fault < 5; ++fault) {
      const std::int64_t row = random.below(memory_rows);
      const auto i = static_cast<std::size_t>(row);
      (fault % 2 == 0 ? columns.x : columns.z)[i] = fault % 3 == 0 ? -infinite : infinite;
      // Rows with a missing value do not count.
      const bool complete = !std::isnan(columns.x[i]) && !std::isnan(columns.z[i]) && columns.f.codes[i] >= 0;
      if (complete) first = std::min(first, row);
    }
    FrameRequest wanted = request({"z", "x", "f"});
    if (seed % 2 == 0) wanted.numeric = {"x"};
    const std::string said = read_memory(comm, columns, wanted);
    EXPECT_TRUE(said.starts_with("fault: the table in memory, row ")) << said.substr(0, 100);
    // The earliest of a rank; of the lowest rank that has one.
    if (first < Plan::over_hosts(memory_rows, comm.size()).range_of(0).end) {
      EXPECT_NE(said.find("row " + std::to_string(first + 1) + ":"), std::string::npos) << said;
    }
  }
}

// ---- CSV ----

constexpr int csv_rows = 1000;

/// Lines without their ends, of numbers, levels, and numbers in a column that could be levels.
std::vector<std::string> random_lines(std::uint64_t seed) {
  RandomRows random(seed);
  std::vector<std::string> lines;
  for (int i = 0; i < csv_rows; ++i) {
    std::string line = std::to_string(random.number());
    line += "," + (random.below(30) == 0 ? "NA" : std::to_string(random.below(1000)));
    const std::string level = std::to_string(random.below(1 + i / 4));
    line += random.below(3) == 0 ? ",level " + level : ",\"level \n" + level + "\"";
    lines.push_back(line + (random.below(2) == 0 ? "\r" : ""));
  }
  return lines;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text = "x,n,f\n";
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Reads x, which must be numbers, n, which happens to be, and f.
std::string read_csv(const mpi::Communicator& comm, const std::string& path, std::uint64_t seed) {
  FrameRequest columns = request({"f", "n", "x"});
  columns.numeric = {"x"};
  CsvOptions options;
  options.buffer_bytes = 64;
  options.landmark_bytes = 40 + static_cast<std::int64_t>(seed * 37 % 900);
  return common_outcome(comm, columns, [&](const Workers& workers, const FrameRequest& wanted) {
    const auto table = open_csv(workers, path, options);
    return table->read(workers, wanted, uneven_share(comm, table->rows(), seed));
  });
}

TEST_F(Threads, ReadTheSameOfCsv) {
  const SharedFile file(comm, "t.csv");
  for (std::uint64_t seed = 40; seed < 44; ++seed) {
    file.write(text_of(random_lines(seed)));
    EXPECT_FALSE(read_csv(comm, file.path(), seed).starts_with("fault"));
  }
}

TEST_F(Threads, SayTheFirstFaultOfCsv) {
  const SharedFile file(comm, "t.csv");
  // Combinations of faults: those that end the reading at once, those reported after all rows are read, and
  // infinite values in numeric columns, which wait for earlier rows.
  const std::vector<std::vector<std::string>> kinds{{"word,1,f", "1,\"a\"b,f", "1,2", "1,2,3,4"},
                                                    {"1,word,f"},
                                                    {"1,2,\xFF!"},
                                                    {"1,Inf,f"},
                                                    {"Inf,1,f", "1,2", "word,1,f"},
                                                    {"1,Inf,f", "Inf,1,f", "1,word,f", "1,2"}};
  for (std::uint64_t seed = 60; seed < 78; ++seed) {
    std::vector<std::string> lines = random_lines(seed);
    RandomRows random(seed);
    const std::vector<std::string>& of = kinds[seed % kinds.size()];
    // Some far from each other, and some in neighbouring runs.
    const std::int64_t span = seed % 2 == 0 ? csv_rows : 60;
    const std::int64_t first = random.below(csv_rows - span + 1);
    for (int fault = 0; fault < 5; ++fault)
      lines[static_cast<std::size_t>(first + random.below(span))] =
          of[static_cast<std::size_t>(random.below(std::ssize(of)))];
    file.write(text_of(lines));
    EXPECT_TRUE(read_csv(comm, file.path(), seed).starts_with("fault: " + file.path())) << seed;
  }
}

TEST_F(Threads, FindTooManyLevelsAmongThem) {
  // Most levels are in incomplete rows, and dropped in the end.
  std::string text = "f,x\n";
  for (int i = 0; i < 100'000 * comm.size() + 1; ++i)
    text += "level" + std::to_string(i) + (i % 1000 == 0 ? ",1\n" : ",NA\n");
  const SharedFile file(comm, "t.csv", text);
  const std::string said =
      common_outcome(comm, request({"f", "x"}), [&](const Workers& workers, const FrameRequest& wanted) {
        const auto table = open_csv(workers, file.path());
        return table->read(workers, wanted,
                           Plan::over_hosts(table->rows(), comm.size()).range_of(comm.rank()));
      });
  EXPECT_NE(said.find("the text column 'f' has more than 100000 distinct values"), std::string::npos) << said;
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
