// SPDX-License-Identifier: Apache-2.0
#include "simulated.hpp"

#include "base/errors.hpp"
#include "base/hash.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <cmath>
#include <numbers>

namespace tessera::bench {
namespace {

constexpr int noise_stream = 60;  // uses streams 60 and 61
constexpr int count_stream = 62;
constexpr int first_part_stream = 16;  // uses streams 16 to 59

std::string name_of(int variable) {
  return variable == 0 ? "y" : fmt::format("x{}", variable);
}

/// A Poisson variate, by inversion.
int count_of(double mean, std::int64_t row) {
  double left = uniform(count_stream, row);
  double probability = std::exp(-mean);
  int count = 0;
  while (left > probability && count < 1000) {
    left -= probability;
    probability *= mean / ++count;
  }
  return count;
}

/// A gamma variate with integer shape and scale 1.
double gamma_of(int shape, std::int64_t row) {
  double sum = 0;
  for (int i = 0; i < shape; ++i) sum -= std::log(uniform(first_part_stream + i % 44, row + i / 44));
  return sum;
}

double noise_of(std::int64_t row) {
  const double radius = std::sqrt(-2 * std::log(uniform(noise_stream, row)));
  return radius * std::cos(2 * std::numbers::pi * uniform(noise_stream + 1, row));
}

/// Linear predictor `number`: a sum of sines of the first variables.
double predictor(int variables, std::size_t number, std::int64_t row) {
  double eta = 0;
  for (int i = 1; i <= variables; ++i) {
    // The frequency differs between terms, so that optimal smoothing parameters differ.
    const double phase = i + static_cast<double>(number);
    eta += std::sin(std::numbers::pi * (1 + 0.5 * i) * uniform(i, row) + phase) / (1 + 0.2 * i);
  }
  return eta;
}

double response(const SimulatedModel& model, std::int64_t row) {
  const double eta = predictor(model.variables, 0, row);
  const auto further = [&](std::size_t number) { return predictor(model.further[number - 1], number, row); };
  if (model.family == "ocat(R=4)") {
    const double share = uniform(noise_stream, row);
    const double latent = eta + std::log(share / (1 - share));
    return 1 + (latent > -1 ? 1 : 0) + (latent > 0 ? 1 : 0) + (latent > 1.5 ? 1 : 0);
  }
  if (model.family == "gaulss()") return eta + std::exp(0.5 * further(1)) * noise_of(row);
  if (model.family == "multinom(2)") {
    const double first = std::exp(eta);
    const double second = std::exp(further(1));
    const double at = uniform(noise_stream, row) * (1 + first + second);
    return at < 1 ? 0 : at < 1 + first ? 1 : 2;
  }
  if (model.family == "binomial()") return uniform(noise_stream, row) < 1 / (1 + std::exp(-eta)) ? 1 : 0;
  if (model.family == "nb()")
    return count_of(std::exp(eta) * gamma_of(2, row) / 2, row);  // negative binomial, theta = 2
  if (model.family == "tw()") {
    // Tweedie with p = 1.5, phi = 2: a Poisson number of exponential variates.
    const double root = std::exp(0.5 * eta);
    return root * gamma_of(count_of(root, row), row);
  }
  return eta + noise_of(row);
}

}  // namespace

double uniform(int stream, std::int64_t index) {
  auto state = static_cast<std::uint64_t>(index) * 64 + static_cast<std::uint64_t>(stream);
  state = base::split_mix(base::split_mix(state));
  return (static_cast<double>(state >> 12) + 0.5) * 0x1p-52;
}

std::string SimulatedModel::formula() const {
  const auto terms = [this](int count) {
    std::string text = "~";
    for (int i = 1; i <= count; i += of_term)
      text += (i == 1 ? " " : " + ") + fmt::format(fmt::runtime(term), name_of(i), name_of(i + 1));
    return text;
  };
  std::string text = "y " + terms(variables);
  for (const int count : further) text += ", " + terms(count);
  return further.empty() ? text : "list(" + text + ")";
}

double SimulatedModel::value(int variable, std::int64_t row) const {
  return variable > 0 ? uniform(variable, row) : response(*this, row);
}

gam::Table SimulatedModel::table(const Plan& plan, Range range, HostTeam& team) const {
  gam::Table table{plan, {}};
  for (int variable = 0; variable <= variables; ++variable) {
    std::vector<double> numbers(static_cast<std::size_t>(range.size()));
    team.for_each_block(range, 1 << 16, [&](int /*thread*/, Range part) {
      for (std::int64_t row = part.begin; row < part.end; ++row)
        numbers[static_cast<std::size_t>(row - range.begin)] = value(variable, row);
    });
    table.columns.push_back({name_of(variable), std::move(numbers)});
  }
  return table;
}

const std::vector<SimulatedModel>& simulated_models() {
  static const std::string p_spline = "s({}, bs=\"ps\", k=20)";
  static const std::vector<SimulatedModel> models{
      {"G4", "gaussian, 4 P-splines with k=20", "gaussian()", 4, p_spline},
      {"G10", "10 of them", "gaussian()", 10, p_spline},
      {"B4", "binomial", "binomial()", 4, p_spline},
      {"NB4", "negative binomial, theta estimated", "nb()", 4, p_spline},
      {"TW4", "Tweedie, p estimated", "tw()", 4, p_spline},
      {"TP4", "gaussian, 4 thin plate splines with k=20", "gaussian()", 4, "s({}, k=20)"},
      {"TP2D", "gaussian, one of two variables with k=100", "gaussian()", 2, "s({}, {}, k=100)", 2},
      {"OC4", "4 ordered classes, thresholds estimated", "ocat(R=4)", 4, p_spline},
      {"LS4", "gaussian location and scale, 4 and 2 P-splines", "gaulss()", 4, p_spline, 1, {2}},
      {"MN4", "3 classes, 4 P-splines for each of two", "multinom(2)", 4, p_spline, 1, {4}},
  };
  return models;
}

const SimulatedModel& simulated_model(std::string_view name) {
  for (const SimulatedModel& model : simulated_models()) {
    if (model.name == name) return model;
  }
  throw base::usage_error("unknown simulated model '{}': give one of the names in the help", name);
}

}  // namespace tessera::bench
