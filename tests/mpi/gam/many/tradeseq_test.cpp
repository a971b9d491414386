// SPDX-License-Identifier: Apache-2.0
// The model of tradeSeq's fitGAM over simulated lineages and batches, and the tests of its curves:
// tests/data/many/make_tradeseq.R.
#include "support/design_support.hpp"
#include "support/many_model.hpp"
#include "support/on_cpu.hpp"
#include "support/table_support.hpp"

#include <tessera/gam/curves.hpp>
#include <tessera/gam/many.hpp>
#include <tessera/gam/predict.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

using nlohmann::json;

constexpr const char* lineage_terms =
    "-1 + batch + s(t1, by = l1, bs = 'cr', id = 1, k = 6) + s(t2, by = l2, bs = 'cr', id = 1, k = 6) + "
    "offset(offset)";

class TradeSeq : public OverRanks {
 protected:
  TradeSeq() {
    const auto rows = std::ssize(all["table"]["t1"]);
    std::vector<double> counts;
    for (const json& response : all["responses"]) {
      const auto own = response["y"].get<std::vector<double>>();
      counts.insert(counts.end(), own.begin(), own.end());
    }
    const auto knots = all["knots"].get<std::vector<double>>();
    fits =
        fit_many(job, lineage_terms, Table{Plan::over_hosts(rows, 1), columns_of(all["table"])},
                 {.matrix = ResponseMatrix{DenseMatrix{counts, rows, std::ssize(all["responses"]), 1, rows}}},
                 {.family = family("nb"), .knots = {{"t1", knots}, {"t2", knots}}, .covariances = true});
  }
  [[nodiscard]] double number(const std::string& column, std::size_t response) const {
    for (const std::vector<Table::Column>* const table : {&fits.fits, &fits.tests}) {
      const auto found = std::ranges::find(*table, column, &Table::Column::name);
      if (found != table->end()) return std::get<std::vector<double>>(found->values)[response];
    }
    ADD_FAILURE() << column;
    return 0;
  }

  const json all = test_data("many/tradeseq.json");
  Job job{comm, on_cpu(2)};
  ManyResults fits;
};

TEST_F(TradeSeq, HasTheModelsOfGam) {
  const auto grid = columns_of(all["grid"]);
  const auto points = std::ssize(all["grid"]["t1"]);
  const mpi::Communicator serial = mpi::Communicator::serial();
  Job alone(serial, on_cpu(1));
  for (std::size_t i = 0; i < all["responses"].size(); ++i) {
    const json& expected = all["responses"][i];
    // Where the smoothing parameter has no finite best value, gam stops at a large one.
    const double close = std::isinf(number("lambda:s(t1):l1", i)) ? 1e-4 : 2e-6;
    EXPECT_NEAR(number("theta", i), expected["theta"].get<double>(), close * number("theta", i));
    EXPECT_NEAR(number("edf", i), expected["edf"].get<double>(), 10 * close);
    // The batches' constants are those of the lineages: the last batch has no coefficient.
    EXPECT_EQ(number("batchc", i), 0);
    EXPECT_EQ(number("se:batchc", i), 0);
    const Predictions link = predict(alone, model_of(fits, std::to_string(i + 1)),
                                     Table{Plan::over_hosts(points, 1), grid}, {.standard_errors = true});
    for (std::size_t row = 0; row < link["fit"].size(); ++row) {
      EXPECT_NEAR(link["fit"][row], expected["link"][row].get<double>(), 10 * close);
      EXPECT_NEAR(link["se"][row], expected["link_se"][row].get<double>(), 10 * close);
    }
  }
}

/// Replaces the fits by those of gam: coefficients and covariances of the smooths, which come after others.
void take_fits_of_gam(const json& responses, std::size_t others, ManyResults& fits) {
  const std::vector<std::string> names = fits.shared->coefficient_names();
  for (std::size_t i = 0; i < responses.size(); ++i) {
    for (std::size_t c = others; c < names.size(); ++c)
      std::get<std::vector<double>>(std::ranges::find(fits.fits, names[c], &Table::Column::name)->values)[i] =
          responses[i]["coef"][c];
    auto next = fits.matrices.at("covariance").column(static_cast<int>(i)).begin();
    for (std::size_t a = 0; a < names.size(); ++a) {
      for (std::size_t b = a; b < names.size(); ++b) *next++ = responses[i]["covariance"][a][b];
    }
  }
}

