// SPDX-License-Identifier: Apache-2.0
// Checks of models against k.check, residuals and concurvity of mgcv: tests/data/check/make_checks.R.
#include "info/run_program.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

namespace tessera {
namespace {

using CheckJson = nlohmann::json;

CheckJson check_json_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return CheckJson::parse(file);
}

constexpr const char* checked_table = TESSERA_TEST_DATA "/predictions/table.csv";

class CheckOfATable : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void fit(const std::string& formula, const std::string& more = {}) const {
    successful(run(std::string(TESSERA_FIT " fit ") + checked_table + " --formula '" + formula +
                   "' --device cpu --threads 1 --out " + path("model.json") + " " + more));
  }
  [[nodiscard]] ProgramResult check(const std::string& args, const std::string& table = checked_table,
                                    const std::string& model = "model.json") const {
    return run(TESSERA_FIT " check " + path(model) + " " + table + " --threads 1 " + args);
  }
  void expect_refusal(const ProgramResult& result, int status, const std::string& words) const {
    EXPECT_EQ(result.status, status) << result.err;
    std::size_t lines = 0;
    std::istringstream all(result.err);
    for (std::string line; std::getline(all, line);) {
      if (!line.starts_with("tessera-fit: ")) continue;
      ++lines;
      EXPECT_NE(line.find(words), std::string::npos) << line;
    }
    EXPECT_EQ(lines, 1U) << result.err;
    EXPECT_EQ(result.out, "");
  }

  /// Writes a copy of the table with lines as `change(line, number)` returns them.
  void write_changed(const std::string& name, const auto& change) const {
    std::ifstream from(checked_table);
    std::ofstream to(path(name));
    std::size_t row = 0;
    for (std::string line; std::getline(from, line); ++row) to << change(line, row);
  }

  TemporaryFolder folder_;
};

/// A null or a list must be one in both.
void expect_alike(const CheckJson& found, const CheckJson& expected, double tolerance,
                  const std::string& what) {
  if (expected.is_array()) {
    ASSERT_EQ(found.size(), expected.size()) << what;
    for (std::size_t i = 0; i < expected.size(); ++i) expect_alike(found[i], expected[i], tolerance, what);
    return;
  }
  ASSERT_EQ(found.is_number(), expected.is_number()) << what << ": " << found << ", " << expected;
  if (found.is_number()) {
    EXPECT_NEAR(found.get<double>(), expected.get<double>(), tolerance) << what;
  }
}

class CheckOfAModel : public CheckOfATable, public ::testing::WithParamInterface<int> {};

TEST_P(CheckOfAModel, IsThatOfMgcv) {
  const CheckJson expected = check_json_of(TESSERA_TEST_DATA "/check/cases.json").at(GetParam());
  fit(expected.at("formula"), "--family " + expected.at("family").get<std::string>());
  const auto result = successful(check("--json --autocorrelation 3 --permutations 5000"));
  const CheckJson found = CheckJson::parse(result.out);
  // Within the agreement of both optima.
  constexpr double close = 2e-4;
  const auto of_bases = [&](const char* field) {
    CheckJson out = CheckJson::array();
    for (const CheckJson& one : found.at("bases")) out.push_back(one.at(field));
    return out;
  };
  EXPECT_EQ(of_bases("term"), expected.at("terms"));
  expect_alike(of_bases("coefficients"), expected.at("coefficients"), 0, "k'");
  expect_alike(of_bases("edf"), expected.at("edf"), 25 * close, "edf");
  expect_alike(of_bases("k_index"), expected.at("k_index"), close, "k-index");
  // Five standard deviations of a proportion of 5,000.
  expect_alike(of_bases("p_value"), expected.at("p_value"), 0.05, "p-value");
  const CheckJson& residuals = found.at("residuals");
  const CheckJson& quartiles = residuals.at("quartiles");
  expect_alike({residuals.at("min"), quartiles[0], quartiles[1], quartiles[2], residuals.at("max")},
               expected.at("quantiles"), close, "quantiles");
  expect_alike(residuals.at("mean"), expected.at("mean"), close, "mean");
  expect_alike(residuals.at("standard_deviation"), expected.at("deviation"), close, "deviation");
  expect_alike(found.at("dispersion").at("pearson"), expected.at("pearson"), close, "dispersion");
  expect_alike(found.at("autocorrelation"), expected.at("lags"), close, "lags");
  const CheckJson& concurvity = found.at("concurvity");
  EXPECT_EQ(concurvity.at("terms"), expected.at("labels"));
  for (const char* const measure : {"worst", "observed", "estimate"}) {
    if (expected.contains(measure))
      expect_alike(concurvity.at("whole").at(measure), expected.at(measure), close, measure);
  }
  CheckJson pairs = CheckJson::array();
  for (const CheckJson& row : concurvity.at("pairwise").at("worst"))
    pairs.insert(pairs.end(), row.begin(), row.end());
  expect_alike(pairs, expected.at("pairwise"), close, "pairwise");
  EXPECT_EQ(found.contains("zeros"), expected.contains("zeros"));
  if (expected.contains("zeros")) {
    const CheckJson& zeros = found.at("zeros");
    expect_alike({zeros.at("observed"), zeros.at("expected"), zeros.at("standard_deviation")},
                 expected.at("zeros"), 10 * close, "zeros");
  }
}

