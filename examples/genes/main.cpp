// SPDX-License-Identifier: Apache-2.0
// Units that are models: each gene's counts along time have a curve, a smoothing parameter and a theta of
// their own.
#include <tessera/gam/gam.hpp>
#include <tessera/tessera.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <variant>
#include <vector>

namespace gam = tessera::gam;

double fraction(double number) {
  return number - std::floor(number);
}

bool changes(double q_value) {
  return q_value < 0.05;
}

int main(int argc, char** argv) {
  tessera::mpi::Session session(argc, argv);
  tessera::Job job(session.world());

  // Counts of each cell, gene by gene; every other gene does not change along time.
  constexpr std::int64_t cells = 400;
  constexpr std::int64_t genes = 100;
  std::vector<double> time;
  std::vector<std::uint16_t> counts;
  for (std::int64_t cell = 0; cell < cells; ++cell)
    time.push_back(fraction(0.618034 * static_cast<double>(cell)));
  for (std::int64_t unit = 0; unit < genes * cells; ++unit) {
    const double t = time[static_cast<std::size_t>(unit % cells)];
    const double mean = unit / cells % 2 == 0 ? 3 : std::exp(1 + std::sin(6 * t));
    counts.push_back(static_cast<std::uint16_t>(mean * 2 * fraction(0.754878 * static_cast<double>(unit))));
  }
  const gam::Table table{tessera::Plan::over_hosts(cells, 1), {{"time", time}}};
  const gam::DenseMatrix matrix{counts, cells, genes, 1, cells};  // with the strides of cells and of genes

  const gam::ManyResults results = gam::fit_many(
      job, "s(time, k=6)", table, {.matrix = gam::ResponseMatrix{matrix}}, {.family = gam::family("nb")});
  const auto& q_values = std::get<std::vector<double>>(results.tests.back().values);  // of s(time)
  if (session.is_root())
    std::cout << std::ranges::count_if(q_values, changes) << " of " << results.summary.responses
              << " genes change along time\n";
}
