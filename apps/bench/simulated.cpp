// SPDX-License-Identifier: Apache-2.0
#include "simulated.hpp"

#include "base/hash.hpp"

#include <fmt/core.h>

#include <cmath>
#include <numbers>

namespace tessera::bench {
namespace {

/// A uniform number from 0 to 1 for each index of each stream, neither end among them.
double uniform(int stream, std::int64_t index) {
  auto state = static_cast<std::uint64_t>(index) * 64 + static_cast<std::uint64_t>(stream);
  state = base::split_mix(base::split_mix(state));
  return (static_cast<double>(state >> 12) + 0.5) * 0x1p-52;
}

constexpr int noise_stream = 60;

}  // namespace

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
    // One to three and a half periods, so that terms want different smoothing.
    eta += std::sin(std::numbers::pi * (1 + 0.5 * i) * uniform(i, row) + i) / (1 + 0.2 * i);
  }
  if (family.two_levels()) {
    return uniform(noise_stream, row) < family.mean(eta) ? 1 : 0;
  }
  const double radius = std::sqrt(-2 * std::log(uniform(noise_stream, row)));
  return eta + radius * std::cos(2 * std::numbers::pi * uniform(noise_stream + 1, row));
}

gam::Frame SimulatedModel::frame(std::int64_t rows, Range range) const {
  gam::Frame frame;
  frame.file_rows = rows;
  frame.complete_rows = rows;
  frame.rows = range;
  frame.complete.assign(static_cast<std::size_t>(range.size()), 1);
  for (int variable = 0; variable <= smooths; ++variable) {
    gam::Variable column;
    column.name = variable == 0 ? "y" : fmt::format("x{}", variable);
    column.numbers.reserve(static_cast<std::size_t>(range.size()));
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      column.numbers.push_back(value(variable, row));
    }
    frame.variables.push_back(std::move(column));
  }
  return frame;
}

std::optional<SimulatedModel> simulated_model(std::string_view name) {
  if (name == "G4") return SimulatedModel{"G4", gam::Gaussian{}, 4};
  if (name == "G10") return SimulatedModel{"G10", gam::Gaussian{}, 10};
  if (name == "B4") return SimulatedModel{"B4", gam::Binomial{}, 4};
  return std::nullopt;
}

}  // namespace tessera::bench
