// SPDX-License-Identifier: Apache-2.0
#include <tessera/topology/probe.hpp>
#include <tessera/topology/simulate.hpp>

#include <cstdlib>
#include <future>
#include <optional>
#include <string_view>
#include <utility>

#include "base/signals_blocked.hpp"
#include "topology/driver/cuda_visibility.hpp"
#include "topology/driver/find_devices.hpp"
#include "topology/driver/nvml_library.hpp"
#include "topology/hwloc/host_topology.hpp"

namespace TESSERA_NAMESPACE {
namespace {

detail::FoundDevices simulated(std::string_view text, int rank) {
  auto devices = simulated_devices(text, rank);
  if (!devices.empty()) return {std::move(devices), std::nullopt};
  return {{},
          Absence{Absence::Reason::no_device,
                  "TESSERA_SIMULATE gives rank " + std::to_string(rank) + " no device"}};
}

/// The search for real devices, on a thread beside other work if one can be started: NVML takes tens of
/// milliseconds.
class Search {
 public:
#ifdef TESSERA_CUDA_VERSION
  [[nodiscard]] detail::FoundDevices found() {
    auto environment = detail::CudaEnvironment::current();
    environment.visible_devices = detail::visible_devices_as_found();
    auto found = detail::find_devices(survey_.get(), environment, TESSERA_CUDA_VERSION);
    if (const auto started_with = detail::devices_of_started_cuda()) detail::leave_only(*started_with, found);
    return found;
  }

 private:
  static detail::Survey survey() {
    // Never closed, as others in the process use NVML later: its start takes 10 ms on an H200, and its
    // shutdown 8 ms.
    static const detail::NvmlLibrary* const kept = new detail::NvmlLibrary;
    static_cast<void>(kept);
    return detail::survey_nvml();
  }

  static std::future<detail::Survey> begun() {
    const base::SignalsBlocked blocked;
    return std::async(survey);
  }

  std::future<detail::Survey> survey_ = begun();
#else
  [[nodiscard]] static detail::FoundDevices found() {
    return {{},
            Absence{Absence::Reason::not_built,
                    "this build has no CUDA: configure with -DTESSERA_ENABLE_CUDA=ON to use GPUs"}};
  }
#endif
};

HostInfo host_of(const detail::HostTopology& topology) {
  HostInfo host = topology.host();
  host.cpu_quotas = host_limits().cpu;
  return host;
}

}  // namespace

HostInfo probe_host() {
  return host_of(detail::HostTopology());
}

Probe probe(int rank) {
  const char* simulation = std::getenv("TESSERA_SIMULATE");
  const bool simulate = simulation != nullptr && *simulation != '\0';
  std::optional<Search> search;
  if (!simulate) search.emplace();
  const detail::HostTopology topology;
  detail::FoundDevices found = search ? search->found() : simulated(simulation, rank);

  Probe probe;
  probe.host = host_of(topology);
  probe.absence = std::move(found.absence);
  for (DeviceInfo& device : found.devices) {
    int distance = 0;
    if (!device.simulated) {
      auto nearness = topology.nearness(device.pci);
      device.numa_node = nearness.numa_node;
      device.near_cpuset = std::move(nearness.near_cpuset);
      distance = nearness.distance;
    }
    probe.devices.push_back({std::move(device), distance});
  }
  return probe;
}

}  // namespace TESSERA_NAMESPACE
