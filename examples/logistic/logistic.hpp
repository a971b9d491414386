// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/tessera.hpp>

#include <cstdint>
#include <span>

#ifdef __CUDACC__
#define ON_BOTH __host__ __device__
#else
#define ON_BOTH
#endif

constexpr int columns = 3;
constexpr std::int64_t block = 1024;  // rows whose order of addition is fixed

struct Weights {
  double of[columns];
};

ON_BOTH inline double margin(const double* features, const Weights& weights) {
  double sum = 0;
  for (int column = 0; column < columns; ++column) sum += features[column] * weights.of[column];
  return sum;
}

/// In device.cu: the arrays are in device memory already, those of the rows `tile.range()`.
void margins_on_device(tessera::Tile& tile, std::span<const double> features, std::span<double> margins,
                       const Weights& weights);
void gradient_on_device(tessera::Tile& tile, tessera::ReproducibleSum& sum, std::span<const double> features,
                        std::span<const double> labels, std::span<const double> margins);
