// SPDX-License-Identifier: Apache-2.0
#include "base/did_you_mean.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "gam/design/knots.hpp"
#include "gam/family/family.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/options.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

[[noreturn]] void refuse(const NamedOption& given, std::string_view why) {
  throw Error(ErrorCode::usage, fmt::format("{} '{}': {}", given.name, given.value, why));
}

/// In letters of one case, with '-' between words.
std::string plain_name(std::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '.' || c == '_') c = '-';
  }
  return plain;
}

double number_from(const NamedOption& given, std::string_view text) {
  const auto number = base::parse_number<double>(base::trimmed(text));
  if (!number || !std::isfinite(*number)) refuse(given, fmt::format("'{}' is not a number", text));
  return *number;
}

double number_of(const NamedOption& given) {
  return number_from(given, given.value);
}

template <std::integral Integer>
Integer whole_of(const NamedOption& given, Integer least,
                 Integer most = std::numeric_limits<Integer>::max()) {
  const auto number = base::parse_number<Integer>(base::trimmed(given.value));
  if (!number || *number < least || *number > most)
    refuse(given, most == std::numeric_limits<Integer>::max()
                      ? fmt::format("expected a whole number from {} on", least)
                      : fmt::format("expected a whole number from {} to {}", least, most));
  return *number;
}

bool truth_of(const NamedOption& given) {
  const std::string word = plain_name(given.value);
  if (word == "true" || word == "1") return true;
  if (word != "false" && word != "0") refuse(given, "expected true or false");
  return false;
}

std::int64_t bytes_of(const NamedOption& given) {
  constexpr std::string_view units = "kmgt";
  std::string_view text = base::trimmed(given.value);
  const auto number = base::take_number<std::int64_t>(text);
  const std::size_t unit = text.empty() ? 0 : std::min(units.find(plain_name(text)), units.size()) + 1;
  if (!number || *number < 0 || text.size() > 1 || unit > units.size() ||
      *number > std::numeric_limits<std::int64_t>::max() >> (10 * unit))
    refuse(given, "expected a size, as 2G");
  return *number << (10 * unit);
}

std::vector<double> numbers_of(const NamedOption& given) {
  std::vector<double> numbers;
  for (const std::string_view part : base::split(given.value, ','))
    numbers.push_back(number_from(given, part));
  return numbers;
}

template <class Value>
Value one_of(const NamedOption& given, std::initializer_list<std::pair<std::string_view, Value>> known) {
  std::string names;
  for (const auto& [name, value] : known) {
    if (name == given.value) return value;
    names.append(names.empty() ? "" : ", ").append(name);
  }
  refuse(given, "expected one of " + names);
}

/// Of what the library has names for.
template <class Value>
Value named_by_library(const NamedOption& given, std::initializer_list<Value> known) {
  std::string names;
  for (const Value value : known) {
    if (to_string(value) == given.value) return value;
    names.append(names.empty() ? "" : ", ").append(to_string(value));
  }
  refuse(given, "expected one of " + names);
}

void append(std::vector<std::string>& all, const NamedOption& given) {
  for (std::string& one : labels_in(given.value)) all.push_back(std::move(one));
}

void append(std::optional<std::vector<std::string>>& all, const NamedOption& given) {
  if (!all) all.emplace();
  append(*all, given);
}

PredictionType type_of(const NamedOption& given) {
  return one_of<PredictionType>(given, {{"link", PredictionType::link},
                                        {"response", PredictionType::response},
                                        {"terms", PredictionType::terms},
                                        {"iterms", PredictionType::iterms},
                                        {"lpmatrix", PredictionType::lpmatrix}});
}

ResidualType residual_type_of(const NamedOption& given) {
  return one_of<ResidualType>(given, {{"deviance", ResidualType::deviance},
                                      {"pearson", ResidualType::pearson},
                                      {"response", ResidualType::response},
                                      {"working", ResidualType::working},
                                      {"partial", ResidualType::partial},
                                      {"fitted", ResidualType::fitted}});
}

