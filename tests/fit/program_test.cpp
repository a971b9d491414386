// SPDX-License-Identifier: Apache-2.0
// The command line of tessera-fit: its output, and its refusals.
#include "fit/example.hpp"
#include "info/run_program.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <tessera/printable.hpp>
#include <tuple>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test.
class Program : public ::testing::Test {
 protected:
  void SetUp() override { write("data.csv", example_table()); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  [[nodiscard]] ProgramResult fit(const std::string& data, const std::string& formula,
                                  const std::string& more = {}, int ranks = 1) const {
    return run(std::string(TESSERA_MPIRUN) + " " + std::to_string(ranks) + " " TESSERA_FIT " fit " +
               path(data) + " --formula '" + formula + "' --device cpu --threads 1 --out " +
               path("model.json") + " " + more);
  }

  void expect_refusal(const ProgramResult& result, int status, std::string_view words) const {
    EXPECT_EQ(result.status, status) << result.err;
    const auto own = complaints(result.err);
    ASSERT_EQ(own.size(), 1U) << result.err;
    EXPECT_NE(own[0].find(words), std::string::npos) << own[0];
    // No partial file, under any name.
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      EXPECT_FALSE(name.starts_with("model") || name.starts_with("pred")) << name;
    }
  }

  TemporaryFolder folder_;
};

TEST_F(Program, FitsAFolderOrSeveralFilesToTheSameBits) {
  const std::string formula = "y ~ f + s(x, bs=\"ps\", k=12)";
  ASSERT_EQ(fit("data.csv", formula).status, 0);
  const std::string of_one = read("model.json");
  fs::create_directories(folder_ / "table" / "more");
  std::istringstream lines(read("data.csv"));
  std::string header;
  std::getline(lines, header);
  const std::vector<std::string> names{"table/1.csv", "table/2.csv", "table/more/1.csv"};
  std::string line;
  for (int row = 0; std::getline(lines, line); ++row) {
    std::ofstream part(folder_ / names[std::min<std::size_t>(static_cast<std::size_t>(row) / 50, 2)],
                       std::ios::app);
    if (part.tellp() == 0) part << header << '\n';
    part << line << '\n';
  }
  for (const int ranks : {1, 2, 5}) {
    ASSERT_EQ(fit("table", formula, "", ranks).status, 0);
    EXPECT_EQ(read("model.json"), of_one) << ranks;
    ASSERT_EQ(fit(names[0], formula, path(names[1]) + " " + path(names[2]), ranks).status, 0);
    EXPECT_EQ(read("model.json"), of_one) << ranks;
  }
  fs::remove(folder_ / "model.json");
  expect_refusal(fit("table", formula, "--run-report " + path("table/run.json")), 2,
                 "is in the folder of the table");
}

TEST_F(Program, FitsSeveralQuantilesAndCountsTheirCrossings) {
  const std::string family = "--family 'elf(qu=c(0.8, 0.2), lsig=-1, co=0.3)'";
  const auto fitted = fit("data.csv", "y ~ x", family, 2);
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  EXPECT_NE(fitted.err.find("quantiles cross in 0 rows of the table"), std::string::npos) << fitted.err;
  EXPECT_FALSE(fs::exists(path("model.json")));
  for (const char* qu : {"0.2", "0.8"}) {
    const auto summary = run(TESSERA_FIT " summary " + path(std::string("model-") + qu + ".json"));
    EXPECT_NE(summary.out.find(std::string("Family: elf(qu=") + qu + ")"), std::string::npos) << summary.out;
    fs::remove(path(std::string("model-") + qu + ".json"));
  }
  expect_refusal(fit("data.csv", "y ~ x", family + " --checkpoint " + path("own.ckpt")), 2,
                 "a checkpoint, a run report and standard input can be used with only one quantile: fit each "
                 "quantile separately");
}

TEST_F(Program, FitsAConvertedTableToTheSameBits) {
  const std::string formula = "y ~ f + s(x, bs=\"ps\", k=12)";
  ASSERT_EQ(fit("data.csv", formula).status, 0);
  const std::string of_csv = read("model.json");
  const auto converted = run(std::string(TESSERA_MPIRUN) + " 2 " TESSERA_FIT " convert " + path("data.csv") +
                             " " + path("data.h5") + " --threads 1");
  if (!TESSERA_HAVE_HDF5) {
    EXPECT_EQ(converted.status, 3);
    EXPECT_NE(converted.err.find("built without"), std::string::npos) << converted.err;
    EXPECT_FALSE(fs::exists(path("data.h5")));
    return;
  }
  ASSERT_EQ(converted.status, 0) << converted.err;
  EXPECT_EQ(converted.out, "");
  ASSERT_EQ(fit("data.h5", formula, {}, 3).status, 0);
  EXPECT_EQ(read("model.json"), of_csv);
}

TEST_F(Program, DescribesTheColumnsOfATable) {
  std::ofstream(path("few.csv")) << "x,site\n1,bay\nabout 2,cape\n3,NA\n";
  const auto shown = run(std::string(TESSERA_MPIRUN) + " 2 " TESSERA_FIT " columns " + path("few.csv"));
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_NE(shown.out.find("few.csv: 3 rows, 2 columns, "), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("1 to 3; 1 text, the first 'about 2' in " + path("few.csv") + ", line 3\n"),
            std::string::npos)
      << shown.out;
  EXPECT_NE(shown.out.find("2 levels: bay, cape\n"), std::string::npos) << shown.out;
  const auto json = run(TESSERA_FIT " columns --json --column site " + path("few.csv"));
  EXPECT_NE(json.out.find("\"missing\": 1"), std::string::npos) << json.out;
}

TEST_F(Program, FitsPredictsAndSummarises) {
  const auto fitted = fit("data.csv", "y ~ f + s(x, bs=\"ps\", k=12) + s(z, bs=\"cr\", k=8)",
                          "--run-report " + path("run.json"), 2);
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  EXPECT_NE(fitted.out.find("Deviance explained"), std::string::npos) << fitted.out;
  const auto model = nlohmann::json::parse(read("model.json"));
  for (const char* key :
       {"formula", "family", "link", "n", "coefficients", "terms", "scale", "deviance", "null_deviance",
        "reml", "edf_total", "aic", "iterations", "converged", "covariance", "verdict"}) {
    EXPECT_TRUE(model.contains(key)) << key;
  }
  EXPECT_EQ(model.at("n"), 200);
  EXPECT_EQ(model.at("coefficients").at(1).at("name"), "fb");
  EXPECT_EQ(model.at("coefficients").at(1).at("value"), model.at("parametric").at(1).at("estimate"));
  const auto report = nlohmann::json::parse(read("run.json"));
  for (const char* key : {"ranks", "devices", "plan", "verdict", "phases"})
    EXPECT_TRUE(report.contains(key)) << key;
  EXPECT_EQ(report.at("ranks").size(), 2U);

  successful(run(TESSERA_FIT " predict " + path("model.json") + " " + path("data.csv") +
                 " --se --type response --out " + path("pred.csv")));
  const std::string rows = read("pred.csv");
  EXPECT_TRUE(rows.starts_with("fit,se\n"));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 201);
  // The same rows on standard output, from any number of ranks.
  const auto shown = successful(run(std::string(TESSERA_MPIRUN) + " 3 " TESSERA_FIT " predict " +
                                    path("model.json") + " " + path("data.csv") + " --se --type response"));
  EXPECT_EQ(shown.out, rows);

  const auto summary = successful(run(TESSERA_FIT " summary " + path("model.json")));
  EXPECT_NE(fitted.out.find(summary.out), std::string::npos) << summary.out;
}

