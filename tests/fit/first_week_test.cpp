// SPDX-License-Identifier: Apache-2.0
// Typical first uses of tessera-fit give R's results: each family with each form of a response, and each kind
// of column in each place of a formula. Expected values: tests/data/first_week/make_first_week.R.
#include "fit/example.hpp"
#include "info/run_program.hpp"
#include "support/file_content.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tessera {
namespace {

using Json = nlohmann::json;

std::string data(const std::string& name) {
  return TESSERA_TEST_DATA "/first_week/" + name;
}

const Json& cases() {
  static const Json all = Json::parse(testing::content_of(data("cases.json")));
  return all;
}

/// A folder of its own for each test, and the commands in it.
class FirstWeek : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  [[nodiscard]] ProgramResult fit(const std::string& formula, const std::string& args, const std::string& out,
                                  const std::string& table = data("table.csv"),
                                  const std::string& launcher = {}) const {
    return run(launcher + " " TESSERA_FIT " fit " + table + " --formula '" + formula +
               "' --device cpu --threads 1 --out " + path(out) + " " + args);
  }

  TemporaryFolder folder_;
};

std::vector<double> column_of(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);  // the header
  std::vector<double> values;
  while (std::getline(lines, line)) values.push_back(line == "NA" ? std::nan("") : std::stod(line));
  return values;
}

class FirstWeekFit : public FirstWeek, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(FirstWeekFit, IsRs) {
  const Json& expected = cases().at(GetParam());
  const std::string formula = expected.at("formula");
  const std::string args = expected.at("args");
  // R's iteration of smoothing parameters ends earlier.
  const bool smooth = expected.at("smooth");
  const double tolerance = smooth ? 2e-4 : 1e-6;
  const auto expect_near = [&](double value, double of_r, const std::string& what) {
    EXPECT_NEAR(value, of_r, tolerance * (std::abs(of_r) + (smooth ? 1 : 0.01))) << what;
  };

  const auto fitted = fit(formula, args, "model.json");
  ASSERT_EQ(fitted.status, 0) << formula << " " << args << "\n" << fitted.err;
  const std::string log = expected.at("log");
  EXPECT_NE(fitted.err.find(log), std::string::npos) << fitted.err;
  const std::string bytes = testing::content_of(path("model.json"));
  const Json model = Json::parse(bytes);
  EXPECT_EQ(model.at("n"), expected.at("n"));
  expect_near(model.at("deviance"), expected.at("deviance"), "deviance");
  expect_near(model.at("edf_total"), expected.at("edf"), "edf");
  const Json& names = expected.at("names");
  if (!smooth) {
    EXPECT_EQ(model.at("coefficients").size(), names.size());
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Json& coefficient = model.at("coefficients").at(i);
    EXPECT_EQ(coefficient.at("name"), names.at(i));
    expect_near(coefficient.at("value"), expected.at("coefficients").at(i), names.at(i));
  }

  const auto predicted =
      run(TESSERA_FIT " predict " + path("model.json") + " " + data("new.csv") + " --type response");
  ASSERT_EQ(predicted.status, 0) << predicted.err;
  const std::vector<double> predictions = column_of(predicted.out);
  const Json& of_r = expected.at("predictions");
  ASSERT_EQ(predictions.size(), of_r.size());
  for (std::size_t i = 0; i < of_r.size(); ++i) {
    EXPECT_EQ(std::isnan(predictions[i]), of_r.at(i).is_null()) << i;
    if (!of_r.at(i).is_null()) expect_near(predictions[i], of_r.at(i), "prediction " + std::to_string(i));
  }

  const auto summary = successful(run(TESSERA_FIT " summary " + path("model.json")));
  EXPECT_NE(fitted.out.find(summary.out), std::string::npos) << summary.out;
  // Options about levels: the page, and the same bits on any number of ranks, from the same table in HDF5,
  // and with columns in scratch files.
  if (log.empty()) return;
  successful(run(TESSERA_FIT " report " + path("model.json") + " --out " + path("report.html")));
  std::string table = data("table.csv");
  if (TESSERA_HAVE_HDF5) {
    table = path("table.h5");
    successful(run(TESSERA_FIT " convert " + data("table.csv") + " " + table));
  }
  const auto again = successful(fit(formula, args + " --memory 0", "again.json", table, TESSERA_MPIRUN " 3"));
  EXPECT_EQ(testing::content_of(path("again.json")), bytes);
}

INSTANTIATE_TEST_SUITE_P(Cases, FirstWeekFit, ::testing::Range(std::size_t{0}, cases().size()),
                         [](const auto& one) {
                           return cases().at(one.param).at("name").template get<std::string>();
                         });

