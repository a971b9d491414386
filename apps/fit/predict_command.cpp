// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "overwrite.hpp"
#include "progress.hpp"

#include <tessera/gam/predict.hpp>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

#include "common/streams.hpp"

namespace TESSERA_NAMESPACE::gam {
CLI::App* PredictCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand("predict", "Predict the rows of a table from a model");
  command->add_option("MODEL", model, "model.json of a fit, or a response of many models: fits.h5:NAME")
      ->required();
  command->add_option("DATA", data, "Table with the predictors of the formula: files or folders")->required();
  options.add_to(*command, OptionSet::predict,
                 {"type", "terms", "exclude", "new-levels", "se", "interval", "prediction-interval",
                  "unconditional", "keep", "memory"});
  command->add_flag("--row-numbers", row_numbers,
                    "Add a first column 'row' with the number of each row of the table");
  options.add_to(*command, OptionSet::table, {"na-strings", "sep", "dec", "comment", "header", "skip"});
  options.add_to(*command, OptionSet::job);
  collective_timeout.add_to(*command);
  add_out(*command, out);
  return command;
}

int PredictCommand::run(mpi::Session& session, StopRequest& stop) const {
  session.set_timeout(collective_timeout.value());
  const bool root = session.is_root();
  Progress progress(root, stderr);
  std::optional<Model> fitted;
  together(session.world(), [&] {
    std::vector<std::string> read = data;
    read.push_back(file_of_model(model));
    if (root) refuse_to_overwrite({{"--out", out}}, read, {.model = model});
    fitted = load_model(model);
  });
  PredictionsFile written(session.world(), out, row_numbers);
  PredictOptions wanted = options.read<PredictOptions>();
  const Table table{data, options.read<TableOptions>()};
  Job job(session.world(), job_options(options, collective_timeout, stop));
  // An HDF5 column has one type and one set of levels: read the kept columns whole, not in parts.
  if (is_hdf5_name(out) && (wanted.keep_all || !wanted.keep.empty())) {
    written.add_columns(job, table, wanted.keep_all ? std::vector<std::string>() : wanted.keep);
    wanted.keep_all = false;
    wanted.keep.clear();
  }
  double constant = 0;
  const std::vector<std::string> remarks = predict_in_parts(
      job, *fitted, table,
      [&](const Predictions& part) {
        written.add(part);
        constant = part.constant;
      },
      wanted, &progress);
  if (root && is_by_terms(wanted))
    apps::say_line({"tessera-fit: ", fmt::format("no term contains the intercept, {:.17g}", constant)});
  if (job.last_verdict().ran == Verdict::Ran::fallback) progress.note(to_string(job.last_verdict()));
  return complete(written, root, remarks);
}

}  // namespace TESSERA_NAMESPACE::gam
