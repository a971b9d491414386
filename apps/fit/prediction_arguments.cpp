// SPDX-License-Identifier: Apache-2.0
#include "prediction_arguments.hpp"

#include <tessera/gam/options.hpp>

#include <CLI/CLI.hpp>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

void add_new_levels(CLI::App& command, std::string& policy) {
  command
      .add_option("--new-levels", policy,
                  "Levels that the fit had not: mgcv: random effects add 0, other terms are NA; population: "
                  "factor smooths add 0 too; na: all such terms are NA; error: an error")
      ->check(CLI::IsMember({"mgcv", "population", "na", "error"}))
      ->capture_default_str();
}

void PredictionArguments::add_to(CLI::App& command) {
  command
      .add_option("--type", type,
                  "link: the linear predictor; response: the mean; terms, iterms: what each term adds to the "
                  "predictor; lpmatrix: the rows of the model matrix")
      ->check(CLI::IsMember({"link", "response", "terms", "iterms", "lpmatrix"}))
      ->capture_default_str();
  command
      .add_option("--terms", terms,
                  "Only these terms, comma-separated, as the summary names them; (Intercept) is one")
      ->allow_extra_args(false);
  command
      .add_option("--exclude", exclude, "Without these terms; the table needs no column that only they use")
      ->allow_extra_args(false);
  add_new_levels(command, new_levels);
  command.add_flag("--se", standard_errors, "Standard errors too");
  command.add_option("--interval", interval, "Ends of the credible interval of this probability, as 0.95");
  command.add_option(
      "--prediction-interval", prediction_interval,
      "With --type response: ends of the interval that has a new response with this probability");
  command.add_flag("--unconditional", unconditional,
                   "Standard errors and intervals with the uncertainty of the smoothing parameters");
}

PredictOptions PredictionArguments::options() const {
  std::vector<NamedOption> given{{"type", type}, {"new-levels", new_levels}};
  for (const std::string& list : terms) given.push_back({"terms", list});
  for (const std::string& list : exclude) given.push_back({"exclude", list});
  PredictOptions options;
  read_options(given, options);
  options.standard_errors = standard_errors;
  options.interval = interval;
  options.prediction_interval = prediction_interval;
  options.unconditional = unconditional;
  return options;
}

std::vector<std::string> labels_in(const std::vector<std::string>& lists) {
  std::vector<std::string> labels;
  for (const std::string& list : lists) {
    for (std::string& label : labels_in(list)) labels.push_back(std::move(label));
  }
  return labels;
}

}  // namespace TESSERA_NAMESPACE::gam
