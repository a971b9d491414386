// SPDX-License-Identifier: Apache-2.0
// The public interface of the engine: fits and predictions of tables in memory, and in files.
#include "support/fit_support.hpp"
#include "support/moved_from.hpp"
#include "support/on_cpu.hpp"
#include "support/table_support.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <tessera/tessera.hpp>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

using tessera::testing::expect_moved_from;
using tessera::testing::moved_out_of;

constexpr std::int64_t rows = 300;
constexpr std::int64_t block = 32;
constexpr const char* formula = R"(y ~ f + log(w) + s(x, bs="cr", k=6) + s(g, bs="re"))";
constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// Some rows lack x, and one lacks w, the only one whose f is "c".
struct Row {
  double y, x, w;
  int f, g;
};
Row row_of(std::int64_t i) {
  const auto at = static_cast<double>(i);
  const double x = i % 41 == 7 ? missing : std::fmod(at * 0.6180339887498949, 1.0);
  const double w = i == 100 ? missing : 1 + std::fmod(at * 0.7548776662466927, 1.0);
  return {std::sin(6 * x) + 0.1 * std::cos(97 * at) + static_cast<double>(i % 5) / 10, x, w,
          i == 100 ? 2 : static_cast<int>(i % 2), static_cast<int>(i % 5)};
}
const std::vector<std::string> f_levels{"a", "b", "c"};
const std::vector<std::string> g_levels{"p", "q", "r", "s", "t"};

std::string csv() {
  std::string text = "y,x,w,f,g\n";
  const auto number = [](double value) { return std::isnan(value) ? "NA" : fmt::format("{:.17g}", value); };
  for (std::int64_t i = 0; i < rows; ++i) {
    const Row row = row_of(i);
    text +=
        fmt::format("{},{},{},{},{}\n", row.x == row.x ? number(row.y) : "0.5", number(row.x), number(row.w),
                    f_levels[static_cast<std::size_t>(row.f)], g_levels[static_cast<std::size_t>(row.g)]);
  }
  return text;
}

Table in_memory(const Job& job, std::int64_t count = rows) {
  Table table{job.plan(count, block), {}};
  std::vector<double> y;
  std::vector<double> x;
  std::vector<double> w;
  Factor f{.codes = {}, .levels = f_levels};
  Factor g{.codes = {}, .levels = g_levels};
  const Range mine = job.local_range(table.plan);
  for (std::int64_t i = mine.begin; i < mine.end; ++i) {
    const Row row = row_of(i);
    y.push_back(row.x == row.x ? row.y : 0.5);
    x.push_back(row.x);
    w.push_back(row.w);
    f.codes.push_back(row.f);
    g.codes.push_back(row.g);
  }
  table.columns = {{"y", y}, {"x", x}, {"w", w}, {"f", f}, {"g", g}};
  return table;
}

struct Transcript : FitObserver {
  void now(std::string_view what) override { all += std::string(what) + "\n"; }
  void note(std::string_view what) override { all += std::string(what) + "\n"; }
  std::string all;
};

using Fit = OverRanks;

TEST_F(Fit, OfColumnsInMemoryIsThatOfTheirFile) {
  const SharedFile file(comm, "data.csv", csv());
  Job job = cpu_job(comm);
  const Formula parsed = parse_formula(formula);
  FitOptions options{.weights = "w"};
  Table in_file = in_blocks(file.path(), block);
  const std::string expected = text_of(comm, fit(job, parsed, in_file, options).model);
  Transcript log;
  const FitResult result = fit(job, parsed, in_memory(job), options, &log);
  EXPECT_EQ(text_of(comm, result.model), expected);
  EXPECT_EQ(text_of(comm, fit(job, parsed, read_table(job, in_file, parsed), options).model), expected);
  EXPECT_EQ(result.plan.units(), rows);
  EXPECT_FALSE(result.phases.empty());
  EXPECT_NE(log.all.find("f: factor of 2 levels, the first 'a'"), std::string::npos) << log.all;
  EXPECT_EQ(result.model.coefficient_names()[1], "fb");
  EXPECT_EQ(result.model.coefficients().size(), result.model.coefficient_names().size());
}

