// SPDX-License-Identifier: Apache-2.0
#include "info/run_program.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <vector>

namespace tessera {
namespace {

const std::string program = TESSERA_BENCH;

ProgramResult bench(int ranks, const std::string& arguments) {
  return run(std::string(TESSERA_MPIRUN) + " " + std::to_string(ranks) + " " + program + " " + arguments);
}

std::vector<nlohmann::json> lines_of(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

void expect_refused(const std::string& arguments, const std::string& why) {
  const ProgramResult result = run(program + " " + arguments);
  EXPECT_EQ(result.status, 2) << arguments;
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  EXPECT_NE(result.err.find(why), std::string::npos) << result.err;
  EXPECT_EQ(result.out, "");
}

TEST(Bench, RefusesOnOneLineThatSaysWhatToGive) {
  expect_refused("", "the subcommand is missing: give fit, predict, ");
  expect_refused("nonsense", "'nonsense' is not a subcommand: give fit, predict, ");
  expect_refused("start --repeats 0", "--repeats: give a whole number from 1 to 1000000, not '0'");
  expect_refused("start --repeats many", "--repeats: give a whole number from 1 to 1000000, not 'many'");
  expect_refused("fit --rows -1", "--rows: give a whole number from 1 to");
  expect_refused("start --device tpu", "--device");
}

/// The names of figures in lines of JSON; all must be above 0.
std::set<std::string> measured_in(const ProgramResult& result) {
  std::set<std::string> measured;
  for (const auto& line : lines_of(result.out)) {
    EXPECT_GT(line.at("minimum"), 0) << line;
    measured.insert(line.at("what"));
  }
  return measured;
}

TEST(Bench, MeasuresTheSuitesThatAreNamedAndNoOther) {
  const ProgramResult result = bench(2, "start scale --rows 20000 --repeats 3 --json --device cpu");
  ASSERT_EQ(result.status, 0) << result.err;
  std::set<std::string> suites;
  for (const auto& line : lines_of(result.out)) suites.insert(line.at("suite"));
  EXPECT_EQ(suites, (std::set<std::string>{"start", "scale"}));
}

TEST(Bench, LinesOfJsonHoldTheFiguresAndWhereTheyAreFrom) {
  const ProgramResult result = bench(3,
                                     "scale --rows 20000 balance --units 400000 --rounds 20 --passes 3 "
                                     "--repeats 3 --json --device auto --threads 1");
  ASSERT_EQ(result.status, 0) << result.err;
  std::map<std::string, int> lines_of_suite;
  for (const auto& line : lines_of(result.out)) {
    ++lines_of_suite[line.at("suite")];
    EXPECT_GT(line.at("minimum"), 0) << line;
    EXPECT_LE(line.at("minimum"), line.at("median")) << line;
    EXPECT_LE(line.at("median"), line.at("maximum")) << line;
    EXPECT_NE(std::string(line.at("machine")).find("3 ranks"), std::string::npos) << line;
    EXPECT_FALSE(std::string(line.at("commit")).empty()) << line;
    EXPECT_TRUE(line.at("runs") == 1 || line.at("runs") == 3) << line;
  }
  EXPECT_EQ(lines_of_suite["scale"], 25);  // of 1, 2 and 3 ranks, and the efficiencies of the latter two
  EXPECT_EQ(lines_of_suite["balance"], 5);
}

TEST(Bench, TheStartOfAJobAndPassesUnderABalancerAreMeasured) {
  const ProgramResult start = bench(2, "start --device cpu --json");
  ASSERT_EQ(start.status, 0) << start.err;
  ASSERT_EQ(lines_of(start.out).size(), 2U);
  EXPECT_EQ(lines_of(start.out).front().at("what"), "Job() to the first kernels");
  EXPECT_GT(lines_of(start.out).front().at("median"), 0);
  expect_refused("start --by-hand --occupy 1", "--occupy");
  const ProgramResult balance = bench(1, "balance --units 400000 --rounds 20 --passes 3 --device cpu --json");
  ASSERT_EQ(balance.status, 0) << balance.err;
  EXPECT_EQ(measured_in(balance).size(), 5U) << balance.out;
}

TEST(Bench, AFitIsMeasuredWithItsPhases) {
  const ProgramResult result = bench(2, "fit --rows 20000 --repeats 1 --threads 1 --device cpu --json");
  ASSERT_EQ(result.status, 0) << result.err;
  for (const auto& line : lines_of(result.out)) {
    EXPECT_EQ(line.at("suite"), "fit");
    EXPECT_NE(std::string(line.at("case")).find("20000 rows"), std::string::npos) << line;
  }
  EXPECT_EQ(measured_in(result),
            (std::set<std::string>{"tessera", "tessera, processor", "tessera: read", "tessera: design",
                                   "tessera: rows", "tessera: reml", "tessera: outline", "tessera peak"}));
}

TEST(Bench, EveryModelIsFitted) {
  const ProgramResult result = bench(
      1, "fit --models G4,G10,B4,NB4,TW4,TP4,TP2D,OC4,LS4,MN4 --rows 3000 --repeats 1 --device cpu --json");
  ASSERT_EQ(result.status, 0) << result.err;
  std::set<std::string> cases;
  for (const auto& line : lines_of(result.out)) cases.insert(line.at("case"));
  EXPECT_EQ(cases.size(), 10U);
}

TEST(Bench, AFitIsMeasuredOnOneRankAndOnMore) {
  const ProgramResult result = bench(3, "scale --rows 20000 --repeats 1 --threads 1 --device cpu --json");
  ASSERT_EQ(result.status, 0) << result.err;
  std::map<std::string, double> threads;
  std::map<std::string, double> efficiencies;
  for (const auto& line : lines_of(result.out)) {
    const std::string name = line.at("case");
    if (line.at("what") == "host threads") threads[name] = line.at("median");
    if (line.at("what") == "passes: efficiency") efficiencies[name] = line.at("median");
  }
  EXPECT_EQ(threads, (std::map<std::string, double>{{"G4, 20000 rows, 1 rank", 1},
                                                    {"G4, 20000 rows, 2 ranks", 2},
                                                    {"G4, 20000 rows, 3 ranks", 3}}));
  ASSERT_EQ(efficiencies.size(), 2U);
  for (const auto& [name, value] : efficiencies) EXPECT_GT(value, 0) << name;
}

TEST(Bench, PredictionsAreMeasuredBesideTheHosts) {
  const ProgramResult result =
      run("TESSERA_SIMULATE='*:H200' " + std::string(TESSERA_MPIRUN) + " 2 " + program +
          " predict --rows 20000 --model B4 --repeats 1 --threads 1 --json");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(measured_in(result),
            (std::set<std::string>{"means", "with errors", "means, CPU", "with errors, CPU",
                                   "means / means, CPU", "with errors / with errors, CPU"}));
}

TEST(Bench, TablesAreReadFromFiles) {
  const std::string table = TESSERA_TEST_DATA "/first_week/table.csv";
  const ProgramResult result =
      bench(2, "io --tables " + table + " --repeats 1 --threads 1 --device cpu --json");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(measured_in(result), (std::set<std::string>{"read", "read, each core", "peak"}));
  expect_refused("io --tables nowhere.csv", "--tables");
}

}  // namespace
}  // namespace tessera
