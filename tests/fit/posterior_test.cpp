// SPDX-License-Identifier: Apache-2.0
// slice, smooths, derivatives, contrasts and simulate. compare_smooths.R compares them with mgcv.
#include "fit/csv.hpp"
#include "fit/example.hpp"
#include "info/run_program.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr const char* by_formula = R"(y ~ f + s(x, bs="ps", k=10, by=f) + s(z, bs="cr", k=6))";

class Posterior : public ::testing::Test {
 protected:
  void SetUp() override { write("data.csv", example_table()); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  void fit(const std::string& formula, const std::string& more = {}) const {
    successful(run(TESSERA_FIT " fit " + path("data.csv") + " --formula '" + formula +
                   "' --device cpu --threads 1 --out " + path("model.json") + " " + more));
  }
  [[nodiscard]] ProgramResult tell(const std::string& command, const std::string& args,
                                   const std::string& launcher = {}) const {
    return run(launcher + " " TESSERA_FIT " " + command + " " + path("model.json") + " " + args);
  }
  [[nodiscard]] Csv told(const std::string& command, const std::string& args) const {
    const auto result = tell(command, args);
    EXPECT_EQ(result.status, 0) << command << " " << args << "\n" << result.err;
    return Csv(result.out);
  }
  /// The values of these columns of a table.
  [[nodiscard]] static std::string text_of(const Csv& from, const std::vector<std::string>& columns,
                                           const std::vector<std::size_t>& rows) {
    std::string text;
    for (const std::string& name : columns) text += (text.empty() ? "" : ",") + name;
    for (const std::size_t row : rows) {
      text += '\n';
      for (const std::string& name : columns) {
        const auto c = static_cast<std::size_t>(std::ranges::find(from.names, name) - from.names.begin());
        text += from.columns.at(c).at(row) + (&name == &columns.back() ? "" : ",");
      }
    }
    return text + '\n';
  }

  TemporaryFolder folder_;
};

std::vector<std::size_t> rows_with(const Csv& from, const std::string& column, const std::string& value) {
  const auto c = static_cast<std::size_t>(std::ranges::find(from.names, column) - from.names.begin());
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < from.columns.at(c).size(); ++i) {
    if (from.columns[c][i] == value) rows.push_back(i);
  }
  return rows;
}

