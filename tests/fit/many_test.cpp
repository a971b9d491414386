// SPDX-License-Identifier: Apache-2.0
// tessera-fit many, as users run it.
#include "fit/example.hpp"
#include "info/run_program.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tessera {
namespace {

class Many : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string cells = "t,lineage,size\n";
    std::string counts = "sox2,gata1,silent\n";
    for (int i = 0; i < 90; ++i) {
      cells += std::to_string(i * 0.1) + (i % 2 == 0 ? ",a," : ",b,") + std::to_string(1 + i % 4) + "\n";
      counts += std::to_string(i * i % 7 + i / 30) + "," + std::to_string(i * 5 % 11) + ",0\n";
    }
    write("cells.csv", cells);
    write("counts.csv", counts);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] ProgramResult many(const std::string& more, int ranks = 1) const {
    return run(std::string(TESSERA_MPIRUN) + " " + std::to_string(ranks) + " " TESSERA_FIT " many " +
               path("cells.csv") + " --responses " + path("counts.csv") +
               " --formula 'lineage + s(t, by = lineage, k = 5) + offset(log(size))' --threads 1 " + more);
  }
  /// One line, and no file.
  void expect_refusal(const ProgramResult& result, int status, std::string_view words) const {
    EXPECT_EQ(result.status, status) << result.err;
    const auto own = complaints(result.err);
    ASSERT_EQ(own.size(), 1U) << result.err;
    EXPECT_NE(own[0].find(words), std::string::npos) << own[0];
    EXPECT_FALSE(std::filesystem::exists(path("fits.csv")));
  }

  TemporaryFolder folder_;
};

TEST_F(Many, MatchesRowsByAKeyAndTakesWeightsOfEachResponse) {
  std::string cells = "id,t,lineage,size\n";
  std::string weights = "id,gata1,sox2,silent\n";
  std::string counts = "sox2,gata1,silent,id\n";
  for (int i = 0; i < 90; ++i) {
    cells += "c" + std::to_string(i) + "," + std::to_string(i * 0.1) + (i % 2 == 0 ? ",a," : ",b,") +
             std::to_string(1 + i % 4) + "\n";
    weights += "c" + std::to_string(i) + ",1," + (i % 10 == 0 ? "0" : "1") + ",1\n";
    const int j = 89 - i;
    counts += std::to_string(j * j % 7 + j / 30) + "," + std::to_string(j * 5 % 11) + ",0,c" +
              std::to_string(j) + "\n";
  }
  successful(many("--family nb --out " + path("plain.csv")));
  write("cells.csv", cells);
  write("counts.csv", counts);
  write("weights.csv", weights);
  successful(many("--family nb --key id --out " + path("matched.csv")));
  EXPECT_EQ(read("matched.csv"), read("plain.csv"));
  successful(many(
      "--family nb --key id --weights-matrix " + path("weights.csv") + " --out " + path("weighted.csv"), 2));
  const std::string weighted = read("weighted.csv");
  EXPECT_NE(weighted.find("\n\"sox2\",\"converged\",\"linear\",NA,\"cpu\",81,"), std::string::npos)
      << weighted;
  EXPECT_NE(weighted.find("\n\"gata1\",\"converged\",\"linear\",NA,\"cpu\",90,"), std::string::npos)
      << weighted;
}

TEST_F(Many, WritesFitsAndTests) {
  const std::string outputs = "--family nb --out " + path("fits.csv") + " --tests " + path("tests.csv");
  const ProgramResult result = successful(many(outputs));
  EXPECT_NE(result.err.find("1 all_zero, 2 converged"), std::string::npos) << result.err;
  const std::string fits = read("fits.csv");
  EXPECT_EQ(fits.substr(0, 51), "response,status,limits,reason,computed_on,rows,mean");
  EXPECT_NE(fits.find("\n\"silent\",\"all_zero\",NA,NA,\"cpu\",90,0,1,NA"), std::string::npos) << fits;
  const std::string tests = read("tests.csv");
  EXPECT_NE(tests.find("p:s(t):lineagea,q:s(t):lineagea"), std::string::npos) << tests;
  successful(many(outputs, 3));
  EXPECT_EQ(read("fits.csv"), fits);
  EXPECT_EQ(read("tests.csv"), tests);
}

