// SPDX-License-Identifier: Apache-2.0
// An iterated solver: logistic regression by 100 steps of gradient descent, over data that stays on the
// devices.
#include "logistic.hpp"

#include <tessera/tessera.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

void margins_on_host(std::span<const double> features, std::span<double> margins, const Weights& weights) {
  for (std::size_t i = 0; i < margins.size(); ++i) margins[i] = margin(&features[i * columns], weights);
}

void gradient_on_host(std::span<double> partial, std::span<const double> features,
                      std::span<const double> labels, std::span<const double> margins) {
  for (std::size_t i = 0; i < margins.size(); ++i) {
    const double error = labels[i] - 1 / (1 + std::exp(-margins[i]));
    for (int column = 0; column < columns; ++column)
      partial[column] += error * features[i * columns + static_cast<std::size_t>(column)];
  }
}

int main(int argc, char** argv) {
  tessera::mpi::Session session(argc, argv);
  tessera::Job job(session.world());

  constexpr std::int64_t rows = 200'000;
  const tessera::Plan plan = job.plan(rows, block);
  tessera::Array<double> features(job, plan, columns);  // a matrix: this rank's rows, here and on its devices
  tessera::Array<double> labels(job, plan);
  tessera::Array<double> margins(job, plan);

  const Weights truth{0.5, -1, 2};
  const std::span<double> some_features = features.overwrite();  // of job.local_range(plan)
  const std::span<double> some_labels = labels.overwrite();
  for (std::size_t i = 0; i < some_labels.size(); ++i) {
    const auto row = static_cast<double>(job.local_range(plan).begin + static_cast<std::int64_t>(i));
    double* const values = &some_features[i * columns];
    values[0] = 1;
    values[1] = 2 * std::sin(row);
    values[2] = 2 * std::sin(row * row);
    const double chance = 1 / (1 + std::exp(-margin(values, truth)));
    some_labels[i] = std::fmod(row * 0.6180339887498949, 1.0) < chance ? 1 : 0;
  }

  Weights weights{};
  for (int step = 0; step < 100; ++step) {
    job.update(
        tessera::arrays(features.read(), margins.write()),
        [&](tessera::Tile& tile, std::span<const double> x, std::span<double> m) {
          margins_on_device(tile, x, m, weights);
        },
        [&](const tessera::HostTile&, std::span<const double> x, std::span<double> m) {
          margins_on_host(x, m, weights);
        });
    const std::vector<double> gradient = job.reduce(
        tessera::arrays(features.read(), labels.read(), margins.read()), columns, gradient_on_device,
        [](const tessera::HostTile&, std::span<double> partial, std::span<const double> x,
           std::span<const double> y, std::span<const double> m) { gradient_on_host(partial, x, y, m); });
    for (int column = 0; column < columns; ++column)
      weights.of[column] += 4 * gradient[static_cast<std::size_t>(column)] / rows;
  }

  const std::int64_t copies = job.comm().allreduce(features.traffic().uploads, tessera::mpi::Reduction::sum);
  if (session.is_root()) {
    std::cout << "weights " << weights.of[0] << ' ' << weights.of[1] << ' ' << weights.of[2]
              << "; 200 passes, features copied to devices " << copies << " times, " << job.last_verdict()
              << '\n';
  }
}