void expect_equal(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

TEST_F(Posterior, ASliceHasTypicalValuesOfTheOtherVariables) {
  fit(by_formula);
  const auto result = successful(tell("slice", "--at 'x=0.25,0.5;f=a,b' --se --interval 0.9"));
  const Csv slice(result.out);
  EXPECT_EQ(slice.names, (std::vector<std::string>{"x", "f", "fit", "se", "lower", "upper"}));
  EXPECT_EQ(slice.numbers("x"), (std::vector<double>{0.25, 0.25, 0.5, 0.5}));
  // R's quantile(z, 0.5, type = 3) of 200 values is the 100th.
  std::vector<double> z;
  for (int i = 0; i < 200; ++i) z.push_back(std::fmod(i * 0.7548776662466927, 1.0));
  std::sort(z.begin(), z.end());
  EXPECT_NE(result.err.find("typical values: z = " + std::to_string(z[99]).substr(0, 7)), std::string::npos)
      << result.err;
  std::ostringstream table;
  table.precision(17);
  table << "x,f,z\n";
  for (const char* row : {"0.25,a", "0.25,b", "0.5,a", "0.5,b"}) table << row << ',' << z[99] << '\n';
  write("new.csv", table.str());
  const Csv expected(tell("predict", path("new.csv") + " --se --interval 0.9").out);
  for (const char* column : {"fit", "se", "lower", "upper"})
    EXPECT_EQ(slice.numbers(column), expected.numbers(column)) << column;
}

TEST_F(Posterior, ASliceInHdf5IsATable) {
  if (!TESSERA_HAVE_HDF5) GTEST_SKIP() << "a build without HDF5";
  fit(by_formula);
  const std::string at = "--at 'x=0.25,0.5;f=a,b;z=0.1'";
  ASSERT_EQ(tell("slice", at + " --out " + path("slice.h5")).status, 0);
  EXPECT_EQ(told("predict", path("slice.h5")).numbers("fit"), told("slice", at).numbers("fit"));
}

TEST_F(Posterior, SmoothsAreTheTermsOfPredictions) {
  fit(by_formula);
  const Csv smooths = told("smooths", "--points 9 --draws 500");
  for (const std::string label : {"s(x):fa", "s(x):fb", "s(z)"}) {
    const auto rows = rows_with(smooths, "smooth", label);
    ASSERT_EQ(rows.size(), 9U) << label;
    const bool by = label != "s(z)";
    const std::string table =
        text_of(smooths, by ? std::vector<std::string>{"x", "f"} : std::vector<std::string>{"z"}, rows);
    write("grid.csv", table);
    const Csv terms =
        told("predict", path("grid.csv") + " --type terms --se --interval 0.95 --terms '" + label + "'");
    for (const auto& [column, term] : {std::pair<std::string, std::string>{"fit", label},
                                       {"se", label + ".se"},
                                       {"lower", label + ".lower"},
                                       {"upper", label + ".upper"}}) {
      std::vector<double> found;
      for (const std::size_t row : rows) found.push_back(smooths.numbers(column)[row]);
      expect_equal(found, terms.numbers(term), 1e-12);
    }
    const auto low = smooths.numbers("lower.simultaneous");
    for (const std::size_t row : rows) {
      const double wide = (smooths.numbers("fit")[row] - low[row]) / smooths.numbers("se")[row];
      EXPECT_GT(wide, 1.96) << label;
      EXPECT_LT(wide, 4.5) << label;
    }
  }
}

TEST_F(Posterior, SmoothsOfRandomEffectsAreTheirLevels) {
  fit(R"(y ~ s(x, bs="ps", k=10) + s(f, bs="re"))");
  const Csv smooths = told("smooths", "--terms 's(f)'");
  EXPECT_EQ(smooths.columns.at(1), (std::vector<std::string>{"a", "b", "c"}));
  const Csv coefficients = told("simulate", "--what coefficients --draws 2");
  EXPECT_EQ(smooths.numbers("fit").size(), 3U);
  EXPECT_EQ(coefficients.names.size(), 1 + 9 + 3U);
}

TEST_F(Posterior, DerivativesAreTheSlopesOfSmooths) {
  fit(by_formula);
  const Csv slopes = told("derivatives", "--points 2001 --terms 's(z)' --draws 0");
  const Csv curve = told("smooths", "--points 2001 --terms 's(z)' --draws 0");
  const Csv second = told("derivatives", "--points 2001 --terms 's(z)' --draws 0 --order 2");
  const auto z = curve.numbers("z");
  const auto fit = curve.numbers("fit");
  for (std::size_t i = 1; i + 1 < z.size(); i += 100) {
    const double h = z[i + 1] - z[i];
    EXPECT_NEAR(slopes.numbers("fit")[i], (fit[i + 1] - fit[i - 1]) / (2 * h), 1e-3);
    EXPECT_NEAR(second.numbers("fit")[i], (fit[i + 1] + fit[i - 1] - 2 * fit[i]) / (h * h), 0.2);
  }
}

TEST_F(Posterior, DerivativesThatAreDifferencesSaySo) {
  fit(R"(y ~ s(x, z, k=20) + f)");
  const auto result = tell("derivatives", "--points 3 --draws 0");
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.err.find("derivatives of s(x,z) are central differences"), std::string::npos)
      << result.err;
}

TEST_F(Posterior, ContrastsAreDifferencesOfSmooths) {
  fit(by_formula);
  const Csv contrasts = told("contrasts", "--points 7 --draws 0");
  const Csv smooths = told("smooths", "--points 7 --draws 0");
  ASSERT_EQ(contrasts.numbers("fit").size(), 3 * 7U);
  const auto fit = smooths.numbers("fit");
  const auto se = smooths.numbers("se");
  const std::vector<std::pair<std::size_t, std::size_t>> pairs{{0, 1}, {0, 2}, {1, 2}};
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    for (std::size_t i = 0; i < 7; ++i) {
      const std::size_t a = 7 * pairs[p].first + i;
      const std::size_t b = 7 * pairs[p].second + i;
      EXPECT_NEAR(contrasts.numbers("fit")[7 * p + i], fit[a] - fit[b], 1e-12);
      EXPECT_LT(contrasts.numbers("se")[7 * p + i], se[a] + se[b]);
    }
  }
}