NewLevels new_levels_of(const NamedOption& given) {
  return one_of<NewLevels>(given, {{"mgcv", NewLevels::mgcv},
                                   {"population", NewLevels::population},
                                   {"na", NewLevels::na},
                                   {"error", NewLevels::error}});
}

void set_link(FitOptions& options, const NamedOption& given) {
  auto linked = options.family.definition().linked(given.value);
  if (!linked) refuse(given, fmt::format("the family {} has no such link", options.family.name()));
  options.family = ResponseFamily(std::make_shared<const Family>(*std::move(linked)));
}

void set_rho(FitOptions& options, const NamedOption& given) {
  options.estimate_rho = given.value == "auto";
  options.rho = options.estimate_rho ? 0 : number_of(given);
}

/// Takes a text from the front: what is in double quotes, "" being one of them; or else all before `end`.
std::string take_text(const NamedOption& given, std::string_view& rest, char end) {
  std::string text;
  if (!rest.starts_with('"')) {
    text = rest.substr(0, rest.find(end));
    rest.remove_prefix(text.size());
    return text;
  }
  for (rest.remove_prefix(1); !rest.empty(); rest.remove_prefix(1)) {
    if (rest[0] == '"') {
      rest.remove_prefix(1);
      if (!rest.starts_with('"')) {
        if (!rest.empty() && rest[0] != end) refuse(given, "text behind a closing quote");
        return text;
      }
    }
    text += rest[0];
  }
  refuse(given, "a quote is not closed; a text that begins with one is written in quotes, with it doubled");
}

/// Adds a column with its levels, as "dose=low,mid,high".
void add_levels(std::map<std::string, std::vector<std::string>>& all, const NamedOption& given) {
  std::string_view rest = given.value;
  const std::string column = take_text(given, rest, '=');
  std::vector<std::string> levels;
  std::set<std::string> known;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    levels.push_back(take_text(given, rest, ','));
    if (!known.insert(levels.back()).second)
      refuse(given, fmt::format("the level '{}' is there twice", levels.back()));
  }
  if (!all.emplace(column, std::move(levels)).second) refuse(given, "the column is there twice");
}

/// The same where levels must be there.
void add_all_levels(std::map<std::string, std::vector<std::string>>& all, const NamedOption& given) {
  add_levels(all, given);
  if (std::ranges::any_of(all, [](const auto& of_column) { return of_column.second.empty(); }))
    refuse(given, "expected a column with levels, as site=bay,cape");
}

std::int64_t block_rows_of(const NamedOption& given) {
  return whole_of(given, std::int64_t{1}, std::int64_t{1} << 40);
}

void add_knots(FitOptions& options, const NamedOption& given) {
  const auto [known, is_first] = options.knots.insert(parse_knots(given.value));
  if (!is_first) refuse(given, fmt::format("{} has knots already", known->first));
}

template <class Options>
struct Reader {
  std::string_view name;
  void (*read)(Options& options, const NamedOption& given);
};

// Some are read after others, as link after family.

