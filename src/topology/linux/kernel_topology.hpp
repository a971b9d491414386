// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/probe.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "topology/linux/cpu_set.hpp"

namespace TESSERA_NAMESPACE::detail {

/// Locality of a PCI device relative to the cores of this rank.
struct Nearness {
  int numa_node = -1;       ///< the operating system's number; -1: unknown
  std::string near_cpuset;  ///< cores near the device that this rank may use
  int distance = 0;         ///< see `ProbedDevice::distance`
};

/// Topology of the calling thread's cores, and of devices, from /sys and /proc. Missing files are not errors,
/// because some virtual machines lack them. Cost: one read per core, usually below a millisecond; hwloc takes
/// tens.
class KernelTopology {
 public:
  /// `root` is "/" except in tests.
  explicit KernelTopology(std::filesystem::path root = "/", CpuSet allowed = affinity_of(0));

  /// Without host name and boot id.
  [[nodiscard]] HostInfo host() const;
  /// `distance` is 0 if a core is near the device, else 1, because the kernel's files have no more detail.
  [[nodiscard]] Nearness nearness(const PciId& pci) const;

 private:
  [[nodiscard]] int allowed_cores() const;
  [[nodiscard]] std::vector<int> numa_nodes() const;

  std::filesystem::path root_;
  CpuSet allowed_;
};

}  // namespace TESSERA_NAMESPACE::detail