TEST_F(Posterior, ContrastsOfTablesAreDifferencesOfPredictions) {
  fit(by_formula);
  write("one.csv", "x,z,f\n0.2,0.3,a\n0.4,0.3,b\n0.5,NA,b\n");
  write("two.csv", "x,z,f\n0.2,0.3,b\n0.1,0.3,b\n0.5,0.3,b\n");
  const Csv found = told("contrasts", path("one.csv") + " " + path("two.csv"));
  const auto one = told("predict", path("one.csv")).numbers("fit");
  const auto two = told("predict", path("two.csv")).numbers("fit");
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(found.numbers("fit")[i], one[i] - two[i], 1e-12);
    EXPECT_GT(found.numbers("se")[i], 0);
  }
  EXPECT_TRUE(std::isnan(found.numbers("se")[2]));
  const Csv same = told("contrasts", path("two.csv") + " " + path("two.csv"));
  EXPECT_EQ(same.numbers("se"), (std::vector<double>{0, 0, 0}));
}

TEST_F(Posterior, DrawsOfSmoothsAreThoseOfTheirCoefficients) {
  fit(R"(y ~ s(f, bs="re") + x)");
  const Csv coefficients = told("simulate", "--what coefficients --draws 3 --seed 5");
  const Csv smooths = told("simulate", "--what smooths --draws 3 --seed 5");
  for (std::size_t draw = 0; draw < 3; ++draw) {
    const auto levels = smooths.numbers("draw." + std::to_string(draw + 1));
    for (std::size_t level = 0; level < 3; ++level)
      EXPECT_EQ(levels[level], coefficients.numbers("s(f)." + std::to_string(level + 1))[draw]);
  }
  EXPECT_NE(told("simulate", "--what coefficients --draws 3 --seed 6").numbers("x"),
            coefficients.numbers("x"));
}

TEST_F(Posterior, ResponsesHaveTheirMeansAndWeights) {
  fit(R"(y ~ x + few)");
  write("many.csv", [] {
    std::string text = "x,few,w\n";
    for (int i = 0; i < 4000; ++i) text += "0.5,1,4\n";
    return text;
  }());
  const double mean = told("predict", path("many.csv")).numbers("fit").front();
  const auto spread = [&](const std::string& more) {
    const auto draws =
        told("simulate", path("many.csv") + " --what responses --seed 3" + more).numbers("draw.1");
    const double centre = std::accumulate(draws.begin(), draws.end(), 0.0) / 4000;
    double square = 0;
    for (const double one : draws) square += (one - centre) * (one - centre);
    EXPECT_NEAR(centre, mean, 4 * std::sqrt(square / 4000 / 4000));
    return std::sqrt(square / 4000);
  };
  EXPECT_NEAR(spread("") / spread(" --weights w"), 2, 0.15);
}

TEST_F(Posterior, AnswersDoNotDependOnRanksAndThreads) {
  fit(by_formula);
  for (const std::string command :
       {"slice MODEL --at 'x=0.1,0.2,0.3,0.4,0.5' --se", "smooths MODEL --points 5 --draws 400",
        "derivatives MODEL --points 4 --draws 50", "contrasts MODEL --points 3 --draws 50",
        "contrasts MODEL DATA DATA", "simulate MODEL --what coefficients --draws 7",
        "simulate MODEL --what smooths --draws 3 --points 4",
        "simulate MODEL DATA --what responses --draws 2 --keep few",
        "simulate MODEL DATA --what responses --draws 3 --posterior-predictive --unconditional"}) {
    std::string words = command;
    for (const auto& [word, name] :
         {std::pair<std::string, std::string>{"MODEL", "model.json"}, {"DATA", "data.csv"}}) {
      for (std::size_t at = words.find(word); at != std::string::npos; at = words.find(word))
        words.replace(at, word.size(), path(name));
    }
    const auto expected = run(TESSERA_FIT " " + words + " --threads 1");
    EXPECT_EQ(expected.status, 0) << command << "\n" << expected.err;
    EXPECT_EQ(run(TESSERA_FIT " " + words + " --threads 2").out, expected.out) << command;
    EXPECT_EQ(run(std::string(TESSERA_MPIRUN) + " 3 " TESSERA_FIT " " + words + " --threads 1").out,
              expected.out)
        << command;
  }
}

