/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for device.cu in a build without CUDA: the job then computes on the CPU, and says why. */
#include "clusters.h"

int label_on_device(tessera_tile* tile, void* const* arrays, void* context) {
  (void)arrays;
  (void)context;
  tessera_tile_fail(tile, "clusters was built without CUDA");
  return 0;
}

int sum_on_device(tessera_tile* tile, tessera_sum* sum, void* const* arrays, void* context) {
  (void)sum;
  return label_on_device(tile, arrays, context);
}
