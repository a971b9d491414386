// SPDX-License-Identifier: Apache-2.0
// A grid over the upper half of the Mandelbrot set, whose rows are the units of work.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define ON_HOST_AND_DEVICE __host__ __device__
#else
#define ON_HOST_AND_DEVICE
#endif

constexpr std::int64_t rows = 400;
constexpr std::int64_t columns = 400;
constexpr int most_steps = 500;

/// What is known of a row.
struct Row {
  unsigned long long inside = 0;  ///< points of all passes that are in the set
  unsigned long long steps = 0;   ///< the work of the last pass
};

/// The steps that a point of the grid takes to leave the set, or `most_steps` for one that is inside. Each
/// pass has other points.
ON_HOST_AND_DEVICE inline int steps_of(std::int64_t row, std::int64_t column, int pass) {
  const double down = pass * 0.7548776662466927;  // two irrational numbers spread the points of many passes
  const double right = pass * 0.5698402909980532;
  const double x = -2 + 2.5 * (static_cast<double>(column) + right - static_cast<int>(right)) / columns;
  const double y = 1.25 * (static_cast<double>(row) + down - static_cast<int>(down)) / rows;
  double real = 0;
  double imaginary = 0;
  int step = 0;
  for (; step < most_steps && real * real + imaginary * imaginary <= 4; ++step) {
    const double next = real * real - imaginary * imaginary + x;
    imaginary = 2 * real * imaginary + y;
    real = next;
  }
  return step;
}
