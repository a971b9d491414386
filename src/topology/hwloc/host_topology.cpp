// SPDX-License-Identifier: Apache-2.0
#include "topology/hwloc/host_topology.hpp"

#include <hwloc.h>
#include <tessera/error.hpp>

#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "topology/linux/linux_files.hpp"

namespace TESSERA_NAMESPACE::detail {
namespace {

std::string list_text(hwloc_const_bitmap_t bitmap) {
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, bitmap) < 0) throw std::bad_alloc();
  const std::unique_ptr<char, void (*)(void*)> owned(text, &std::free);
  return text;
}

/// hwloc returns null if memory runs out.
hwloc_bitmap_t checked(hwloc_bitmap_t bitmap) {
  if (bitmap == nullptr) throw std::bad_alloc();
  return bitmap;
}

int cores_touching(hwloc_topology_t topology, hwloc_const_bitmap_t cpuset) {
  int cores = 0;
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr)
    if (hwloc_bitmap_intersects(core->cpuset, cpuset)) ++cores;
  // Some virtual machines report hardware threads but no cores.
  return cores > 0 ? cores : hwloc_bitmap_weight(cpuset);
}

std::string cpu_model(hwloc_topology_t topology) {
  hwloc_obj_t package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, nullptr);
  const char* model = package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, "CPUModel");
  return model == nullptr ? "" : model;
}

/// Serialised by a mutex, because hwloc calls libudev, which is not thread-safe.
void load_topology(hwloc_topology_t topology) {
  static std::mutex loading;
  const std::lock_guard lock(loading);
  // Checks the file first, because hwloc silently uses this machine instead of an unreadable file.
  const char* const file = std::getenv("HWLOC_XMLFILE");
  const bool recorded = file != nullptr && *file != '\0';
  if ((!recorded || hwloc_topology_set_xml(topology, file) == 0) && hwloc_topology_load(topology) == 0)
    return;
  throw Error(
      ErrorCode::job_fault,
      recorded
          ? "HWLOC_XMLFILE=\"" + std::string(file) +
                "\" is not a topology file that hwloc can read: give a file written by lstopo, or unset "
                "HWLOC_XMLFILE"
          : "hwloc cannot load the topology of this machine: set HWLOC_XMLFILE to a file written by lstopo");
}

/// GPU memory that the host can address appears as a NUMA node without cores.
bool is_host_memory(hwloc_obj_t node) {
  return node->subtype == nullptr || std::string_view(node->subtype) != "GPUMemory";
}

}  // namespace

void HostTopology::DestroyTopology::operator()(hwloc_topology* topology) const noexcept {
  hwloc_topology_destroy(topology);
}

void HostTopology::FreeBitmap::operator()(hwloc_bitmap_s* bitmap) const noexcept {
  hwloc_bitmap_free(bitmap);
}

HostTopology::HostTopology(std::filesystem::path pci_devices) : pci_devices_(std::move(pci_devices)) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0)
    throw Error(ErrorCode::job_fault, "hwloc has no memory to read the topology: give the job more memory");
  topology_.reset(topology);
  // Keeps cores and memory that a scheduler's cgroup excludes: otherwise a GPU near them would have no NUMA
  // node.
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  // hwloc's GPU plugins would initialise CUDA and other runtimes with every GPU visible.
  for (const char* plugin : {"cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"})
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, plugin);
  load_topology(topology);

  allowed_.reset(checked(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology))));
  if (hwloc_topology_is_thissystem(topology) == 0) return;
  // The calling thread's binding, which a launcher has set.
  const Bitmap binding(checked(hwloc_bitmap_alloc()));
  if (hwloc_get_cpubind(topology, binding.get(), HWLOC_CPUBIND_THREAD) == 0 &&
      hwloc_bitmap_intersects(allowed_.get(), binding.get()))
    hwloc_bitmap_and(allowed_.get(), allowed_.get(), binding.get());
}

HostInfo HostTopology::host() const {
  HostInfo host;
  host.allowed_cpuset = list_text(allowed_.get());
  host.allowed_cores = cores_touching(topology_.get(), allowed_.get());
  host.allowed_threads = hwloc_bitmap_weight(allowed_.get());
  host.cpu_model = cpu_model(topology_.get());
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology_.get(), HWLOC_OBJ_NUMANODE, node)) != nullptr)
    if (is_host_memory(node) && hwloc_bitmap_intersects(node->cpuset, allowed_.get()))
      host.numa_nodes.push_back(static_cast<int>(node->os_index));
  return host;
}

hwloc_obj_t HostTopology::ancestor_by_sysfs(const std::filesystem::path& device) const {
  const Bitmap cpus(checked(hwloc_bitmap_alloc()));
  const std::string list = first_line(device / "local_cpulist");
  if (list.empty() || hwloc_bitmap_list_sscanf(cpus.get(), list.c_str()) != 0) return nullptr;
  hwloc_bitmap_and(cpus.get(), cpus.get(), hwloc_topology_get_topology_cpuset(topology_.get()));
  return hwloc_get_obj_covering_cpuset(topology_.get(), cpus.get());
}

Nearness HostTopology::nearness(const PciId& pci) const {
  hwloc_topology_t topology = topology_.get();
  hwloc_obj_t root = hwloc_get_root_obj(topology);
  Nearness out;
  hwloc_obj_t near = nullptr;
  if (hwloc_obj_t device = hwloc_get_pcidev_by_busid(topology, pci.domain, pci.bus, pci.device, 0)) {
    near = hwloc_get_non_io_ancestor_obj(topology, device);
  } else if (hwloc_topology_is_thissystem(topology) != 0) {
    const std::filesystem::path device_files = pci_devices_ / to_string(pci);
    near = ancestor_by_sysfs(device_files);
    if (const auto node = number_in(device_files / "numa_node")) out.numa_node = static_cast<int>(*node);
  }
  if (near == nullptr) near = root;

  const Bitmap mine(checked(hwloc_bitmap_alloc()));
  hwloc_bitmap_and(mine.get(), near->cpuset, allowed_.get());
  if (hwloc_bitmap_iszero(mine.get()) == 0) out.near_cpuset = list_text(mine.get());

  // The first NUMA node of the ancestor `near` represents all of its nodes. If `near` is the root of a
  // machine with several nodes, the locality is unknown.
  const bool known = near != root || hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) == 1;
  hwloc_obj_t node = nullptr;
  while (known && out.numa_node < 0 &&
         (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr)
    if (is_host_memory(node) && hwloc_bitmap_isset(near->nodeset, node->os_index))
      out.numa_node = static_cast<int>(node->os_index);

  for (hwloc_obj_t common = near;
       common->parent != nullptr && !hwloc_bitmap_intersects(common->cpuset, allowed_.get());
       common = common->parent)
    ++out.distance;
  return out;
}

}  // namespace TESSERA_NAMESPACE::detail
