// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "named_arguments.hpp"

#include <tessera/function.hpp>
#include <tessera/gam/check.hpp>
#include <tessera/gam/fit.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/posterior.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/gam/predictions_file.hpp>
#include <tessera/gam/report.hpp>
#include <tessera/job/job.hpp>
#include <tessera/job/stop_request.hpp>
#include <tessera/mpi/session.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/job_arguments.hpp"

namespace CLI {
class App;
}

// The subcommands of tessera-fit. `add_to` adds a subcommand to the program's command line; the parser then
// sets the members. `run` is collective, and returns the program's exit status. For invalid input it throws
// the same `tessera::Error` on every rank.
namespace TESSERA_NAMESPACE::gam {

[[nodiscard]] JobOptions job_options(const NamedArguments& options, const apps::CollectiveTimeout& timeout,
                                     StopRequest& stop);

/// For a command that computes on the CPU only.
[[nodiscard]] JobOptions cpu_job_options(const NamedArguments& options,
                                         const apps::CollectiveTimeout& timeout, StopRequest& stop);

void add_out(CLI::App& command, std::string& out);

/// *Collective.* Completes the output table, and prints the remarks on the root. Returns the exit status.
[[nodiscard]] int complete(PredictionsFile& written, bool root, const std::vector<std::string>& remarks);

/// Whether predictions have one column per term. No column then contains the intercept.
[[nodiscard]] inline bool is_by_terms(const PredictOptions& options) {
  return options.type == PredictionType::terms || options.type == PredictionType::iterms;
}

class Progress;

struct FitCommand {
  std::vector<std::string> data;
  std::vector<std::string> formulas;  ///< one for each linear predictor of the family
  NamedArguments options;
  std::string out = "model.json";
  std::string run_report;
  apps::TimeLimit time_limit;
  bool json = false;
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session, StopRequest& stop) const;

 private:
  [[nodiscard]] FitOptions fit_options(const mpi::Communicator& world, const std::string& family) const;
  /// The file for the model of one of several quantiles: "model-0.9.json".
  [[nodiscard]] std::string out_of_quantile(double qu) const;
  /// Throws if an output cannot be written. Called before the fits; `outs` has the file of each model.
  void check_outputs(const mpi::Communicator& world, const FitOptions& fit,
                     const std::vector<std::string>& outs) const;
  /// Writes the model to `path`, and calls `show`.
  void finish(mpi::Session& session, Job& job, Progress& progress, FitResult& result, const FitOptions& fit,
              const std::string& path, std::chrono::steady_clock::time_point start) const;
  /// On rank 0: prints the summary to standard output and warnings to standard error.
  void show(const FitResult& result, const FitOptions& fit, const std::string& path) const;
};

struct PredictCommand {
  std::string model;
  std::vector<std::string> data;
  NamedArguments options;
  bool row_numbers = false;
  std::string out = "-";
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session, StopRequest& stop) const;
};

/// The options common to all commands that compute a table from a fitted model.
struct PosteriorArguments {
  std::string model;
  std::string table;  ///< input table; empty: none
  std::string other;  ///< second input table; empty: none
  NamedArguments options;
  std::string out = "-";
  apps::CollectiveTimeout collective_timeout;

  void add_to(CLI::App& command);
  /// *Collective.* Writes the parts that `compute` passes to `take`. Then prints to standard error the
  /// remarks that `compute` returns.
  using Take = FunctionRef<void(const Predictions& part)>;
  [[nodiscard]] int run_in_parts(
      mpi::Session& session, StopRequest& stop,
      FunctionRef<std::vector<std::string>(Job& job, const Model& model, Take take)> compute) const;
  /// Like `run_in_parts`, for a result in one part, which contains its remarks.
  [[nodiscard]] int run(mpi::Session& session, StopRequest& stop,
                        FunctionRef<Predictions(Job& job, const Model& model)> compute) const;
};

struct SliceCommand {
  PosteriorArguments common;
  std::vector<std::string> at;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session, StopRequest& stop) const;
};

struct SmoothsCommand {
  PosteriorArguments common;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session, StopRequest& stop) const;
};

struct DerivativesCommand {
  PosteriorArguments common;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session, StopRequest& stop) const;
};

struct ContrastsCommand {
  PosteriorArguments common;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session, StopRequest& stop) const;
};

struct SimulateCommand {
  PosteriorArguments common;
  std::string what;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session, StopRequest& stop) const;
};

struct ManyCommand {
  std::vector<std::string> data;
  std::string responses;
  std::string formula;
  apps::TimeLimit time_limit;
  NamedArguments options;
  std::string out;
  std::string tests;
  std::string evaluated_k;
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session, StopRequest& stop) const;

 private:
  [[nodiscard]] std::string matrix_of_data() const;
  [[nodiscard]] std::vector<int> sizes_to_evaluate() const;
};

struct CurvesCommand {
  std::string fits;
  bool values = false;
  NamedArguments options;
  std::string out = "-";
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session, StopRequest& stop) const;
};

struct ConvertCommand {
  std::string data;
  std::string out;
  std::vector<std::string> columns;
  NamedArguments options;
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session, StopRequest& stop) const;
};

struct ColumnsCommand {
  std::vector<std::string> data;
  std::vector<std::string> columns;
  NamedArguments options;
  bool json = false;
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session, StopRequest& stop) const;
};

struct SummaryCommand {
  std::string model;
  bool json = false;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(const mpi::Session& session) const;
};

struct AnovaCommand {
  std::vector<std::string> models;
  std::string test = "auto";
  bool json = false;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(const mpi::Session& session) const;
};

struct CheckCommand {
  std::string model;
  std::vector<std::string> data;
  NamedArguments options;
  bool json = false;
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session, StopRequest& stop) const;
};

struct ReportCommand {
  std::string model;
  std::string run_report;
  std::vector<std::string> data;
  NamedArguments options;
  std::string y_scale = "same";
  std::string figures;
  std::string out = "report.html";
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session, StopRequest& stop) const;

 private:
  [[nodiscard]] std::vector<std::string> read_files() const;
  /// *Collective.* The rows of `data`, if `data` is given.
  [[nodiscard]] ReportRows rows(const mpi::Session& session, StopRequest& stop) const;
};

}  // namespace TESSERA_NAMESPACE::gam
