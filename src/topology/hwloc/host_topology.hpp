// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/probe.hpp>

#include <filesystem>
#include <memory>

#include "topology/linux/kernel_topology.hpp"

struct hwloc_bitmap_s;
struct hwloc_obj;
struct hwloc_topology;

namespace TESSERA_NAMESPACE::detail {

/// hwloc's topology of this machine, or of the XML file in HWLOC_XMLFILE, and the CPUs that this rank may
/// use.
class HostTopology {
 public:
  /// `pci_devices` is the kernel's folder of PCI devices, for machines (mostly virtual ones) on which hwloc
  /// finds none. Throws `Error(job_fault)` if hwloc cannot load a topology.
  explicit HostTopology(std::filesystem::path pci_devices = "/sys/bus/pci/devices");

  /// Without host name and boot id.
  [[nodiscard]] HostInfo host() const;
  [[nodiscard]] Nearness nearness(const PciId& pci) const;

 private:
  struct DestroyTopology {
    void operator()(hwloc_topology* topology) const noexcept;
  };
  struct FreeBitmap {
    void operator()(hwloc_bitmap_s* bitmap) const noexcept;
  };
  using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

  [[nodiscard]] hwloc_obj* ancestor_by_sysfs(const std::filesystem::path& device) const;

  std::filesystem::path pci_devices_;
  std::unique_ptr<hwloc_topology, DestroyTopology> topology_;
  Bitmap allowed_;
};

}  // namespace TESSERA_NAMESPACE::detail