TEST_F(Fit, ReadsColumnsThatOnlyTheOptionsName) {
  const SharedFile file(comm, "data.csv", csv());
  Job job = cpu_job(comm);
  Table in_file = in_blocks(file.path(), block);
  in_file.options.numbers = {"w"};
  const Table table = read_table(job, in_file, parse_formula("y ~ x"));
  FitOptions options{.weights = "w"};
  in_file.options.numbers.clear();
  EXPECT_EQ(text_of(comm, fit(job, parse_formula("y ~ x"), table, options).model),
            text_of(comm, fit(job, parse_formula("y ~ x"), in_file, options).model));
}

TEST_F(Fit, PredictsWithItsModelAsItIs) {
  Job job = cpu_job(comm);
  Table table = in_memory(job);
  const Model model = fit(job, parse_formula(formula), table).model;
  const SharedFile file(comm, "model.json");
  if (comm.rank() == 0) save_model(model, file.path());
  comm.barrier();
  auto& g = std::get<Factor>(table.columns[4].values);
  g.levels[4] = "new";
  const PredictOptions options{.standard_errors = true};
  const Predictions mine = predict(job, model, table, options);
  const Predictions read = predict(job, load_model(file.path()), table, options);
  ASSERT_EQ(mine["fit"].size(), g.codes.size());
  EXPECT_EQ(mine["se"].size(), mine["fit"].size());
  for (std::size_t i = 0; i < mine["fit"].size(); ++i) {
    const bool none = std::isnan(read["fit"][i]);
    EXPECT_TRUE(none ? std::isnan(mine["fit"][i]) : mine["fit"][i] == read["fit"][i]) << i;
    EXPECT_TRUE(none ? std::isnan(mine["se"][i]) : mine["se"][i] == read["se"][i]);
  }
  ASSERT_EQ(mine.remarks.size(), 2);  // "c" is that of a row without w
  EXPECT_EQ(mine.remarks[0],
            "1 row has a level of 'f' unknown to the fit ('c'): the predictions of these rows are NA");
  EXPECT_EQ(mine.remarks[1],
            "60 rows have levels of 'g' unknown to the fit ('new'): these rows are predicted without this "
            "random effect");
}

TEST_F(Fit, PredictsInPartsWhatItPredictsAtOnce) {
  Job job = cpu_job(comm);
  const Model model = fit(job, parse_formula(formula), in_memory(job)).model;
  const SharedFile saved(comm, "model.json");
  if (comm.rank() == 0) save_model(model, saved.path());
  // Some levels of f and g are new.
  std::string text = csv();
  for (std::size_t at = text.find(",b,"); at != std::string::npos; at = text.find(",b,", at + 150))
    text[at + 1] = 'q';
  const SharedFile file(comm, "data.csv", text);
  comm.barrier();
  const Model read = load_model(saved.path());
  const Predictions whole = predict(job, read, Table{file.path()}, {.standard_errors = true});
  ASSERT_FALSE(whole.remarks.empty());
  const auto in_order = [&](const Predictions& mine, const char* column) {
    const std::vector<double> all = comm.allgatherv(mine[column]);
    return std::vector<std::uint64_t>(reinterpret_cast<const std::uint64_t*>(all.data()),
                                      reinterpret_cast<const std::uint64_t*>(all.data() + all.size()));
  };
  for (const std::int64_t rows_at_once : {1'000'000, 97, 5}) {
    std::vector<std::uint64_t> fit;
    std::vector<std::uint64_t> errors;
    int parts = 0;
    const auto remarks =
        predict_in_parts(job, read, Table{file.path()},
                         [&](const Predictions& part) {
                           EXPECT_EQ(part.first_row, std::ssize(fit));
                           EXPECT_LE(part.plan.units(), rows_at_once);
                           std::ranges::copy(in_order(part, "fit"), std::back_inserter(fit));
                           std::ranges::copy(in_order(part, "se"), std::back_inserter(errors));
                           ++parts;
                         },
                         {.standard_errors = true, .rows_at_once = rows_at_once});
    EXPECT_EQ(parts > 1, rows_at_once < whole.plan.units());
    EXPECT_EQ(fit, in_order(whole, "fit")) << rows_at_once << " rows at once";
    EXPECT_EQ(errors, in_order(whole, "se"));
    EXPECT_EQ(remarks, whole.remarks);
  }
}

