// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "prediction_arguments.hpp"
#include "table_arguments.hpp"

#include <tessera/function.hpp>
#include <tessera/gam/check.hpp>
#include <tessera/gam/fit.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/posterior.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/gam/report.hpp>
#include <tessera/job/job.hpp>
#include <tessera/job/stop_request.hpp>
#include <tessera/mpi/session.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "common/job_arguments.hpp"
#include "common/memory_arguments.hpp"

namespace CLI {
class App;
}

// The subcommands of tessera-fit. Each adds itself to the program's command line, which fills its members,
// and is run afterwards, *collectively*, to the program's exit status. Input that is refused throws the same
// `tessera::Error` on every rank.
namespace TESSERA_NAMESPACE::gam {

/// `tessera-fit fit`
struct FitCommand {
  std::string data;
  std::string formula;
  std::string family = "gaussian";
  std::string link;
  std::vector<std::string> knots;
  std::string weights;
  std::string offset;
  std::string subset;
  std::string rho;
  std::string ar_start;
  std::vector<std::string> levels;
  std::vector<std::string> ordered;
  std::vector<double> sp;
  std::vector<double> min_sp;
  bool select = FitOptions{}.select;
  double gamma = FitOptions{}.gamma;
  bool drop_unused_levels = true;
  TableArguments table;
  apps::DeviceArgument device;
  apps::DeviceFailureArgument device_failure;
  apps::SharingArguments sharing;
  int threads = 0;
  std::int64_t block_rows = TableOptions{}.block_rows;
  bool no_residuals = false;
  std::string out = "model.json";
  std::string run_report;
  int max_iterations = FitOptions{}.max_iterations;
  std::string tolerance;
  std::string step_tolerance;
  int largest_tested_effect = FitOptions{}.largest_tested_effect;
  std::string checkpoint;
  apps::MemoryArguments memory;
  double time_limit = 0;
  bool json = false;
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;

 private:
  [[nodiscard]] FitOptions fit_options(const mpi::Communicator& world) const;
  [[nodiscard]] JobOptions job_options(StopRequest& stop) const;
  /// An output that cannot be written is better found before the work than after it.
  void check_outputs(const mpi::Communicator& world) const;
  /// The summary, and what a person must know beside it. On rank 0.
  [[nodiscard]] bool is_cut_short(const Model& model) const;
  void show(const FitResult& result) const;
};

/// `tessera-fit predict`
struct PredictCommand {
  std::string model;
  std::string data;
  PredictionArguments prediction;
  std::vector<std::string> keep;
  bool row_numbers = false;
  TableArguments table;
  apps::DeviceArgument device;
  apps::DeviceFailureArgument device_failure;
  apps::SharingArguments sharing;
  int threads = 0;
  std::string out = "-";
  apps::SizeArgument memory;
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;

 private:
  [[nodiscard]] PredictOptions predict_options() const;
  [[nodiscard]] bool keeps_all() const;
};

/// The options that every command about a fitted model has whose answer is a table.
struct PosteriorArguments {
  std::string model;
  std::string table;  ///< that is read; empty: none
  std::string other;  ///< likewise
  int threads = 0;
  std::string out = "-";
  apps::CollectiveTimeout collective_timeout;

  void add_to(CLI::App& command);
  /// *Collective.* Writes the parts that `compute` hands on, and then the remarks that it returns to standard
  /// error.
  using Take = FunctionRef<void(const Predictions& part)>;
  [[nodiscard]] int run_in_parts(
      mpi::Session& session,
      FunctionRef<std::vector<std::string>(Job& job, const Model& model, Take take)> compute) const;
  /// The same of one part, with its own remarks.
  [[nodiscard]] int run(mpi::Session& session,
                        FunctionRef<Predictions(Job& job, const Model& model)> compute) const;
};

/// `tessera-fit slice`
struct SliceCommand {
  PosteriorArguments common;
  std::vector<std::string> at;
  PredictionArguments prediction;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;
};

/// The options of the commands about smooths on grids.
struct SmoothArguments {
  std::vector<std::string> terms;
  int points = SmoothOptions{}.points;
  double interval = SmoothOptions{}.interval;
  int draws = SmoothOptions{}.draws;
  std::uint64_t seed = SmoothOptions{}.seed;
  bool unconditional = SmoothOptions{}.unconditional;

  void add_to(CLI::App& command);
  [[nodiscard]] SmoothOptions options() const;
};

/// `tessera-fit smooths`
struct SmoothsCommand {
  PosteriorArguments common;
  SmoothArguments smooths;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;
};

/// `tessera-fit derivatives`
struct DerivativesCommand {
  PosteriorArguments common;
  SmoothArguments smooths;
  int order = DerivativeOptions{}.order;
  std::vector<std::string> variables;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;
};

/// `tessera-fit contrasts`
struct ContrastsCommand {
  PosteriorArguments common;
  SmoothArguments smooths;
  std::vector<std::string> exclude;
  std::vector<std::string> keep;
  TableArguments table;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;
};

/// `tessera-fit simulate`
struct SimulateCommand {
  PosteriorArguments common;
  std::string what;
  int draws = SimulateOptions{}.draws;
  std::uint64_t seed = SimulateOptions{}.seed;
  bool unconditional = SimulateOptions{}.unconditional;
  bool posterior_predictive = SimulateOptions{}.posterior_predictive;
  std::vector<std::string> terms;
  int points = SmoothOptions{}.points;
  std::string weights;
  std::string new_levels = "mgcv";
  std::vector<std::string> keep;
  TableArguments table;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;
};

/// `tessera-fit convert`
struct ConvertCommand {
  std::string data;
  std::string out;
  std::vector<std::string> columns;
  TableArguments table;
  int threads = 0;
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;
};

/// `tessera-fit summary`
struct SummaryCommand {
  std::string model;
  bool json = false;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(const mpi::Session& session) const;
};

/// `tessera-fit anova`
struct AnovaCommand {
  std::vector<std::string> models;
  std::string test = "auto";
  bool json = false;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(const mpi::Session& session) const;
};

/// An option of the commands that check a model.
void add_largest_concurvity(CLI::App& command, CheckOptions& options);

/// `tessera-fit check`
struct CheckCommand {
  std::string model;
  std::string data;
  CheckOptions options;
  TableArguments table;
  int threads = 0;
  apps::SizeArgument memory;
  bool json = false;
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;
};

/// `tessera-fit report`
struct ReportCommand {
  std::string model;
  std::string run_report;
  std::string data;
  TableArguments table;
  CheckOptions checks;
  std::string y_scale = "same";
  std::string figures;
  int threads = 0;
  apps::MemoryArguments memory;
  std::string out = "report.html";
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;

 private:
  /// The rows of `data`, if it is given. *Collective.*
  [[nodiscard]] ReportRows rows(const mpi::Session& session) const;
};

}  // namespace TESSERA_NAMESPACE::gam
