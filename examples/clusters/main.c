/* SPDX-License-Identifier: Apache-2.0 */
/* An iterated solver in C: k-means, over points and labels that stay on the devices. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "clusters.h"

enum { points_of_job = 300000 };

static int label_on_host(const tessera_host_tile* tile, void* const* arrays, void* context) {
  const struct point* points = arrays[0];
  int32_t* labels = arrays[1];
  for (int64_t i = 0; i < tile->range.end - tile->range.begin; ++i) labels[i] = nearest(context, points[i]);
  return 0;
}

static int sum_on_host(const tessera_host_tile* tile, double* partial, void* const* arrays, void* context) {
  const struct point* points = arrays[0];
  const int32_t* labels = arrays[1];
  (void)context;
  for (int64_t i = 0; i < tile->range.end - tile->range.begin; ++i) add_point(partial, labels[i], points[i]);
  return 0;
}

/* Three rings that touch. Only this rank's part is ever in memory. */
static void fill(struct point* points, tessera_range mine) {
  for (int64_t unit = mine.begin; unit < mine.end; ++unit) {
    const double angle = (double)unit;
    const double radius = 1 + sin(angle * angle);
    points[unit - mine.begin].x = radius * cos(angle) + 3 * (double)(unit % clusters);
    points[unit - mine.begin].y = radius * sin(angle) + (double)(unit % 2);
  }
}

/* The means of the sums; whether they differ from the centres before. */
static int moved_to_means(struct centres* centres, const double* sums) {
  const struct centres before = *centres;
  for (int cluster = 0; cluster < clusters; ++cluster) {
    const double* sum = sums + 3 * cluster;
    if (sum[2] == 0) continue;
    centres->of[cluster].x = sum[0] / sum[2];
    centres->of[cluster].y = sum[1] / sum[2];
  }
  return memcmp(&before, centres, sizeof before) != 0;
}

/* Steps until no centre moves. Sums have the same bits on any number of ranks: so all of them take as many.
 */
static int iterate(tessera_job* job, tessera_array* points, tessera_array* labels, struct centres* centres,
                   int* steps) {
  const tessera_array_use labelled[] = {{points, TESSERA_READ}, {labels, TESSERA_WRITE}};
  const tessera_array_use summed[] = {{points, TESSERA_READ}, {labels, TESSERA_READ}};
  double sums[width];
  for (*steps = 0;; ++*steps) {
    int status = tessera_update(job, labelled, 2, label_on_device, label_on_host, centres);
    if (status == TESSERA_OK)
      status = tessera_reduce_arrays(job, summed, 2, width, sum_on_device, sum_on_host, NULL, sums);
    /* A device was lost with its labels: the step makes them again, of points and centres. */
    if (status == TESSERA_ROLLED_BACK) continue;
    if (status != TESSERA_OK || !moved_to_means(centres, sums)) return status;
  }
}

static int cluster(tessera_job* job, const tessera_plan* plan) {
  const tessera_range mine = tessera_plan_local_range(plan);
  struct centres centres = {{{0, 0}, {1, 0}, {2, 0}}};
  int steps = 0;
  tessera_array* points = NULL;
  tessera_array* labels = NULL;
  int status = tessera_array_open(job, plan, sizeof(struct point), &points);
  if (status == TESSERA_OK) status = tessera_array_open(job, plan, sizeof(int32_t), &labels);
  if (status == TESSERA_OK) {
    fill(tessera_array_overwrite(points), mine);
    status = iterate(job, points, labels, &centres, &steps);
  }
  if (status == TESSERA_OK) status = tessera_download(job, &labels, 1);
  if (status == TESSERA_OK && mine.begin == 0 && mine.end > 0) {
    const int32_t* labels_here = tessera_array_host(labels);
    printf("%d steps to centres at", steps);
    for (int i = 0; i < clusters; ++i) printf(" (%.6f, %.6f)", centres.of[i].x, centres.of[i].y);
    printf(", the first points are of clusters %d %d %d, %s\n", (int)labels_here[0], (int)labels_here[1],
           (int)labels_here[2], tessera_job_verdict(job));
  }
  tessera_array_close(labels);
  tessera_array_close(points);
  return status;
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  tessera_job* job = NULL;
  tessera_plan* plan = NULL;
  int status = tessera_job_open(MPI_COMM_WORLD, NULL, &job);
  if (status == TESSERA_OK) status = tessera_plan_open(job, points_of_job, block, &plan);
  if (status == TESSERA_OK) status = cluster(job, plan);
  if (status != TESSERA_OK && rank == 0) fprintf(stderr, "clusters: %s\n", tessera_error());
  tessera_plan_close(plan);
  tessera_job_close(job);
  MPI_Finalize();
  return status;
}
