// SPDX-License-Identifier: Apache-2.0
#include "topology/linux/kernel_topology.hpp"

#include "topology/linux/linux_files.hpp"

#include <string_view>
#include <utility>

namespace TESSERA_NAMESPACE::detail {
namespace {

namespace fs = std::filesystem;

std::optional<CpuSet> cpus_in(const fs::path& file) {
  return parse_cpu_list(first_line(file));
}

/// Empty if the kernel does not report the model, as on most non-x86 machines.
std::string cpu_model(const fs::path& file) {
  constexpr std::size_t first_cpu = 4096;
  std::string model;
  each_line(text_of_file(file, first_cpu), [&](std::string_view line) {
    const auto colon = line.find(": ");
    if (!line.starts_with("model name") || colon == std::string_view::npos) return line.empty();
    model = line.substr(colon + 2);
    return true;
  });
  return model;
}

}  // namespace

KernelTopology::KernelTopology(fs::path root, CpuSet allowed)
    : root_(std::move(root)), allowed_(std::move(allowed)) {}

HostInfo KernelTopology::host() const {
  HostInfo host;
  host.allowed_cpuset = list_text(allowed_);
  host.allowed_threads = static_cast<int>(allowed_.count());
  host.allowed_cores = allowed_cores();
  host.numa_nodes = numa_nodes();
  host.cpu_model = cpu_model(root_ / "proc/cpuinfo");
  return host;
}

int KernelTopology::allowed_cores() const {
  int cores = 0;
  CpuSet rest = allowed_;
  for (std::size_t cpu = 0; rest.any(); ++cpu) {
    if (!rest[cpu]) continue;
    const auto siblings = cpus_in(root_ / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) /
                                  "topology/thread_siblings_list");
    if (siblings) rest &= ~*siblings;
    rest.reset(cpu);
    ++cores;
  }
  return cores;
}

std::vector<int> KernelTopology::numa_nodes() const {
  const fs::path folder = root_ / "sys/devices/system/node";
  const CpuSet online = cpus_in(folder / "online").value_or(CpuSet());
  std::vector<int> nodes;
  for (std::size_t node = 0; node < online.size(); ++node)
    if (online[node] &&
        (cpus_in(folder / ("node" + std::to_string(node)) / "cpulist").value_or(CpuSet()) & allowed_).any())
      nodes.push_back(static_cast<int>(node));
  if (nodes.empty()) nodes.push_back(0);  // a kernel without NUMA
  return nodes;
}

Nearness KernelTopology::nearness(const PciId& pci) const {
  const fs::path folder = root_ / "sys/bus/pci/devices" / to_string(pci);
  Nearness out;
  out.numa_node = static_cast<int>(number_in(folder / "numa_node").value_or(-1));
  CpuSet near = cpus_in(folder / "local_cpulist").value_or(CpuSet());
  if (near.none()) near = allowed_;  // unknown: treats all cores as near
  out.near_cpuset = list_text(near & allowed_);
  out.distance = out.near_cpuset.empty() ? 1 : 0;
  return out;
}

}  // namespace TESSERA_NAMESPACE::detail