TEST_F(TradeSeq, HasTheStatisticsOfItsFormulas) {
  take_fits_of_gam(all["responses"], 3, fits);
  struct Case {
    CurveTestOptions options;
    std::vector<std::pair<std::string, std::string>> columns;  // suffix of the columns, name in the fixture
  };
  const std::string pair = ":s(t1):l1-s(t2):l2";
  const std::vector<Case> cases{
      {{.test = CurveTest::association},
       {{"", "association"}, {":s(t1):l1", "association1"}, {":s(t2):l2", "association2"}}},
      {{.test = CurveTest::start_vs_end},
       {{"", "start_end"}, {":s(t1):l1", "start_end1"}, {":s(t2):l2", "start_end2"}}},
      {{.test = CurveTest::diff_end}, {{"", "end"}, {pair, "end"}}},
      {{.test = CurveTest::pattern}, {{"", "pattern"}, {pair, "pattern"}}},
      {{.test = CurveTest::pattern, .start = 1, .end = 5}, {{"", "early"}, {pair, "early"}}}};
  for (const Case& one : cases) {
    for (const double l2fc : {0.0, 1.0}) {
      CurveTestOptions options = one.options;
      options.l2fc = l2fc;
      const Predictions tests = test_curves(job, fits, options);
      const Range mine = job.local_range(tests.plan);
      for (const auto& column : one.columns) {
        const std::string& suffix = column.first;
        const std::string& name = column.second;
        for (std::int64_t i = mine.begin; i < mine.end; ++i) {
          const json& expected = all["responses"][static_cast<std::size_t>(i)]["statistics"][name];
          const auto value = [&](const std::string& of) {
            return tests[of + suffix][static_cast<std::size_t>(i - mine.begin)];
          };
          const json& of_eigen = expected[l2fc > 0 ? "eigen_l2fc" : "eigen"];
          const double statistic = of_eigen[0];
          EXPECT_NEAR(value("statistic"), statistic, 1e-8 * std::max(1.0, statistic)) << name << i;
          EXPECT_EQ(value("df"), of_eigen[1].get<double>()) << name << i;
          std::vector<double> changes = expected["log2_fold_changes"];
          if (changes.size() > 1 || suffix.empty()) continue;
          EXPECT_NEAR(value("log2_fold_change"), changes[0], 1e-9) << name << i;
          // One contrast needs no generalised inverse.
          if (l2fc == 0) {
            EXPECT_NEAR(value("statistic"), expected["wald"][0].get<double>(),
                        1e-8 * std::max(1.0, statistic));
          }
        }
      }
    }
  }
}

