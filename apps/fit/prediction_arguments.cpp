// SPDX-License-Identifier: Apache-2.0
#include "prediction_arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

template <class Value>
using Named = std::pair<const char*, Value>;

constexpr std::array<Named<PredictionType>, 5> types{{{"link", PredictionType::link},
                                                      {"response", PredictionType::response},
                                                      {"terms", PredictionType::terms},
                                                      {"iterms", PredictionType::iterms},
                                                      {"lpmatrix", PredictionType::lpmatrix}}};
constexpr std::array<Named<NewLevels>, 4> policies{{{"mgcv", NewLevels::mgcv},
                                                    {"population", NewLevels::population},
                                                    {"na", NewLevels::na},
                                                    {"error", NewLevels::error}}};

template <class List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& one : list) names.emplace_back(one.first);
  return names;
}

template <class List>
auto value_of(const List& list, const std::string& name) {
  return std::ranges::find(list, std::string_view(name),
                           [](const auto& one) { return std::string_view(one.first); })
      ->second;
}

}  // namespace

void add_new_levels(CLI::App& command, std::string& policy) {
  command
      .add_option("--new-levels", policy,
                  "Levels that the fit had not: mgcv: random effects add 0, other terms are NA; population: "
                  "factor smooths add 0 too; na: all such terms are NA; error: an error")
      ->check(CLI::IsMember(names_of(policies)))
      ->capture_default_str();
}

NewLevels new_levels_of(const std::string& policy) {
  return value_of(policies, policy);
}

void PredictionArguments::add_to(CLI::App& command) {
  command
      .add_option("--type", type,
                  "link: the linear predictor; response: the mean; terms, iterms: what each term adds to the "
                  "predictor; lpmatrix: the rows of the model matrix")
      ->check(CLI::IsMember(names_of(types)))
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
  PredictOptions options;
  options.type = value_of(types, type);
  options.standard_errors = standard_errors;
  if (!terms.empty()) options.terms = labels_in(terms);
  options.exclude = labels_in(exclude);
  options.new_levels = new_levels_of(new_levels);
  options.interval = interval;
  options.prediction_interval = prediction_interval;
  options.unconditional = unconditional;
  return options;
}

std::vector<std::string> labels_in(const std::vector<std::string>& lists, char separator) {
  std::vector<std::string> labels;
  for (const std::string& list : lists) {
    labels.emplace_back();
    int depth = 0;
    char quote = 0;
    for (const char c : list) {
      if (quote != 0) {
        quote = c == quote ? '\0' : quote;
      } else if (c == '"' || c == '\'' || c == '`') {
        quote = c;
      } else if (c == separator && depth == 0) {
        labels.emplace_back();
        continue;
      }
      depth += quote != 0 ? 0 : c == '(' ? 1 : c == ')' ? -1 : 0;
      if (!(labels.back().empty() && c == ' ')) labels.back() += c;
    }
  }
  return labels;
}

std::string without_quotes(const std::string& text) {
  if (text.size() < 2 || text.front() != text.back() ||
      std::string_view("\"'`").find(text.front()) == std::string_view::npos)
    return text;
  return text.substr(1, text.size() - 2);
}

}  // namespace TESSERA_NAMESPACE::gam
