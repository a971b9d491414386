// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "gam/fit/predict.hpp"
#include "gam/model/model.hpp"
#include "gam/model/overwrite.hpp"
#include "gam/table/shared_input.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <tessera/tessera.hpp>

#include "common/file_name.hpp"

namespace tessera::gam {

CLI::App* PredictCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand("predict", "Predict the rows of a table from a model");
  command->add_option("MODEL", model, "model.json of a fit")->required();
  command->add_option("DATA", data, "Table with the columns of the formula's right-hand side")->required();
  command->add_option("--type", type, "link: the linear predictor; response: the mean")
      ->check(CLI::IsMember({"link", "response"}))
      ->capture_default_str();
  command->add_flag("--se", standard_errors, "Standard errors too");
  table.add_to(*command, false);
  command->add_option("--threads", threads, "Host threads a rank; 0: by OMP_NUM_THREADS, Slurm or cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  collective_timeout.add_to(*command);
  command->add_option("--out", out, "CSV file (default: standard output)")->check(apps::file_name());
  return command;
}

int PredictCommand::run(mpi::Session& session) const {
  session.set_timeout(collective_timeout.value());
  Progress progress(session.is_root(), stderr);
  Model fitted;
  together(session.world(), [&] {
    if (session.is_root()) refuse_to_overwrite({{"--out", out}}, {model, data}, model);
    fitted = load_model(model);
  });
  require_same_content(session.world(), model, fitted.checksum);
  JobOptions job_options;
  job_options.policy = Policy::cpu;
  job_options.threads = threads;
  job_options.collective_timeout = collective_timeout.value();
  Job job(session.world(), job_options);
  PredictOptions options;
  options.response = type == "response";
  options.standard_errors = standard_errors;
  options.out = out;
  options.table = table.options();
  predict_file(job, fitted, data, options, progress);
  return EXIT_SUCCESS;
}

}  // namespace tessera::gam
