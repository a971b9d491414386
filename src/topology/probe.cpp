// SPDX-License-Identifier: Apache-2.0
#include <tessera/topology/probe.hpp>
#include <tessera/topology/simulate.hpp>

#include <unistd.h>

#include <cstdlib>
#include <future>
#include <string_view>
#include <utility>

#include "base/signals_blocked.hpp"
#include "topology/driver/cuda_visibility.hpp"
#include "topology/driver/find_devices.hpp"
#include "topology/driver/nvml_library.hpp"
#include "topology/linux/host_identity.hpp"
#include "topology/linux/kernel_topology.hpp"
#ifdef TESSERA_HAVE_HWLOC
#include "topology/hwloc/host_topology.hpp"
#endif

namespace TESSERA_NAMESPACE {
namespace {

detail::FoundDevices simulated(std::string_view text, int rank) {
  auto devices = simulated_devices(text, rank);
  if (!devices.empty()) return {std::move(devices), std::nullopt};
  return {{},
          Absence{Absence::Reason::no_device,
                  "TESSERA_SIMULATE gives rank " + std::to_string(rank) + " no device"}};
}

/// Searches for real devices. Asynchronous, because NVML takes tens of milliseconds.
class Search {
 public:
#ifdef TESSERA_CUDA_VERSION
  [[nodiscard]] detail::FoundDevices found() {
    auto environment = detail::CudaEnvironment::current();
    environment.visible_devices = detail::visible_devices_as_found();
    detail::Survey surveyed = survey_.get();
    auto found = detail::find_devices(surveyed, environment, TESSERA_CUDA_VERSION);
    if (const auto started_with = detail::devices_of_started_cuda()) detail::leave_only(*started_with, found);
    found.broken = std::move(surveyed.broken);
    return found;
  }

 private:
  static detail::Survey survey() {
    // Stays open for later use of NVML: on an H200 the start takes 10 ms and the shutdown 8 ms.
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

#ifdef TESSERA_HAVE_HWLOC
using DevicePlaces = detail::HostTopology;
#else
using DevicePlaces = detail::KernelTopology;
#endif

bool is_recorded() {
  const char* const file = std::getenv("HWLOC_XMLFILE");
  return file != nullptr && *file != '\0';
}

bool has_nvidia_driver() {
  return access("/proc/driver/nvidia", F_OK) == 0 || access("/dev/nvidiactl", F_OK) == 0;
}

/// Cores from the kernel's files, because hwloc takes tens of milliseconds to start; locality of devices from
/// hwloc if available. Both from hwloc if HWLOC_XMLFILE names a recorded machine.
class Topology {
 public:
  void begin_places() {
    if (!places_) places_.emplace();
  }

  [[nodiscard]] HostInfo host() {
    if (is_recorded()) begin_places();
    HostInfo host = is_recorded() ? places_->host() : detail::KernelTopology().host();
    host.hostname = detail::this_hostname();
    host.boot_id = detail::this_boot_id();
    host.cpu_quotas = host_limits().cpu;
    return host;
  }

  [[nodiscard]] detail::Nearness nearness(const PciId& pci) {
    begin_places();
    return places_->nearness(pci);
  }

 private:
  std::optional<DevicePlaces> places_;
};

}  // namespace

HostInfo probe_host() {
  return Topology().host();
}

Probe probe(int rank) {
  const char* simulation = std::getenv("TESSERA_SIMULATE");
  const bool simulate = simulation != nullptr && *simulation != '\0';
  std::optional<Search> search;
  if (!simulate) search.emplace();
  Topology topology;
  if (search && has_nvidia_driver()) topology.begin_places();  // runs concurrently with the search
  Probe probe;
  probe.host = topology.host();
  detail::FoundDevices found = search ? search->found() : simulated(simulation, rank);
  probe.absence = std::move(found.absence);
  probe.broken = std::move(found.broken);
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