INSTANTIATE_TEST_SUITE_P(Fit, CheckOfAModel, ::testing::Range(0, 4));

TEST_F(CheckOfATable, PrintsTablesAndSaysItsPasses) {
  fit("count ~ f + s(x)", "--family poisson");
  const auto result = successful(check("--sample 100 --autocorrelation 2 --series g"));
  for (const char* const text : {"k-index", "a sample of 100 of 300 rows, 400 permutations, seed 1",
                                 "Deviance residuals (quartiles of the sample)", "Dispersion: ", "Zeros: ",
                                 "Concurvity of each term with all others", "Autocorrelation of residuals"})
    EXPECT_NE(result.out.find(text), std::string::npos) << text << result.out;
  for (const char* const text :
       {", once", "pass 1 over the rows: residuals", "pass 2 over the rows: concurvity",
        "pass 3 over the rows: the autocorrelation"})
    EXPECT_NE(result.err.find(text), std::string::npos) << text << result.err;
  const auto other = check("--sample 100 --seed 2 --json");
  EXPECT_NE(CheckJson::parse(other.out).at("bases"),
            CheckJson::parse(check("--sample 100 --json").out).at("bases"));
  const auto without = check("--largest-concurvity 5");
  EXPECT_EQ(without.out.find("Concurvity"), std::string::npos);
  EXPECT_NE(without.err.find(
                "concurvity is not computed: the model has 12 coefficients, more than largest-concurvity, 5"),
            std::string::npos)
      << without.err;
}

TEST_F(CheckOfATable, HasConcurvityOfDependentColumns) {
  // A level with fewer rows than columns.
  fit("y ~ f + s(z) + s(x, g, bs=\"fs\", k=9)", "--subset 'g != \"s\" | x < 0.08'");
  const auto result = successful(check("--json"));
  const CheckJson concurvity = CheckJson::parse(result.out).at("concurvity");
  for (const CheckJson& one : concurvity.at("whole").at("worst")) EXPECT_LE(one.get<double>(), 1 + 1e-9);
  // The largest canonical correlation is the same from either side.
  const CheckJson& worst = concurvity.at("pairwise").at("worst");
  for (std::size_t i = 0; i < worst.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_LE(worst[i][j].get<double>(), 1 + 1e-9);
      EXPECT_NEAR(worst[i][j].get<double>(), worst[j][i].get<double>(), 1e-9);
    }
  }
}

TEST_F(CheckOfATable, TakesTwoPassesOverTheRowsUnlessMoreIsAskedFor) {
  fit("count ~ f + s(x)", "--family poisson");
  const auto lines_with = [](const std::string& text, const std::string& words) {
    std::istringstream lines(text);
    int count = 0;
    for (std::string line; std::getline(lines, line);) count += line.find(words) != std::string::npos ? 1 : 0;
    return count;
  };
  const auto result = successful(check(""));
  EXPECT_EQ(lines_with(result.err, ", once"), 1) << result.err;
  EXPECT_EQ(lines_with(result.err, " over the rows: "), 2) << result.err;
  EXPECT_EQ(lines_with(check("--largest-concurvity 0").err, " over the rows: "), 1);
}