constexpr Reader<FitOptions> of_fits[]{
    {"family", [](FitOptions& o, const NamedOption& g) { o.family = family(g.value); }},
    {"link", set_link},
    {"method",
     [](FitOptions&, const NamedOption& g) {
       if (plain_name(g.value) != "freml") refuse(g, "models are fitted by fREML");
     }},
    {"weights", [](FitOptions& o, const NamedOption& g) { o.weights = g.value; }},
    {"offset", [](FitOptions& o, const NamedOption& g) { o.offset = g.value; }},
    {"subset", [](FitOptions& o, const NamedOption& g) { o.subset = g.value; }},
    {"rho", set_rho},
    {"ar-start", [](FitOptions& o, const NamedOption& g) { o.ar_start = g.value; }},
    {"levels", [](FitOptions& o, const NamedOption& g) { add_all_levels(o.levels, g); }},
    {"ordered", [](FitOptions& o, const NamedOption& g) { add_levels(o.ordered, g); }},
    {"drop-unused-levels", [](FitOptions& o, const NamedOption& g) { o.drop_unused_levels = truth_of(g); }},
    {"knots", add_knots},
    {"sp", [](FitOptions& o, const NamedOption& g) { o.sp = numbers_of(g); }},
    {"min-sp", [](FitOptions& o, const NamedOption& g) { o.min_sp = numbers_of(g); }},
    {"select", [](FitOptions& o, const NamedOption& g) { o.select = truth_of(g); }},
    {"gamma", [](FitOptions& o, const NamedOption& g) { o.gamma = number_of(g); }},
    {"residuals", [](FitOptions& o, const NamedOption& g) { o.residuals = truth_of(g); }},
    {"tolerance", [](FitOptions& o, const NamedOption& g) { o.tolerance = number_of(g); }},
    {"step-tolerance", [](FitOptions& o, const NamedOption& g) { o.step_tolerance = number_of(g); }},
    {"max-iterations", [](FitOptions& o, const NamedOption& g) { o.max_iterations = whole_of(g, 1); }},
    {"largest-tested-effect",
     [](FitOptions& o, const NamedOption& g) { o.largest_tested_effect = whole_of(g, 0); }},
    {"checkpoint", [](FitOptions& o, const NamedOption& g) { o.checkpoint = g.value; }},
    {"memory", [](FitOptions& o, const NamedOption& g) { o.memory.node_bytes = bytes_of(g); }},
    {"scratch", [](FitOptions& o, const NamedOption& g) { o.memory.scratch = g.value; }},
    {"device-memory", [](FitOptions& o, const NamedOption& g) { o.memory.device_bytes = bytes_of(g); }},
};

constexpr Reader<PredictOptions> of_predictions[]{
    {"type", [](PredictOptions& o, const NamedOption& g) { o.type = type_of(g); }},
    {"se", [](PredictOptions& o, const NamedOption& g) { o.standard_errors = truth_of(g); }},
    {"se-fit", [](PredictOptions& o, const NamedOption& g) { o.standard_errors = truth_of(g); }},
    {"terms", [](PredictOptions& o, const NamedOption& g) { append(o.terms, g); }},
    {"exclude", [](PredictOptions& o, const NamedOption& g) { append(o.exclude, g); }},
    {"new-levels", [](PredictOptions& o, const NamedOption& g) { o.new_levels = new_levels_of(g); }},
    {"keep", [](PredictOptions& o, const NamedOption& g) { append(o.keep, g); }},
    {"interval", [](PredictOptions& o, const NamedOption& g) { o.interval = number_of(g); }},
    {"prediction-interval",
     [](PredictOptions& o, const NamedOption& g) { o.prediction_interval = number_of(g); }},
    {"unconditional", [](PredictOptions& o, const NamedOption& g) { o.unconditional = truth_of(g); }},
    {"draws", [](PredictOptions& o, const NamedOption& g) { o.draws = whole_of(g, 0, 100'000'000); }},
    {"seed", [](PredictOptions& o, const NamedOption& g) { o.seed = whole_of<std::uint64_t>(g, 0); }},
    {"memory", [](PredictOptions& o, const NamedOption& g) { o.node_bytes = bytes_of(g); }},
};

