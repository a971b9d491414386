// SPDX-License-Identifier: Apache-2.0
// A model has the same bits however the columns of its table are stored.
#include "support/arrow_data.hpp"
#include "support/errors.hpp"
#include "support/fit_support.hpp"
#include "support/table_support.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tessera/error.hpp>
#include <tessera/gam/gam.hpp>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr std::int64_t columns_rows = 1200;
constexpr std::int64_t columns_block = 256;
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// Whole columns, the same on every rank.
struct Columns {
  std::vector<double> y, x, z, w;
  std::vector<std::int32_t> f, g;
  const std::vector<std::string> f_levels{"a", "b", "c"};
  std::vector<std::string> g_levels;
};

Columns make_columns() {
  Columns out;
  for (int level = 0; level < 9; ++level) out.g_levels.push_back(fmt::format("site {}", level));
  for (std::int64_t i = 0; i < columns_rows; ++i) {
    const auto at = static_cast<double>(i);
    const auto part = [&](double step) { return std::fmod(at * step, 1.0); };
    out.x.push_back(i % 101 == 7 ? no_number : part(0.6180339887498949));
    out.z.push_back(i % 199 == 11 ? no_number : part(0.7548776662466927));
    out.w.push_back(1 + part(0.5698402909980532));
    out.f.push_back(i % 301 == 5 ? -1 : static_cast<std::int32_t>(i % 3));
    out.g.push_back(static_cast<std::int32_t>(i * i % 9));
    out.y.push_back(std::round(4 + 2 * std::sin(6 * part(0.6180339887498949)) + std::cos(97 * at)));
  }
  return out;
}

std::string csv_of_columns(const Columns& columns) {
  std::string text = "y,x,z,w,f,g\n";
  const auto number = [](double value) { return std::isnan(value) ? "NA" : fmt::format("{:.17g}", value); };
  for (std::size_t i = 0; i < static_cast<std::size_t>(columns_rows); ++i) {
    const auto level = [&](const std::vector<std::string>& levels, std::int32_t code) {
      return code < 0 ? "NA" : levels[static_cast<std::size_t>(code)];
    };
    text += fmt::format("{},{},{},{},{},{}\n", number(columns.y[i]), number(columns.x[i]),
                        number(columns.z[i]), number(columns.w[i]), level(columns.f_levels, columns.f[i]),
                        level(columns.g_levels, columns.g[i]));
  }
  return text;
}

template <class T>
std::span<const T> part_of_column(const std::vector<T>& values, Range mine) {
  return std::span(values).subspan(static_cast<std::size_t>(mine.begin),
                                   static_cast<std::size_t>(mine.size()));
}

Table in_vectors(const Job& job, const Columns& columns) {
  const Plan plan = job.plan(columns_rows, columns_block);
  const auto part = [&](const auto& values) {
    const auto mine = part_of_column(values, job.local_range(plan));
    return std::decay_t<decltype(values)>(mine.begin(), mine.end());
  };
  return {plan,
          {{"y", part(columns.y)},
           {"x", part(columns.x)},
           {"z", part(columns.z)},
           {"w", part(columns.w)},
           {"f", Factor{part(columns.f), columns.f_levels}},
           {"g", Factor{part(columns.g), columns.g_levels}}}};
}

/// With the response as a column of integers.
Table with_integers(const Job& job, const Columns& columns, const std::vector<std::int32_t>& y) {
  Table table = in_vectors(job, columns);
  const auto mine = part_of_column(y, job.local_range(table.plan));
  table.columns[0].values = IntegerSpans{{mine.first(mine.size() / 3), mine.subspan(mine.size() / 3)}};
  return table;
}

