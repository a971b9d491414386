/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for device.cu in a build without CUDA: the job then computes on the CPU, and says why. */
#include "device.h"

int moments_on_device(tessera_tile* tile, tessera_sum* sum, void* context) {
  (void)sum;
  (void)context;
  tessera_tile_fail(tile, "standardise was built without CUDA");
  return 0;
}

int standardise_on_device(tessera_tile* tile, void* units, void* context) {
  (void)units;
  (void)context;
  tessera_tile_fail(tile, "standardise was built without CUDA");
  return 0;
}