TEST_F(Program, RowsWithMissingValuesAreLeftOutAndPredictedAsNA) {
  std::string table = read("data.csv");
  write("holes.csv", table + "NA,0.5,0.5,a,7,1\n1,,0.5,b,7,1\n");
  const auto fitted = fit("holes.csv", "y ~ f + s(x, bs=\"ps\", k=12)");
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  EXPECT_NE(fitted.out.find("(2 rows with missing values were left out)"), std::string::npos) << fitted.out;
  const auto shown = run(TESSERA_FIT " predict " + path("model.json") + " " + path("holes.csv"));
  EXPECT_TRUE(shown.out.ends_with("NA\n")) << "no x, no prediction";
  EXPECT_EQ(shown.out.find("NA"), shown.out.size() - 3) << "a prediction needs no response";
  const auto part = fit("holes.csv", "y ~ s(x)", "--subset 'f == \"a\"'");
  EXPECT_NE(part.out.find(" rows outside the subset or with missing values were left out)"),
            std::string::npos)
      << part.out;
}

TEST_F(Program, LeavesATerminalNoCommandsOfATable) {
  // Sets the clipboard, clears the screen, turns the text round; C1's CSI, and a byte that is no UTF-8.
  // NOLINTNEXTLINE(misc-misleading-bidirectional): it misleads, as it must
  const std::string column = "f\x1b]52;c;QUFB\x07\xE2\x80\xAE";
  const std::string data = "da\x1b[2Jta.csv";
  std::string table = "y,x,\"" + column + "\"\n";
  for (int i = 0; i < 60; ++i)
    table += std::to_string(i % 7) + ',' + std::to_string(i) + ",\"" +
             (i % 2 == 0 ? "a\x1b[2J" : "b\xC2\x9B\nc") + "\"\n";
  write(data, table);
  const auto expect_printable = [](const ProgramResult& result, std::string_view words) {
    for (const std::string& text : {result.out, result.err}) EXPECT_EQ(text, printable(text, Lines::many));
    EXPECT_NE((result.out + result.err).find(words), std::string::npos) << result.out << result.err;
  };
  const auto alone = [&](const std::string& file, const std::string& formula, const std::string& more = {}) {
    return run(TESSERA_FIT " fit " + path(file) + " --formula '" + formula + "' --out " + path("no.json") +
               " " + more);
  };
  const auto fitted = successful(fit(data, "y ~ x + `" + column + "`"));
  expect_printable(fitted, R"(`f\x1b]52;c;QUFB\x07\u202e`b\u009b\x0ac )");
  expect_printable(run(TESSERA_FIT " summary " + path("model.json")), R"(f\x1b]52)");
  expect_printable(alone(data, "y ~ nowhere"), R"(da\x1b[2Jta.csv)");
  expect_printable(alone("no\x1b[2Jthing", "y ~ x"), R"(no\x1b[2Jthing: cannot be read)");
  expect_printable(alone(data, "y ~ x\xFF\x1b"), "formula");
  expect_printable(alone(data, "y ~ x", "--fam\x1bily poisson"), R"(--fam\x1bily)");
  write("new.csv", "x,\"" + column + "\"\n1,\"other\x1b[2J\"\n");
  expect_printable(run(TESSERA_FIT " predict " + path("model.json") + " " + path("new.csv")),
                   R"('other\x1b[2J')");
}

// Each rank has a working directory of its own, as on nodes with local files.
TEST_F(Program, FilesOfOneNameThatDifferBetweenRanksAreNotMixed) {
  const auto each_in_its_folder = [&](const std::string& arguments) {
    const auto rank_in = [&](const char* folder) {
      return " 1 -wdir " + path(folder) + " " TESSERA_FIT " " + arguments;
    };
    return run(TESSERA_MPIRUN + rank_in("one") + " : -n" + rank_in("two"));
  };
  const std::string own =
      "name = \"own\"\ninverse_link = \"eta\"\nderivative = \"1\"\nvariance = \"1\"\ndeviance = \"(y - "
      "mu)^2\"\n";
  for (const char* folder : {"one", "two"}) {
    fs::create_directory(path(folder));
    fs::copy_file(path("data.csv"), path(folder) + "/data.csv");
    std::ofstream(path(folder) + "/own.toml") << own;
  }
  const std::string fit_it =
      "fit data.csv --formula 'y ~ x' --device cpu --threads 1 --block-rows 16 --out " + path("model.json") +
      " --family ";
  ASSERT_EQ(each_in_its_folder(fit_it + "@own.toml").status, 0);
  const std::string of_copies = read("model.json");
  ASSERT_EQ(fit("data.csv", "y ~ x", "--block-rows 16 --family @" + path("one/own.toml"), 2).status, 0);
  EXPECT_EQ(read("model.json"), of_copies);

  for (const char* folder : {"one", "two"})
    fs::copy_file(path("model.json"), path(folder) + std::string("/model.json"));
  const std::string predict = "predict model.json data.csv --out " + path("pred.csv");
  EXPECT_EQ(each_in_its_folder(predict).status, 0);
  fs::remove(path("model.json"));
  fs::remove(path("pred.csv"));

  const auto refused = [&](const char* name, const std::string& arguments) {
    const std::string before = read(std::string("two/") + name);
    write(std::string("two/") + name, before + "\n");
    expect_refusal(each_in_its_folder(arguments), 3, name + std::string(": rank 0 (on "));
    write(std::string("two/") + name, before);
  };
  write("two/own.toml", std::regex_replace(own, std::regex("\"1\""), "\"2 - 1\""));
  expect_refusal(each_in_its_folder(fit_it + "@own.toml"), 3, "own.toml: rank 0 (on ");
  refused("data.csv", fit_it + "gaussian");
  refused("data.csv", predict);
  refused("model.json", predict);
}

TEST_F(Program, TwoCoefficientsOfOneNameAreReadBackInTheirOrder) {
  // Level 1 of the factor q, and the column q1; deterministic.
  std::ostringstream table;
  table << "y,q,q1\n";
  for (int i = 0; i < 40; ++i)
    table << 10 * (i % 2) + 0.5 * (i % 7) + 0.01 * (i % 3) << ",\"" << i % 2 << "\"," << i % 7 << '\n';
  write("twice.csv", table.str());
  const auto fitted = successful(fit("twice.csv", "y ~ q + q1"));
  const auto summary = run(TESSERA_FIT " summary " + path("model.json"));
  ASSERT_EQ(summary.status, 0) << summary.err;
  EXPECT_NE(fitted.out.find(summary.out), std::string::npos) << summary.out;
  write("new.csv", "q,q1\n\"1\",0\n\"0\",2\n");
  const auto shown = run(TESSERA_FIT " predict " + path("model.json") + " " + path("new.csv"));
  std::istringstream lines(shown.out);
  std::string header;
  double high = 0;
  double low = 0;
  lines >> header >> high >> low;
  EXPECT_NEAR(high, 10, 0.1) << shown.out;
  EXPECT_NEAR(low, 1, 0.1) << shown.out;
}

TEST_F(Program, ALogThatCannotBeWrittenEndsNoFit) {
  const std::string command = TESSERA_FIT " fit " + path("data.csv") +
                              " --formula 'y ~ x' --device cpu --threads 1 --out " + path("model.json") +
                              " --run-report " + path("run.json");
  const std::string predict = TESSERA_FIT " predict " + path("model.json") + " " + path("new.csv");
  write("new.csv", "x\n0.5\n");
  ASSERT_EQ(run(command).status, 0);
  const auto predicted = run(predict);
  const std::string model = read("model.json");
  EXPECT_FALSE(nlohmann::json::parse(read("run.json")).contains("log"));
  // Full, closed, and a pipe whose reader has gone.
  const std::string broken =
      "mkfifo " + path("pipe") + "; exec 9<>" + path("pipe") + " 8>" + path("pipe") + " 9<&-; ";
  const std::vector<std::tuple<std::string, std::string, std::string>> logs{
      {"", " 2>/dev/full", "No space left on device"},
      {"", " 2>&-", "Bad file descriptor"},
      {broken, " 2>&8", "Broken pipe"}};
  for (const auto& [before, log, reason] : logs) {
    fs::remove(path("model.json"));
    const auto fitted = run(before + command + log);
    EXPECT_EQ(fitted.status, 0) << log;
    EXPECT_EQ(read("model.json"), model) << log;
    EXPECT_EQ(nlohmann::json::parse(read("run.json")).at("log"), "lines were dropped: " + reason) << log;
    fs::remove(path("pipe"));
    const auto again = run(before + predict + log);
    EXPECT_EQ(again.status, 0) << log;
    EXPECT_EQ(again.out, predicted.out) << log;
    fs::remove(path("pipe"));
    EXPECT_EQ(run(before + TESSERA_FIT " summary " + path("no.json") + log).status, 3) << log;
    fs::remove(path("pipe"));
  }
  // Results do not go to a log.
  EXPECT_EQ(run(predict + " >&-").status, 3);
  EXPECT_EQ(run(predict + " >/dev/full").status, 3);
}

