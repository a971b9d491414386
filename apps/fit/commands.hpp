// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "named_arguments.hpp"

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

namespace CLI {
class App;
}

// The subcommands of tessera-fit. Each adds itself to the program's command line, which fills its members,
// and is run afterwards, *collectively*, to the program's exit status. Input that is refused throws the same
// `tessera::Error` on every rank.
namespace TESSERA_NAMESPACE::gam {

/// The options of a job that a command line has, and its timeout.
[[nodiscard]] JobOptions job_options(const NamedArguments& options, const apps::CollectiveTimeout& timeout);

/// The same of a command that computes on hosts alone.
[[nodiscard]] JobOptions cpu_job_options(const NamedArguments& options,
                                         const apps::CollectiveTimeout& timeout);

/// Whether the intercept is in no column of the predictions.
[[nodiscard]] inline bool is_by_terms(const PredictOptions& options) {
  return options.type == PredictionType::terms || options.type == PredictionType::iterms;
}

/// `tessera-fit fit`
struct FitCommand {
  std::string data;
  std::string formula;
  NamedArguments options;
  std::string out = "model.json";
  std::string run_report;
  double time_limit = 0;
  bool json = false;
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;

 private:
  [[nodiscard]] FitOptions fit_options(const mpi::Communicator& world) const;
  /// An output that cannot be written is better found before the work than after it.
  void check_outputs(const mpi::Communicator& world, const FitOptions& fit) const;
  /// The summary, and what a person must know beside it. On rank 0.
  void show(const FitResult& result, const FitOptions& fit) const;
};

/// `tessera-fit predict`
struct PredictCommand {
  std::string model;
  std::string data;
  NamedArguments options;
  bool row_numbers = false;
  std::string out = "-";
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;
};

/// The options that every command about a fitted model has whose answer is a table.
struct PosteriorArguments {
  std::string model;
  std::string table;  ///< that is read; empty: none
  std::string other;  ///< likewise
  NamedArguments options;
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

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;
};

/// `tessera-fit smooths`
struct SmoothsCommand {
  PosteriorArguments common;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;
};

/// `tessera-fit derivatives`
struct DerivativesCommand {
  PosteriorArguments common;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;
};

/// `tessera-fit contrasts`
struct ContrastsCommand {
  PosteriorArguments common;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;
};

/// `tessera-fit simulate`
struct SimulateCommand {
  PosteriorArguments common;
  std::string what;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;
};

/// `tessera-fit convert`
struct ConvertCommand {
  std::string data;
  std::string out;
  std::vector<std::string> columns;
  NamedArguments options;
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

/// `tessera-fit check`
struct CheckCommand {
  std::string model;
  std::string data;
  NamedArguments options;
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
  NamedArguments options;
  std::string y_scale = "same";
  std::string figures;
  std::string out = "report.html";
  apps::CollectiveTimeout collective_timeout;

  CLI::App* add_to(CLI::App& program);
  [[nodiscard]] int run(mpi::Session& session) const;

 private:
  /// The rows of `data`, if it is given. *Collective.*
  [[nodiscard]] ReportRows rows(const mpi::Session& session) const;
};

}  // namespace TESSERA_NAMESPACE::gam
