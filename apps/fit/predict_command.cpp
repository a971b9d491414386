// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "overwrite.hpp"
#include "progress.hpp"

#include <tessera/gam/predict.hpp>
#include <tessera/gam/predictions_file.hpp>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

#include "common/file_name.hpp"
#include "common/streams.hpp"

namespace TESSERA_NAMESPACE::gam {
CLI::App* PredictCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand("predict", "Predict the rows of a table from a model");
  command->add_option("MODEL", model, "model.json of a fit")->required();
  command->add_option("DATA", data, "Table with the predictors of the formula")->required();
  prediction.add_to(*command);
  command->add_option("--keep", keep, "Columns of the table to carry along, comma-separated, or all")
      ->allow_extra_args(false);
  command->add_flag("--row-numbers", row_numbers, "A first column 'row', the number of the table's row");
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
  command
      ->add_option("--out", out, "CSV file, or a pipe; HDF5, if it ends in .h5 or .hdf5; -: standard output")
      ->check(apps::file_name())
      ->capture_default_str();
  return command;
}

PredictOptions PredictCommand::predict_options() const {
  PredictOptions options = prediction.options();
  // Into HDF5 they are converted.
  options.keep_all = !is_hdf5_name(out) && keeps_all();
  if (!is_hdf5_name(out) && !keeps_all()) options.keep = labels_in(keep);
  options.node_bytes = memory.bytes();
  return options;
}

bool PredictCommand::keeps_all() const {
  return keep == std::vector<std::string>{"all"};
}

int PredictCommand::run(mpi::Session& session) const {
  session.set_timeout(collective_timeout.value());
  const bool root = session.is_root();
  Progress progress(root, stderr);
  std::optional<Model> fitted;
  together(session.world(), [&] {
    if (root) refuse_to_overwrite({{"--out", out}}, {model, data}, {.model = model});
    fitted = load_model(model);
  });
  PredictionsFile written(session.world(), out, row_numbers);
  JobOptions job_options;
  job_options.policy = device.policy();
  job_options.on_device_failure = device_failure.action();
  job_options.score_model = sharing.score_model();
  job_options.allow_sharing = sharing.allowed;
  job_options.threads = threads;
  job_options.collective_timeout = collective_timeout.value();
  Job job(session.world(), job_options);
  // Columns of the table are converted as a whole, so that each has one type and one set of levels.
  if (is_hdf5_name(out) && !keep.empty())
    written.add_columns(job, TableFile{data, table.options()},
                        keeps_all() ? std::vector<std::string>() : labels_in(keep));
  double constant = 0;
  const std::vector<std::string> remarks = predict_in_parts(
      job, *fitted, TableFile{data, table.options()},
      [&](const Predictions& part) {
        written.add(part);
        constant = part.constant;
      },
      predict_options(), &progress);
  if (root && prediction.by_terms())
    apps::say_line({"tessera-fit: ", fmt::format("the intercept, {:.17g}, is in no term", constant)});
  if (job.last_verdict().ran == Verdict::Ran::fallback) progress.note(to_string(job.last_verdict()));
  for (const std::string& remark : remarks) {
    if (root) apps::say_line({"tessera-fit: ", remark});
  }
  if (const std::string problem = written.commit(); !problem.empty())
    apps::say_line({"tessera-fit: ", problem});
  return EXIT_SUCCESS;
}

}  // namespace TESSERA_NAMESPACE::gam
