// SPDX-License-Identifier: Apache-2.0
#include "gam/model/model.hpp"
#include "r_script.hpp"
#include "simulated.hpp"
#include "suite.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/fit.hpp>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "files/standard_error.hpp"

namespace tessera::bench {
namespace {

struct CrossedSuite {
  /// "RE1": a factor of 100,000 levels; "RE2": and one of 1,000; "RE3": factors of 2,000, 20,000 and 200
  /// levels, which occur in any combination; "near": 20,000 and 15,000 levels, each of which occurs with
  /// about five neighbouring ones, and 200; "apart": the same with any five; "dense": 4,000 and 3,000 levels
  /// in a fifth of the rows. "FS4" and "FS5": curves of 10,000 and of 100,000 levels; "FSRE": of 10,000
  /// levels, beside effects of 1,000.
  std::vector<std::string> models{"RE3", "near", "dense"};
  std::int64_t rows = 1'000'000;
  int repeats = 1;
  bool peer = true;  ///< compare with lmer(), if it is installed
};

/// Reads the columns and our fit (variances, then effects and their standard errors), and fits.
constexpr const char* lmer_script = R"R(
arguments <- commandArgs(trailingOnly = TRUE)
rows <- as.numeric(arguments[2])
levels <- as.integer(strsplit(arguments[3], ",")[[1]])
suppressMessages(library(lme4))
columns <- file(arguments[1], "rb")
data <- data.frame(y = readBin(columns, "double", rows))
for (i in seq_along(levels))
  data[[letters[i]]] <- factor(readBin(columns, "integer", rows), levels = seq_len(levels[i]) - 1L)
ours <- readBin(columns, "double", 2 * length(levels) + 2 * sum(levels) + 1)
close(columns)
formula <- as.formula(paste("y ~ 1", paste0("+ (1 |", letters[seq_along(levels)], ")", collapse = " ")))
elapsed <- system.time(fitted <- lmer(formula, data, REML = TRUE, control = lmerControl(calc.derivs = FALSE)))
cat("seconds", elapsed[["elapsed"]], "\n")
cat("processor", elapsed[["user.self"]] + elapsed[["sys.self"]], "\n")
peak <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
cat("fit_kb", gsub("[^0-9]", "", peak), "\n")
variances <- ours[seq_along(levels)]
scale <- ours[length(levels) + 1]
rest <- ours[-seq_len(length(levels) + 1)]
names(variances) <- letters[seq_along(levels)]
criterion <- lmer(formula, data, REML = TRUE, devFunOnly = TRUE)
theirs <- sapply(VarCorr(fitted), function(v) v[1, 1])
at <- function(v, s) criterion(sqrt(v[names(theirs)] / s))
cat("criterion", at(variances, scale) - at(theirs, sigma(fitted)^2), "\n")
cat("variances", max(abs(variances[names(theirs)] / theirs - 1)), "\n")
effects <- ranef(fitted, condVar = FALSE)
worst <- 0
for (i in seq_along(levels)) {
  own <- rest[seq_len(levels[i])]
  error <- rest[levels[i] + seq_len(levels[i])]
  rest <- rest[-seq_len(2 * levels[i])]
  there <- as.integer(rownames(effects[[letters[i]]])) + 1
  worst <- max(worst, abs(own[there] - effects[[letters[i]]][[1]]) / error[there])
}
cat("effects", worst, "\n")
)R";

struct CrossedModel {
  std::string name;
  std::vector<int> levels;
  std::int64_t rows;
  bool curves = false;  ///< of x, for each level of the first factor

