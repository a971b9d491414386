// SPDX-License-Identifier: Apache-2.0
// Stands in for device.cpp in a build without CUDA: the job then computes on the CPU, and says why.
#include "kepler.hpp"

void kepler_on_device(tessera::Tile& tile, std::span<const double>, std::span<double>) {
  tile.fail("kepler was built without CUDA");
}