TEST_F(Program, PipesAndStandardOutputGetWhatComes) {
  ASSERT_EQ(fit("data.csv", "y ~ x").status, 0);
  const std::string predict = TESSERA_FIT " predict " + path("model.json") + " " + path("data.csv");
  ASSERT_EQ(run(predict + " --out " + path("pred.csv")).status, 0);
  const std::string expected = read("pred.csv");
  for (const char* name : {"-", "/dev/stdout"}) {
    const auto alone = successful(run("cd " + folder_.path().string() + "; " + predict + " --out " + name));
    EXPECT_EQ(alone.out, expected) << name;
    const auto ranks = successful(run(std::string(TESSERA_MPIRUN) + " 3 " + predict + " --out " + name));
    EXPECT_EQ(ranks.out, expected) << name;
  }
  EXPECT_FALSE(fs::exists(path("-")));
  // Existing files stay.
  write("all.csv", "before\n");
  EXPECT_EQ(run(predict + " --out /dev/stdout >>" + path("all.csv")).status, 0);
  EXPECT_EQ(read("all.csv"), "before\n" + expected);

  const auto piped = successful(run("mkfifo " + path("pipe") + "; cat " + path("pipe") + " & " + predict +
                                    " --out " + path("pipe") + " && wait"));
  EXPECT_EQ(piped.out, expected);
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_EQ(run(predict + " --out /dev/null").status, 0);
  EXPECT_EQ(run(predict + " --out /dev/full").status, 3);

  const auto page = successful(run(TESSERA_FIT " report " + path("model.json") + " --out -"));
  EXPECT_EQ(run(TESSERA_FIT " report " + path("model.json") + " --out " + path("page.html")).status, 0);
  EXPECT_EQ(page.out, read("page.html"));
}

