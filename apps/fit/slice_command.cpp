// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <tessera/gam/options.hpp>
#include <tessera/gam/posterior.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

CLI::App* SliceCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "slice", "Predict at chosen values of some variables, and typical values of the others");
  command
      ->add_option("--at", at,
                   "Values such as 'x=1,2,3;g=a', in every combination (repeatable); other variables have "
                   "the observation nearest to the median, or the most frequent level")
      ->allow_extra_args(false);
  common.options.add_to(
      *command, OptionSet::predict,
      {"type", "terms", "exclude", "new-levels", "se", "interval", "prediction-interval", "unconditional"});
  common.add_to(*command);
  return command;
}

int SliceCommand::run(mpi::Session& session, StopRequest& stop) const {
  return common.run(session, stop, [&](Job& job, const Model& model) {
    std::vector<ChosenValues> chosen;
    together(job.comm(), [&] {
      for (const std::string& text : at) {
        for (ChosenValues& one : chosen_values(text, "--at")) chosen.push_back(std::move(one));
      }
    });
    const DataSlice slice = data_slice(job, model, chosen);
    auto options = common.options.read<PredictOptions>();
    for (const ChosenValues& one : chosen) options.keep.push_back(one.column);
    Predictions predictions = predict(job, model, slice.table, options);
    if (!slice.typical.empty()) predictions.remarks.push_back("typical values: " + slice.typical);
    if (is_by_terms(options))
      predictions.remarks.push_back(
          fmt::format("no term contains the intercept, {:.17g}", predictions.constant));
    return predictions;
  });
}

}  // namespace TESSERA_NAMESPACE::gam