  /// The response and the levels of a row.
  struct Row {
    double y;
    std::array<std::int32_t, 3> levels;
    double x;
  };
  [[nodiscard]] Row row(std::int64_t index) const {
    constexpr std::array deviations{0.7, 0.4, 0.3};
    const auto below = [](int count, int stream, std::int64_t at) {
      return static_cast<int>(uniform(stream, at) * count);
    };
    Row out{1 + normal(0, index), {}, uniform(2, index)};
    for (std::size_t i = 0; i < levels.size(); ++i)
      out.levels.at(i) = below(levels[i], 10 + static_cast<int>(i), index);
    if (name == "near" || name == "apart") {
      const int a = out.levels[0];
      const std::int64_t meeting = std::int64_t{5} * a + below(5, 20, index);
      const auto here = static_cast<int>(std::int64_t{a} * levels[1] / levels[0]);
      out.levels[1] =
          name == "near" ? (here + below(30, 21, meeting)) % levels[1] : below(levels[1], 21, meeting);
    }
    for (std::size_t i = 0; i < levels.size(); ++i)
      out.y += deviations.at(i) * normal(30 + 2 * static_cast<int>(i), out.levels.at(i));
    if (curves) out.y += 0.7 * normal(40, out.levels[0]) * std::sin(5 * out.x);
    return out;
  }
  [[nodiscard]] std::string formula() const {
    std::string text = "y ~";
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const auto factor = static_cast<char>('a' + i);
      text += i == 0 ? " " : " + ";
      text += i == 0 && curves ? fmt::format("s(x, {}, bs=\"fs\", k=5)", factor)
                               : fmt::format("s({}, bs=\"re\")", factor);
    }
    return text;
  }
  [[nodiscard]] gam::Table table(const Plan& plan, Range mine) const {
    std::vector<double> y;
    std::vector<double> x;
    std::vector<gam::Factor> factors(levels.size());
    for (std::size_t i = 0; i < levels.size(); ++i) {
      for (int level = 0; level < levels[i]; ++level)
        factors[i].levels.push_back(fmt::format("{:06}", level));
    }
    for (std::int64_t index = mine.begin; index < mine.end; ++index) {
      const Row one = row(index);
      y.push_back(one.y);
      x.push_back(one.x);
      for (std::size_t i = 0; i < levels.size(); ++i) factors[i].codes.push_back(one.levels.at(i));
    }
    std::vector<gam::Table::Column> columns;
    columns.push_back({"y", std::move(y)});
    columns.push_back({"x", std::move(x)});
    for (std::size_t i = 0; i < levels.size(); ++i)
      columns.push_back({std::string(1, static_cast<char>('a' + i)), std::move(factors[i])});
    return {plan, std::move(columns)};
  }
};