/// A table of pieces of `length` rows, or a few more or less, different for each column.
Table in_spans(const Job& job, const Columns& columns, std::size_t length) {
  const Plan plan = job.plan(columns_rows, columns_block);
  const auto pieces = [&]<class T>(const std::vector<T>& values) {
    std::vector<std::span<const T>> out;
    ++length;
    for (auto rest = part_of_column(values, job.local_range(plan)); !rest.empty();
         rest = rest.subspan(out.back().size()))
      out.push_back(rest.first(std::min(rest.size(), length)));
    return out;
  };
  return {plan,
          {{"y", NumberSpans{pieces(columns.y)}},
           {"x", NumberSpans{pieces(columns.x)}},
           {"z", NumberSpans{pieces(columns.z)}},
           {"w", NumberSpans{pieces(columns.w)}},
           {"f", FactorSpans{pieces(columns.f), columns.f_levels}},
           {"g", FactorSpans{pieces(columns.g), columns.g_levels}}}};
}

/// The values of rows [begin, end), which are missing where `is_missing` says so.
template <class To, class T, class Missing>
std::vector<std::optional<To>> optional_values(std::span<const T> values, std::size_t begin, std::size_t end,
                                               const Missing& is_missing) {
  std::vector<std::optional<To>> out;
  for (const T& value : values.subspan(begin, end - begin))
    out.push_back(is_missing(value) ? std::nullopt : std::optional(static_cast<To>(value)));
  return out;
}

/// A table of an Arrow stream in batches of `length` rows.
Table by_arrow(Job& job, const Columns& columns, std::size_t length, ArrowCounts& counts) {
  const Range mine = job.local_range(job.plan(columns_rows, columns_block));
  ArrowStreamData stream{.batches = {}, .counts = &counts};
  const auto rows = static_cast<std::size_t>(mine.size());
  for (std::size_t begin = 0; begin < rows; begin += length) {
    const std::size_t end = std::min(rows, begin + length);
    const auto numbers = [&]<class T>(const char* name, const char* format,
                                      const std::vector<double>& values) {
      const auto is_nan = [](double value) { return std::isnan(value); };
      return numbers_of<T>(name, format, optional_values<T>(part_of_column(values, mine), begin, end, is_nan),
                           begin % 3);
    };
    const auto codes = [&](const std::vector<std::int32_t>& values) {
      return optional_values<std::int32_t>(part_of_column(values, mine), begin, end,
                                           [](std::int32_t code) { return code < 0; });
    };
    std::vector<std::optional<std::string>> f;
    for (const auto& code : codes(columns.f))
      f.push_back(code ? std::optional(columns.f_levels[static_cast<std::size_t>(*code)]) : std::nullopt);
    stream.batches.push_back(batch_of(
        {numbers.operator()<std::int64_t>("y", "l", columns.y),
         numbers.operator()<double>("x", "g", columns.x), numbers.operator()<double>("z", "g", columns.z),
         numbers.operator()<double>("w", "g", columns.w), texts_of<std::int32_t>("f", "u", f),
         coded_of<std::int32_t>("g", "i", codes(columns.g),
                                views_of("", {columns.g_levels.begin(), columns.g_levels.end()}))}));
  }
  ArrowArrayStream handed_over = stream_of(std::move(stream));
  return arrow_table(job, &handed_over, {.block_rows = columns_block});
}

/// Fits whose passes read numbers in every possible way.
struct ColumnsCase {
  const char* formula;
  const char* family = "gaussian";
  const char* weights = "";
  const char* offset = "";
};
constexpr ColumnsCase columns_cases[] = {
    {.formula = R"(y ~ f + z + s(x, bs="cr", k=8) + s(g, bs="re"))", .weights = "w"},
    {.formula = R"(y ~ s(x, z, k=30) + ti(w, x, k=4) + s(w, by=f, k=5))", .offset = "log(w)"},
    {.formula = "y ~ scale(x) + s(z, k=6) + s(f, w, bs=\"fs\", k=4)", .family = "poisson", .offset = "z"},
    {.formula = "y ~ te(x, z, k=4)", .family = "nb", .weights = "I(w)"},
};

/// The model of a case and its predictions, by their bits.
std::string outcome_of_columns(Job& job, const ColumnsCase& of, const Table& table) {
  const mpi::Communicator& comm = job.comm();
  FitOptions options{.family = family(of.family), .weights = of.weights, .offset = of.offset};
  const FitResult result = fit(job, parse_formula(of.formula), table, options);
  const Predictions predicted = predict(job, result.model, table, {.standard_errors = true});
  std::string out = text_of(comm, result.model);
  for (const char* column : {"fit", "se"}) {
    for (const double one : comm.allgatherv(predicted[column])) out += fmt::format("{:a} ", one);
  }
  return out;
}

