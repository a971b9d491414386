// SPDX-License-Identifier: Apache-2.0
// Stands in for device.cu in a build without CUDA: the job then computes on the CPU, and says why.
#include <cstdint>
#include <span>
#include <tessera/tessera.hpp>

void moments_on_device(tessera::Tile& tile, std::span<const double>, std::int64_t, std::int64_t,
                       tessera::ReproducibleSum&) {
  tile.fail("moments was built without CUDA");
}