TEST_F(FirstWeek, KnowsALevelHoweverItIsWritten) {
  // The levels of year are numbers, those of code are texts.
  ASSERT_EQ(fit("y ~ factor(year) + code + s(zip, bs=\"re\")", "", "model.json").status, 0);
  const auto predict = [&](const std::string& rows) {
    std::ofstream(path("new.csv")) << "year,code,zip\n" << rows;
    auto result = successful(run(TESSERA_FIT " predict " + path("model.json") + " " + path("new.csv")));
    return result;
  };
  const std::vector<double> known =
      column_of(predict("9,01,9\n9.0,01,9\n 09 ,01,9.0\n\"9\",\"01\",\"9\"\n").out);
  ASSERT_EQ(known.size(), 4U);
  for (const double one : known) EXPECT_EQ(one, known[0]);
  // A missing or unseen level has no prediction, except for a random effect, which is left out.
  const auto others = predict("9,01,9\n,01,9\n12,01,9\n9,1,9\n9,01,11\n9,01,\n");
  const std::vector<double> values = column_of(others.out);
  ASSERT_EQ(values.size(), 6U);
  EXPECT_EQ(values[0], known[0]);
  for (const std::size_t i : {1U, 2U, 3U, 5U}) EXPECT_TRUE(std::isnan(values[i])) << i;
  EXPECT_TRUE(std::isfinite(values[4]));
  EXPECT_NE(others.err.find("1 row has a level of 'factor(year)' unknown to the fit ('12')"),
            std::string::npos)
      << others.err;
}

/// Data that cannot be fitted end with a status and one line.
TEST_F(FirstWeek, SaysWhatIsWrong) {
  const std::string binomial = "--family binomial";
  for (const auto& [formula, args, status, words] :
       std::vector<std::tuple<std::string, std::string, int, std::string_view>>{
           {"y ~ x", "--subset 'x > 2'", 3, "subset 'x > 2' selects no row"},
           {"size ~ x", binomial, 3, "the response 'size' has 3 levels in the complete rows ('l', 'm', 's')"},
           {"same ~ x", binomial, 3,
            "the response 'same' is 'yes' in every complete row: give a response that varies"},
           {"coded ~ x", binomial, 3,
            "for the binomial family it must be between 0 and 1, or be a factor of two levels"},
           {"answer ~ x", "", 3, "the column 'answer' holds the text 'no', but the model needs numbers"},
           {"answer ~ x", "--family poisson", 3, "the model needs numbers"},
           {"factor(s) ~ x", "", 2,
            "factor(s) has levels, but the model needs numbers: convert the column to numbers"},
           {"y ~ x", "--family poisson", 3, "for the poisson family it must"},
           {"y ~ x", "--family gamma", 3, "it must be greater than 0"},
           {"y ~ s(g, bs=\"cr\")", "", 3, "the column 'g' holds the text 'a', but the model needs numbers"},
           {"y ~ s(factor(year), bs=\"cr\")", "", 2, "factor(year) has levels"},
           {"y ~ s(year, bs=\"cr\")", "--factor year", 2,
            "factor 'year': the model needs numbers in this column"},
           {"y ~ x + offset(g)", "", 3, "but the model needs numbers"},
           {"y ~ x", "--weights g", 3, "but the model needs numbers"},
           {"y ~ same", "", 3, "factor 'same' has fewer than two levels"},
           {"y ~ log(g)", "", 3, "but log(g) needs numbers"},
           {"y ~ I(factor(year) * 2)", "", 2, "factor(year) has levels, but '*' needs numbers"},
           {"y ~ factor(year, levels = 8)", "", 3, "'factor(year, levels = 8)' has fewer than two levels"},
           {"cbind(y, x) ~ z", "", 2,
            "cannot be used with the family gaussian: use binomial, quasibinomial or a censored family, for "
            "example cnorm"},
           {"y ~ x", "--family ocat", 2, "ocat: the number of classes is missing: write ocat(R=4)"},
           {"y ~ x", "--family 'bcg()'", 2, "the family 'bcg()' is not available: write gaussian or gamma"},
           {"y ~ x", "--family 'tw(theta = 2)'", 2, "the family 'tw(theta = 2)': p cannot be 2"},
           {"y ~ cbind(x, z)", "", 2, "cbind() can only be the response"},
           {"y ~ log(.)", "", 2, "name the column"},
           {"y ~ X", "", 3, "unknown column 'X'"},
           {"s ~ factor(s)", binomial, 2, "the response factor(s) also occurs on the right-hand side"},
           {"y ~ TRUE", "", 2, "TRUE is not a column"},
           {"y ~ s(x, bs=\"cr\", k=TRUE)", "", 2, "k is TRUE: give a whole number"},
           {"y ~ x", "--weight w", 2, "--weight"},
           {"y ~ x", "--family normal", 2,
            "the family 'normal' is not gaussian, binomial, poisson, gamma, nb, inverse.gaussian, "
            "quasipoisson, quasibinomial, quasi, tweedie, tw, scat, betar, ocat, cnorm, clog, cpois, elf, "
            "zip, "
            "gaulss, gammals, gumbls, gevlss, shash, twlss, ziplss or multinom"},
           {"s ~ x", "--family 'binomial(link = sqrt)'", 2,
            "binomial needs the link logit, probit, cloglog, cauchit or log"},
           {"cost ~ x", "--family 'Gamma(sqrt)'", 2, "gamma needs the link log, inverse or identity"},
       }) {
    const auto result = fit(formula, args, "model.json");
    EXPECT_EQ(result.status, status) << formula << " " << args << "\n" << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << formula << " " << args << "\n" << result.err;
  }
}

}  // namespace
}  // namespace tessera
