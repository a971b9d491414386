// SPDX-License-Identifier: Apache-2.0
// Stands in for device.cu in a build without CUDA: the job then computes on the CPU, and says why.
#include <span>
#include <tessera/tessera.hpp>

void to_celsius_on_device(tessera::Tile& tile, std::span<double>) {
  tile.fail("celsius was built without CUDA");
}