constexpr Reader<SmoothOptions> of_smooths[]{
    {"terms", [](SmoothOptions& o, const NamedOption& g) { append(o.terms, g); }},
    {"points", [](SmoothOptions& o, const NamedOption& g) { o.points = whole_of(g, 0, 100'000); }},
    {"interval", [](SmoothOptions& o, const NamedOption& g) { o.interval = number_of(g); }},
    {"draws", [](SmoothOptions& o, const NamedOption& g) { o.draws = whole_of(g, 0, 100'000'000); }},
    {"seed", [](SmoothOptions& o, const NamedOption& g) { o.seed = whole_of<std::uint64_t>(g, 0); }},
    {"unconditional", [](SmoothOptions& o, const NamedOption& g) { o.unconditional = truth_of(g); }},
};

constexpr Reader<DerivativeOptions> of_derivatives[]{
    {"order", [](DerivativeOptions& o, const NamedOption& g) { o.order = whole_of(g, 1, 2); }},
    {"variables", [](DerivativeOptions& o, const NamedOption& g) { append(o.variables, g); }},
};

constexpr Reader<SimulateOptions> of_simulations[]{
    {"draws", [](SimulateOptions& o, const NamedOption& g) { o.draws = whole_of(g, 1, 100'000'000); }},
    {"seed", [](SimulateOptions& o, const NamedOption& g) { o.seed = whole_of<std::uint64_t>(g, 0); }},
    {"unconditional", [](SimulateOptions& o, const NamedOption& g) { o.unconditional = truth_of(g); }},
    {"posterior-predictive",
     [](SimulateOptions& o, const NamedOption& g) { o.posterior_predictive = truth_of(g); }},
    {"weights", [](SimulateOptions& o, const NamedOption& g) { o.weights = g.value; }},
    {"new-levels", [](SimulateOptions& o, const NamedOption& g) { o.new_levels = new_levels_of(g); }},
    {"keep", [](SimulateOptions& o, const NamedOption& g) { append(o.keep, g); }},
};

constexpr Reader<CheckOptions> of_checks[]{
    {"seed", [](CheckOptions& o, const NamedOption& g) { o.seed = whole_of<std::uint64_t>(g, 0); }},
    {"sample",
     [](CheckOptions& o, const NamedOption& g) { o.largest_sample = whole_of<std::int64_t>(g, 4, 100'000); }},
    {"permutations",
     [](CheckOptions& o, const NamedOption& g) { o.permutations = whole_of(g, 1, 1'000'000); }},
    {"largest-concurvity",
     [](CheckOptions& o, const NamedOption& g) { o.largest_concurvity = whole_of(g, 0, 20'000); }},
    {"autocorrelation", [](CheckOptions& o, const NamedOption& g) { o.lags = whole_of(g, 0, 1000); }},
    {"series", [](CheckOptions& o, const NamedOption& g) { o.series = g.value; }},
    {"memory", [](CheckOptions& o, const NamedOption& g) { o.memory.node_bytes = bytes_of(g); }},
    {"scratch", [](CheckOptions& o, const NamedOption& g) { o.memory.scratch = g.value; }},
};

constexpr Reader<ResidualOptions> of_residuals[]{
    {"type", [](ResidualOptions& o, const NamedOption& g) { o.type = residual_type_of(g); }},
    {"variables", [](ResidualOptions& o, const NamedOption& g) { o.variables = truth_of(g); }},
    {"memory", [](ResidualOptions& o, const NamedOption& g) { o.memory.node_bytes = bytes_of(g); }},
    {"scratch", [](ResidualOptions& o, const NamedOption& g) { o.memory.scratch = g.value; }},
};

constexpr Reader<TableOptions> of_tables[]{
    {"na-strings",
     [](TableOptions& o, const NamedOption& g) {
       const auto texts = base::split(g.value, ',');  // "NA,,-" is NA, the empty text and "-"
       o.missing.assign(texts.begin(), texts.end());
     }},
    {"factor", [](TableOptions& o, const NamedOption& g) { o.factors.push_back(g.value); }},
    {"numeric", [](TableOptions& o, const NamedOption& g) { o.numbers.push_back(g.value); }},
    {"block-rows", [](TableOptions& o, const NamedOption& g) { o.block_rows = block_rows_of(g); }},
};

constexpr Reader<ArrowOptions> of_arrow[]{
    {"column", [](ArrowOptions& o, const NamedOption& g) { o.columns.push_back(g.value); }},
    {"levels", [](ArrowOptions& o, const NamedOption& g) { add_all_levels(o.levels, g); }},
    {"block-rows", [](ArrowOptions& o, const NamedOption& g) { o.block_rows = block_rows_of(g); }},
};

constexpr Reader<JobOptions> of_jobs[]{
    {"device",
     [](JobOptions& o, const NamedOption& g) {
       o.policy = named_by_library(g, {Policy::automatic, Policy::gpu, Policy::cpu});
     }},
    {"on-device-failure",
     [](JobOptions& o, const NamedOption& g) {
       o.on_device_failure =
           named_by_library(g, {OnDeviceFailure::cpu, OnDeviceFailure::error, OnDeviceFailure::exclude});
     }},
    {"score-model",
     [](JobOptions& o, const NamedOption& g) {
       o.score_model = named_by_library(g, {ScoreModel::spec, ScoreModel::throughput});
     }},
    {"allow-sharing", [](JobOptions& o, const NamedOption& g) { o.allow_sharing = truth_of(g); }},
    {"memory-fraction", [](JobOptions& o, const NamedOption& g) { o.memory_fraction = number_of(g); }},
    {"threads", [](JobOptions& o, const NamedOption& g) { o.threads = whole_of(g, 0, 4096); }},
    {"nthreads", [](JobOptions& o, const NamedOption& g) { o.threads = whole_of(g, 0, 4096); }},
};

template <class Options>
void read(std::span<NamedOption> given, Options& options, std::span<const Reader<Options>> readers) {
  for (const Reader<Options>& reader : readers) {
    for (NamedOption& one : given) {
      if (plain_name(one.name) != reader.name) continue;
      reader.read(options, one);
      one.is_read = true;
    }
  }
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  const auto add = [&](const auto& readers) {
    for (const auto& reader : readers) names.emplace_back(reader.name);
  };
  add(of_fits), add(of_predictions), add(of_smooths), add(of_derivatives), add(of_simulations);
  add(of_checks), add(of_residuals), add(of_tables), add(of_arrow), add(of_jobs);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string without_quotes(const std::string& text) {
  if (text.size() < 2 || text.front() != text.back() ||
      std::string_view("\"'`").find(text.front()) == std::string_view::npos)
    return text;
  return text.substr(1, text.size() - 2);
}

}  // namespace

void read_options(std::span<NamedOption> given, FitOptions& options) {
  read<FitOptions>(given, options, of_fits);
}
void read_options(std::span<NamedOption> given, PredictOptions& options) {
  read<PredictOptions>(given, options, of_predictions);
}
void read_options(std::span<NamedOption> given, SmoothOptions& options) {
  read<SmoothOptions>(given, options, of_smooths);
}
void read_options(std::span<NamedOption> given, DerivativeOptions& options) {
  read<SmoothOptions>(given, options, of_smooths);
  read<DerivativeOptions>(given, options, of_derivatives);
}
void read_options(std::span<NamedOption> given, SimulateOptions& options) {
  read<SimulateOptions>(given, options, of_simulations);
}
void read_options(std::span<NamedOption> given, CheckOptions& options) {
  read<CheckOptions>(given, options, of_checks);
}
void read_options(std::span<NamedOption> given, ResidualOptions& options) {
  read<ResidualOptions>(given, options, of_residuals);
}
void read_options(std::span<NamedOption> given, TableOptions& options) {
  read<TableOptions>(given, options, of_tables);
}
void read_options(std::span<NamedOption> given, ArrowOptions& options) {
  read<ArrowOptions>(given, options, of_arrow);
}
void read_options(std::span<NamedOption> given, JobOptions& options) {
  read<JobOptions>(given, options, of_jobs);
}

void refuse_unread(std::span<const NamedOption> given, std::string_view call) {
  const auto unread = std::ranges::find(given, false, &NamedOption::is_read);
  if (unread == given.end()) return;
  const std::vector<std::string> names = all_names();
  const std::string name = plain_name(unread->name);
  throw Error(ErrorCode::usage,
              std::ranges::find(names, name) != names.end()
                  ? fmt::format("{} has no option '{}'", call, unread->name)
                  : fmt::format("there is no option '{}'{}", unread->name, base::did_you_mean(names, name)));
}

std::vector<ChosenValues> chosen_values(const std::string& text, std::string_view option) {
  std::vector<ChosenValues> chosen;
  for (const std::string& one : labels_in(text, ';')) {
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ErrorCode::usage, fmt::format("{}: '{}' is not as x=1,2,3", option, one));
    ChosenValues values{without_quotes(one.substr(0, equals)), {}};
    for (const std::string& value : labels_in(one.substr(equals + 1)))
      values.values.push_back(without_quotes(value));
    chosen.push_back(std::move(values));
  }
  return chosen;
}

std::vector<std::string> labels_in(std::string_view list, char separator) {
  std::vector<std::string> labels(1);
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
  return labels;
}

}  // namespace TESSERA_NAMESPACE::gam
