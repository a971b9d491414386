// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/posterior.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// What 'x=1,2,3;g=a' chooses.
std::vector<ChosenValues> chosen_in(const std::vector<std::string>& lists) {
  std::vector<ChosenValues> chosen;
  for (const std::string& one : labels_in(lists, ';')) {
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ErrorCode::usage, fmt::format("--at: '{}' is not as x=1,2,3", one));
    ChosenValues values{without_quotes(one.substr(0, equals)), {}};
    for (const std::string& value : labels_in({one.substr(equals + 1)}))
      values.values.push_back(without_quotes(value));
    chosen.push_back(std::move(values));
  }
  return chosen;
}

}  // namespace

CLI::App* SliceCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "slice", "Predict at chosen values of some variables, and typical values of the others");
  command
      ->add_option("--at", at,
                   "Values, as 'x=1,2,3;g=a': every combination of them (repeatable); other variables are at "
                   "the observation nearest to the median, or the most frequent level")
      ->allow_extra_args(false);
  prediction.add_to(*command);
  common.add_to(*command);
  return command;
}

int SliceCommand::run(mpi::Session& session) const {
  return common.run(session, [&](Job& job, const Model& model) {
    std::vector<ChosenValues> chosen;
    together(job.comm(), [&] { chosen = chosen_in(at); });
    const DataSlice slice = data_slice(job, model, chosen);
    PredictOptions options = prediction.options();
    for (const ChosenValues& one : chosen) options.keep.push_back(one.column);
    Predictions predictions = predict(job, model, slice.table, options);
    if (!slice.typical.empty()) predictions.remarks.push_back("typical values: " + slice.typical);
    if (prediction.by_terms())
      predictions.remarks.push_back(
          fmt::format("the intercept, {:.17g}, is in no term", predictions.constant));
    return predictions;
  });
}

}  // namespace TESSERA_NAMESPACE::gam
