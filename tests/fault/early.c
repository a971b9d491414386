/* SPDX-License-Identifier: Apache-2.0 */
/* early_c HANDLE WAY: rank 1 of a program without a Session ends early, mostly with status 0, and rank 0
   writes its answer last. HANDLE is "c" or "fortran", the kind of the communicator. pass, map, scatter, vote,
   move, update, download, job it returns from main where the others make this call unfinished  it returns
   after the last call without MPI_Finalize, which the others have called by then forgetful   no rank calls
   MPI_Finalize function    it calls exit in a function of a pass
     off         it calls exit, which the program has told the library not to watch
     ...         it calls what early.h says */
#include <tessera/tessera.h>

#include "early.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { units = 1000 };

struct scene {
  const char* way;
  int rank;
  int passes;
  tessera_job* job;
  tessera_plan* plan;
  tessera_array* array;
};

static int is(const struct scene* at, const char* way) {
  return strcmp(at->way, way) == 0;
}

static int count(const tessera_host_tile* tile, double* partial, void* context) {
  const struct scene* at = context;
  if (at->passes > 0 && at->rank == 1 && is(at, "function")) leave(at->way);
  partial[0] += (double)(tile->range.end - tile->range.begin);
  return 0;
}
static int keep(const tessera_host_tile* tile, void* part, void* context) {
  (void)tile, (void)part, (void)context;
  return 0;
}
static int copy(const tessera_host_tile* tile, const void* part, void* results, void* context) {
  (void)context;
  memcpy(results, part, (size_t)(tile->range.end - tile->range.begin) * sizeof(double));
  return 0;
}
static int keep_arrays(const tessera_host_tile* tile, void* const* arrays, void* context) {
  (void)tile, (void)arrays, (void)context;
  return 0;
}

static tessera_options endless(void) {
  tessera_options options = TESSERA_DEFAULT_OPTIONS;
  options.policy = TESSERA_POLICY_CPU;
  options.collective_timeout_seconds = 0;
  options.threads = 4;
  return options;
}

static int call(struct scene* at, double* sum) {
  static double values[units], results[units];
  const tessera_range mine = tessera_plan_local_range(at->plan);
  const int64_t own = mine.end - mine.begin;
  const size_t bytes = sizeof(double);
  if (is(at, "map"))
    return tessera_map(at->job, at->plan, values, own, bytes, results, bytes, 0, NULL, copy, NULL);
  if (is(at, "scatter")) return tessera_scatter(at->job, at->plan, values, own, bytes, 0, NULL, keep, NULL);
  if (is(at, "vote")) return tessera_together(at->job, "the reading of the input", TESSERA_OK, NULL);
  if (is(at, "move")) return tessera_move(at->job, at->plan, at->plan, values, own, bytes, results);
  if (is(at, "update")) {
    const tessera_array_use use = {at->array, TESSERA_MODIFY};
    return tessera_update(at->job, &use, 1, NULL, keep_arrays, NULL);
  }
  if (is(at, "download")) return tessera_download(at->job, &at->array, 1);
  if (is(at, "job")) {
    const tessera_options options = endless();
    tessera_job* another = NULL;
    const int status = tessera_job_open(MPI_COMM_WORLD, &options, &another);
    tessera_job_close(another);
    return status;
  }
  return tessera_reduce(at->job, at->plan, 1, 0, NULL, count, at, sum);
}

static int work(struct scene* at) {
  double sum = 0;
  if (tessera_reduce(at->job, at->plan, 1, 0, NULL, count, at, &sum) != TESSERA_OK) return 1;
  ++at->passes;
  const int stays = is(at, "function") || is(at, "unfinished") || is(at, "forgetful");
  if (at->rank == 1 && !stays) {
    leave(at->way);
    return 0;
  }
  if (call(at, &sum) != TESSERA_OK) return 1;
  if (is(at, "unfinished") && at->rank != 1) MPI_Finalize();
  if (at->rank == 0) printf("the answer is %g\n", sum);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return TESSERA_USAGE;
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  struct scene at = {.way = argv[2]};
  if (is(&at, "off")) tessera_watch_exits(0);
  MPI_Comm_rank(MPI_COMM_WORLD, &at.rank);

  const tessera_options options = endless();
  const int opened = strcmp(argv[1], "fortran") == 0
                         ? tessera_job_open_fortran(MPI_Comm_c2f(MPI_COMM_WORLD), &options, &at.job)
                         : tessera_job_open(MPI_COMM_WORLD, &options, &at.job);
  if (opened != TESSERA_OK || tessera_plan_open(at.job, units, 10, &at.plan) != TESSERA_OK ||
      tessera_array_open(at.job, at.plan, sizeof(double), &at.array) != TESSERA_OK)
    return 1;
  const int status = work(&at);
  int ended = 0;
  MPI_Finalized(&ended);
  if (at.rank == 1 || ended || is(&at, "forgetful")) return status;
  tessera_array_close(at.array);
  tessera_plan_close(at.plan);
  tessera_job_close(at.job);
  MPI_Finalize();
  return status;
}