TEST_F(Many, PredictsAResponse) {
  successful(many("--family nb --covariances --out " + path("fits.h5") + " --tests " + path("tests.csv")));
  const std::string of = std::string(TESSERA_FIT " predict ") + path("fits.h5");
  const ProgramResult se = successful(run(of + ":sox2 " + path("cells.csv") + " --se"));
  EXPECT_EQ(se.out.substr(0, 7), "fit,se\n");
  EXPECT_EQ(std::count(se.out.begin(), se.out.end(), '\n'), 91);
  expect_refusal(run(of + ":sox3 " + path("cells.csv")), 3, "has no response 'sox3' (did you mean 'sox2'?)");
  expect_refusal(run(of + ":silent " + path("cells.csv")), 2,
                 "the response 'silent' has no fit (status all_zero)");
  expect_refusal(run(of + " " + path("cells.csv")), 3, "name a response, for example ");
  expect_refusal(run(of + ":sox2 " + path("cells.csv") + " --out " + path("fits.h5")), 2, "is also an input");
  const ProgramResult summary = successful(run(std::string(TESSERA_FIT " summary ") + path("fits.h5:gata1")));
  EXPECT_NE(summary.out.find("lineageb"), std::string::npos) << summary.out;
}

TEST_F(Many, TestsCurves) {
  successful(many("--family nb --covariances --out " + path("fits.h5") + " --tests " + path("tests.csv")));
  const std::string curves = std::string(TESSERA_FIT " curves ") + path("fits.h5");
  const ProgramResult association = successful(run(curves));
  EXPECT_EQ(association.out.substr(0, 46), "response,statistic,df,p,q,statistic:s(t):linea")
      << association.out;
  EXPECT_NE(association.out.find("\n\"silent\",NA,NA,NA,NA,"), std::string::npos) << association.out;
  successful(run(curves + " --test diff-end --out " + path("ends.csv")));
  EXPECT_NE(read("ends.csv").find("log2_fold_change:s(t):lineagea-s(t):lineageb"), std::string::npos);
  successful(
      run(std::string(TESSERA_MPIRUN) + " 3 " + curves + " --test diff-end --out " + path("again.csv")));
  EXPECT_EQ(read("again.csv"), read("ends.csv"));
  const ProgramResult values = successful(run(curves + " --values --scaled --points 3"));
  EXPECT_EQ(values.out.substr(0, 40), "response,s(t):lineagea@0,s(t):lineagea@4") << values.out;
  expect_refusal(run(curves + " --out " + path("fits.h5")), 2, "is also an input");
  expect_refusal(run(curves + " --test end"), 2, "association, start-vs-end, diff-end, pattern");
  expect_refusal(run(std::string(TESSERA_FIT " curves ") + path("cells.csv")), 3,
                 "the file contains no models of responses");
  successful(many("--family nb --out " + path("plain.h5")));
  expect_refusal(run(std::string(TESSERA_FIT " curves ") + path("plain.h5")), 3, "contains no covariances");
}

TEST_F(Many, RefusesInOneLine) {
  const std::string out = "--out " + path("fits.csv");
  expect_refusal(many("--family tw " + out), 2, "fits of many responses support the families");
  expect_refusal(many("--family nb --covariances " + out), 2,
                 "covariances need HDF5: give the file of fits a name that ends in .h5");
  expect_refusal(many("--family nb --out " + path("cells.csv")), 2, "is also an input");
  expect_refusal(many("--family nb --out " + path("counts.csv")), 2, "is also an input");
  write("counts.csv", "sox2\n1\n");
  expect_refusal(many("--family nb " + out), 3, "has 1 rows, but the covariates have 90");
  std::string text = "sox2\n";
  for (int i = 0; i < 90; ++i) text += i == 41 ? "-3\n" : "2\n";
  write("counts.csv", text);
  expect_refusal(many("--family nb " + out, 2), 3, "response 'sox2', row 42: the value -3 is not a count");
}

}  // namespace
}  // namespace tessera
