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

namespace tessera::inline TESSERA_ABI {

/// Sums and broadcasts of arrays that lie on the devices of a job, over all devices of all ranks:
///
///     std::vector<double*> sums(job.devices().size());       // by Tile::device_index(), in device memory
///     job.scatter(plan, …);                                  // the tiles leave their part in sums[index]
///     if (!job.on_host())                                    // else the pass was computed by the hosts
///       job.collectives().sum(std::span<double* const>(sums), width);   // now each holds the whole
///
/// A rank brings one array for each device that it has claimed, in the order of `Tile::device_index`. The
/// arrays of real devices are device memory, those of simulated devices host memory. A rank without a device
/// brings none and receives nothing, but makes the call, with the same length, like every other. A job on the
/// hosts, after a fallback too (`Job::on_host`), has no device, and its ranks bring no array.
///
/// Data goes by NCCL or, where NCCL cannot be had, through the hosts by MPI. That is decided once, by the
/// first collective or by `open`, for the whole job: all ranks take NCCL or none does, and `reason` tells
/// which rank could not. The hosts carry the data if the build or a rank has no NCCL (2.14 or later, opened
/// at run time as libnccl.so.2), if versions differ between ranks, if ranks share a GPU, if devices are
/// simulated, or if NCCL does not get all devices together in time. NCCL reads its own environment
/// (`NCCL_NVLS_ENABLE`, `NCCL_SOCKET_IFNAME`, …); nothing is set here.
///
/// Sums of `std::int64_t` are exact modulo 2^64, the same on both paths. Sums of `double` are the same on
/// every device, but their last bits depend on the path, the number of devices and NCCL's choice of
/// algorithm: use `Job::reduce` where bits matter.
///
/// Every operation is *collective* over the job's ranks, runs on each device's own stream (`Tile::stream`),
/// so after the passes before it, and blocks until every array of the job holds the result. What was
/// current on the calling thread stays current. Not thread-safe: call from the thread that calls MPI.
///
/// Errors, each the same on every rank unless said otherwise:
/// - misuse on one rank (a number of arrays that is not that of its devices, a null array): `Error(usage)`
///   there, `Error(job_fault)` naming the rank on the others; nothing has been changed;
/// - ranks that do not make the same call: `Error(usage)`; nothing has been changed;
/// - a device, or NCCL, that fails in the middle: `Error(job_fault)` naming rank, device and reason; what the
///   arrays hold is not defined. If it was NCCL, the hosts carry the data from then on;
/// - a rank that does not come: as in a pass, the job is ended with its name
///   (`JobOptions::collective_timeout`).
///
/// Cost: two votes (allreduces of 24 bytes) beside the operation itself; through the hosts, a copy to and one
/// from each device and an MPI_Allreduce, with memory for two arrays on the host.
class TESSERA_EXPORT DeviceCollectives {
 public:
  enum class Path {
    nccl,   ///< from device to device
    hosts,  ///< device, host, MPI, host, device
  };

  /// *Collective.* In place: each array of `count` elements becomes the sum of all of them, element by
  /// element.
  void sum(std::span<double* const> arrays, std::size_t count);
  void sum(std::span<std::int64_t* const> arrays, std::size_t count);

  /// *Collective.* The `bytes` bytes of device `root_index` of rank `root_rank` to all other devices. Throws
  /// `Error(usage)` on every rank if the job has no such device.
  void broadcast(std::span<void* const> arrays, std::size_t bytes, int root_rank = 0, int root_index = 0);

  /// *Collective.* Decides the path now, if that has not been done; `wanted`, the same on every rank, may be
  /// the hosts without trying NCCL. Returns what is decided. Blocks. Cost of NCCL: its
  /// initialisation, about two seconds for eight GPUs; if it has not succeeded after two minutes (or the
  /// vote's timeout, if that is less) it is given up.
  Path open(Path wanted = Path::nccl);
  /// Empty until it is decided.
  [[nodiscard]] std::optional<Path> path() const noexcept;
  /// Why data goes through the hosts, as one line, the same on every rank; empty if it does not, or it is
  /// not decided.
  [[nodiscard]] const std::string& reason() const noexcept;

  struct State;

 private:
  explicit DeviceCollectives(State& state) : state_(&state) {}

  State* state_;
};

[[nodiscard]] TESSERA_EXPORT std::string_view to_string(DeviceCollectives::Path path);

}  // namespace tessera::inline TESSERA_ABI
