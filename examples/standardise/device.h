/* SPDX-License-Identifier: Apache-2.0 */
/* The functions for devices: in device.cu, or, in a build without CUDA, in no_device.c. */
#ifndef STANDARDISE_DEVICE_H
#define STANDARDISE_DEVICE_H

#include <tessera/tessera.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions are given as their context. */
struct sample {
  const double* values; /* of this rank */
  int64_t first;        /* the unit of values[0] */
  int64_t block;        /* units whose sum is formed in order */
  double mean;
  double deviation;
};

/* Adds the sum and the sum of squares of each block of the tile. */
int moments_on_device(tessera_tile* tile, tessera_sum* sum, void* context);
/* Subtracts the mean from the tile's units, and divides them by the standard deviation. */
int standardise_on_device(tessera_tile* tile, void* units, void* context);

#ifdef __cplusplus
}
#endif

#endif
