// SPDX-License-Identifier: Apache-2.0
// Predictions of every kind against predict.gam: tests/data/predictions/make_predictions.R.
#include "fit/csv.hpp"
#include "fit/example.hpp"
#include "info/run_program.hpp"
#include "support/file_content.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tessera {
namespace {

using Json = nlohmann::json;

std::string prediction_data(const std::string& name) {
  return TESSERA_TEST_DATA "/predictions/" + name;
}

const Json& prediction_cases() {
  static const Json all = Json::parse(testing::content_of(prediction_data("cases.json")));
  return all;
}

void expect_near(const std::vector<double>& found, const Json& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double range = 0;
  for (const Json& one : expected) range = std::max(range, one.is_number() ? std::abs(one.get<double>()) : 0);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(std::isnan(found[i]), !expected[i].is_number()) << what << ", row " << i;
    if (!std::isnan(found[i])) {
      EXPECT_NEAR(found[i], expected[i].get<double>(), 2e-5 * range) << what << ", row " << i;
    }
  }
}

class Predict : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void fit(const Json& one) const {
    const auto fitted =
        run(TESSERA_FIT " fit " + prediction_data("table.csv") + " --formula '" +
            one.at("formula").get<std::string>() + "' --family '" + one.at("family").get<std::string>() +
            "' --device cpu --threads 1 --out " + path("model.json"));
    ASSERT_EQ(fitted.status, 0) << fitted.err;
  }
  [[nodiscard]] ProgramResult predict(const std::string& args,
                                      const std::string& table = prediction_data("new.csv"),
                                      const std::string& launcher = {}) const {
    return run(launcher + " " TESSERA_FIT " predict " + path("model.json") + " " + table + " " + args);
  }
  [[nodiscard]] Csv predicted(const std::string& args) const {
    const auto result = predict(args);
    EXPECT_EQ(result.status, 0) << args << "\n" << result.err;
    return Csv(result.out);
  }

  TemporaryFolder folder_;
};

