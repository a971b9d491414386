// SPDX-License-Identifier: Apache-2.0
#include "simulated.hpp"

#include "base/hash.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <cmath>
#include <numbers>

namespace tessera::bench {
namespace {

constexpr int noise_stream = 60;

std::string name_of(int variable) {
  return variable == 0 ? "y" : fmt::format("x{}", variable);
}

}  // namespace

double uniform(int stream, std::int64_t index) {
  auto state = static_cast<std::uint64_t>(index) * 64 + static_cast<std::uint64_t>(stream);
  state = base::split_mix(base::split_mix(state));
  return (static_cast<double>(state >> 12) + 0.5) * 0x1p-52;
}

double normal(int stream, std::int64_t index) {
  const double radius = std::sqrt(-2 * std::log(uniform(stream, index)));
  return radius * std::cos(2 * std::numbers::pi * uniform(stream + 1, index));
}

std::string SimulatedModel::formula() const {
  std::string text = "y ~ ";
  for (int i = 1; i <= smooths; ++i) {
    text += fmt::format("{}s(x{}, bs=\"ps\", k=20)", i == 1 ? "" : " + ", i);
  }
  return text;
}

double SimulatedModel::value(int variable, std::int64_t row) const {
  if (variable > 0) return uniform(variable, row);
  double eta = 0;
  for (int i = 1; i <= smooths; ++i) {
    // One to three and a half periods, so that the terms' optimal smoothing differs.
    eta += std::sin(std::numbers::pi * (1 + 0.5 * i) * uniform(i, row) + i) / (1 + 0.2 * i);
  }
  if (family.two_levels()) {
    return uniform(noise_stream, row) < family.mean(eta) ? 1 : 0;
  }
  return eta + normal(noise_stream, row);
}

std::vector<double> SimulatedModel::column(int variable, Range range, HostTeam& team) const {
  std::vector<double> numbers(static_cast<std::size_t>(range.size()));
  team.for_each_block(range, 1 << 16, [&](int /*thread*/, Range part) {
    for (std::int64_t row = part.begin; row < part.end; ++row)
      numbers[static_cast<std::size_t>(row - range.begin)] = value(variable, row);
  });
  return numbers;
}

gam::Frame SimulatedModel::frame(std::int64_t rows, Range range, HostTeam& team) const {
  gam::Frame frame;
  frame.file_rows = rows;
  frame.complete_rows = rows;
  frame.rows = range;
  frame.complete.own().assign(static_cast<std::size_t>(range.size()), 1);
  for (int variable = 0; variable <= smooths; ++variable) {
    gam::Variable column;
    column.name = name_of(variable);
    column.numbers = this->column(variable, range, team);
    frame.variables.push_back(std::move(column));
  }
  return frame;
}

gam::Table SimulatedModel::table(const Plan& plan, Range range, HostTeam& team) const {
  gam::Table table{plan, {}};
  for (int variable = 0; variable <= smooths; ++variable)
    table.columns.push_back({name_of(variable), column(variable, range, team)});
  return table;
}

SimulatedModel simulated_model(std::string_view name) {
  if (name == "G4") return {"G4", gam::Gaussian{}, 4};
  if (name == "G10") return {"G10", gam::Gaussian{}, 10};
  if (name == "B4") return {"B4", gam::Binomial{}, 4};
  throw Error(ErrorCode::usage, fmt::format("no model '{}': take G4, G10 or B4", name));
}

}  // namespace tessera::bench
