/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTERS_H
#define CLUSTERS_H

#include <tessera/tessera.h>

#ifdef __CUDACC__
#define ON_BOTH __host__ __device__
#else
#define ON_BOTH
#endif

enum {
  clusters = 3,
  width = 3 * clusters, /* of a sum: x, y and the number of the points of each cluster */
  block = 4096          /* points whose sum is formed in order */
};

struct point {
  double x, y;
};

/* What functions are given as their context. */
struct centres {
  struct point of[clusters];
};

static inline ON_BOTH int32_t nearest(const struct centres* centres, struct point point) {
  int32_t best = 0;
  double least = 0;
  for (int32_t cluster = 0; cluster < clusters; ++cluster) {
    const double x = point.x - centres->of[cluster].x;
    const double y = point.y - centres->of[cluster].y;
    const double distance = x * x + y * y;
    if (cluster > 0 && distance >= least) continue;
    best = cluster;
    least = distance;
  }
  return best;
}

static inline ON_BOTH void add_point(double* sum, int32_t cluster, struct point point) {
  sum[3 * cluster] += point.x;
  sum[3 * cluster + 1] += point.y;
  sum[3 * cluster + 2] += 1;
}

#ifdef __cplusplus
extern "C" {
#endif

/* In device.cu, or, in a build without CUDA, in no_device.c. The arrays are in device memory. */
/* Points, and the labels that are written. */
int label_on_device(tessera_tile* tile, void* const* arrays, void* context);
/* Points, and their labels. */
int sum_on_device(tessera_tile* tile, tessera_sum* sum, void* const* arrays, void* context);

#ifdef __cplusplus
}
#endif

#endif
