/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

/// The library for C, and for languages that call C, such as Fortran by iso_c_binding:
///
///     MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
///     tessera_job* job;
///     if (tessera_job_open(MPI_COMM_WORLD, NULL, &job)) return fail(tessera_error());
///     tessera_plan* plan;
///     tessera_plan_open(job, n, 1, &plan);                 // identical on every rank
///     tessera_range mine = tessera_plan_local_range(plan); // this rank reads only its own part
///     tessera_scatter(job, plan, units, mine.end - mine.begin, sizeof *units, sizeof *units, on_device,
///                     on_host, &context);
///     tessera_plan_close(plan);
///     tessera_job_close(job);
///
/// *Terms*: a *unit* is one item of the data, such as a row; units are numbered from 0 over all ranks. A
/// *plan* divides the units into *tiles*, one for each device. A *pass* (`tessera_map`, `tessera_scatter`,
/// `tessera_reduce`, `tessera_update`) computes all units by two functions of the program: one computes a
/// tile on its device, the other computes a *block* of consecutive units on a host thread. If a device fails,
/// the job by default *falls back*: all ranks compute the pass again on the CPU (`tessera_device_failure`).
///
/// The members of `tessera::Job` with the same names document the functions of this header
/// (<tessera/job/job.hpp>), and `tessera::Array` documents arrays (<tessera/job/array.hpp>). Functions that
/// return `int` return a `tessera_status`; `tessera_error` has the message. Collective functions are marked;
/// if one of them returns an error on any rank, it returns an error on every rank. Functions must be called
/// on the thread that called MPI_Init_thread, except those of tiles and sums, and those that may be called on
/// any thread. The program owns MPI: it calls MPI_Init_thread, with MPI_THREAD_FUNNELED or more, before the
/// first job, and MPI_Finalize after the last job is closed.

#include <tessera/mpi/abi.h>

#include <stddef.h>
#include <stdint.h>

#define TESSERA_API __attribute__((visibility("default")))

/// The version of this header. A library accepts programs compiled with its own version or an earlier one.
#define TESSERA_C_VERSION 3