TEST(Columns, HaveTheSameModelHoweverTheyAreHeld) {
  const auto comm = world();
  const Columns columns = make_columns();
  const SharedFile file(comm, "data.csv", csv_of_columns(columns));
  Job job = cpu_job(comm, 2);
  const Table vectors = in_vectors(job, columns);
  const std::vector<std::int32_t> y(columns.y.begin(), columns.y.end());
  for (const ColumnsCase& one : columns_cases) {
    const std::string expected = outcome_of_columns(job, one, vectors);
    EXPECT_TRUE(outcome_of_columns(job, one, in_blocks(file.path(), columns_block)) == expected)
        << one.formula;
    EXPECT_TRUE(outcome_of_columns(job, one, with_integers(job, columns, y)) == expected) << one.formula;
    for (const std::size_t length : {7, 500}) {
      EXPECT_TRUE(outcome_of_columns(job, one, in_spans(job, columns, length)) == expected)
          << one.formula << ", spans of " << length;
      ArrowCounts counts;
      EXPECT_TRUE(outcome_of_columns(job, one, by_arrow(job, columns, length, counts)) == expected)
          << one.formula << ", batches of " << length;
      EXPECT_EQ(counts.released, counts.made);
    }
  }
}

TEST(Columns, OfArrowAreThoseOfThePlanOnEveryRank) {
  const auto comm = world();
  Job job = cpu_job(comm);
  // Rank 0 has one more row than the others.
  const std::vector<std::optional<double>> values(comm.rank() == 0 ? 5 : 4, 1.0);
  ArrowCounts counts;
  ArrowArrayStream stream =
      stream_of({.batches = {batch_of({numbers_of<double>("x", "g", values)})}, .counts = &counts});
  const auto read = [&] { (void)arrow_table(job, &stream, {.block_rows = 4}); };
  const std::string said = error_if_any(ErrorCode::usage, read).value_or("");
  EXPECT_EQ(counts.released, counts.made);
  for (const std::string& other : comm.allgather_text(said)) EXPECT_EQ(other, said);
  EXPECT_EQ(said.empty(), comm.size() == 1) << said;
  if (comm.size() == 3) {
    EXPECT_EQ(said,
              "the Arrow table: rank 0 has 5 of 13 rows, but the plan of the job needs 8 rows on this rank: "
              "give each rank the rows of the plan");
  }
}

TEST(Columns, HaveTheOrderOfLevelsThatIsGiven) {
  const auto comm = world();
  Job job = cpu_job(comm);
  Table table = in_vectors(job, make_columns());
  // Codes are those of a, b and c; no row has the others.
  const std::vector<std::string> levels{"small", "large", "b", "none"};
  const auto names = [&](LevelOrder order, const char* formula, bool drop_unused_levels) {
    std::get<Factor>(table.columns[4].values).levels = levels;
    std::get<Factor>(table.columns[4].values).order = order;
    const FitOptions options{.drop_unused_levels = drop_unused_levels};
    return fit(job, parse_formula(formula), table, options).model.coefficient_names();
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(LevelOrder::sorted, "y ~ f", true), (Names{"(Intercept)", "flarge", "fsmall"}));
  EXPECT_EQ(names(LevelOrder::given, "y ~ f", true), (Names{"(Intercept)", "flarge", "fb"}));
  EXPECT_EQ(names(LevelOrder::given, "y ~ as.integer(f) + f:w", true),
            (Names{"(Intercept)", "as.integer(f)", "fsmall:w", "flarge:w", "fb:w"}));
  EXPECT_EQ(names(LevelOrder::given, "y ~ s(f, bs='re')", false).size(), 5);
  EXPECT_EQ(names(LevelOrder::given, "y ~ s(f, bs='re')", true).size(), 4);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