TEST_F(Program, AReaderWhoHasGoneEndsThePredictionsQuietly) {
  ASSERT_EQ(fit("data.csv", "y ~ x").status, 0);
  std::string rows = "x\n";
  for (int i = 0; i < 200'000; ++i) rows += "0.5\n";
  write("new.csv", rows);
  // 128 + SIGPIPE, as for other programs.
  const auto ended = run("{ " TESSERA_FIT " predict " + path("model.json") + " " + path("new.csv") +
                         "; echo $? >&2; } | head -1");
  EXPECT_EQ(ended.out, "fit\n");
  EXPECT_TRUE(ended.err.ends_with("\n141\n")) << ended.err;
  EXPECT_TRUE(complaints(ended.err).empty()) << ended.err;
}

TEST_F(Program, CovarianceOfAModelReadsBackFromAFileBesideIt) {
  // 600 levels: more coefficients than a model file holds inline.
  std::ostringstream table;
  table << "y,g\n";
  for (int i = 0; i < 1800; ++i) table << std::sin(i % 600) + std::cos(1.7 * i) << ",g" << i % 600 << '\n';
  write("wide.csv", table.str());
  ASSERT_EQ(fit("wide.csv", "y ~ s(g, bs=\"re\")").status, 0);
  const auto stored = nlohmann::json::parse(read("model.json")).at("covariance");
  EXPECT_EQ(stored.at("suffix").get<std::string>(), ".cov-" + stored.at("crc32").get<std::string>());
  const std::string beside = path("model.json") + stored.at("suffix").get<std::string>();
  EXPECT_EQ(fs::file_size(beside), 601 * 601 * sizeof(double));
  successful(run(TESSERA_FIT " predict " + path("model.json") + " " + path("wide.csv") + " --se"));
  fs::resize_file(beside, 100);
  const auto damaged = run(TESSERA_FIT " predict " + path("model.json") + " " + path("wide.csv") + " --se");
  EXPECT_EQ(damaged.status, 3);
  EXPECT_NE(damaged.err.find(beside), std::string::npos) << damaged.err;
}

TEST_F(Program, AFaultInAnyPassGivesTheBitsOfTheCpu) {
  const std::string formula = "exp(y) ~ f + s(x, bs=\"ps\", k=12)";
  const std::string options = "--family gamma --block-rows 16";
  ASSERT_EQ(fit("data.csv", formula, options, 2).status, 0);
  auto expected = nlohmann::json::parse(read("model.json"));
  expected.erase("verdict");
  for (const char* fault : {"throw@rank1.device0:pass1", "fail@rank0.device0:pass3", "allocate@rank1:pass5",
                            "bind@rank0:pass2"}) {
    const auto result =
        run(std::string("TESSERA_SIMULATE='*:H200' TESSERA_FAULT='") + fault +
            "' " TESSERA_MPIRUN " 2 " TESSERA_FIT " fit " + path("data.csv") + " --formula '" + formula +
            "' --threads 1 --out " + path("model.json") + " " + options);
    ASSERT_EQ(result.status, 0) << fault << ": " << result.err;
    EXPECT_NE(result.err.find("restarting on the CPU"), std::string::npos) << fault << ": " << result.err;
    auto model = nlohmann::json::parse(read("model.json"));
    EXPECT_NE(model.at("verdict").get<std::string>().find("failed"), std::string::npos) << fault;
    model.erase("verdict");
    EXPECT_EQ(model, expected) << fault;
  }
}

TEST_F(Program, AGpuThatIsLeftOutChangesNoBits) {
  const std::string job = TESSERA_MPIRUN " 2 " TESSERA_FIT " fit " + path("data.csv") +
                          " --formula 'exp(y) ~ f + s(x, bs=\"ps\", k=12)' --family gamma --block-rows 16" +
                          " --threads 1 --on-device-failure exclude --out " + path("model.json");
  ASSERT_EQ(run("TESSERA_SIMULATE='*:2xH200' " + job).status, 0);
  auto expected = nlohmann::json::parse(read("model.json"));
  expected.erase("verdict");
  // One of two devices, in the set-up and later; and both devices of a rank one after another.
  for (const char* fault : {"claim@rank0.device1", "throw@rank1.device0:pass4",
                            "fail@rank1.device0:pass2,allocate@rank1.device1:pass5"}) {
    const auto result = run(std::string("TESSERA_SIMULATE='*:2xH200' TESSERA_FAULT='") + fault + "' " + job);
    ASSERT_EQ(result.status, 0) << fault << ": " << result.err;
    auto model = nlohmann::json::parse(read("model.json"));
    const auto verdict = model.at("verdict").get<std::string>();
    EXPECT_NE(verdict.find("simulated devices, without "), std::string::npos) << verdict;
    model.erase("verdict");
    EXPECT_EQ(model, expected) << fault;
  }
}

TEST_F(Program, AGpuThatFailsEndsTheJobIfItIsToldSo) {
  const auto result = run(
      "TESSERA_SIMULATE='*:T4' TESSERA_FAULT='throw@rank1:pass3' " TESSERA_MPIRUN " 2 " TESSERA_FIT " fit " +
      path("data.csv") + " --formula 'exp(y) ~ s(x, bs=\"ps\", k=12)' --family gamma" +
      " --on-device-failure error --threads 1 --block-rows 16 --out " + path("model.json"));
  expect_refusal(result, 6, "a device failed, and on-device-failure is error: rank 1 (");
}

std::string number_text(double number, int digits) {
  std::ostringstream text;
  text.precision(digits);
  text << number;
  return text.str();
}

TEST_F(Program, TellsTheThetaThatItEstimates) {
  const auto fitted = fit("data.csv", "I(few^3) ~ f + s(x, bs=\"ps\", k=12)",
                          "--family 'nb()' --run-report " + path("run.json"), 2);
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  EXPECT_NE(fitted.err.find(", theta "), std::string::npos) << fitted.err;
  const auto model = nlohmann::json::parse(read("model.json"));
  EXPECT_EQ(model.at("family"), "nb");
  const auto& parameters = model.at("family_parameters");
  ASSERT_EQ(parameters.size(), 1U);
  EXPECT_EQ(parameters[0].at("name"), "theta");
  EXPECT_EQ(parameters[0].at("estimated"), true);
  const double theta = parameters[0].at("value");
  const std::string title =
      "Family: Negative Binomial(" + number_text(std::round(1000 * theta) / 1000, 15) + ")\n";
  EXPECT_NE(fitted.out.find(title), std::string::npos) << fitted.out;
  // The same for a model that is read: nothing of it is lost.
  const auto summary = successful(run(TESSERA_FIT " summary " + path("model.json")));
  EXPECT_NE(summary.out.find(title), std::string::npos) << summary.out;
  EXPECT_EQ(run(TESSERA_FIT " report " + path("model.json") + " --run-report " + path("run.json") +
                " --out " + path("report.html"))
                .status,
            0);
  EXPECT_NE(read("report.html").find("Negative Binomial("), std::string::npos);
  successful(run(TESSERA_FIT " predict " + path("model.json") + " " + path("data.csv") +
                 " --type response --out " + path("pred.csv")));
  // Given that theta, the fit is the same.
  successful(fit("data.csv", "I(few^3) ~ f + s(x, bs=\"ps\", k=12)",
                 "--family 'nb(theta = " + number_text(theta, 17) + ")'"));
  const auto again = nlohmann::json::parse(read("model.json"));
  EXPECT_EQ(again.at("family_parameters")[0].at("estimated"), false);
  const double deviance = model.at("deviance");
  EXPECT_NEAR(again.at("deviance"), deviance, 1e-8 * deviance);
}

/// A command with a state to save, and the model of an undisturbed run.
struct Stopped {
  const char* name;
  const char* family;
  const char* formula;
  const char* devices;  ///< simulated ones
  const char* fault;    ///< of the fit that is stopped and of the one that is not
  bool keeps = true;    ///< it has more than one iteration
  int stop_at = 5;      ///< pass
};

class StoppedFit : public Program, public ::testing::WithParamInterface<Stopped> {
 protected:
  [[nodiscard]] ProgramResult go(const std::string& out, const std::string& faults, int ranks,
                                 const std::string& more) const {
    const Stopped& fit = GetParam();
    return run(std::string("TESSERA_SIMULATE='") + fit.devices + "' TESSERA_FAULT='" + faults + "' " +
               TESSERA_MPIRUN + " " + std::to_string(ranks) + " " TESSERA_FIT " fit " + path("data.csv") +
               " --formula '" + fit.formula + "' --family " + fit.family +
               " --threads 1 --block-rows 16 --out " + path(out) + " " + more);
  }
};

TEST_P(StoppedFit, GoesOnWithTheSameBits) {
  const std::string fault = GetParam().fault;
  const std::string faults = fault.empty() ? "" : fault + ",";
  ASSERT_EQ(go("whole.json", fault, 2, "").status, 0);
  const std::string keep = "--checkpoint " + path("state");
  const auto stopped =
      go("model.json", faults + "signal@rank1:pass" + std::to_string(GetParam().stop_at), 2, keep);
  EXPECT_EQ(stopped.status, 75) << stopped.err;
  EXPECT_NE(stopped.err.find("stopped by SIGUSR1 on rank 1"), std::string::npos) << stopped.err;
  EXPECT_EQ(fs::exists(path("state")), GetParam().keeps);
  EXPECT_FALSE(fs::exists(path("model.json")));
  if (!GetParam().keeps) {
    EXPECT_EQ(go("model.json", fault, 2, keep).status, 0);
  } else {
    // Killed with half of a state written, and with the new state next to the old one.
    EXPECT_NE(go("model.json", "checkpoint-write@rank0:pass1", 1, keep).status, 0);
    EXPECT_NE(go("model.json", "checkpoint-swap@rank0:pass1", 1, keep).status, 0);
    const auto whole = go("model.json", "checkpoint-full@rank0:pass1", 2, keep);
    EXPECT_EQ(whole.status, 0) << whole.err;
    EXPECT_NE(whole.err.find("resuming after iteration "), std::string::npos) << whole.err;
    EXPECT_NE(whole.err.find("No space left on device"), std::string::npos) << whole.err;
  }
  // The verdict of a fit on devices counts them; there are two ranks in both.
  EXPECT_EQ(read("model.json"), read("whole.json"));
  for (const auto& entry : fs::directory_iterator(folder_))
    EXPECT_FALSE(entry.path().filename().string().starts_with("state")) << entry.path();
}

constexpr const char* no_device = "rank9:T4";
constexpr const char* two_smooths = "exp(y) ~ f + s(x, bs=\"ps\", k=12) + s(z, bs=\"cr\", k=8)";
constexpr const char* many_zeros = "I(few^3) ~ f + s(x, bs=\"ps\", k=12)";
INSTANTIATE_TEST_SUITE_P(
    Families, StoppedFit,
    ::testing::Values(
        Stopped{"Gamma", "gamma", two_smooths, no_device, ""},
        Stopped{"Poisson", "poisson", "few ~ s(x, bs=\"ps\", k=12)", no_device, ""},
        Stopped{"Binomial", "binomial", "I(few/3) ~ s(z, bs=\"cr\", k=8)", no_device, ""},
        Stopped{"GammaOnDevices", "gamma", two_smooths, "*:H200", ""},
        Stopped{"GammaThatFallsBack", "gamma", two_smooths, "*:H200", "throw@rank1:pass3", true, 8},
        Stopped{"NegativeBinomial", "nb", many_zeros, no_device, "", true, 16},
        Stopped{"NegativeBinomialOnDevices", "nb", many_zeros, "*:H200", "", true, 16},
        Stopped{"NegativeBinomialThatFallsBack", "nb", many_zeros, "*:H200", "throw@rank1:pass6", true, 24},
        Stopped{"Gaussian", "gaussian", "y ~ s(x, bs=\"ps\", k=12)", no_device, "", false, 2}),
    [](const auto& tested) { return tested.param.name; });

TEST_F(Program, AFitThatHasNotConvergedKeepsItsState) {
  const std::string formula = "exp(y) ~ f + s(x, bs=\"ps\", k=12)";
  const std::string keep = "--family gamma --checkpoint " + path("state");
  const std::string report = " --run-report " + path("run.json");
  const auto end_in_report = [&] { return nlohmann::json::parse(read("run.json")).at("fit"); };
  const auto ended = fit("data.csv", formula, keep + report + " --max-iterations 3", 2);
  EXPECT_EQ(ended.status, 4) << ended.err;
  EXPECT_NE(ended.err.find("not converged after 3 iterations"), std::string::npos) << ended.err;
  EXPECT_TRUE(fs::exists(path("state")));
  const std::string why = nlohmann::json::parse(read("model.json")).at("not_converged");
  EXPECT_TRUE(why.starts_with("the last iteration changed the deviance by ")) << why;
  EXPECT_NE(ended.err.find("not converged after 3 iterations: " + why), std::string::npos) << ended.err;
  EXPECT_NE(ended.out.find("(" + why + ")"), std::string::npos) << ended.out;
  EXPECT_EQ(
      end_in_report(),
      nlohmann::json(
          {{"converged", false}, {"why_not", why}, {"iterations", 3}, {"resumed_from_iteration", nullptr}}));
  const auto other = fit("data.csv", "exp(y) ~ s(x, bs=\"ps\", k=12)", keep);
  EXPECT_EQ(other.status, 3) << other.err;
  EXPECT_NE(other.err.find("formula is \"exp(y) ~ f + s("), std::string::npos) << other.err;
  EXPECT_EQ(fit("data.csv", formula, keep + report).status, 0);
  EXPECT_FALSE(fs::exists(path("state")));
  EXPECT_EQ(end_in_report().at("converged"), true);
  EXPECT_EQ(end_in_report().at("resumed_from_iteration"), 2);
  const std::string resumed = read("model.json");
  ASSERT_EQ(fit("data.csv", formula, "--family gamma", 3).status, 0);
  EXPECT_EQ(resumed, read("model.json"));
}

TEST_F(Program, AResponseWithoutNoiseIsFitted) {
  for (const char* formula :
       {"I(2 * x + 1) ~ s(x, bs=\"cr\")", "I(2 * x + 3 * z) ~ f + s(x, bs=\"cr\") + s(z, bs=\"cr\")",
        "I(x^2) ~ s(x, bs=\"ps\", k=12) + s(z, bs=\"cr\") + s(f, bs=\"re\")"}) {
    const auto fitted = fit("data.csv", formula);
    ASSERT_EQ(fitted.status, 0) << formula << fitted.err;
    EXPECT_EQ(fitted.out.find("-nan"), std::string::npos) << fitted.out;
    const auto model = nlohmann::json::parse(read("model.json"));
    EXPECT_TRUE(model.at("converged")) << formula;
    EXPECT_GT(model.at("scale"), 0) << formula;
    EXPECT_LT(model.at("scale"), 1e-12) << formula;
    for (const auto& term : model.at("terms")) {
      if (term.contains("sp")) {
        EXPECT_TRUE(term.at("p_value").is_number()) << formula;
      }
    }
  }
}

// Logarithms of responses near zero lead the first solution far below the means, and from there each step
// changes the predictor by at most one.
TEST_F(Program, AGammaFitOfResponsesNearZeroBeginsAtTheirMean) {
  std::ostringstream table;
  table.precision(17);
  table << "y,x,z,f\n";
  for (int i = 0; i < 600; ++i) {
    const double x = std::fmod((i + 1) * 0.6180339887498949, 1.0);
    const double z = std::fmod((i + 1) * 0.7548776662466927, 1.0);
    const double u = std::fmod((i + 1) * 0.5698402909980532, 1.0);
    const double mean = std::exp(3 * std::sin(8 * x) + 4 * (z - 0.5) + (i % 5 == 4 ? 3 : 0));
    table << std::max(mean * 6 * std::pow(u, 5), 1e-12) << ',' << x << ',' << z << ',' << "abcde"[i % 5]
          << '\n';
  }
  write("near_zero.csv", table.str());
  const ProgramResult fitted =
      fit("near_zero.csv", "y ~ f + s(x, by=f, bs=\"ps\", k=15) + s(z, by=f, bs=\"cr\")", "--family gamma");
  EXPECT_EQ(fitted.status, 0) << fitted.err;
  const auto model = nlohmann::json::parse(read("model.json"));
  // The result of a thousand iterations from another start.
  EXPECT_NEAR(model.at("deviance").get<double>(), 3728.19236, 1e-4);
}

// At k points of its period a cyclic P-spline of even k is nearly alternating, so te's coefficients, its
// values there, are nearly dependent.
TEST_F(Program, ASurfaceOverAPeriodIsFittedForAnyK) {
  for (const double shift : {0.0, 0.13, 0.29}) {
    std::ostringstream table;
    table.precision(17);
    table << "y,hour,temp\n";
    for (int i = 0; i < 400; ++i) {
      const double hour = 24 * std::fmod((i + 1) * 0.6180339887498949 + shift, 1.0);
      const double temp = 20 * std::fmod((i + 1) * 0.7548776662466927, 1.0);
      table << std::cos(hour / 24 * 6.283185307179586) * temp / 10 + std::cos(97.0 * i + shift) << ',' << hour
            << ',' << temp << '\n';
    }
    write("hours.csv", table.str());
    for (const char* formula : {"y ~ te(temp, hour, bs=c(\"cr\",\"cp\"), k=c(5,6))",
                                "y ~ s(hour, bs=\"cp\") + te(temp, hour, bs=c(\"ps\",\"cp\"), k=c(5,6))",
                                "y ~ te(temp, hour, bs=c(\"cr\",\"cp\"), k=c(5,8))",
                                "y ~ s(hour, bs=\"cp\") + te(temp, hour, bs=c(\"ps\",\"cp\"), k=c(5,8))"}) {
      const ProgramResult fitted = fit("hours.csv", formula, "--knots hour=0,24");
      EXPECT_EQ(fitted.status, 0) << formula << ", shift " << shift << ": " << fitted.err;
    }
  }
}

TEST_F(Program, AVarianceThatIsNotAboveZeroIsNamedWithItsMean) {
  const auto run = [&](const std::string& variance, const std::string& derivative) {
    write("own.toml", "name = \"own\"\ninverse_link = \"exp(eta)\"\nderivative = \"" + derivative +
                          "\"\nvariance = \"" + variance + "\"\ndeviance = \"(y - mu)^2\"\n");
    return fit("data.csv", "exp(y) ~ x", "--family @" + path("own.toml"), 2);
  };
  const auto negative = run("mu * (0.001 - mu)", "exp(eta)");
  EXPECT_EQ(negative.status, 4) << negative.err;
  EXPECT_NE(negative.err.find(
                "in data row 1 the family own has no working weight: the variance mu * (0.001 - mu) is -"),
            std::string::npos)
      << negative.err;
  EXPECT_NE(negative.err.find(", but must be above 0\n"), std::string::npos) << negative.err;
  const auto missing = run("sqrt(-mu)", "exp(eta)");
  EXPECT_EQ(missing.status, 4) << missing.err;
  EXPECT_NE(missing.err.find("the variance sqrt(-mu) is not a number at a mean of "), std::string::npos)
      << missing.err;
  const auto flat = run("mu", "0 * eta");
  EXPECT_EQ(flat.status, 3) << flat.err;
  EXPECT_NE(flat.err.find("is outside the range of own(inverse of exp(eta)): "), std::string::npos)
      << flat.err;
}

TEST_F(Program, AFitThatDivergesWritesItsLastFiniteState) {
  // Least squares with means that must not be negative: the steps end at that boundary, not at a solution.
  write("border.toml",
        "name = \"border\"\ninverse_link = \"eta\"\nderivative = \"1\"\nvariance = \"1\"\n"
        "deviance = \"(y - mu)^2 + 0 * sqrt(mu)\"\n");
  const std::string options = "--family @" + path("border.toml") + " --run-report " + path("run.json") +
                              " --checkpoint " + path("state");
  const auto ended = fit("data.csv", "exp(8 * x) ~ x", options, 2);
  EXPECT_EQ(ended.status, 4) << ended.err;
  const auto model = nlohmann::json::parse(read("model.json"));
  EXPECT_FALSE(model.at("converged"));
  const int iterations = model.at("iterations");
  EXPECT_GT(iterations, 1);
  EXPECT_NE(ended.err.find("iteration " + std::to_string(iterations + 1) + ": the iteration diverged: "),
            std::string::npos)
      << ended.err;
  EXPECT_EQ(ended.err.find("--max-iterations"), std::string::npos) << ended.err;  // would not help
  EXPECT_TRUE(model.at("deviance").is_number());
  // The table of coefficients is of the coefficients.
  EXPECT_EQ(model.at("parametric").at(1).at("estimate"), model.at("coefficients").at(1).at("value"));
  const auto report = nlohmann::json::parse(read("run.json")).at("fit");
  EXPECT_EQ(report.at("converged"), false);
  EXPECT_EQ(report.at("iterations"), iterations);
}

// The expected values are bam(I(few/3) ~ s(x, bs="cr", k=8) + offset(z), binomial, weights=...)$aic of mgcv
// 1.8-41.
TEST_F(Program, AicOfABinomialRoundsSuccessesAndTrialsAsRDoes) {
  const std::string formula = "I(few/3) ~ s(x, bs=\"cr\", k=8) + offset(z)";
  const auto expect_aic = [&](const std::string& options, int ranks, double aic) {
    ASSERT_EQ(fit("data.csv", formula, "--family binomial " + options, ranks).status, 0);
    const auto model = nlohmann::json::parse(read("model.json"));
    EXPECT_NEAR(model.at("aic").get<double>(), aic, 1e-6 * aic) << options;
  };
  expect_aic("", 1, 283.33381252222);
  expect_aic("--weights z", 1, 141.02462161206);
  const std::string model = read("model.json");
  expect_aic("--weights z", 3, 141.02462161206);
  EXPECT_EQ(read("model.json"), model);
}

TEST_F(Program, ATimeLimitIsStatus75) {
  const auto result =
      fit("data.csv", "exp(y) ~ s(x, bs=\"ps\", k=12)", "--family gamma --time-limit 0.001", 2);
  EXPECT_EQ(result.status, 75) << result.err;
  EXPECT_NE(result.err.find("stopped by the time limit of 1 ms"), std::string::npos) << result.err;
}

TEST_F(Program, AStoppedRankEndsTheFitWithOneLineThatNamesItItsNodeAndThePhase) {
  const auto result =
      run(std::string("TESSERA_FAULT=stop@rank1:pass4 " TESSERA_MPIRUN " 3 " TESSERA_FIT " fit ") +
          path("data.csv") + " --formula 'exp(y) ~ s(x, bs=\"ps\", k=12)' --family gamma" +
          " --device cpu --threads 1 --collective-timeout 2 --out " + path("model.json"));
  EXPECT_EQ(result.status, 6) << result.err;
  const std::regex line(
      "(^|\n)tessera: rank 1 \\([^)]+\\) did not come to the vote of pass 4 in the sums over the rows within "
      "2 s: the job is ended\n");
  EXPECT_EQ(std::distance(std::sregex_iterator(result.err.begin(), result.err.end(), line), {}), 1)
      << result.err;
  EXPECT_FALSE(fs::exists(path("model.json")));
}

TEST_F(Program, APolicyWithoutItsDeviceIsStatus5) {
  const auto result = run("TESSERA_SIMULATE='rank9:T4' " TESSERA_FIT " fit " + path("data.csv") +
                          " --formula 'y ~ s(x, bs=\"ps\", k=12)' --device gpu --out " + path("model.json"));
  expect_refusal(result, 5, "GPU");
}

TEST_F(Program, AGpuThatFailsWhereOneIsRequiredIsStatus6) {
  const auto result = run("TESSERA_SIMULATE='*:T4' TESSERA_FAULT='throw@rank*:pass3' " TESSERA_MPIRUN
                          " 2 " TESSERA_FIT " fit " +
                          path("data.csv") + " --formula 'exp(y) ~ s(x, bs=\"ps\", k=12)' --family gamma" +
                          " --device gpu --threads 1 --out " + path("model.json"));
  expect_refusal(result, 6, "a GPU is required, but rank 0 (");
}

TEST_F(Program, AConstantResponseIsFittedWhereThereIsSomethingToFit) {
  EXPECT_EQ(fit("data.csv", "c ~ x - 1").status, 0);
  EXPECT_EQ(fit("data.csv", "c ~ x + offset(z)", "--family poisson").status, 0);
}

/// A fit without a finite estimate, and its message.
struct Separated {
  const char* name;
  const char* formula;
  const char* family;
  const char* words;
};

class WithoutEstimate : public Program, public ::testing::WithParamInterface<Separated> {};

TEST_P(WithoutEstimate, IsStatus4WithOneLineThatSaysWhy) {
  // b: events in f 'a' and 'c' only; up: 1 where x is above 1/2; n: counts, none in f 'b'; q: 1 in f 'b'.
  std::ostringstream table;
  table.precision(17);
  table << "b,up,n,x,z,f,h,q\n";
  for (int i = 0; i < 300; ++i) {
    const double x = std::fmod(i * 0.6180339887498949, 1.0);
    const double z = std::fmod(i * 0.7548776662466927, 1.0);
    const double u = std::fmod(i * 0.5698402909980532, 1.0);
    table << (i % 3 != 1 && u < 0.3 + 0.4 * z ? 1 : 0) << ',' << (x > 0.5 ? 1 : 0) << ','
          << (i % 3 == 1 ? 0 : std::floor(4 * u + z)) << ',' << x << ',' << z << ',' << "abc"[i % 3] << ','
          << "uv"[i / 3 % 2] << ',' << (i % 3 == 1 ? 1 : 0) << '\n';
  }
  write("table.csv", table.str());
  const Separated& tested = GetParam();
  std::string model;
  for (const int ranks : {1, 3}) {
    const auto result = fit(
        "table.csv", tested.formula,
        std::string("--block-rows 16 --checkpoint ") + path("state") + " --family " + tested.family, ranks);
    EXPECT_EQ(result.status, 4) << result.err;
    const auto own = complaints(result.err);
    ASSERT_EQ(own.size(), 1U) << result.err;
    EXPECT_TRUE(own[0].starts_with("tessera-fit: there is no finite estimate: ")) << own[0];
    EXPECT_NE(own[0].find(tested.words), std::string::npos) << own[0];
    EXPECT_NE(result.out.find("There is NO finite estimate: "), std::string::npos) << result.out;
    EXPECT_FALSE(fs::exists(path("state")));
    if (ranks > 1) {
      EXPECT_EQ(read("model.json"), model);
    }
    model = read("model.json");
    EXPECT_FALSE(nlohmann::json::parse(model).at("converged"));
  }
  const auto summary = run(TESSERA_FIT " summary " + path("model.json"));
  EXPECT_NE(summary.out.find(tested.words), std::string::npos) << summary.out;
}

INSTANTIATE_TEST_SUITE_P(
    Fits, WithoutEstimate,
    ::testing::Values(
        Separated{"LevelWithoutEvents", "b ~ f + s(z, bs=\"ps\", k=8)", "binomial",
                  "the response is 0 in all rows of f 'b' (100 rows)"},
        Separated{"LevelWithoutCounts", "n ~ f + s(z, bs=\"cr\", k=8)", "poisson",
                  "the response is 0 in all rows of f 'b' (100 rows)"},
        Separated{"LevelWithoutSpreadCounts", "I(n^3) ~ f + s(z, bs=\"cr\", k=8)", "nb",
                  "the response is 0 in all rows of f 'b' (100 rows)"},
        Separated{"CellsWithoutEvents", "b ~ f*h + z", "binomial",
                  "f 'b' (100 rows); f 'b', h 'u' (50 rows); f 'b', h 'v' (50 rows)"},
        Separated{"ByANumber", "up ~ x", "binomial", "x separates responses of 0 from responses of 1"},
        Separated{"ByASmooth", "up ~ s(x, bs=\"cr\", k=8)", "binomial",
                  "s(x) separates responses of 0 from responses of 1"},
        Separated{"InPart", "b ~ z + q", "binomial",
                  "q separates responses of 0 from responses of 1: the fitted means of 100 rows tend to"},
        Separated{"LevelOfOneOrderedClass", "I(1 + (n > 0) + (n > 2)) ~ f + x", "'ocat(R=3)'",
                  "the response is 1 in all rows of f 'b' (100 rows)"},
        Separated{"LevelWithoutAClass", "list(I((n > 0) + (n > 2)) ~ z, ~ f + z)", "'multinom(K=2)'",
                  "linear predictor 2: the response is 2 in no row of f 'b' (100 rows)"},
        Separated{"OrderedClassesByANumber", "I(1 + up + (x > 0.8)) ~ x", "'ocat(R=3)'",
                  "x separates classes: "},
        Separated{
            "ClassesBySmooths", "list(I(up + (x > 0.8)) ~ s(x, k=8), ~ s(x, k=8))", "'multinom(K=2)'",
            "s.1(x) separate classes: the fitted probability of the observed class tends to 1 in all rows"}),
    [](const auto& tested) { return tested.param.name; });

// Extreme, but not separated: means are within 1e-9 of their limits, and the estimate is finite.
TEST_F(Program, AnExtremeFitIsNotTakenForOneWithoutEstimate) {
  std::ostringstream table;
  table << "y,x,g\n";
  for (int i = 0; i < 400; ++i) {
    const double x = -1 + i / 200.0;
    const bool up = x > 0;
    // Two rows on the wrong side keep the estimate finite.
    table << ((i == 198 || i == 202) ? !up : up) << ',' << x << ",g" << i % 5 << '\n';
  }
  write("steep.csv", table.str());
  for (const char* formula : {"y ~ x", "y ~ x + s(g, bs=\"re\")"}) {
    const auto result = fit("steep.csv", formula, "--family binomial");
    EXPECT_EQ(result.status, 0) << formula << result.err;
  }
  // A random effect has a finite estimate even if its level has no event.
  write("random.csv", "y,g\n1,a\n0,a\n0,b\n0,b\n0,b\n1,c\n0,c\n1,c\n0,d\n0,d\n1,d\n0,e\n0,e\n0,e\n1,e\n");
  EXPECT_EQ(fit("random.csv", "y ~ s(g, bs=\"re\")", "--family binomial").status, 0);
}

TEST_F(Program, RowsOfAnUnseenLevelAreNAAndCountedOnce) {
  ASSERT_EQ(fit("data.csv", "y ~ f + s(x, bs=\"ps\", k=12)").status, 0);
  const std::string predict = std::string(" " TESSERA_FIT " predict ") + path("model.json") + " ";
  write("new.csv", "x,f\n0.5,a\n0.6,d\n0.5,\n0.5,NA\nNA,b\n0.5,a\n");
  const auto alone = successful(run(predict + path("new.csv") + " --se"));
  EXPECT_EQ(complaints(alone.err),
            std::vector<std::string>{"tessera-fit: 2 rows have levels of 'f' unknown to the fit ('', 'd'): "
                                     "the predictions of these rows are NA"});
  std::istringstream lines(alone.out);
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(line);
  ASSERT_EQ(rows.size(), 7U) << alone.out;
  for (const std::size_t missing : {2U, 3U, 4U, 5U}) EXPECT_EQ(rows[missing], "NA,NA");
  EXPECT_EQ(rows[1], rows[6]);
  EXPECT_EQ(rows[1].find("NA"), std::string::npos);
  const auto many = run(std::string(TESSERA_MPIRUN) + " 3" + predict + path("new.csv") + " --se");
  EXPECT_EQ(many.out, alone.out);
  EXPECT_EQ(complaints(many.err), complaints(alone.err));
}

// As in predict.gam, a level that the fit lacked has no column of a random effect.
TEST_F(Program, AnUnseenLevelOfARandomEffectIsPredictedWithoutIt) {
  ASSERT_EQ(fit("data.csv", "y ~ s(x, bs=\"ps\", k=12) + s(f, bs=\"re\")").status, 0);
  const auto predicted = [&](const std::string& rows) {
    write("new.csv", "x,f\n" + rows);
    return run(TESSERA_FIT " predict " + path("model.json") + " " + path("new.csv"));
  };
  const auto fitted = [](const ProgramResult& result) {
    return std::stod(result.out.substr(result.out.find('\n') + 1));
  };
  const auto model = nlohmann::json::parse(read("model.json"));
  const auto& coefficients = model.at("coefficients");
  const auto found = std::find_if(coefficients.begin(), coefficients.end(),
                                  [](const auto& c) { return c.at("name") == "s(f).1"; });
  ASSERT_NE(found, coefficients.end());
  const auto unseen = successful(predicted("0.5,new\n"));
  EXPECT_EQ(complaints(unseen.err),
            std::vector<std::string>{"tessera-fit: 1 row has a level of 'f' unknown to the fit ('new'): "
                                     "these rows are predicted without this random effect"});
  EXPECT_NEAR(fitted(unseen) + found->at("value").template get<double>(), fitted(predicted("0.5,a\n")),
              1e-12);
  EXPECT_TRUE(predicted("0.5,NA\n").out.ends_with("NA\n"));
}

TEST_F(Program, TellsHowEachColumnWasRead) {
  write("mixed.csv", read("data.csv") + "NA,0.5,0.5,a,7,1\n1,,0.5,b,7,1\n1,0.1,0.5,,7,1\n");
  for (const int ranks : {1, 3}) {
    const auto fitted = successful(fit("mixed.csv", "y ~ f + s(x, bs=\"ps\", k=12)", "", ranks));
    for (const char* line : {"  y: numbers, 1 missing\n", "  x: numbers, 1 missing\n",
                             "  f: factor of 4 levels, the first '', 1 blank (read as a level; to read "
                             "blanks as missing, give the NA strings 'NA,')\n"})
      EXPECT_NE(fitted.err.find(line), std::string::npos) << line << fitted.err;
  }
  const auto fewer = fit("mixed.csv", "y ~ f + s(x, bs=\"ps\", k=12)", "--na-strings NA,");
  ASSERT_EQ(fewer.status, 0) << fewer.err;
  EXPECT_NE(fewer.err.find("  f: factor of 3 levels, the first 'a', 1 missing\n"), std::string::npos)
      << fewer.err;
}

TEST_F(Program, ReadsDatesInTheFitAndWithItsModel) {
  std::string days = "y,day,n\n";
  std::string numbers = days;
  for (int i = 0; i < 60; ++i) {
    const std::string y = std::to_string(i % 7) + "." + std::to_string(i % 10);
    const std::string day = std::to_string(1 + i % 28);
    days += y + ",1970-0" + std::to_string(1 + i / 28) + (day.size() == 1 ? "-0" : "-") + day + ",1\n";
    numbers += y + "," + std::to_string(i % 28 + (i < 28 ? 0 : i < 56 ? 31 : 59)) + ",1\n";
  }
  write("days.csv", days);
  write("numbers.csv", numbers);
  const std::string formula = "y ~ s(day, bs=\"ps\", k=6)";
  expect_refusal(fit("days.csv", formula), 3, "or fit with the option date");
  expect_refusal(fit("days.csv", formula, "--date n"), 2,
                 "date 'n': the formula does not use a column of this name");
  ASSERT_EQ(fit("numbers.csv", formula).status, 0);
  const auto model = [&] { return nlohmann::json::parse(read("model.json")); };
  const auto expected = model();
  EXPECT_FALSE(expected.contains("units"));
  for (const int ranks : {1, 3}) {
    const auto fitted = successful(fit("days.csv", formula, "--date day", ranks));
    EXPECT_NE(fitted.err.find("  day: numbers, days since 1970-01-01\n"), std::string::npos) << fitted.err;
    EXPECT_EQ(model()["coefficients"], expected["coefficients"]);
  }
  // The model knows its dates, and takes numbers too.
  fs::rename(path("model.json"), path("m.json"));
  const auto predicted = [&](const std::string& table, const std::string& out) {
    write("new.csv", table);
    return run(std::string(TESSERA_FIT) + " predict " + path("m.json") + " " + path("new.csv") + " --out " +
               path(out) + " --device cpu");
  };
  successful(predicted("day\n1970-01-05\n1970-02-03\n", "dates.csv"));
  successful(predicted("day\n4\n33\n", "numbers_out.csv"));
  EXPECT_EQ(read("dates.csv"), read("numbers_out.csv"));
  expect_refusal(predicted("day\n5.1.1970\n", "pred.csv"), 3,
                 "new.csv, line 2: the column 'day' holds the text '5.1.1970', which is not a date");
  expect_refusal(predicted("day\n1970-01-05T12:00\n", "pred.csv"), 3,
                 "but the model was fitted to dates without a time");
  successful(run(std::string(TESSERA_FIT) + " check " + path("m.json") + " " + path("days.csv")));
}

TEST_F(Program, ReadsTheStandardInputInAnyDialect) {
  const std::string formula = "y ~ f + s(x, bs=\"ps\", k=12)";
  ASSERT_EQ(fit("data.csv", formula).status, 0);
  const std::string expected = read("model.json");
  const auto fit_piped = [&](const std::string& before, const std::string& options) {
    std::filesystem::remove(path("model.json"));
    return run(before + " | TMPDIR=" + folder_.path().string() + " " + TESSERA_FIT + " fit - --formula '" +
               formula + "' --device cpu --threads 1 --out " + path("model.json") + options);
  };
  const std::string data = path("data.csv");
  for (const auto& [before, options, words] :
       {std::tuple{"cat " + data, "", ""},
        std::tuple{"tr , ';' <" + data, "", "semicolons separate the fields"},
        std::tuple{"tr , '\\t' <" + data, " --sep tab", ""}, std::tuple{"gzip -c " + data, "", ""},
        std::tuple{"(echo about; cat " + data + ")", " --skip 1", ""}}) {
    const auto piped = successful(fit_piped(before, options));
    EXPECT_EQ(read("model.json"), expected) << before;
    EXPECT_NE(piped.err.find(words), std::string::npos) << piped.err;
    EXPECT_NE(piped.err.find("rows of standard input\n"), std::string::npos) << piped.err;
    EXPECT_EQ(piped.err.find("tessera-input"), std::string::npos) << piped.err;
  }
  const auto described = successful(run("cat " + data + " | " TESSERA_FIT " columns -"));
  EXPECT_TRUE(described.out.starts_with("standard input: 200 rows")) << described.out;
  expect_refusal(fit_piped("(cat " + data + "; echo 1,2)", ""), 3, "tessera-fit: standard input, line 202: ");
  expect_refusal(fit_piped("true", ""), 3, "standard input: the file is empty");
  expect_refusal(fit_piped("cat " + data, " --sep xx"), 2, "give one character");
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    EXPECT_EQ(entry.path().filename().string().find("tessera-input"), std::string::npos) << entry.path();
}

TEST_F(Program, WeightsMayHaveAnyName) {
  write("blank.csv", "y,x,my w\n1,1,1\n2,3,2\n3,2,0\n4,5,3\n");
  EXPECT_EQ(fit("blank.csv", "y ~ x", "--weights 'my w'").status, 0);
}

TEST_F(Program, AFullDiskLeavesNothing) {
  const std::string disk = path("disk");
  fs::create_directory(disk);
  if (run("mount -t tmpfs -o size=16k tmpfs " + disk).status != 0) {
    GTEST_SKIP() << "a file system of 16 KiB cannot be mounted here: that needs root";
  }
  const auto full =
      run(TESSERA_FIT " fit " + path("data.csv") +
          " --formula 'y ~ s(x, bs=\"ps\", k=40) + s(z, bs=\"ps\", k=40)' --device cpu --threads 1 --out " +
          disk + "/model.json");
  EXPECT_TRUE(fs::is_empty(disk));
  ASSERT_EQ(fit("data.csv", "y ~ x").status, 0);
  fs::rename(path("model.json"), path("m.json"));
  const auto full_folder =
      run(std::string(TESSERA_MPIRUN) + " 2 " TESSERA_FIT " simulate " + path("m.json") + " " +
          path("data.csv") + " --what responses --draws 100 --threads 1 --out " + disk + "/pred.csv/");
  EXPECT_TRUE(fs::is_empty(disk));
  EXPECT_EQ(run("umount " + disk).status, 0);
  expect_refusal(full, 3, "No space left on device");
  expect_refusal(full_folder, 3, "No space left on device");
}

TEST_F(Program, AFolderIsWrittenAsAWholeOrNotAtAll) {
  ASSERT_EQ(fit("data.csv", "y ~ s(x, bs=\"ps\", k=8)").status, 0);
  fs::rename(path("model.json"), path("m.json"));
  const std::string predict = " " TESSERA_FIT " predict " + path("m.json") + " " + path("data.csv") +
                              " --device cpu --threads 1 --out ";
  const auto predicted = [&](const std::string& out, int ranks = 2) {
    return run(std::string(TESSERA_MPIRUN) + " " + std::to_string(ranks) + predict + out);
  };
  write("file", "mine");
  expect_refusal(predicted(path("file/")), 3, "file: a file has this name, but a folder is needed");
  expect_refusal(predicted(path("none/pred.csv/")), 3,
                 "pred.csv: cannot be created: No such file or directory");
  fs::create_directory(path("full"));
  write("full/one", "mine");
  expect_refusal(predicted(path("full/")), 3, "full: the folder is not empty");
  // One rank's part does not fit: a limit of at most 32 MiB, as a full disk.
  const std::string simulate = " " TESSERA_FIT " simulate " + path("m.json") + " " + path("data.csv") +
                               " --what responses --draws 30000 --threads 1 --out " + path("pred.csv/");
  expect_refusal(run(std::string(TESSERA_MPIRUN) + " 1" + simulate + " : -np 1 sh -c 'ulimit -f 32768; exec" +
                     simulate + "'"),
                 3, "cannot be written: File too large");
  const auto hidden = [&] {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder_))
      count += entry.path().filename().string().starts_with(".tessera-") ? 1 : 0;
    return count;
  };
  EXPECT_EQ(hidden(), 0U);
  // What a killed program leaves the next one to that folder removes.
  const auto killed =
      run("cd " + folder_.path().string() +
          "; " TESSERA_FIT
          " simulate m.json data.csv --what responses --draws 100000 --threads 1 --out sim.csv/ & "
          "pid=$!; until ls -d .tessera-* >sim.log 2>&1; do sleep 0.05; done; kill -KILL $pid; "
          "wait $pid");
  EXPECT_EQ(killed.status, 128 + SIGKILL) << killed.err;
  EXPECT_EQ(hidden(), 1U);
  successful(predicted(path("parts.csv/")));
  EXPECT_EQ(hidden(), 0U);
  EXPECT_EQ(std::distance(fs::directory_iterator(path("parts.csv")), {}), 2);
}

TEST_F(Program, AFullDiskBehindStandardOutputIsAnError) {
  ASSERT_EQ(fit("data.csv", "y ~ x").status, 0);
  // A shell for each rank: with mpirun only, standard output is mpirun's pipe.
  std::vector<ProgramResult> results;
  for (const std::string& what :
       {"summary " + path("model.json"), "predict " + path("model.json") + " " + path("data.csv"),
        "fit " + path("data.csv") + " --formula \"y ~ x\" --device cpu --out " + path("model.json")}) {
    const std::string into_full = "sh -c 'exec " TESSERA_FIT " " + what + " >/dev/full'";
    results.push_back(run(into_full));
    results.push_back(run(std::string(TESSERA_MPIRUN) + " 2 " + into_full));
  }
  EXPECT_NE(results.back().err.find("; the model is in " + path("model.json")), std::string::npos);
  fs::remove(path("model.json"));
  for (const auto& result : results)
    expect_refusal(result, 3, "standard output cannot be written: No space left");
}

}  // namespace
}  // namespace tessera
