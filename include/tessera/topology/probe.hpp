// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>
#include <tessera/topology/host_limits.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {

/// The host and the cores that this rank runs on.
struct HostInfo {
  std::string hostname;
  std::string boot_id;               ///< distinguishes machines with equal host names; may be empty
  std::string allowed_cpuset;        ///< cores this rank may use, a list: "0-15,32-47"
  int allowed_cores = 0;             ///< number of physical cores in `allowed_cpuset`
  int allowed_threads = 0;           ///< number of hardware threads in `allowed_cpuset`
  std::vector<int> numa_nodes;       ///< the kernel's numbers of the NUMA nodes of these cores
  std::string cpu_model;             ///< empty if not known
  std::vector<CpuQuota> cpu_quotas;  ///< CPU quotas of this rank's cgroups: `HostLimits::cpu`
};

/// One GPU that this rank sees, with its distance from the rank's cores.
struct ProbedDevice {
  DeviceInfo info;
  /// Levels of the hwloc tree from the device's nearest non-I/O ancestor up to the ancestor that it shares
  /// with this rank's allowed cores; in a build without hwloc (without MPI), 1 if none of these cores is
  /// local to the device, else 0. Also 0 if neither hwloc nor the kernel knows the device's locality, and for
  /// simulated devices.
  int distance = 0;
};

/// The hardware that this rank sees.
struct Probe {
  HostInfo host;
  std::vector<ProbedDevice> devices;  ///< devices in CUDA's order
  std::optional<Absence> absence;     ///< present exactly when `devices` is empty
  /// GPUs of the node that the driver counts but cannot read, except for lack of permission: "GPU 1: GPU is
  /// lost". Independent of CUDA_VISIBLE_DEVICES.
  std::vector<std::string> broken{};
};

/// Finds only this process's cores, for jobs with `Policy::cpu`: opens no driver and does not read
/// `TESSERA_SIMULATE`. Not collective. Thread-safe. Throws `Error(job_fault)` if HWLOC_XMLFILE names no
/// topology. Cost: a millisecond.
[[nodiscard]] TESSERA_EXPORT HostInfo probe_host();

/// Finds this process's cores, its GPUs (by NVML, loaded at run time), and their locality (by hwloc).
/// CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER apply as in CUDA: entries are indices, UUIDs and their
/// prefixes, or MIG instances; the list ends at the first invalid entry, and a repeated entry hides all
/// devices.
///
///     auto here = tessera::probe();
///     if (here.absence) std::cerr << here.absence->message << '\n';
///
/// The cores are those that the calling thread is bound to within the scheduler's cgroup or, if HWLOC_XMLFILE
/// names a topology, those that the file allows. As in CUDA, devices that the process may not open are not
/// listed.
///
/// If the environment variable `TESSERA_SIMULATE` is set, the devices are the simulated ones of `rank`
/// (`simulated_devices`), and no driver is opened. Makes no CUDA call. Not collective. Thread-safe as long as
/// no thread changes the environment. Throws `Error(usage)` for an invalid `TESSERA_SIMULATE`, and
/// `Error(job_fault)` if hwloc finds no topology. Cost: a millisecond without a driver; else tens of
/// milliseconds for hwloc, and about 20 ms per GPU for NVML.
[[nodiscard]] TESSERA_EXPORT Probe probe(int rank = 0);

}  // namespace TESSERA_NAMESPACE
