// SPDX-License-Identifier: Apache-2.0
// reduce: a sum over all units, with the same bits for any number of ranks and threads.
#include <tessera/tessera.hpp>

#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <span>
#include <vector>

/// In device.cu: adds the sums of every block of `tile.range()` to `sum`. `first` is the unit of values[0].
void moments_on_device(tessera::Tile& tile, std::span<const double> values, std::int64_t first,
                       std::int64_t block, tessera::ReproducibleSum& sum);

int main(int argc, char** argv) {
  tessera::mpi::Session session(argc, argv);
  tessera::Job job(session.world());

  constexpr std::int64_t block = 4096;  // units whose order of addition is fixed: a part of the answer's bits
  const tessera::Plan plan = job.plan(1'000'000, block);
  const tessera::Range mine = job.local_range(plan);
  std::vector<double> values;
  for (std::int64_t unit = mine.begin; unit < mine.end; ++unit)
    values.push_back(std::sin(static_cast<double>(unit)));

  const std::vector<double> sums = job.reduce(
      plan, 2,
      [&](tessera::Tile& tile, tessera::ReproducibleSum& sum) {
        moments_on_device(tile, values, mine.begin, block, sum);
      },
      [&](const tessera::HostTile& tile, std::span<double> partial) {
        for (std::int64_t unit = tile.range.begin; unit < tile.range.end; ++unit) {
          const double value = values[static_cast<std::size_t>(unit - mine.begin)];
          partial[0] += value;
          partial[1] += value * value;
        }
      },
      sizeof(double));

  if (session.is_root()) {
    const auto n = static_cast<double>(plan.units());
    const double mean = sums[0] / n;
    std::cout << std::setprecision(17) << "mean " << mean << ", variance " << sums[1] / n - mean * mean
              << ", " << job.last_verdict() << '\n';
  }
}
