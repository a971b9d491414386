// SPDX-License-Identifier: Apache-2.0
// tessera-fit under limits: columns that exceed the ranks' memory are in files, or are refused before the
// kernel kills a rank; the number of threads is the batch system's.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "example.hpp"
#include "info/own_cgroup.hpp"
#include "info/run_program.hpp"
#include "support/address_limit.hpp"

namespace tessera {
namespace {

/// A table of numbers x, z, w that fill the unit interval evenly, and a factor g.
std::string table_of(int rows, int levels) {
  std::ostringstream text;
  text << "y,x,z,w,g\n";
  for (int i = 0; i < rows; ++i) {
    const auto covariate = [&](double step) { return std::fmod((i + 1) * step, 1.0); };
    const double x = covariate(0.6180339887498949);
    const double z = covariate(0.7548776662466927);
    text << std::sin(6 * x) + z + 0.1 * (i % 7) << ',' << x << ',' << z << ','
         << covariate(0.5698402909980532) << ",g" << i % levels << '\n';
  }
  return text.str();
}

std::string fit_command(const ScratchFile& table, const ScratchFile& model, const std::string& formula) {
  return TESSERA_FIT " fit " + table.path() + " --formula '" + formula + "' --device cpu --threads 1 --out " +
         model.path();
}

/// The line of the output from `begin` on; empty if there is none.
std::string line_of(const std::string& said, const std::string& begin) {
  const auto at = said.find(begin);
  return at == std::string::npos ? "" : said.substr(at, said.find('\n', at) - at);
}

TEST(FitLimits, ATableThatACgroupHasNotTheMemoryForIsFittedAndPredictedAllTheSame) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory would not fit";
#endif
  constexpr int rows = 4'000'000;
  OwnCgroup cgroup("memory");
  // Seven numbers and a mark for each row, 228 MB, exceed this; so do the six that predictions need.
  cgroup.set(cgroup.version() == 1 ? "memory.limit_in_bytes" : "memory.max", "180000000");
  if (!cgroup.problem().empty()) GTEST_SKIP() << cgroup.problem();
  std::string text = "y,x\n";
  for (int i = 0; i < rows; ++i) text += i % 3 == 0 ? "1,2\n" : i % 7 == 0 ? "4,3\n" : "3,5\n";
  const ScratchFile table(text);
  const ScratchFile model;
  const ScratchFile unlimited;
  const auto fit = [&](const ScratchFile& out) {
    return TESSERA_MPIRUN " 2 " TESSERA_FIT " fit " + table.path() +
           " --formula \"y ~ x + offset(sqrt(x) + 1) + offset(sqrt(x)) + offset(log(x)) + offset(log1p(x)) + "
           "offset(abs(x))\" --device cpu --threads 1 "
           "--out " +
           out.path();
  };
  const auto fitted = successful(run(cgroup.command(fit(model))));
  const std::string told = line_of(fitted.err, "columns: ");
  EXPECT_NE(told.find(" of 0.212 GiB are in scratch files in "), std::string::npos) << fitted.err;
  EXPECT_NE(told.find(cgroup.file("")), std::string::npos) << told;
  EXPECT_EQ(run(fit(unlimited)).status, 0);
  EXPECT_TRUE(model.text() == unlimited.text());

  const ScratchFile predictions;
  const ScratchFile whole;
  const auto predict = [&](const ScratchFile& out) {
    return TESSERA_MPIRUN " 2 " TESSERA_FIT " predict " + model.path() + " " + table.path() +
           " --se --device cpu --threads 1 --out " + out.path();
  };
  const auto predicted = run(cgroup.command(predict(predictions)));
  EXPECT_EQ(predicted.status, 0) << predicted.err;
  EXPECT_NE(predicted.err.find("predicting rows 1 to "), std::string::npos) << predicted.err;
  EXPECT_EQ(run(predict(whole)).status, 0);
  EXPECT_TRUE(predictions.text() == whole.text());
}

TEST(FitLimits, WhatColumnsMayTakeOfMemoryIsSaid) {
  const ScratchFile table(table_of(9000, 3));
  const ScratchFile model;
  const ScratchFile report;
  const std::string fit = fit_command(table, model, "y ~ s(x, bs=\"cr\", k=5) + g");
  const auto spilled = run(fit + " --memory 100K --scratch /var/tmp --run-report " + report.path());
  EXPECT_EQ(spilled.status, 0) << spilled.err;
  EXPECT_NE(spilled.err.find(" are in scratch files in /var/tmp, "), std::string::npos) << spilled.err;
  // A mark, and y, are within 100 KiB; x and a level of g are not.
  const auto json = nlohmann::json::parse(report.text());
  EXPECT_EQ(json.at("spilled"), (nlohmann::json{{"bytes", 9000 * (8 + 4)}, {"scratch", "/var/tmp"}}));
  EXPECT_EQ(run(fit + " --memory 1G").err.find("scratch"), std::string::npos);
  const auto nowhere = run(fit + " --memory 0 --scratch /nowhere");
  EXPECT_EQ(nowhere.status, 3);
  EXPECT_NE(line_of(nowhere.err, "tessera-fit: /nowhere: no scratch file can be created: "), "")
      << nowhere.err;
  EXPECT_EQ(run(fit + " --memory much").status, 2);
}

TEST(FitLimits, AModelThatThereIsNotTheMemoryForIsRefusedBeforeItBegins) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory would not fit";
#endif
  const ScratchFile table(table_of(9000, 3000));
  for (const char* formula : {"y ~ s(x, by=g, bs=\"cr\", k=10)", "y ~ te(x, z, w, k=25)"}) {
    const ScratchFile model;
    const auto result = run("ulimit -v 4000000; " + fit_command(table, model, formula));
    EXPECT_EQ(result.status, 3) << result.err;
    const auto said = result.err.find("tessera-fit: ");
    ASSERT_NE(said, std::string::npos) << result.err;
    const std::string line = result.err.substr(said, result.err.find('\n', said) - said);
    EXPECT_NE(line.find(" coefficients in "), std::string::npos) << line;
    EXPECT_NE(line.find(" GiB are left by "), std::string::npos) << line;
    EXPECT_NE(result.err.find("memory: "), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find("tessera-fit: ", said + 1), std::string::npos) << result.err;
  }
}

