// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>
#include <tessera/topology/host_limits.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// Where this rank runs.
struct HostInfo {
  std::string hostname;
  std::string boot_id;               ///< tells machines apart when host names are equal; may be empty
  std::string allowed_cpuset;        ///< cores this rank may use, as an hwloc list
  int allowed_cores = 0;             ///< physical cores among them
  int allowed_threads = 0;           ///< hardware threads among them
  std::vector<int> numa_nodes;       ///< hwloc OS indexes of their NUMA nodes
  std::vector<CpuQuota> cpu_quotas;  ///< of the cgroups over this rank, as `HostLimits::cpu`
};

/// One GPU that this rank sees, with its distance from the rank's cores.
struct ProbedDevice {
  DeviceInfo info;
  /// How far the device is from this rank's allowed cores: 0 if they share the device's nearest
  /// package-side ancestor, growing with every level of the hwloc tree up to their common one. 0 too
  /// where neither hwloc nor the kernel tells where the device is, and for simulated devices.
  int distance = 0;
};

/// What hardware this rank sees.
struct Probe {
  HostInfo host;
  std::vector<ProbedDevice> devices;  ///< in the order CUDA would number them
  std::optional<Absence> absence;     ///< present exactly when `devices` is empty
};

/// The host's part of `probe` alone: no driver is opened and `TESSERA_SIMULATE` is not read. What a job needs
/// whose policy leaves GPUs out. Not collective. Thread-safe. Throws `Error(job_fault)` if hwloc finds no
/// topology at all. Cost: tens of milliseconds.
[[nodiscard]] TESSERA_EXPORT HostInfo probe_host();

/// Looks at this process's cores (hwloc) and GPUs (NVML, opened at run time), by the rules of
/// CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER: indices, UUIDs and their prefixes, MIG instances;
/// the list ends at the first entry that names nothing, and a repeated entry empties it.
///
///     auto here = tessera::probe();
///     if (here.absence) std::cerr << here.absence->message << '\n';
///
/// Cores are those that hwloc allows (the scheduler's cgroup) and the calling thread is bound to; where
/// HWLOC_XMLFILE names a topology, those that the file allows. Devices that the driver will not open for
/// this process are left out, as CUDA does.
///
/// `rank` chooses the devices of this rank where `TESSERA_SIMULATE` is set; then no driver is asked.
/// Makes no CUDA call. Not collective. Thread-safe as long as no thread changes the environment.
/// Throws `Error(usage)` for an unreadable `TESSERA_SIMULATE`, `Error(job_fault)` if hwloc finds no
/// topology at all. Cost: tens of milliseconds for hwloc,
/// about 20 ms a GPU for NVML.
[[nodiscard]] TESSERA_EXPORT Probe probe(int rank = 0);

}  // namespace tessera::inline TESSERA_ABI