#ifdef __cplusplus
extern "C" {
#endif

/// The version of the C interface of the linked library.
TESSERA_API int32_t tessera_c_version(void);
/// The version of the linked library, "0.3.0".
TESSERA_API const char* tessera_library_version(void);

/// Status codes. Except TESSERA_OUTDATED_PLAN and TESSERA_ROLLED_BACK, they are also the exit statuses of
/// Tessera's programs.
enum tessera_status {
  TESSERA_OK = 0,
  TESSERA_USAGE = 2,          ///< the call or an environment variable is wrong
  TESSERA_INPUT = 3,          ///< data or a file cannot be used
  TESSERA_NOT_CONVERGED = 4,  ///< an iteration did not converge
  TESSERA_DEVICE_ABSENT = 5,  ///< a GPU is required, but none is available
  TESSERA_JOB_FAULT = 6,      ///< the job cannot continue
  TESSERA_OUTDATED_PLAN = 7,  ///< all devices of a rank have failed: make a new plan and move the data
  TESSERA_ROLLED_BACK = 8,  ///< a device and its data were lost: arrays are back at the hosts' last versions
  TESSERA_INTERRUPTED = 75  ///< a stop of the job was requested
};
/// The message of the calling thread's last error, in one line: what failed, where, and what to do; "" if
/// there was none. Truncated to 4095 bytes. Valid until the thread's next error.
TESSERA_API const char* tessera_error(void);

/// The reaction of a job to a failed device: a `tessera::OnDeviceFailure`.
enum tessera_device_failure {
  TESSERA_ON_FAILURE_CPU = 0,     ///< falls back to the CPU
  TESSERA_ON_FAILURE_ERROR = 1,   ///< TESSERA_JOB_FAULT
  TESSERA_ON_FAILURE_EXCLUDE = 2  ///< continues without the device
};
enum tessera_policy {
  TESSERA_POLICY_AUTO = 0,  ///< GPUs if there are any, else the CPU
  TESSERA_POLICY_GPU = 1,   ///< GPUs, or an error
  TESSERA_POLICY_CPU = 2    ///< the CPU, without looking for GPUs
};
/// How the relative speed of a device is estimated: a `tessera::ScoreModel`.
enum tessera_score_model {
  TESSERA_SCORE_SPEC = 0,        ///< by the specification: multiprocessors, memory and features
  TESSERA_SCORE_THROUGHPUT = 1,  ///< by the specification: rates of arithmetic and memory
  TESSERA_SCORE_MEASURED = 2     ///< by timed runs of `tessera_options::measure`
};

typedef struct tessera_job tessera_job;                ///< a `tessera::Job`
typedef struct tessera_plan tessera_plan;              ///< a `tessera::Plan`
typedef struct tessera_tile tessera_tile;              ///< a `tessera::Tile`
typedef struct tessera_sum tessera_sum;                ///< a `tessera::ReproducibleSum`
typedef struct tessera_array tessera_array;            ///< a `tessera::Array`
typedef struct tessera_stop tessera_stop;              ///< a `tessera::StopRequest`
typedef struct tessera_checkpoint tessera_checkpoint;  ///< a `tessera::Checkpoint`
/// Units `begin` to `end - 1`.
typedef struct tessera_range {
  int64_t begin;
  int64_t end;
} tessera_range;
/// A `tessera::HostTile`.
typedef struct tessera_host_tile {
  tessera_range range;  ///< the units that this call computes
  int32_t thread;       ///< 0 to threads - 1: no two calls with the same number run concurrently
  int32_t threads;
  int32_t device;  ///< the tile's device, by index among the rank's devices; -1 in a pass on hosts
  int32_t lane;    ///< see `tessera_tile_lane`
} tessera_host_tile;

/// Switches the detection of ranks that leave the program too early: `tessera::mpi::watch_exits`
/// (<tessera/mpi/exit_guard.hpp>). It is on by default. A module that is loaded into another program, such as
/// R or Python, calls this with 0 on every rank before its first job.
TESSERA_API void tessera_watch_exits(int32_t watched);

/// Runs a sample of the program's work, on the device of the tile or on the host. Returns the number of
/// computed units, at least 1, or any other number to fail. The range of the tile is empty.
typedef int64_t (*tessera_device_measure)(tessera_tile* tile, void* context);
typedef int64_t (*tessera_host_measure)(const tessera_host_tile* tile, void* context);

/// How a job is set up. The options must be the same on every rank. Programs compiled with an earlier version
/// pass a shorter structure, without the later members.
typedef struct tessera_options {
  int32_t version;                    ///< TESSERA_C_VERSION
  int32_t policy;                     ///< a `tessera_policy`
  int32_t on_device_failure;          ///< a `tessera_device_failure`
  int32_t allow_sharing;              ///< not 0: several ranks may drive one GPU
  int32_t threads;                    ///< host threads of this rank; 0: chosen by the library
  double collective_timeout_seconds;  ///< timeout of the job's collectives; 0: none
  double memory_fraction;             ///< fraction of a device's memory that the job may use, above 0 and up
                                      ///< to 1 (since version 2)
  int32_t parts_in_flight;  ///< number of parts of a tile in progress at a time, 1 to 8 (since version 2)
  // Since version 3:
  int32_t may_move_units;  ///< not 0: see `tessera::JobOptions::may_move_units`
  int32_t hosts;           ///< not 0: CPUs compute too; needs TESSERA_SCORE_MEASURED and `measure_on_host`
  int32_t score_model;     ///< a `tessera_score_model`
  tessera_device_measure measure;        ///< needed by TESSERA_SCORE_MEASURED
  tessera_host_measure measure_on_host;  ///< for simulated devices and `hosts`; on every rank or on none
  void* measure_context;  ///< argument of both functions, valid until `tessera_job_open` returns
  tessera_stop* stop;     ///< interrupts the passes; must outlive the job; set it on every rank or on none
} tessera_options;
#define TESSERA_DEFAULT_OPTIONS                                                                 \
  {                                                                                             \
    TESSERA_C_VERSION, TESSERA_POLICY_AUTO, TESSERA_ON_FAILURE_CPU, 0, 0, 1800.0, 0.5, 2, 0, 0, \
        TESSERA_SCORE_THROUGHPUT, 0, 0, 0, 0                                                    \
  }

/// *Collective.* Probes the hardware and assigns devices to ranks. `options` may be null.
TESSERA_API int tessera_job_open(MPI_Comm comm, const tessera_options* options, tessera_job** job);
/// As `tessera_job_open`, for a communicator of Fortran, an INTEGER (`comm%MPI_VAL` of mpi_f08).
TESSERA_API int tessera_job_open_fortran(MPI_Fint comm, const tessera_options* options, tessera_job** job);
/// *Collective.* Ends the job. Does nothing if `job` is null.
TESSERA_API void tessera_job_close(tessera_job* job);
/// 1 if the next pass runs on the CPU, else 0.
TESSERA_API int32_t tessera_job_on_host(const tessera_job* job);
/// One line that says where the last pass ran, and why; the same on every rank. Valid until this function is
/// called again for `job`.
TESSERA_API const char* tessera_job_verdict(tessera_job* job);

/// The hardware that computed a pass: a `tessera::Verdict::Ran`.
enum tessera_ran {
  TESSERA_RAN_DEVICES = 0,   ///< every tile succeeded on its device
  TESSERA_RAN_HOST = 1,      ///< the host function, because there was no device to use
  TESSERA_RAN_FALLBACK = 2,  ///< the host function, because a device failed, in this pass or an earlier one
  TESSERA_RAN_NONE = 3       ///< the pass ended with an error
};
/// A `tessera::Verdict::Failure`.
typedef struct tessera_failure {
  int32_t rank;
  int32_t device;  ///< index among the rank's devices
  const char* hostname;
  const char* uuid;   ///< "" if the failure came before a device was known
  const char* stage;  ///< "probe", "claim", "score", "bind", "allocate" or "tile"
  const char* reason;
} tessera_failure;
/// A `tessera::Verdict`: the same on every rank. Later versions may append members.
typedef struct tessera_verdict {
  int32_t ran;           ///< a `tessera_ran`
  int32_t devices;       ///< number of different GPUs that computed; 0 unless `ran` is TESSERA_RAN_DEVICES
  int32_t hosts;         ///< number of ranks whose CPUs computed too (`tessera_options::hosts`)
  int32_t simulated;     ///< 1 if the devices were simulated, else 0
  int32_t busiest_rank;  ///< the rank with most units per host thread, if the CPU ran a plan for devices
  int32_t excluded_count;
  const tessera_failure*
      excluded;  ///< `excluded_count` failures of the excluded devices, in order; null if there are none
  const tessera_failure* failure;  ///< the first failure; null unless `ran` is TESSERA_RAN_FALLBACK
  double imbalance;     ///< share of `busiest_rank` divided by its share in a plan for hosts; 1: balanced
  const char* absence;  ///< why no device was used, if `ran` is TESSERA_RAN_HOST; else ""
  const char* reason;   ///< how the pass ended, if `ran` is TESSERA_RAN_NONE; else ""
  int32_t shares;       ///< if ranks share GPUs: number of pairs of rank and GPU that computed; else 0
} tessera_verdict;
/// The outcome of the last pass; before the first pass, that of `tessera_job_open`. Valid until the next call
/// with `job`. Null after an error.
TESSERA_API const tessera_verdict* tessera_job_last_verdict(tessera_job* job);

/// A function of the program: returns 0, or any other number to fail.
typedef int (*tessera_work)(void* context);
/// Runs `work` on a host thread of the job and waits for it, replying to other ranks meanwhile: for long
/// computations between passes. Not collective; `work` must not make collective calls. TESSERA_JOB_FAULT if
/// `work` fails.
TESSERA_API int tessera_job_run_alive(tessera_job* job, tessera_work work, void* context);

/// Partitions units over the devices of the job in blocks of `block` units, 1 or more. No communication. The
/// plan may outlive the job.
TESSERA_API int tessera_plan_open(const tessera_job* job, int64_t units, int64_t block, tessera_plan** plan);
/// Returns the work of a unit, 0 or more, the same on every rank: see `tessera::PlanOptions::weights`.
typedef double (*tessera_weight)(int64_t unit, void* context);
/// Like `tessera_plan_open`, but divides the work of the units instead of their number. Calls `weight` on the
/// calling thread, for all units of the job.
TESSERA_API int tessera_plan_open_weighted(const tessera_job* job, int64_t units, int64_t block,
                                           tessera_weight weight, void* context, tessera_plan** plan);
/// Does nothing if `plan` is null.
TESSERA_API void tessera_plan_close(tessera_plan* plan);
/// The units of this rank.
TESSERA_API tessera_range tessera_plan_local_range(const tessera_plan* plan);
/// The units of the given rank.
TESSERA_API int tessera_plan_range_of(const tessera_plan* plan, int32_t rank, tessera_range* range);

/// The units that this call computes.
TESSERA_API tessera_range tessera_tile_range(const tessera_tile* tile);
/// The whole tile that the plan gives the device; `tessera_tile_range` may be a part of it.
TESSERA_API tessera_range tessera_tile_whole(const tessera_tile* tile);
/// The device's index among the devices of this rank.
TESSERA_API int32_t tessera_tile_device(const tessera_tile* tile);
/// Number of the lane, from 0 to `tessera_options::parts_in_flight` - 1: concurrent calls for one device are
/// in different lanes. State that a function keeps for a device between calls must be kept for each lane.
TESSERA_API int32_t tessera_tile_lane(const tessera_tile* tile);
/// Bytes of device memory that this call may use.
TESSERA_API int64_t tessera_tile_memory_budget(const tessera_tile* tile);
/// The compute capability of the device, 10 times the major number and the minor one: 90.
TESSERA_API int32_t tessera_tile_capability(const tessera_tile* tile);
/// The `cudaStream_t` of the tile's lane, synchronised after the device function returns. The function must
/// itself wait for its work on other streams.
TESSERA_API void* tessera_tile_stream(const tessera_tile* tile);
/// Device memory for this call only. Null if memory has run out: the tile has then failed, with this reason.
TESSERA_API void* tessera_tile_memory(tessera_tile* tile, size_t bytes);
/// 1 once a stop was requested, else 0: a long-running function should then return.
TESSERA_API int32_t tessera_tile_stopping(const tessera_tile* tile);
/// Fails the tile: the job then acts by `tessera_options::on_device_failure`; by default it falls back to the
/// CPU. The first reason is kept.
TESSERA_API void tessera_tile_fail(tessera_tile* tile, const char* reason);

/// Functions of the program, for devices and for host threads. `context` is the argument of the caller;
/// `units` and `results` point to the first unit of the tile; `arrays` has, for each array, a pointer to the
/// first unit of the tile. In a function for devices, units, results and elements of arrays are in device
/// memory. Units that are only read must not be written. A function returns 0, or any other number to fail:
/// on a device the tile fails, on the host the pass fails on every rank. Functions run on threads of the job
/// and must not call MPI; no exception or longjmp may leave them.
typedef int (*tessera_device_function)(tessera_tile* tile, void* units, void* context);
typedef int (*tessera_host_function)(const tessera_host_tile* tile, void* units, void* context);
typedef int (*tessera_device_map)(tessera_tile* tile, const void* units, void* results, void* context);
typedef int (*tessera_host_map)(const tessera_host_tile* tile, const void* units, void* results,
                                void* context);
typedef int (*tessera_device_reduction)(tessera_tile* tile, tessera_sum* sum, void* context);
typedef int (*tessera_host_reduction)(const tessera_host_tile* tile, double* partial, void* context);
typedef int (*tessera_device_update)(tessera_tile* tile, void* const* arrays, void* context);
typedef int (*tessera_host_update)(const tessera_host_tile* tile, void* const* arrays, void* context);
typedef int (*tessera_device_array_reduction)(tessera_tile* tile, tessera_sum* sum, void* const* arrays,
                                              void* context);
typedef int (*tessera_host_array_reduction)(const tessera_host_tile* tile, double* partial,
                                            void* const* arrays, void* context);
typedef int (*tessera_device_array_function)(tessera_tile* tile, void* values, void* const* arrays,
                                             void* context);
typedef int (*tessera_host_array_function)(const tessera_host_tile* tile, void* values, void* const* arrays,
                                           void* context);

/// *Collective.* Computes in place: `units` are this rank's `count` units of the plan, of `unit_bytes` each.
/// Writes of devices are undone before a fallback to the host function. If `on_device` is null (on every rank
/// or on none), the pass runs only on the hosts. A tile is cut into parts if its units, at
/// `device_bytes_per_unit` each, exceed the device's memory budget. `tessera_options::parts_in_flight` parts
/// are then computed at a time, by calls of `on_device` on different threads and streams. If
/// `device_bytes_per_unit` is 0, tiles are not cut.
TESSERA_API int tessera_scatter(tessera_job* job, const tessera_plan* plan, void* units, int64_t count,
                                size_t unit_bytes, size_t device_bytes_per_unit,
                                tessera_device_function on_device, tessera_host_function on_host,
                                void* context);

/// *Collective.* Computes out of place: `results` has room for `count` results of `result_bytes` each, and is
/// written only if the pass has succeeded on every rank. Results begin as zero bytes. Otherwise like
/// `tessera_scatter`.
TESSERA_API int tessera_map(tessera_job* job, const tessera_plan* plan, const void* units, int64_t count,
                            size_t unit_bytes, void* results, size_t result_bytes,
                            size_t device_bytes_per_unit, tessera_device_map on_device,
                            tessera_host_map on_host, void* context);

/// *Collective.* Sums one vector of `width` doubles for each block of the plan into `result`, on every rank:
/// the same bits for any number of ranks, threads, and devices of one kind. `on_device` calls
/// `tessera_sum_add` for each block of its tile; `on_host` adds the single block of its tile to `partial`,
/// which starts as zeros. For a null `on_device` and `device_bytes_per_unit` see `tessera_scatter`.
TESSERA_API int tessera_reduce(tessera_job* job, const tessera_plan* plan, size_t width,
                               size_t device_bytes_per_unit, tessera_device_reduction on_device,
                               tessera_host_reduction on_host, void* context, double* result);
/// Adds the `width` doubles of one block to a sum. Returns a `tessera_status`.
TESSERA_API int tessera_sum_add(tessera_sum* sum, const double* block);

/// The operation that combines the values of blocks. <tessera/job/reducer.hpp> has the rules for ties, NaN,
/// sums and plans without units.
enum tessera_operation {
  TESSERA_SUM = 0,  ///< sums of doubles are rounded at each addition, unlike those of `tessera_reduce`
  TESSERA_MINIMUM = 1,
  TESSERA_MAXIMUM = 2,
  TESSERA_MINIMUM_AT = 3,  ///< minimum and its position, as a `tessera_double_at` or similar structure
  TESSERA_MAXIMUM_AT = 4,
  TESSERA_OWN = 5  ///< uses `tessera_reducer::combine`
};
enum tessera_type { TESSERA_DOUBLE = 0, TESSERA_FLOAT = 1, TESSERA_INT32 = 2, TESSERA_INT64 = 3 };
/// A value and its position, such as the index of a unit; the position is INT64_MAX without units.
typedef struct tessera_double_at {
  double value;
  int64_t at;
} tessera_double_at;
typedef struct tessera_float_at {
  float value;
  int64_t at;
} tessera_float_at;
typedef struct tessera_int32_at {
  int32_t value;
  int64_t at;
} tessera_int32_at;
typedef struct tessera_int64_at {
  int64_t value;
  int64_t at;
} tessera_int64_at;
/// An operation of the program, associative up to rounding: combines `left` and `right` into `left`. The
/// units of `right` follow those of `left`. Called by several threads.
typedef void (*tessera_combine)(void* left, const void* right, void* context);
/// A reduction: the same on every rank.
typedef struct tessera_reducer {
  int32_t operation;  ///< a `tessera_operation`
  int32_t type;       ///< a `tessera_type`
  int64_t count;      ///< number of values, 1 or more, which are combined element by element
  // For TESSERA_OWN, which has no type:
  size_t value_bytes;    ///< bytes of one value, which is aligned to 16 bytes or less
  const void* identity;  ///< the neutral element, which is the result without units
  tessera_combine combine;
  void* context;  ///< passed to `combine`
} tessera_reducer;
/// *Collective.* Combines the values of all blocks of the plan into the `count` values of `result`, on every
/// rank: the same bits for any number of ranks, threads, and devices of one kind. `on_device` gets device
/// memory with `count` values for each block of its tile, in order, and writes all of them on the stream of
/// the tile; `on_host` gets the values of the single block of its tile, which start as the identity. For a
/// null `on_device` and `device_bytes_per_unit` see `tessera_scatter`.
TESSERA_API int tessera_reduce_by(tessera_job* job, const tessera_plan* plan, const tessera_reducer* reducer,
                                  size_t device_bytes_per_unit, tessera_device_function on_device,
                                  tessera_host_function on_host, void* context, void* result);

/// *Collective.* Moves host data from one plan to another of the same units: `units` are this rank's `count`
/// units under plan `from`; `moved` receives this rank's units under plan `to`.
TESSERA_API int tessera_move(const tessera_job* job, const tessera_plan* from, const tessera_plan* to,
                             const void* units, int64_t count, size_t unit_bytes, void* moved);

/// *Collective.* Allocates an array over the units of a plan. The array stays on the devices from pass to
/// pass, and has `unit_bytes`, below 2^32, for each unit, initially zero.
TESSERA_API int tessera_array_open(tessera_job* job, const tessera_plan* plan, size_t unit_bytes,
                                   tessera_array** array);
/// Every rank must close the arrays of a job in the same order, between the same passes, and before the job.
/// Does nothing if `array` is null.
TESSERA_API void tessera_array_close(tessera_array* array);
/// This rank's units in host memory, for writing the next version: see `tessera::Array::overwrite`. Every
/// rank must call this function; a rank without units gets null. If it is called in a function of a pass, it
/// returns null, and the pass fails.
TESSERA_API void* tessera_array_overwrite(tessera_array* array);
/// This rank's units in host memory, of the version `tessera_array_host_version`. Valid until the next call
/// that changes the array.
TESSERA_API const void* tessera_array_host(const tessera_array* array);
/// The version of the array: its number of changes.
TESSERA_API int64_t tessera_array_version(const tessera_array* array);
/// The version of the units in host memory; after `tessera_download` it is the last version.
TESSERA_API int64_t tessera_array_host_version(const tessera_array* array);
/// *Collective.* Redistributes the array by another plan of the same units.
TESSERA_API int tessera_array_move_to(tessera_array* array, const tessera_plan* plan);
/// *Collective.* Copies the last versions of `count` arrays to the hosts: either all arrays or none.
TESSERA_API int tessera_download(tessera_job* job, tessera_array* const* arrays, int32_t count);

/// The use of an array by a pass.
enum tessera_use {
  TESSERA_READ = 0,   ///< reads the last version
  TESSERA_WRITE = 1,  ///< writes all of the next version, whose initial content is undefined
  TESSERA_MODIFY = 2  ///< writes the next version, which starts as a copy of the last one
};
typedef struct tessera_array_use {
  tessera_array* array;
  int32_t use;  ///< a `tessera_use`
} tessera_array_use;
/// *Collective.* Runs the functions over the units of `count` arrays, 1 or more, all of one plan. For a null
/// `on_device`, and for arrays that exceed a device's memory, see `tessera_scatter`. After
/// TESSERA_ROLLED_BACK resume from `tessera_array_version`.
TESSERA_API int tessera_update(tessera_job* job, const tessera_array_use* arrays, int32_t count,
                               tessera_device_update on_device, tessera_host_update on_host, void* context);
/// *Collective.* Like `tessera_reduce`, over arrays.
TESSERA_API int tessera_reduce_arrays(tessera_job* job, const tessera_array_use* arrays, int32_t count,
                                      size_t width, tessera_device_array_reduction on_device,
                                      tessera_host_array_reduction on_host, void* context, double* result);
/// *Collective.* Like `tessera_reduce_by`, over arrays.
TESSERA_API int tessera_reduce_arrays_by(tessera_job* job, const tessera_array_use* arrays, int32_t count,
                                         const tessera_reducer* reducer,
                                         tessera_device_array_function on_device,
                                         tessera_host_array_function on_host, void* context, void* result);

/// *Collective.* Agrees on the outcome of work outside of passes, such as reading a file: each rank gives its
/// own `tessera_status`, and a reason if the status is not TESSERA_OK. Every rank returns TESSERA_OK, or the
/// status of the lowest rank that failed; the message then has that rank's number, node and reason.
/// `purpose`, such as "the reading of the input", must be the same on every rank.
TESSERA_API int tessera_together(const tessera_job* job, const char* purpose, int status, const char* reason);

/// *Collective.* Catches `count` signals, 0 or more, as requests to stop. If `signals` is null, catches
/// SIGUSR1 and SIGTERM. A stop is also requested `time_limit_seconds` after this call; 0: no limit. For the
/// effect of `tessera_options::stop`, and the rules for handlers of the program, see `tessera::StopRequest`
/// (<tessera/job/stop_request.hpp>). Only one request that catches signals can be open at a time.
TESSERA_API int tessera_stop_open(MPI_Comm comm, const int32_t* signals, int32_t count,
                                  double time_limit_seconds, tessera_stop** stop);
/// As `tessera_stop_open`, for a communicator of Fortran, an INTEGER (`comm%MPI_VAL` of mpi_f08).
TESSERA_API int tessera_stop_open_fortran(MPI_Fint comm, const int32_t* signals, int32_t count,
                                          double time_limit_seconds, tessera_stop** stop);
/// *Collective.* Call it after closing the jobs that use `stop`. Does nothing if `stop` is null.
TESSERA_API void tessera_stop_close(tessera_stop* stop);
/// Requests a stop on this rank, like a signal. May be called on any thread. `cause` is for messages.
TESSERA_API int tessera_stop_request(tessera_stop* stop, const char* cause);
/// 1 once a stop was requested on this rank, or another rank's notification has arrived; else 0. May be
/// called on any thread.
TESSERA_API int32_t tessera_stop_requested(const tessera_stop* stop);
/// Notifies other ranks of a request, and receives their notifications: call it about ten times a second in
/// long work on the thread that calls MPI.
TESSERA_API int tessera_stop_poll(tessera_stop* stop);
/// *Collective.* Sets `agreed` to 1 on every rank if a stop was requested on any rank, else to 0.
TESSERA_API int tessera_stop_agree(tessera_stop* stop, int32_t* agreed);
/// The cause of the agreed stop, the same on every rank: "SIGUSR1 on rank 3"; "" before the ranks have
/// agreed. Valid as long as `stop`.
TESSERA_API const char* tessera_stop_cause(const tessera_stop* stop);

/// A name and a value that help to identify a job: together, the entries contain everything that affects its
/// result.
typedef struct tessera_fingerprint_entry {
  const char* name;
  const char* value;
} tessera_fingerprint_entry;
/// *Collective.* Opens a checkpoint and finds the state that a job with the same fingerprint (`count` names
/// and values) has saved at `path`. TESSERA_INPUT if the state belongs to another job. See
/// `tessera::Checkpoint` (<tessera/job/checkpoint.hpp>). The checkpoint may outlive the job.
TESSERA_API int tessera_checkpoint_open(const tessera_job* job, const char* path,
                                        const tessera_fingerprint_entry* fingerprint, int32_t count,
                                        tessera_checkpoint** checkpoint);
/// Closes the checkpoint, but keeps its files. Does nothing if `checkpoint` is null.
TESSERA_API void tessera_checkpoint_close(tessera_checkpoint* checkpoint);
/// The state that was found, the same on every rank; null if there was none. `bytes` receives its size. Valid
/// as long as `checkpoint`.
TESSERA_API const void* tessera_checkpoint_state(const tessera_checkpoint* checkpoint, size_t* bytes);
/// One line about each file that was not used, and why: `index` from 0. Null beyond the last one.
TESSERA_API const char* tessera_checkpoint_remark(const tessera_checkpoint* checkpoint, int32_t index);
/// The number of this start of the job, from 1.
TESSERA_API int64_t tessera_checkpoint_generation(const tessera_checkpoint* checkpoint);
/// *Collective.* Replaces the saved state by rank 0's. TESSERA_INPUT, on every rank, if the state could not
/// be saved (for example, to a full disk): the previous state is then intact, and the call may be repeated.
/// TESSERA_JOB_FAULT if a later start of the job has taken over: this job should end.
TESSERA_API int tessera_checkpoint_save(tessera_checkpoint* checkpoint, const void* state, size_t bytes);
/// 1 if the last `tessera_checkpoint_save` has replaced the state, else 0. 1 is possible after TESSERA_INPUT:
/// the state may then be lost in a power failure.
TESSERA_API int32_t tessera_checkpoint_is_saved(const tessera_checkpoint* checkpoint);
/// *Collective.* Removes all files of the checkpoint, once the result is safe, unless a later start has taken
/// over.
TESSERA_API void tessera_checkpoint_remove(tessera_checkpoint* checkpoint);

/// Copies a text to the `length` characters of `copy`, truncated or padded with blanks, for `character`
/// variables of Fortran. Null counts as "".
TESSERA_API void tessera_copy_text(const char* text, char* copy, size_t length);

#ifdef __cplusplus
}
#endif

#endif
