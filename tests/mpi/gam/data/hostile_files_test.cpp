// SPDX-License-Identifier: Apache-2.0
// Untrusted models and run reports give an answer, or an error of one line that names the field. Of the
// values of each field a third is tried, others each week; TESSERA_TEST_HOSTILE=all tries all.
#include "gam/model/model.hpp"
#include "gam/report/page.hpp"
#include "gam/report/run_record.hpp"
#include "support/errors.hpp"
#include "support/fit_support.hpp"
#include "support/table_support.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A model of one term of each kind, and the report of its run.
class Hostile : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    world_ = new mpi::Communicator(testing::world());
    std::string name = (fs::temp_directory_path() / "tessera-hostile-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::ofstream(path("data.csv")) << table(120);
    std::ofstream(path("new.csv")) << table(7);
    job_ = new Job(testing::cpu_job(*world_));
    const FitResult result = fit(*job_,
                                 parse_formula("y ~ f + v + s(w, by=f, bs=\"cr\", k=4) + s(g, bs=\"re\") + "
                                               "te(x, z, bs=c(\"ps\", \"cc\"), k=c(5, 4)) + offset(o)"),
                                 testing::in_blocks(path("data.csv"), 32));
    const std::string checksum = save_model(result.model, path("model.json")).checksum;
    save_run_report(*job_, result, checksum, path("run.json"));
    model_ = parsed("model.json");
    run_ = parsed("run.json");
  }
  static void TearDownTestSuite() {
    delete job_;
    delete world_;
    fs::remove_all(folder_);
  }

  static std::string path(const std::string& name) { return (folder_ / name).string(); }
  static json parsed(const std::string& name) {
    std::ifstream file(path(name));
    return json::parse(file);
  }
  /// Covariates that fill the unit interval evenly; deterministic, so that no seed is needed.
  static std::string table(int rows) {
    std::ostringstream out;
    out.precision(17);
    out << "y,v,w,x,z,o,f,g\n";
    for (int i = 0; i < rows; ++i) {
      const auto covariate = [&](double step) { return std::fmod((i + 1) * step, 1.0); };
      const double w = covariate(0.6180339887498949);
      const double x = covariate(0.7548776662466927);
      const double z = covariate(0.4142135623730951);
      out << std::sin(6 * w) + x * z + i % 3 + 0.1 * std::cos(97.0 * i) << ',' << 1e6 + 10 * covariate(0.57)
          << ',' << w << ',' << x << ',' << z << ',' << 0.01 * (i % 5) << ',' << "ab"[i % 2] << ','
          << "pqr"[i % 3] << '\n';
    }
    return out.str();
  }

  /// The error of reading a model, and the results from one that is read.
  static std::string outcome(const json& model) {
    std::ofstream(path("other.json")) << model.dump();
    return said([&] {
      const Model read = load_model(path("other.json"));
      static_cast<void>(summary(read));
      static_cast<void>(report_html(read));
      static_cast<void>(predict(*job_, read, Table{path("new.csv")},
                                {.type = PredictionType::response, .standard_errors = true}));
    });
  }
  static std::string outcome_of_run(const json& run) {
    std::ofstream(path("other.json")) << run.dump();
    return said([&] {
      PageOptions options;
      options.run = load_run_record(path("other.json"));
      static_cast<void>(report_page(read_model(path("model.json")), options));
    });
  }
  static std::string said(const std::function<void()>& read) {
    const std::string text = error_if_any(ErrorCode::input, read).value_or("read");
    EXPECT_FALSE(contains(text, "\n"));
    return text;
  }
  static std::string damaged(const std::string& where_and_why) {
    return path("other.json") + ": is damaged: " + where_and_why + ": restore it, or fit the model again";
  }
  static json with(const json& whole, const std::string& place, const json& value) {
    json other = whole;
    other[json::json_pointer(place)] = value;
    return other;
  }

  /// Every field; of a list its first element and, unless it is a number or text, its last.
  static void each_place(const json& value, const std::string& place,
                         const std::function<void(const std::string&)>& use) {
    if (!place.empty()) use(place);
    if (value.is_object()) {
      for (const auto& [name, child] : value.items()) each_place(child, place + "/" + name, use);
    } else if (value.is_array() && !value.empty()) {
      each_place(value.front(), place + "/0", use);
      if (value.size() > 1 && value.back().is_structured())
        each_place(value.back(), place + "/" + std::to_string(value.size() - 1), use);
    }
  }

  /// Whether the next value of a field is tried.
  static bool is_tried() {
    if (std::getenv("TESSERA_TEST_HOSTILE") != nullptr) return true;
    const auto week =
        std::chrono::floor<std::chrono::weeks>(std::chrono::system_clock::now().time_since_epoch());
    return ++values_ % 3 == week.count() % 3;
  }

  static int values_;
  static mpi::Communicator* world_;
  static Job* job_;
  static fs::path folder_;
  static json model_;
  static json run_;
};
int Hostile::values_ = 0;
mpi::Communicator* Hostile::world_ = nullptr;
Job* Hostile::job_ = nullptr;
fs::path Hostile::folder_;
json Hostile::model_;
json Hostile::run_;