TEST_F(Fit, RefusesATableThatIsNoneOnEveryRankAlike) {
  Job job = cpu_job(comm);
  const bool last = comm.rank() == comm.size() - 1;
  const std::string table_is = "the table in memory";
  const auto says = [&](ErrorCode code, const std::string& formula_text, const std::string& what,
                        const std::function<void(Table&)>& change) {
    Table table = in_memory(job);
    change(table);
    const auto refused = [&] { static_cast<void>(fit(job, parse_formula(formula_text), table)); };
    EXPECT_TRUE(contains(common_fault(comm, refused, code), table_is + what));
  };
  const auto f_of = [](Table& table) -> Factor& { return std::get<Factor>(table.columns[3].values); };
  says(ErrorCode::usage, "y ~ x", ": the column 'x' has ", [&](Table& table) {
    if (last) std::get<std::vector<double>>(table.columns[1].values).pop_back();
  });
  says(ErrorCode::input, "y ~ xx", ": unknown column 'xx' (did you mean 'x'?); it has: y, x, w, f, g",
       [](Table&) {});
  says(ErrorCode::input, "y ~ x", ": it has no row", [&](Table& table) { table = in_memory(job, 0); });
  says(ErrorCode::usage, "y ~ x", ": two columns have the name 'x'",
       [](Table& table) { table.columns[2].name = "x"; });
  says(ErrorCode::usage, "y ~ f", ": the column 'f' has the code 9, but 3 levels", [&](Table& table) {
    if (last) f_of(table).codes[0] = 9;
  });
  says(ErrorCode::usage, "y ~ f", ": the column 'f' has the level 'a' twice",
       [&](Table& table) { f_of(table).levels[2] = "a"; });
  says(ErrorCode::input, "y ~ log(f)", ": the column 'f' has levels, but log(f) needs numbers",
       [](Table&) {});
  says(ErrorCode::input, "y ~ x", ", row 12: x is infinite", [&](Table& table) {
    if (comm.rank() == 0) std::get<std::vector<double>>(table.columns[1].values)[11] = INFINITY;
  });
  says(ErrorCode::usage, "y ~ x", ": its plan is for ",
       [&](Table& table) { table.plan = Plan::over_hosts(rows, comm.size() + 1); });
  says(ErrorCode::usage, "y ~ x", ": its plan is for ",
       [](Table& table) { static_cast<void>(moved_out_of(table)); });
  if (comm.size() == 1) return;
  says(ErrorCode::usage, "y ~ f", ": the column 'f' has other levels on rank ", [&](Table& table) {
    if (last) std::swap(f_of(table).levels[0], f_of(table).levels[1]);
  });
  says(ErrorCode::usage, "y ~ x", ": column 1 is 'x' on rank ", [&](Table& table) {
    if (last) std::swap(table.columns[0], table.columns[1]);
  });
}

TEST_F(Fit, RefusesFilesThatAreNoTable) {
  Job job = cpu_job(comm);
  const auto says = [&](const std::string& what, const std::vector<std::string>& paths) {
    const auto refused = [&] { static_cast<void>(fit(job, parse_formula("y ~ x"), Table{paths})); };
    EXPECT_EQ(common_fault(comm, refused, ErrorCode::usage), what);
  };
  says("a table of files has no path: give one or more", {});
}

TEST_F(Fit, RefusesAJobThatWasMovedFrom) {
  const SharedFile file(comm, "data.csv", csv());
  const Table in_file = in_blocks(file.path(), block);
  const Formula parsed = parse_formula("y ~ x");
  Job gone = cpu_job(comm);
  Job job = moved_out_of(gone);
  const Table table = in_memory(job);
  const FitResult result = fit(job, parsed, table);
  expect_moved_from(
      "Job",
      {[&] { static_cast<void>(fit(gone, parsed, table)); },
       [&] { static_cast<void>(fit(gone, parsed, in_file)); },
       [&] { static_cast<void>(predict(gone, result.model, table)); },
       [&] { static_cast<void>(predict(gone, result.model, in_file)); },
       [&] { static_cast<void>(predict_in_parts(gone, result.model, in_file, [](const Predictions&) {})); },
       [&] { static_cast<void>(read_table(gone, in_file, parsed)); },
       [&] { save_run_report(gone, result, "", "report.json"); }});
}