CrossedModel crossed_model(const std::string& name, std::int64_t rows) {
  if (name == "dense") return {name, {4'000, 3'000}, std::max<std::int64_t>(rows / 5, 1)};
  if (name == "RE1") return {name, {100'000}, rows};
  if (name == "RE2") return {name, {100'000, 1'000}, rows};
  if (name == "RE3") return {name, {2'000, 20'000, 200}, rows};
  if (name == "FS4") return {name, {10'000}, rows, true};
  if (name == "FS5") return {name, {100'000}, rows, true};
  if (name == "FSRE") return {name, {10'000, 1'000}, rows, true};
  return {name, {20'000, 15'000, 200}, rows};
}

/// Writes the script's input.
void write_columns(const CrossedModel& model, const gam::FittedModel& fit,
                   const std::filesystem::path& path) {
  std::ofstream file(path, std::ios::binary);
  const auto write = [&](const auto& values) {
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(values[0])));
  };
  std::vector<double> y;
  for (std::int64_t row = 0; row < model.rows; ++row) y.push_back(model.row(row).y);
  write(y);
  for (std::size_t i = 0; i < model.levels.size(); ++i) {
    std::vector<std::int32_t> codes;
    for (std::int64_t row = 0; row < model.rows; ++row) codes.push_back(model.row(row).levels.at(i));
    write(codes);
  }
  std::vector<double> ours;
  for (const double log_sp : fit.log_sp) ours.push_back(fit.scale / std::exp(log_sp));
  ours.push_back(fit.scale);
  for (const gam::CoefBlock& block : fit.design.blocks) {
    if (!block.penalty) continue;
    // Levels that no row has are not in the model.
    const auto variable =
        std::ranges::find(fit.design.variables, block.variables.front(), &gam::DesignVariable::name);
    const auto count = static_cast<std::size_t>(
        model.levels.at(static_cast<std::size_t>(block.variables.front().front() - 'a')));
    std::vector<double> effects(count);
    std::vector<double> errors(count, 1.0);
    for (int i = 0; i < block.coef_size; ++i) {
      const auto level = static_cast<std::size_t>(std::stoi(variable->levels[static_cast<std::size_t>(i)]));
      const int place = block.coef_begin + i;
      effects[level] = fit.coef[static_cast<std::size_t>(place)];
      errors[level] = std::sqrt(fit.covariance(place, place));
    }
    ours.insert(ours.end(), effects.begin(), effects.end());
    ours.insert(ours.end(), errors.begin(), errors.end());
  }
  write(ours);
  file.close();
  if (!file) {
    throw Error(ErrorCode::input,
                fmt::format("'{}' cannot be written: set TMPDIR to a place with room", path.string()));
  }
}

void add_peer(const CrossedModel& model, const gam::FittedModel& fit, Case& out) {
  const auto version = version_of_r_package("lme4");
  if (!version) {
    files::say_line({"tessera-bench: R with lme4 is not installed: no lmer() beside the fit"});
    return;
  }
  const TemporaryFolder folder;
  write_columns(model, fit, folder.file("columns"));
  std::string levels;
  for (const int count : model.levels) levels += fmt::format("{}{}", levels.empty() ? "" : ",", count);
  RFigures figures = run_r_script(
      folder, lmer_script, fmt::format("'{}' {} {}", folder.file("columns").string(), model.rows, levels),
      "lmer()", "effects");
  const std::string name = fmt::format("lmer, lme4 {}", *version);
  out(name, "s").values = figures["seconds"];
  out(name + ", processor", "s").values = figures["processor"];
  const double peak = 1024 * figures["fit_kb"].front();
  out(name + " peak", "MB").values = {peak / 1e6};
  const Measurement ours = out("tessera", "s");
  const Measurement theirs = out(name, "s");
  out("time / lmer's, medians", "1").values = {ours.median() / theirs.median()};
  out("memory / lmer's", "1").values = {out("tessera peak", "MB").maximum() * 1e6 / peak};
  out("criterion above lmer's", "1").values = figures["criterion"];
  out("variances, relative difference", "1").values = figures["variances"];
  out("effects, difference in standard errors", "1").values = figures["effects"];
}

/// *Collective.* Times fits of effects of many levels in memory, with peak resident memory, and on rank 0
/// lme4's `lmer()`. Compares both results: by how much our criterion exceeds lmer's, both by lmer's function
/// at each one's variances; the largest relative difference of variances; and that of effects, in units of
/// their standard errors. Rank 0 prints the measurements.
std::vector<Measurement> run_crossed_suite(Job& job, const CrossedSuite& suite) {
  const mpi::Communicator& comm = job.comm();
  std::vector<Measurement> all;
  for (const std::string& name : suite.models) {
    const CrossedModel model = crossed_model(name, suite.rows);
    Case out("crossed", fmt::format("{}, {} rows", name, model.rows));
    const Plan plan = job.plan(model.rows, 8192);
    const gam::Table table = model.table(plan, job.local_range(plan));
    std::optional<gam::Model> fitted;
    reset_peak_resident();
    out("tessera", "s").values = seconds_of(comm, suite.repeats, 1, [&] {
      fitted.reset();
      fitted = gam::fit(job, gam::parse_formula(model.formula()), table, {}).model;
    });
    out("tessera peak", "MB").values = {comm.allreduce(peak_resident_bytes(), mpi::Reduction::sum) / 1e6};
    // lme4 has no curves, and bam() no memory for the square of so many coefficients.
    if (suite.peer && !model.curves) on_root_alone(comm, [&] { add_peer(model, fitted->fitted(), out); });
    for (Measurement& measurement : out.take()) all.push_back(std::move(measurement));
  }
  return all;
}

}  // namespace

Suite crossed_suite() {
  const auto chosen = std::make_shared<CrossedSuite>();
  Suite suite;
  suite.name = "crossed";
  suite.description =
      "Fits of random effects and curves of many levels, beside lmer() of R's lme4 where that is installed";
  suite.add_options = [chosen](CLI::App& command) {
    command.add_option("--rows", chosen->rows, "Rows of the table")
        ->check(from_to(1, std::int64_t{1} << 40))
        ->capture_default_str();
    command
        .add_option(
            "--models", chosen->models,
            "RE1: 100000 levels; RE2: 100000 x 1000; RE3: 2000 x 20000 x 200; near, apart: 20000 x "
            "15000 that meet five, near ones or any, x 200; dense: 4000 x 3000 in a fifth of the rows; "
            "FS4, FS5: curves (fs) of 10000, 100000 levels; FSRE: FS4 x 1000")
        ->check(CLI::IsMember({"RE1", "RE2", "RE3", "near", "apart", "dense", "FS4", "FS5", "FSRE"}))
        ->delimiter(',')
        ->capture_default_str();
  };
  suite.run = in_a_job(suite.name, chosen, run_crossed_suite);
  return suite;
}

}  // namespace tessera::bench
