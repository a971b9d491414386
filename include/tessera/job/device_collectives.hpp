// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE {

/// Sums and broadcasts of arrays in device memory, over all devices of all ranks of a job:
///
///     std::vector<double*> sums(job.devices().size());       // by Tile::device_index(), in device memory
///     job.scatter(plan, …);                                  // each tile writes its sum to sums[index]
///     if (!job.on_host())                                    // otherwise the hosts have computed the pass
///       job.collectives().sum(std::span<double* const>(sums), width);   // now each has the total
///
/// A rank passes one array for each of its claimed devices, in the order of `Tile::device_index`: device
/// memory for real devices, host memory for simulated ones. A rank without a device passes no array, but
/// makes the same call with the same length. The array of an excluded device (`OnDeviceFailure::exclude`) may
/// be null; the remaining devices initialise NCCL again for the next operation. In a job on the CPU,
/// including after a fallback (`Job::on_host`), no rank passes an array.
///
/// Data is transferred by NCCL or, if NCCL is unavailable, through host memory by MPI. The path is chosen
/// once for the whole job, by the first collective that needs it or by `open`: all ranks use NCCL or none
/// does; if none does, `reason` names the cause, and the rank if one rank could not. Unless `open` has been
/// called, a sum whose arrays take at most 32 KiB on every rank always goes through host memory, because this
/// is faster than NCCL and avoids its initialisation. Host memory is used if the build or a rank has no NCCL
/// (2.14 or later, loaded at run time as libnccl.so.2), if versions differ between ranks, if ranks share a
/// GPU, if devices are simulated, if hosts compute too (`JobOptions::hosts`), or if the NCCL communicator is
/// not initialised in time. NCCL reads its own environment variables (`NCCL_NVLS_ENABLE`,
/// `NCCL_SOCKET_IFNAME`, …); the library sets none.
///
/// Sums of `std::int64_t` are exact modulo 2^64 on both paths. Sums of `double` are the same on every device,
/// but their last bits depend on the path, the number of devices and NCCL's choice of algorithm: use
/// `Job::reduce` for reproducible sums.
///
/// Every operation is *collective* over the job's ranks. The operation runs on each device's own stream
/// (`Tile::stream`), after the work of earlier passes, and blocks until every array of the job has the
/// result. The calling thread's current context does not change. Not thread-safe: call on the thread that
/// calls MPI.
///
/// Errors, each the same on every rank unless said otherwise:
/// - misuse on one rank (more or fewer arrays than devices, a null array): `Error(usage)` on that rank, and
///   `Error(job_fault)` with the name of this rank on all other ranks; no array has changed;
/// - ranks that do not make the same call: `Error(usage)`; no array has changed;
/// - a device, or NCCL, that fails during the operation: `Error(job_fault)` naming rank, device and reason;
///   the content of the arrays is undefined. After a failure of NCCL, later operations go through host
///   memory;
/// - a rank that does not make the call in time: the job ends with a message that names it, as in a pass
///   (`JobOptions::collective_timeout`).
///
/// Cost: two votes (allreduces of 24 bytes) in addition to the operation. Through host memory: a copy from
/// and to each device, an MPI_Allreduce, and two arrays of host memory.
class TESSERA_EXPORT DeviceCollectives {
 public:
  enum class Path {
    nccl,   ///< directly between devices, by NCCL
    hosts,  ///< through host memory, by MPI
  };

  /// *Collective.* Replaces each array of `count` elements, in place, by the element-wise sum of all arrays
  /// of the job.
  void sum(std::span<double* const> arrays, std::size_t count);
  void sum(std::span<std::int64_t* const> arrays, std::size_t count);

  /// *Collective.* Copies the first `bytes` bytes of the array of device `root_index` of rank `root_rank` to
  /// all other arrays. Throws `Error(usage)` on every rank if the job has no such device.
  void broadcast(std::span<void* const> arrays, std::size_t bytes, int root_rank = 0, int root_index = 0);

  /// *Collective.* Chooses the path of all later operations, including short sums, and returns it. A path
  /// that was chosen before is kept. With `Path::hosts`, which must be given on every rank, NCCL is not
  /// tried. Blocks. Cost: the initialisation of NCCL, about two seconds for eight GPUs; abandoned after two
  /// minutes, or after the vote's timeout if that is shorter.
  Path open(Path wanted = Path::nccl);
  /// The chosen path; empty before a path is chosen.
  [[nodiscard]] std::optional<Path> path() const noexcept;
  /// Why the path is `Path::hosts`, as one line, the same on every rank. Empty if the path is `Path::nccl` or
  /// not chosen yet.
  [[nodiscard]] const std::string& reason() const noexcept;

  struct State;

 private:
  explicit DeviceCollectives(State& state) : state_(&state) {}

  State* state_;
};

[[nodiscard]] TESSERA_EXPORT std::string_view to_string(DeviceCollectives::Path path);

/// The version of the NCCL library that this process loads, such as "2.28.9"; empty if there is no usable
/// NCCL. Not collective. Cost: tens of milliseconds the first time.
[[nodiscard]] TESSERA_EXPORT std::string nccl_version();

}  // namespace TESSERA_NAMESPACE
