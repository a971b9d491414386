// SPDX-License-Identifier: Apache-2.0
// Stands in for device.cu in a build without CUDA: the job then computes on the CPU, and says why.
#include "logistic.hpp"

void margins_on_device(tessera::Tile& tile, std::span<const double>, std::span<double>, const Weights&) {
  tile.fail("logistic was built without CUDA");
}

void gradient_on_device(tessera::Tile& tile, tessera::ReproducibleSum&, std::span<const double>,
                        std::span<const double>, std::span<const double>) {
  tile.fail("logistic was built without CUDA");
}
