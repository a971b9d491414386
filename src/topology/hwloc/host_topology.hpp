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

/// The tree of packages, caches, cores and PCI devices of this machine, or of the XML file that
/// HWLOC_XMLFILE names, and the part of it that this rank may use.
class HostTopology {
 public:
  /// `pci_devices` is where the kernel describes PCI devices, for machines (mostly virtual ones) on which
  /// hwloc finds none. Throws `Error(job_fault)` if hwloc cannot load anything.
  explicit HostTopology(std::filesystem::path pci_devices = "/sys/bus/pci/devices");

  /// The host, without its name and identity.
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