TEST_F(TradeSeq, HasTheStatisticsOfConditions) {
  const json& expected = all["conditions"];
  std::vector<Table::Column> columns = columns_of(all["table"]);
  std::string formula = "offset(offset)";
  std::vector<std::string> two;
  for (const std::string lineage : {"1", "2"}) {
    for (const std::string condition : {"1", "2", "3"}) {
      const std::string by = "l" + lineage + "_" + condition;
      const std::string start = "s(t" + lineage;
      formula += " + " + start + ", by = " + by + ", bs = 'cr', id = 1, k = 6)";
      if (condition != "3") two.push_back(start + "):" + by);
    }
  }
  const auto rows = std::ssize(all["table"]["t1"]);
  const auto counts = all["responses"][1]["y"].get<std::vector<double>>();
  const auto knots = all["knots"].get<std::vector<double>>();
  ManyResults of_conditions =
      fit_many(job, formula, Table{Plan::over_hosts(rows, 1), columns},
               {.in = ResponsesIn::columns,
                .matrix = ResponseMatrix{DenseMatrix{std::span<const double>(counts), rows, 1, 1, rows}}},
               {.family = family("nb"), .knots = {{"t1", knots}, {"t2", knots}}, .covariances = true});
  take_fits_of_gam(json::array({expected}), 1, of_conditions);
  const auto expect = [&](const CurveTestOptions& options, const std::string& suffix, const char* name) {
    const Predictions tests = test_curves(job, of_conditions, options);
    if (job.local_range(tests.plan).empty()) return;
    const double statistic = expected["statistics"][name][0];
    EXPECT_NEAR(tests["statistic" + suffix][0], statistic, 1e-8 * statistic) << name;
    EXPECT_EQ(tests["df" + suffix][0], expected["statistics"][name][1].get<double>()) << name;
  };
  expect({.test = CurveTest::condition}, "", "all");
  expect({.test = CurveTest::condition}, ":t1", "t1");
  expect({.test = CurveTest::condition}, ":t2", "t2");
  expect({.test = CurveTest::condition}, ":s(t2):l2_1-s(t2):l2_3", "pair");
  expect({.test = CurveTest::condition, .terms = two}, "", "two");
  expect({.test = CurveTest::condition, .end = knots[2]}, "", "early");
  // The same contrasts by the names of coefficients.
  NamedContrasts pair;
  for (const std::string knot : {"1", "2", "3", "4", "5", "6"})
    pair.push_back({{"s(t2):l2_1." + knot, 1}, {"s(t2):l2_3." + knot, -1}});
  expect({.contrasts = {{"drug", pair}}}, ":drug", "pair");
  const auto refuse = [&](const std::string& words, const CurveTestOptions& wrong) {
    expect_error(ErrorCode::usage, words, [&] { static_cast<void>(test_curves(job, of_conditions, wrong)); });
  };
  refuse("the test needs two curves of one variable, but the models have s(t1):l1_1, s(t2):l2_1",
         {.test = CurveTest::condition, .terms = {{"s(t1):l1_1", "s(t2):l2_1"}}});
  refuse("s(t1):l1_1-s(t1):l1_2 has no knot between start and end: change",
         {.test = CurveTest::condition, .start = 0.01, .end = 0.02});
  refuse("contrasts 'a': the models have no coefficient 's(t1):l1_1.7' (did you mean",
         {.contrasts = {{"a", {{{"s(t1):l1_1.7", 1}}}}}});
  refuse("contrasts 'a': all weights are 0", {.contrasts = {{"a", {{{"s(t1):l1_1.5", 0}}}}}});
}

TEST_F(TradeSeq, TestsOnlyWhatTheModelDetermines) {
  // The batches' constants are those of the lineages: a change of all batches is one of all curves.
  const auto given = [](const std::map<std::string, double>& weights) {
    return CurveTestOptions{.contrasts = {{"mine", {weights}}}};
  };
  for (const auto& weights : {std::map<std::string, double>{{"batcha", 1}, {"batchc", -1}},
                              {{"s(t1):l1.6", 1}, {"s(t1):l1.1", -1}},
                              {{"s(t1):l1.6", 1}, {"s(t2):l2.6", -1}},
                              {{"batcha", 1}, {"s(t1):l1.6", 1}}}) {
    const Predictions tests = test_curves(job, fits, given(weights));
    for (const double df : tests["df:mine"]) EXPECT_EQ(df, 1);
  }
  for (const auto& weights :
       {std::map<std::string, double>{{"batcha", 1}}, {{"s(t1):l1.6", 1}}, {{"batchc", 1}}})
    expect_error(ErrorCode::usage, "contrasts 'mine': contrast 1 is not estimable",
                 [&] { static_cast<void>(test_curves(job, fits, given(weights))); });
}

