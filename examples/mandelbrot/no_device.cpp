// SPDX-License-Identifier: Apache-2.0
// Stands in for device.cu in a build without CUDA: the job then computes on the CPU, and says why.
#include "mandelbrot.hpp"

#include <span>
#include <tessera/tessera.hpp>

void scan_on_device(tessera::Tile& tile, std::span<Row>, int) {
  tile.fail("mandelbrot was built without CUDA");
}
