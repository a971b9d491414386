/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface: a reduce and a scatter over numbers that every rank has a part of. main.f90 is the same
   program in Fortran. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "device.h"

enum { units = 1000000, block = 4096 };

static int moments_on_host(const tessera_host_tile* tile, double* partial, void* context) {
  const struct sample* sample = context;
  for (int64_t unit = tile->range.begin; unit < tile->range.end; ++unit) {
    const double value = sample->values[unit - sample->first];
    partial[0] += value;
    partial[1] += value * value;
  }
  return 0;
}

static int standardise_on_host(const tessera_host_tile* tile, void* part, void* context) {
  const struct sample* sample = context;
  double* values = part;
  for (int64_t i = 0; i < tile->range.end - tile->range.begin; ++i)
    values[i] = (values[i] - sample->mean) / sample->deviation;
  return 0;
}

/* Only this rank's part is ever in memory. */
static double* values_of(tessera_range mine) {
  double* values = malloc((size_t)(mine.end - mine.begin) * sizeof *values + 1);
  for (int64_t unit = mine.begin; values != NULL && unit < mine.end; ++unit)
    values[unit - mine.begin] = sin((double)unit);
  return values;
}

static int standardise(tessera_job* job, const tessera_plan* plan) {
  const tessera_range mine = tessera_plan_local_range(plan);
  const int64_t count = mine.end - mine.begin;
  double* values = values_of(mine);
  struct sample sample = {values, mine.begin, block, 0, 1};
  double sums[2];
  int status = tessera_together(job, "the making of the values",
                                values != NULL ? TESSERA_OK : TESSERA_JOB_FAULT, "out of memory");
  if (status == TESSERA_OK)
    status = tessera_reduce(job, plan, 2, sizeof(double), moments_on_device, moments_on_host, &sample, sums);
  if (status == TESSERA_OK) {
    sample.mean = sums[0] / units;
    sample.deviation = sqrt(sums[1] / units - sample.mean * sample.mean);
    status = tessera_scatter(job, plan, values, count, sizeof(double), sizeof(double), standardise_on_device,
                             standardise_on_host, &sample);
  }
  if (status == TESSERA_OK && mine.begin == 0)
    printf("deviation %.12f, the first value is now %.12f, %s\n", sample.deviation, values[0],
           tessera_job_verdict(job));
  free(values);
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
  if (status == TESSERA_OK) status = tessera_plan_open(job, units, block, &plan);
  if (status == TESSERA_OK) status = standardise(job, plan);
  if (status != TESSERA_OK && rank == 0) fprintf(stderr, "standardise: %s\n", tessera_error());
  tessera_plan_close(plan);
  tessera_job_close(job);
  MPI_Finalize();
  return status;
}