/// The maximum memory of a program, in GiB; it must end with status 0.
double peak_gib(const std::string& command) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  EXPECT_EQ(wait4(child, &status, 0, &usage), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command;
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);
}

TEST(FitLimits, TheMemoryOfAModelIsThatWhichTheLogForetells) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is no fit's";
#endif
  const ScratchFile table(table_of(1000, 16));
  const ScratchFile model;
  const ScratchFile log;
  const std::string to_log = " >" + log.path() + " 2>&1";
  const double program = peak_gib(fit_command(table, model, "y ~ x") + to_log);
  for (const char* formula : {"y ~ s(x, by=g, bs=\"cr\", k=20)", "y ~ te(x, z, k=18)"}) {
    SCOPED_TRACE(formula);
    const double taken = peak_gib(fit_command(table, model, formula) + to_log) - program;
    const std::string said = log.text();
    const auto memory = said.find("memory: ");
    ASSERT_NE(memory, std::string::npos) << said;
    const double foretold = std::stod(said.substr(memory + 8));
    EXPECT_LT(taken, 1.1 * foretold);
    EXPECT_GT(taken, foretold / 3);
  }
}

TEST(FitLimits, ALackOfAddressSpaceIsSaid) {
  if (!testing::can_limit_address_space) GTEST_SKIP() << "sanitizers need the address space";
  const ScratchFile table(example_table());
  const ScratchFile model;
  const auto fit_within = [&](long mebibytes) {
    return run("ulimit -v " + std::to_string(1024 * mebibytes) + "; " TESSERA_FIT " fit " + table.path() +
               " --formula 'y ~ s(x)' --device cpu --threads 1 --out " + model.path());
  };
  const ProgramResult refused = fit_within(56);
  EXPECT_EQ(refused.status, 3) << refused.err;
  EXPECT_NE(refused.err.find("are left by ulimit -v"), std::string::npos) << refused.err;
  EXPECT_EQ(fit_within(128).status, 0);
}

/// A small fit on two ranks under `variables`; the report of its run.
std::pair<ProgramResult, nlohmann::json> small_fit(const std::string& variables) {
  std::string text = "y,x\n";
  for (int i = 0; i < 50; ++i) text += std::to_string(i * i % 7) + ',' + std::to_string(i) + '\n';
  const ScratchFile table(text);
  const ScratchFile model;
  const ScratchFile report;
  auto result =
      run("env -u OMP_NUM_THREADS -u SLURM_CPUS_PER_TASK " + variables +
          " " TESSERA_MPIRUN " 2 --bind-to none " TESSERA_FIT " fit " + table.path() +
          " --formula 'y ~ x' --device cpu --out " + model.path() + " --run-report " + report.path());
  auto json = nlohmann::json::parse(report.text());
  return {std::move(result), std::move(json)};
}

TEST(FitLimits, TheRunSaysWhereItsThreadsAreFrom) {
  const auto [result, report] = small_fit("SLURM_CPUS_PER_TASK=1");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(report.at("threads_per_rank"), 1);
  EXPECT_EQ(report.at("threads_from"), "SLURM_CPUS_PER_TASK");
}

TEST(FitLimits, AVariableThatIsNoNumberIsSaidOnce) {
  const auto [result, report] = small_fit("OMP_NUM_THREADS=all");
  EXPECT_EQ(result.status, 0) << result.err;
  const auto said =
      result.err.find("OMP_NUM_THREADS='all' is ignored, because the value is not a number of threads");
  ASSERT_NE(said, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("OMP_NUM_THREADS", said + 1), std::string::npos) << result.err;
  EXPECT_NE(report.at("threads_from").get<std::string>().find("shared by 2 ranks"), std::string::npos)
      << report;
}

}  // namespace
}  // namespace tessera