TEST_F(CheckOfATable, HasQuantileResidualsWithinTheirBand) {
  const auto of = [&](const std::string& args) {
    const auto result = successful(check("--json " + args));
    return CheckJson::parse(result.out);
  };
  fit("y ~ f + s(x)");
  const double scale = check_json_of(path("model.json")).at("scale");
  const CheckJson gaussian = of("");
  const CheckJson& quantiles = gaussian.at("quantile_residuals");
  ASSERT_EQ(quantiles.at("residuals").size(), 300U);
  for (const auto& [place, name] : {std::pair{0, "min"}, std::pair{299, "max"}})
    EXPECT_NEAR(quantiles.at("residuals")[place].get<double>(),
                gaussian.at("residuals").at(name).get<double>() / std::sqrt(scale), 1e-9);
  // qnorm(qbeta(c(.025, .975), 1, 300)), qnorm(.5 / 300)
  EXPECT_NEAR(quantiles.at("lower")[0].get<double>(), -3.761676487, 1e-6);
  EXPECT_NEAR(quantiles.at("upper")[0].get<double>(), -2.250110222, 1e-6);
  EXPECT_NEAR(quantiles.at("normal")[0].get<double>(), -2.935199469, 1e-6);
  fit("count ~ f + s(x) + s(g, bs=\"re\") + offset(log(e))", "--family poisson");
  const CheckJson counts = of("");
  EXPECT_LT(counts.at("quantile_residuals").at("share_outside").get<double>(), 0.3);
  EXPECT_EQ(of(""), counts);
  EXPECT_NE(of("--seed 2").at("quantile_residuals"), counts.at("quantile_residuals"));
  fit("count ~ s(x)", "--family quasipoisson");
  EXPECT_FALSE(of("").contains("quantile_residuals"));
}

TEST_F(CheckOfATable, ReadsWhatTheFitHasRead) {
  fit("y ~ s(x)", "--weights 'e / 2' --subset 'w > 0.1 & f != \"c\"' --offset 'log(e)'");
  const auto result = successful(check("--json"));
  const CheckJson model = check_json_of(path("model.json"));
  const CheckJson found = CheckJson::parse(result.out);
  EXPECT_EQ(found.at("n"), model.at("n"));
  EXPECT_NEAR(found.at("dispersion").at("deviance").get<double>(), model.at("scale").get<double>(),
              1e-8 * model.at("scale").get<double>());
}

TEST_F(CheckOfATable, TakesOtherRoundingOfTheResponse) {
  write_changed("rounded.csv", [](std::string line, std::size_t row) {
    if (row == 7) line.insert(line.rfind(','), "0000000001");
    return line + "\n";
  });
  fit("y ~ f + s(x)");
  successful(check("", path("rounded.csv")));
  fit("y ~ f + s(x)", "--rho 0.2");
  expect_refusal(check("", path("rounded.csv")), 3,
                 "the values or rows of the response differ from the response of the fit");
}

TEST_F(CheckOfATable, RefusesAnotherTableOrModel) {
  fit("y ~ f + s(x)");
  write_changed("fewer.csv",
                [](const std::string& line, std::size_t row) { return row == 7 ? "" : line + "\n"; });
  expect_refusal(check("", path("fewer.csv")), 3, "the table has 299 complete rows, but the fit used 300");
  write_changed("changed.csv", [](std::string line, std::size_t row) {
    if (row == 7) line.insert(line.rfind(','), "1");
    return line + "\n";
  });
  expect_refusal(check("", path("changed.csv")), 3,
                 "the values or rows of the response differ from the response of the fit");
  write_changed("without.csv", [](std::string line, std::size_t row) {
    if (row == 0) line.replace(line.find("\"x\""), 3, "\"q\"");
    return line + "\n";
  });
  expect_refusal(check("", path("without.csv")), 3, "'x'");
  expect_refusal(check("", path("no.csv")), 3, "no.csv");
  expect_refusal(check("--autocorrelation 2 --series nothing"), 3, "'nothing'");
  CheckJson newer = check_json_of(path("model.json"));
  newer["version"] = 99;
  std::ofstream(path("newer.json")) << newer.dump();
  expect_refusal(check("", checked_table, "newer.json"), 3, "newer tessera-fit");
}

}  // namespace
}  // namespace tessera
