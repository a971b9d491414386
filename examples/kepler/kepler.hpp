// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/tessera.hpp>

#include <span>

/// Compiled for the job's GPUs where it runs, once for each kind of GPU, and kept on disk for its next start.
inline const tessera::ModuleSource kepler_source{.name = "kepler",
                                                 .text = R"(
extern "C" __global__ void kepler(const double* mean, double* eccentric, long long count) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i >= count) return;
  double anomaly = mean[i];
  for (int step = 0; step < 20; ++step)
    anomaly -= (anomaly - 0.5 * sin(anomaly) - mean[i]) / (1 - 0.5 * cos(anomaly));
  eccentric[i] = anomaly;
}
)",
                                                 .headers = {},
                                                 .options = {}};

/// In device.cpp: the same as the host's function, by that kernel.
void kepler_on_device(tessera::Tile& tile, std::span<const double> mean, std::span<double> eccentric);