TEST_F(Hostile, ModelAndRunReportAsTheyAreAreRead) {
  EXPECT_EQ(outcome(model_), "read");
  EXPECT_EQ(outcome_of_run(run_), "read");
}

TEST_F(Hostile, NoFieldOfAModelIsBelieved) {
  const std::vector<json> values{
      nullptr, -1, 2147483647, 1e308, "a", json::array(), json::array({1, 1}), json::object()};
  int refused = 0;
  int tried = 0;
  each_place(model_, "", [&](const std::string& place) {
    SCOPED_TRACE(place);
    for (const json& value : values) {
      if (!is_tried()) continue;
      SCOPED_TRACE(value.dump());
      ++tried;
      if (outcome(with(model_, place, value)) != "read") ++refused;
    }
    json without = model_;
    const json::json_pointer pointer(place);
    json& parent = without[pointer.parent_pointer()];
    if (parent.is_object()) parent.erase(pointer.back());
    static_cast<void>(outcome(without));
  });
  // Fields that may be any number or text are read; the others accept at most one kind of value.
  EXPECT_GT(refused, tried / 2);
}

TEST_F(Hostile, NothingThatAModelSaysOfItsExpressionsIsBelieved) {
  const FitResult result =
      fit(*job_,
          parse_formula(
              "y ~ poly(v, 2) + relevel(f, ref='b') + cut(x, 3) + splines::ns(w, 4) + "
              "factor(round(2*z)) + ordered(g) + scale(o) + s(x, by=as.numeric(f == 'a'), bs='cr', k=4)"),
          testing::in_blocks(path("data.csv"), 32));
  save_model(result.model, path("expressions.json"));
  const json model = parsed("expressions.json");
  EXPECT_EQ(outcome(model), "read");
  const std::vector<json> values{nullptr,
                                 -1,
                                 2147483647,
                                 1e308,
                                 "a",
                                 "poly(x, 2)",
                                 "contr.poly(g, 90)",
                                 json::array(),
                                 json::array({2, 1}),
                                 json::object()};
  int refused = 0;
  each_place(model.at("expressions"), "", [&](const std::string& place) {
    SCOPED_TRACE(place);
    for (const json& value : values)
      refused += outcome(with(model, "/expressions" + place, value)) == "read" ? 0 : 1;
  });
  EXPECT_GT(refused, 100);
  json without = model;
  without.erase("expressions");
  EXPECT_NE(outcome(without), "read");
}

TEST_F(Hostile, NoFieldOfARunReportIsBelieved) {
  const std::vector<json> values{nullptr,       -1, 1, 9223372036854775807, 1e308, "", json::array(),
                                 json::object()};
  each_place(run_, "", [&](const std::string& place) {
    SCOPED_TRACE(place);
    for (const json& value : values)
      if (is_tried()) static_cast<void>(outcome_of_run(with(run_, place, value)));
  });
}