// A gaussian model without weights takes its constraints and deviances from the sums of one pass, one with
// weights from separate passes; if terms cancel, both do.
TEST_F(Fit, WithoutWeightsIsThatWithWeightsOfOne) {
  Job job = cpu_job(world());
  for (const double noise : {1.0, 1e-3, 1e-6}) {
    Table table = in_memory(job);
    auto& y = std::get<std::vector<double>>(table.columns[0].values);
    const auto& x = std::get<std::vector<double>>(table.columns[1].values);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = 1e3 + 10 * x[i] + noise * y[i];
    table.columns.push_back({"one", std::vector<double>(y.size(), 1)});
    const Formula formula = parse_formula(R"(y ~ s(x, bs="cr", k=6) + f)");
    FitOptions options;
    const FittedModel plain = fit(job, formula, table, options).model.fitted();
    options.weights = "one";
    const FittedModel weighted = fit(job, formula, table, options).model.fitted();
    if (job.comm().rank() != 0) continue;
    // Residuals have the rounding errors of a response of 1e3.
    const double rounding = 1e3 * std::numeric_limits<double>::epsilon() *
                            std::sqrt(weighted.deviance * static_cast<double>(weighted.rows));
    EXPECT_NEAR(plain.deviance, weighted.deviance, 1e-9 * weighted.deviance + 2 * rounding);
    EXPECT_NEAR(plain.null_deviance, weighted.null_deviance, 1e-11 * weighted.null_deviance);
    EXPECT_NEAR(plain.r_squared_adjusted, weighted.r_squared_adjusted, 1e-11);
    ASSERT_EQ(plain.coef.size(), weighted.coef.size());
    for (std::size_t i = 0; i < plain.coef.size(); ++i)
      EXPECT_NEAR(plain.coef[i], weighted.coef[i], 1e-9 * (1 + std::abs(weighted.coef[i])));
  }
}

TEST_F(Fit, GoesOnWithTheSameValuesAlone) {
  Job job = cpu_job(comm);
  const SharedFile file(comm, "fit.ckpt");
  const Formula parsed = parse_formula(R"(y ~ s(x, bs="cr", k=6))");
  Table table = in_memory(job);
  auto& y = std::get<std::vector<double>>(table.columns[0].values);
  for (double& value : y) value = std::exp(value);
  FitOptions options{.family = family("gamma")};
  const FitResult whole = fit(job, parsed, table, options);
  ASSERT_GT(whole.model.iterations(), 2);
  options.checkpoint = file.path();
  options.max_iterations = 2;
  EXPECT_FALSE(fit(job, parsed, table, options).model.converged());
  options.max_iterations = 100;
  const double before = y[3];
  if (comm.rank() == 0) y[3] += 1;
  const auto refused = [&] { static_cast<void>(fit(job, parsed, table, options)); };
  EXPECT_TRUE(contains(common_fault(comm, refused), "values of the data"));
  y[3] = before;
  const FitResult resumed = fit(job, parsed, table, options);
  EXPECT_EQ(resumed.resumed_from, 1);
  EXPECT_EQ(text_of(comm, resumed.model), text_of(comm, whole.model));
  resumed.checkpoint->remove();
}

TEST_F(Fit, IsStoppedOnEveryRank) {
  StopRequest stop(comm, {.signals = {}});
  Job job(comm, on_cpu(1, &stop));
  if (comm.rank() == comm.size() - 1) stop.request("the test");
  const Table table = in_memory(job);
  const auto refused = [&] { static_cast<void>(fit(job, parse_formula("y ~ x"), table)); };
  EXPECT_EQ(common_fault(comm, refused, ErrorCode::interrupted),
            fmt::format("stopped by the test on rank {}: give a checkpoint file to make the fit resumable",
                        comm.size() - 1));
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