TEST_F(TradeSeq, TestsStoredFits) {
  const SharedFile stored(comm, "fits.h5");
  const auto rows = std::ssize(all["table"]["t1"]);
  const auto counts = all["responses"][0]["y"].get<std::vector<double>>();
  // The second lineage has no counts of the second response; the third is not seen.
  std::vector<double> three = counts;
  for (std::size_t i = 0; i < counts.size(); ++i)
    three.push_back(all["table"]["l1"][i].get<double>() * counts[i]);
  three.resize(3 * counts.size());
  const Table table{Plan::over_hosts(rows, 1), columns_of(all["table"])};
  const Responses responses{
      .matrix =
          ResponseMatrix{DenseMatrix{std::span<const double>(three), rows, 3, 1, rows}, {"a", "b", "c"}}};
  const ManyOptions options{.family = family("nb"), .covariances = true};
  const std::string own_levels = "s(t1, by = l1, bs = 'cr', k = 6) + s(t2, by = l2, bs = 'cr', k = 6) - 1";
  static_cast<void>(fit_many(job, own_levels, table, responses, options, {.fits = stored.path()}));
  const Predictions tests = test_curves(job, stored.path());
  const Predictions in_memory = test_curves(job, fit_many(job, own_levels, table, responses, options));
  const Range mine = job.local_range(tests.plan);
  ASSERT_EQ(tests.columns.size(), in_memory.columns.size());
  for (std::size_t c = 0; c < tests.columns.size(); ++c) {
    EXPECT_EQ(tests.columns[c].name, in_memory.columns[c].name);
    for (std::int64_t i = mine.begin; i < mine.end; ++i) {
      const double value = tests.columns[c].values[static_cast<std::size_t>(i - mine.begin)];
      const double same = in_memory.columns[c].values[static_cast<std::size_t>(i - mine.begin)];
      EXPECT_TRUE(value == same || (std::isnan(value) && std::isnan(same))) << tests.columns[c].name;
      const bool is_of_second = tests.columns[c].name.ends_with(":s(t2):l2");
      EXPECT_EQ(std::isnan(value), i == 2 || (i == 1 && is_of_second)) << tests.columns[c].name << i;
    }
  }
  for (std::int64_t i = mine.begin; i < mine.end; ++i) {
    const auto own = static_cast<std::size_t>(i - mine.begin);
    // The common test is that of the curves that there are.
    if (i == 1) {
      EXPECT_EQ(tests["statistic"][own], tests["statistic:s(t1):l1"][own]);
    }
  }
  const auto refuse = [&](const std::string& words, const CurveTestOptions& wrong) {
    expect_error(ErrorCode::usage, words, [&] { static_cast<void>(test_curves(job, stored.path(), wrong)); });
  };
  refuse("the models have no curve 's(t3)': they have s(t1):l1, s(t2):l2", {.terms = {{"s(t3)"}}});
  refuse("the test needs two curves, but the models have s(t1):l1",
         {.test = CurveTest::pattern, .terms = {{"s(t1):l1"}}});
  refuse("s(t1):l1 has no data between start and end", {.start = 11});
  refuse("points is 1: give 2 or more", {.points = 1});
}

TEST_F(TradeSeq, CurvesOfLevelsAreThoseOfIndicators) {
  // The same model, with a factor and with two indicators.
  std::vector<Table::Column> columns = columns_of(all["table"]);
  Factor lineage{{}, {"one", "two"}, LevelOrder::given};
  for (const auto& l2 : all["table"]["l2"]) lineage.codes.push_back(l2.get<int>());
  columns.push_back({"lineage", std::move(lineage)});
  const auto rows = std::ssize(all["table"]["t1"]);
  const auto counts = all["responses"][0]["y"].get<std::vector<double>>();
  const auto tests_of = [&](const std::string& formula, CurveTest test) {
    const ManyResults of =
        fit_many(job, formula, Table{Plan::over_hosts(rows, 1), columns},
                 {.in = ResponsesIn::columns,
                  .matrix = ResponseMatrix{DenseMatrix{std::span<const double>(counts), rows, 1, 1, rows}}},
                 {.family = family("nb"), .covariances = true});
    return test_curves(job, of, {.test = test});
  };
  for (const CurveTest test : {CurveTest::association, CurveTest::diff_end, CurveTest::pattern}) {
    const Predictions levels = tests_of("lineage + s(t1, by = lineage, bs = 'cr', k = 6)", test);
    const Predictions indicators =
        tests_of("s(t1, by = l1, bs = 'cr', k = 6) + s(t1, by = l2, bs = 'cr', k = 6) - 1", test);
    ASSERT_EQ(levels.columns.size(), indicators.columns.size());
    for (std::size_t c = 0; c < levels.columns.size(); ++c) {
      for (std::size_t i = 0; i < levels.columns[c].values.size(); ++i)
        EXPECT_NEAR(levels.columns[c].values[i], indicators.columns[c].values[i],
                    1e-4 * std::max(1.0, std::abs(levels.columns[c].values[i])))
            << levels.columns[c].name;
    }
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