class PredictOfAModel : public Predict, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(PredictOfAModel, IsThatOfPredictGam) {
  const Json& one = prediction_cases().at(GetParam());
  fit(one);
  const std::string excluded = one.at("exclude");
  const std::pair<const char*, std::string> sums[] = {{"link", "--type link"},
                                                      {"response", "--type response"},
                                                      {"unconditional", "--unconditional"},
                                                      {"without", "--exclude '" + excluded + "'"},
                                                      {"only", "--terms '(Intercept)," + excluded + "'"}};
  for (const auto& [kind, args] : sums) {
    const Csv found = predicted(args + " --se");
    const std::string what = one.at("formula").get<std::string>() + " " + kind;
    Json expected = one.at(kind);
    const std::vector<double> fit = found.numbers("fit");
    const std::vector<double> se = found.numbers("se");
    // predict.gam omits a row with a missing value of a variable that only excluded terms have.
    for (std::size_t i = 0; i < fit.size() && args.find('(') != std::string::npos; ++i) {
      if (!expected["fit"][i].is_null() || std::isnan(fit[i])) continue;
      expected["fit"][i] = fit[i];
      expected["se"][i] = se[i];
    }
    expect_near(fit, expected.at("fit"), what);
    expect_near(se, expected.at("se"), what + ", se");
  }
  for (const std::string type : {"terms", "iterms"}) {
    const Csv found = predicted("--type " + type + " --se");
    const Json& expected = one.at(type);
    ASSERT_EQ(found.names.size(), 2 * expected.at("names").size());
    for (std::size_t c = 0; c < expected.at("names").size(); ++c) {
      const std::string name = expected.at("names").at(c);
      EXPECT_EQ(found.names[2 * c], name);
      expect_near(found.numbers(name), expected.at("fit").at(c), type + " " + name);
      expect_near(found.numbers(name + ".se"), expected.at("se").at(c), type + " se " + name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PredictOfAModel, ::testing::Range<std::size_t>(0, 8));

// The sum of the terms, the constant and the offset is the linear predictor, and so is a row of the model
// matrix times the coefficients.
TEST_F(Predict, KindsAgreeWithEachOther) {
  fit(prediction_cases().at(6));
  const Csv link = predicted("--se --interval 0.9");
  const auto terms = predict("--type terms");
  const std::string constant_line = "the intercept, ";
  const std::size_t at = terms.err.find(constant_line);
  ASSERT_NE(at, std::string::npos) << terms.err;
  const double constant = std::stod(terms.err.substr(at + constant_line.size()));
  const Csv parts(terms.out);
  const Csv matrix = predicted("--type lpmatrix");
  const Csv table(testing::content_of(prediction_data("new.csv")));
  const std::vector<double> e = table.numbers("e");
  const Json coefficients = Json::parse(testing::content_of(path("model.json"))).at("coefficients");
  ASSERT_EQ(matrix.names.size(), coefficients.size());
  const std::vector<double> fit = link.numbers("fit");
  for (std::size_t row = 0; row < fit.size(); ++row) {
    if (std::isnan(fit[row])) continue;
    double sum = constant + std::log(e[row]);
    for (const std::string& name : parts.names) sum += parts.numbers(name)[row];
    EXPECT_NEAR(sum, fit[row], 1e-12) << row;
    double product = std::log(e[row]);
    for (std::size_t c = 0; c < coefficients.size(); ++c) {
      EXPECT_EQ(matrix.names[c], coefficients[c].at("name").get<std::string>());
      product += coefficients[c].at("value").get<double>() * matrix.numbers(matrix.names[c])[row];
    }
    EXPECT_NEAR(product, fit[row], 1e-12) << row;
    EXPECT_NEAR(link.numbers("upper")[row], fit[row] + 1.6448536269514722 * link.numbers("se")[row], 1e-12);
  }
  // The ends of the mean's interval are those of the predictor's, transformed.
  const Csv response = predicted("--type response --se --interval 0.9 --prediction-interval 0.8");
  for (std::size_t row = 0; row < fit.size(); ++row) {
    if (std::isnan(fit[row])) continue;
    EXPECT_NEAR(std::log(response.numbers("lower")[row]), link.numbers("lower")[row], 1e-12);
    EXPECT_LE(response.numbers("prediction.lower")[row], response.numbers("fit")[row]);
    EXPECT_GE(response.numbers("prediction.upper")[row], response.numbers("fit")[row] - 1);
  }
}

TEST_F(Predict, NeedsNoColumnOfTermsThatAreLeftOut) {
  fit(prediction_cases().at(0));
  std::ofstream(path("few.csv")) << "x,w\n0.5,1\n0.25,2\n";
  const auto without = successful(predict("--exclude 'f,s(g)' --se", path("few.csv")));
  std::ofstream(path("all.csv")) << "x,w,f,g\n0.5,1,b,p\n0.25,2,a,q\n";
  EXPECT_EQ(predict("--exclude f --exclude 's(g)' --se", path("all.csv")).out, without.out);
  const auto terms = successful(predict("--type terms --terms 's(x)'", path("few.csv")));
  EXPECT_EQ(Csv(terms.out).names, std::vector<std::string>{"s(x)"});
  const auto all = predict("--se", path("few.csv"));
  EXPECT_EQ(all.status, 3);
}

TEST_F(Predict, TreatsNewLevelsAsAsked) {
  const auto fits = [&](const std::string& args, const std::string& rows) {
    std::ofstream(path("rows.csv")) << rows;
    const auto result = successful(predict(args, path("rows.csv")));
    return Csv(result.out);
  };
  const std::string rows = "x,z,h\n0.5,0.1,p\n0.5,0.1,\"new\"\n";
  fit(prediction_cases().at(5));  // s(z) + s(x, h, bs = "fs")
  EXPECT_TRUE(std::isnan(fits("", rows).numbers("fit")[1]));
  EXPECT_TRUE(std::isnan(fits("--new-levels na", rows).numbers("fit")[1]));
  EXPECT_EQ(fits("--new-levels population --se", rows).columns[0][1],
            fits("--exclude 's(x,h)' --se", rows).columns[0][1]);
  const auto refused = predict("--new-levels error --out " + path("out.csv"), path("rows.csv"));
  EXPECT_EQ(refused.status, 3);
  EXPECT_NE(refused.err.find("1 row has a level of 'h' unknown to the fit ('new')"), std::string::npos)
      << refused.err;
  EXPECT_FALSE(std::ifstream(path("out.csv")).good());
  const auto terms = fits("--type terms --se", rows);
  EXPECT_FALSE(std::isnan(terms.numbers("s(z)")[1]));
  EXPECT_TRUE(std::isnan(terms.numbers("s(x,h)")[1]) && std::isnan(terms.numbers("s(x,h).se")[1]));

  fit(prediction_cases().at(4));  // … + s(h, z, bs = "re")
  const std::string more = "x,w,z,h\n0.5,1,0.1,p\n0.5,1,0.1,\"new\"\n";
  EXPECT_EQ(fits("", more).columns[0][1], fits("--exclude 's(h,z)'", more).columns[0][1]);
  EXPECT_TRUE(std::isnan(fits("--new-levels na", more).numbers("fit")[1]));

  const std::string of_districts =
      R"(bs=c("mrf", "cr"), k=c(4, 4), xt=list(list(nb=list(p="q", q=c("p", "r"), r=c("q", "s"), s="r")), NULL))";
  fit({{"formula", "y ~ s(x) + te(h, z, " + of_districts + ")"}, {"family", "gaussian"}});
  EXPECT_FALSE(std::isnan(fits("", rows).numbers("fit")[0]));
  EXPECT_TRUE(std::isnan(fits("", rows).numbers("fit")[1]));
  EXPECT_EQ(fits("--new-levels population", rows).columns[0][1],
            fits("--exclude 'te(h,z)'", rows).columns[0][1]);
  const auto of_terms = fits("--type terms", rows);
  EXPECT_FALSE(std::isnan(of_terms.numbers("s(x)")[1]));
  EXPECT_TRUE(std::isnan(of_terms.numbers("te(h,z)")[1]));
  // A random margin beside the districts adds 0, not the districts themselves.
  fit({{"formula", "y ~ te(g, z, bs=c(\"re\", \"cr\"), k=c(5, 4)) + te(h, x, " + of_districts + ")"},
       {"family", "gaussian"}});
  const std::string both = "x,z,g,h\n0.5,0.1,s,p\n0.5,0.1,\"new\",p\n0.5,0.1,s,\"new\"\n";
  const std::vector<double> found = fits("", both).numbers("fit");
  EXPECT_FALSE(std::isnan(found[0]) || std::isnan(found[1]));
  EXPECT_TRUE(std::isnan(found[2]));
}

TEST_F(Predict, CarriesColumnsAlong) {
  fit(prediction_cases().at(0));
  std::ofstream(path("rows.csv")) << "id,time,x,w,f,g,\"odd, name\"\n"
                                     "\"a\"\"1\",1.5,0.5,1,b,p,7\n\"b\",NA,0.25,2,a,q,8\n";
  const auto some = predict("--keep id,time --row-numbers", path("rows.csv"));
  ASSERT_EQ(some.status, 0) << some.err;
  EXPECT_EQ(some.out.substr(0, some.out.find('\n')), "row,id,time,fit");
  EXPECT_NE(some.out.find("\n1,\"a\"\"1\",1.5,"), std::string::npos) << some.out;
  EXPECT_NE(some.out.find("\n2,\"b\",NA,"), std::string::npos) << some.out;
  const auto all = predict("--keep all", path("rows.csv"));
  EXPECT_EQ(all.out.substr(0, all.out.find('\n')), "id,time,x,w,f,g,\"odd, name\",fit");
  EXPECT_EQ(predict("--keep absent", path("rows.csv")).status, 3);
  std::ofstream(path("named.csv")) << "fit,x,w,f,g\n1,0.5,1,b,p\n";
  EXPECT_EQ(predict("--keep fit", path("named.csv")).status, 2);
}

TEST_F(Predict, WritesHdf5WithTheSameNumbers) {
  if (!TESSERA_HAVE_HDF5) GTEST_SKIP() << "a build without HDF5";
  fit(prediction_cases().at(0));
  const std::string args = "--type terms --se --keep g,z --row-numbers";
  const auto csv = predict(args);
  ASSERT_EQ(predict(args + " --out " + path("out.h5")).status, 0);
  // Read by the program itself, which fits a column: the mean is that of the numbers.
  successful(predict(args + " --memory 1K --out " + path("parts.h5"), prediction_data("new.csv"),
                     TESSERA_MPIRUN " 2"));
  EXPECT_EQ(testing::content_of(path("parts.h5")), testing::content_of(path("out.h5")));
  EXPECT_EQ(run(TESSERA_FIT " predict " + path("model.json") + " " + prediction_data("new.csv") +
                " --type terms --out " + path("out.hdf5"))
                .status,
            0);
}

TEST_F(Predict, WritesAFolderWhoseFilesHaveTheOrderOfTheRows) {
  fit(prediction_cases().at(0));
  const std::string args = "--keep g,z --row-numbers";
  const auto one = successful(predict(args));
  successful(predict(args + " --memory 1K --out " + path("parts.csv/"), prediction_data("new.csv"),
                     TESSERA_MPIRUN " 2"));
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path("parts.csv")))
    files.insert(entry.path().string());
  EXPECT_GT(files.size(), 2U);
  std::string rows;
  for (const std::string& file : files) {
    const std::string part = testing::content_of(file);
    rows += rows.empty() ? part : part.substr(part.find('\n') + 1);
  }
  EXPECT_EQ(rows, one.out);
}

TEST_F(Predict, HasTheSameBitsInPartsAndOnAnyRanks) {
  fit(prediction_cases().at(2));
  for (const std::string args : {"--type iterms --se --keep g,h,dose,x", "--type lpmatrix --row-numbers",
                                 "--type response --prediction-interval 0.9 --interval 0.5"}) {
    const auto alone = successful(predict(args + " --threads 1"));
    EXPECT_EQ(predict(args + " --threads 3 --memory 500").out, alone.out) << args;
    EXPECT_EQ(predict(args, prediction_data("new.csv"), TESSERA_MPIRUN " 3").out, alone.out) << args;
  }
}

TEST_F(Predict, AModelWithoutCoefficientsHasNoColumns) {
  fit({{"formula", "y ~ 0"}, {"family", "gaussian"}});
  for (const std::string type : {"lpmatrix", "terms", "iterms"}) {
    successful(predict("--type " + type));
    const auto kept = predict("--keep e --type " + type);
    EXPECT_EQ(kept.status, 0) << kept.err;
    EXPECT_EQ(Csv(kept.out).names, std::vector<std::string>{"e"}) << type;
  }
  successful(run(TESSERA_FIT " contrasts " + path("model.json") + " " + prediction_data("new.csv") + " " +
                 prediction_data("new.csv")));
}

TEST_F(Predict, RefusesWhatItCannotTell) {
  fit(prediction_cases().at(0));
  const auto expect_refused = [&](const std::string& args, const std::string& reason) {
    const auto result = predict(args);
    EXPECT_EQ(result.status, 2) << args;
    EXPECT_NE(result.err.find(reason), std::string::npos) << result.err;
  };
  expect_refused("--exclude 's(q)'",
                 "the model has no term 's(q)': it has (Intercept), f, poly(w, 2), s(x), s(g)");
  expect_refused("--terms x", "the model has no term 'x'");
  expect_refused("--type terms --prediction-interval 0.9", "set type to response");
  expect_refused("--interval 1.5", "above 0 and below 1");
  expect_refused("--type lpmatrix --se", "not available for the type lpmatrix");
}

}  // namespace
}  // namespace tessera
