// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/probe.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "topology/linux/cpu_set.hpp"

namespace TESSERA_NAMESPACE::detail {

/// How near a PCI device is to the cores of this rank.
struct Nearness {
  int numa_node = -1;       ///< numbered by the operating system; -1 if not known
  std::string near_cpuset;  ///< cores near the device that this rank may use; empty if there are none
  int distance = 0;         ///< see `ProbedDevice::distance`
};

/// The topology of the cores that the calling thread may use, and of devices, read from /sys and /proc.
/// Missing files are not errors: some virtual machines lack them. Cost: one read per core, below a
/// millisecond on most machines, where hwloc takes tens.
class KernelTopology {
 public:
  /// `root` has the kernel's files: "/" except in tests.
  explicit KernelTopology(std::filesystem::path root = "/", CpuSet allowed = affinity_of(0));

  /// The host, without its name and identity.
  [[nodiscard]] HostInfo host() const;
  /// The result's `distance` is 0 if a core is near the device, else 1: the kernel's files tell no more.
  [[nodiscard]] Nearness nearness(const PciId& pci) const;

 private:
  [[nodiscard]] int allowed_cores() const;
  [[nodiscard]] std::vector<int> numa_nodes() const;

  std::filesystem::path root_;
  CpuSet allowed_;
};

}  // namespace TESSERA_NAMESPACE::detail