TEST_F(Hostile, PlacesAndSizesOfAModelAreThoseThatThereAre) {
  const auto says = [&](const std::string& place, const json& value, const std::string& expected) {
    EXPECT_EQ(outcome(with(model_, place, value)), damaged(expected)) << place << " = " << value;
  };
  // The order of the terms: the intercept, f, v, the smooth of w by f, g, and that of x and z.
  const std::string breaks = "/design/terms/3/1/margin/breaks";
  says(breaks, {0.5, 0.5, 0.5, 0.5},
       "design.terms[3][1].margin.breaks: does not increase by a positive, finite step from element 0 to the "
       "next element");
  says(breaks, {0, 1, 0.5, 2},
       "design.terms[3][1].margin.breaks: does not increase by a positive, finite step from element 1 to the "
       "next element");
  says(breaks, {-1e308, 0, 1, 1e308},
       "design.terms[3][1].margin.breaks: does not increase by a positive, finite step from element 0 to the "
       "next element");
  says("/edf", json::array(), "edf: has 0 elements, but needs " + std::to_string(model_["edf"].size()));
  says("/iterations", -7, "iterations: is -7, not a whole number from 0 to 2147483647");
  says("/n", -1, "n: is -1, not a whole number from 0 to 9223372036854775807");
  says("/design/blocks/0/raw_begin", -1,
       "design.blocks[0].raw_begin: is -1, not a whole number from 0 to " +
           std::to_string(1 + 2 + 1 + 2 * 8 + 3 + 5 * 8 - 1));
  const std::string columns = std::to_string(model_["edf"].size());
  says("/covariance/columns/2", {1, 2}, "covariance.columns[2]: has 2 elements, but needs " + columns);
  says("/covariance/columns/2/0", nullptr, "covariance.columns[2][0]: is null, not a number");
  says("/design/blocks/6/penalty/matrices/0/rows", 30000,
       "design.blocks[6].penalty.matrices[0].rows: is 30000, not a whole number from 14 to 14");
  says("/design/blocks/6/penalty/labels", json::array({"one"}),
       "design.blocks[6].penalty.labels: has 1 elements, but needs 2");
  says("/centring/components/0/parts/0/variable", "f",
       "centring.components[0].parts[0].variable: is not a numeric variable of the design");
  says("/centring/coefficients/0", 99,
       "centring.coefficients[0]: is 99, not a whole number from 0 to " +
           std::to_string(model_["edf"].size() - 1));
  says("/formula", "y ~ (",
       "formula: formula, character 6: the end of the formula is not valid here: write a variable, a number "
       "or '('");
  says("/formula", "y ~ f + v", "formula: does not use 'w', a variable of the design");
}

TEST_F(Hostile, AFewBytesOfAModelTakeNoGigabytes) {
  // A map of 30,000 x 30,000 numbers that are not in the file.
  json model = model_;
  json& design = model["design"];
  std::vector<std::string> names;
  json coefficients = json::array();
  for (int i = 0; i < 3000; ++i) {
    names.push_back("c" + std::to_string(i));
    coefficients.push_back({{"name", names.back()}, {"value", 0}});
  }
  design["blocks"][0]["names"] = names;
  design["blocks"][0]["map"] = {{"rows", 1}, {"cols", 3000}, {"entries", json::array()}};
  EXPECT_NE(outcome(model).find("design.blocks[0].names: exceeds the"), std::string::npos);
  model["coefficients"] = coefficients;
  EXPECT_EQ(outcome(model), damaged("covariance.columns: has " + std::to_string(model_["edf"].size()) +
                                    " elements, but needs 3000"));

  // Splines of many variables have more raw columns than any model has coefficients.
  json many = model_;
  const json margin = many["design"]["terms"][5][0];
  many["design"]["terms"][5] = std::vector<json>(9, margin);
  many["design"]["blocks"][6]["knots"] = std::vector<json>(9, json::array());
  many["design"]["blocks"][6]["map"]["rows"] = 1953125;  // 5 to the power of 9
  const std::string said = outcome(many);
  EXPECT_NE(said.find("more than a model with this number of coefficients needs"), std::string::npos) << said;
  many["design"]["terms"][5] = std::vector<json>(10, margin);
  EXPECT_NE(outcome(many).find("nonzero columns per row: split the term"), std::string::npos);
  many["design"]["terms"][5] = std::vector<json>(33, many["design"]["terms"][2][0]);
  EXPECT_NE(outcome(many).find("a term of the formula has 33 variables"), std::string::npos);
}

TEST_F(Hostile, RanksDevicesAndRowsOfARunReportAreThoseThatThereAre) {
  const auto says = [&](const std::string& place, const json& value, const std::string& expected) {
    EXPECT_EQ(outcome_of_run(with(run_, place, value)), damaged(expected)) << place << " = " << value;
  };
  says("/ranks/0/rank", -1, "ranks[0].rank: is -1, not a whole number from 0 to 0");
  says("/plan/rank_ranges/0/0", -5, "plan.rank_ranges[0][0]: is -5, not a whole number from 0 to 120");
  says("/plan/rank_ranges/0/1", 121, "plan.rank_ranges[0][1]: is 121, not a whole number from 0 to 120");
  says("/plan/rank_ranges", json::array(), "plan.rank_ranges: has 0 elements, but needs 1");
  says("/phases/0/seconds", -1, "phases[0].seconds: is -1");

  json devices = run_;
  devices["verdict"]["ran"] = "devices";
  devices["plan"]["tiles"] = {{{"rank", -1}, {"device", 0}, {"begin", 0}, {"end", 120}}};
  EXPECT_EQ(outcome_of_run(devices), damaged("plan.tiles[0].rank: is -1, not a whole number from 0 to 0"));
  devices["plan"]["tiles"][0]["rank"] = 0;
  EXPECT_EQ(outcome_of_run(devices), damaged("plan.tiles[0].device: is not a device of its rank"));
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