TEST_F(Posterior, RefusalsAreOneLineAndNoFile) {
  fit(by_formula);
  write("short.csv", "x,z,f\n0.1,0.2,a\n");
  write("weights.csv", "x,z,f,w\n0.1,0.2,a,-1\n");
  struct Refusal {
    std::string command;
    std::string args;
    int status;
    std::string words;
  };
  const std::vector<Refusal> refusals{
      {"slice", "--at 'q=1'", 2, "the model has no column 'q': the columns are f, x, z"},
      {"slice", "--at 'x=abc'", 2, "x: the value 'abc' is not a finite number"},
      {"slice", "--at x", 2, "--at: 'x' does not have the form name=values"},
      {"slice", "--at 'x=1;x=2'", 2, "values of x are given twice"},
      {"slice", "--at 'f=z' --new-levels error", 3, "'f' unknown to the fit"},
      {"smooths", "--terms 's(q)'", 2, "the model has no smooth 's(q)': it has s(x):fa"},
      {"smooths", "--interval 1", 2, "above 0 and below 1"},
      {"derivatives", "--variables q", 2, "no smooth has the variable 'q'"},
      {"contrasts", "--terms 's(z)'", 2,
       "no smooth 's(z)' by levels of a factor: the smooths by levels are s(x):f"},
      {"contrasts", path("data.csv"), 2, "the second table is missing"},
      {"contrasts", path("data.csv") + " " + path("short.csv"), 3,
       "give two tables with the same number of rows"},
      {"simulate", "--what responses", 2, "responses needs a table: give TABLE"},
      {"simulate", path("weights.csv") + " --what responses --weights w", 3, "must all be numbers above 0"},
      {"simulate", path("short.csv") + " --what responses --weights w", 3, "'w'"},
      {"simulate", "--what coefficients --draws 0", 2, "--draws"},
      {"simulate", "--what smooths --posterior-predictive", 2, "--posterior-predictive needs responses"},
      {"smooths", "--out " + path("model.json"), 2, "model.json"}};
  for (const Refusal& one : refusals) {
    const bool overwrites = one.args.find("--out") != std::string::npos;
    const auto result = tell(one.command, one.args + (overwrites ? "" : " --out " + path("answer.csv")));
    EXPECT_EQ(result.status, one.status) << one.command << " " << one.args << "\n" << result.err;
    const auto lines = complaints(result.err);
    ASSERT_EQ(lines.size(), 1U) << result.err;
    EXPECT_NE(lines[0].find(one.words), std::string::npos) << lines[0];
    EXPECT_FALSE(fs::exists(path("answer.csv"))) << one.command << " " << one.args;
  }
}

TEST_F(Posterior, AFullDiskIsAnError) {
  fit(by_formula);
  for (const std::string command :
       {"slice", "smooths --points 3 --draws 10", "derivatives --points 3 --draws 10",
        "contrasts --points 3 --draws 10", "simulate --what coefficients"}) {
    const auto space = command.find(' ');
    const auto result = tell(command.substr(0, space),
                             (space == std::string::npos ? "" : command.substr(space)) + " --out /dev/full");
    EXPECT_EQ(result.status, 3) << command;
    EXPECT_NE(result.err.find("No space left on device"), std::string::npos) << result.err;
  }
}

TEST_F(Posterior, AModelWithoutTypicalValuesIsSaidToBeOne) {
  fit(by_formula, "--no-residuals");
  const auto slice = tell("slice", "--at 'x=0.5' --out " + path("answer.csv"));
  EXPECT_EQ(slice.status, 3);
  const auto lines = complaints(slice.err);
  ASSERT_EQ(lines.size(), 1U) << slice.err;
  EXPECT_NE(lines[0].find("has no typical value of 'x'"), std::string::npos) << lines[0];
  EXPECT_FALSE(fs::exists(path("answer.csv")));
  // The extents of splines are there.
  EXPECT_EQ(tell("smooths", "--points 3 --draws 0").status, 0);
}

TEST_F(Posterior, ResponsesOfAVarianceAloneAreRefused) {
  fit("few ~ x", "--family quasipoisson");
  const auto result = tell("simulate", path("data.csv") + " --what responses");
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("has only a variance function"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace tessera
