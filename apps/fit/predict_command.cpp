// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "files/output_stream.hpp"
#include "gam/model/overwrite.hpp"
#include "predictions_file.hpp"
#include "progress.hpp"

#include <tessera/gam/predict.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

#include "common/file_name.hpp"
#include "files/standard_error.hpp"

namespace tessera::gam {

CLI::App* PredictCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand("predict", "Predict the rows of a table from a model");
  command->add_option("MODEL", model, "model.json of a fit")->required();
  command->add_option("DATA", data, "Table with the predictors of the formula")->required();
  command->add_option("--type", type, "link: the linear predictor; response: the mean")
      ->check(CLI::IsMember({"link", "response"}))
      ->capture_default_str();
  command->add_flag("--se", standard_errors, "Standard errors too");
  table.add_to(*command, false);
  device.add_to(*command);
  device_failure.add_to(*command);
  sharing.add_to(*command);
  command
      ->add_option("--threads", threads, "Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  memory.add_to(*command, "--memory",
                "Memory limit per node for rows, such as 2G; a larger table is predicted in "
                "parts (default: 3/4 of free memory)");
  collective_timeout.add_to(*command);
  command->add_option("--out", out, "CSV file, or a pipe; -: standard output")
      ->check(apps::file_name())
      ->capture_default_str();
  return command;
}

int PredictCommand::run(mpi::Session& session) const {
  session.set_timeout(collective_timeout.value());
  const bool root = session.is_root();
  Progress progress(root, stderr);
  std::optional<Model> fitted;
  std::optional<files::OutputStream> written_to;
  together(session.world(), [&] {
    if (root) refuse_to_overwrite({{"--out", out}}, {model, data}, {.model = model});
    fitted = load_model(model);
    // Open the output first, so that an error is found before the work.
    if (root) written_to.emplace(out);
  });
  JobOptions job_options;
  job_options.policy = device.policy();
  job_options.on_device_failure = device_failure.action();
  job_options.score_model = sharing.score_model();
  job_options.allow_sharing = sharing.allowed;
  job_options.threads = threads;
  job_options.collective_timeout = collective_timeout.value();
  Job job(session.world(), job_options);
  PredictionsFile written(job.comm(), standard_errors, written_to ? &*written_to : nullptr);
  const std::vector<std::string> remarks = predict_in_parts(
      job, *fitted, TableFile{data, table.options()}, [&](const Predictions& part) { written.add(part); },
      {.response = type == "response", .standard_errors = standard_errors, .node_bytes = memory.bytes()},
      &progress);
  if (job.last_verdict().ran == Verdict::Ran::fallback) progress.note(to_string(job.last_verdict()));
  for (const std::string& remark : remarks) {
    if (root) files::say_line({"tessera-fit: ", remark});
  }
  written.commit();
  return EXIT_SUCCESS;
}

}  // namespace tessera::gam
