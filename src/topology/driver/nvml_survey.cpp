// SPDX-License-Identifier: Apache-2.0
#include <sys/sysinfo.h>
#include <tessera/function.hpp>

#include <string>

#include "topology/driver/architecture.hpp"
#include "topology/driver/nvml_library.hpp"
#include "topology/driver/parse_uuid.hpp"
#include "topology/driver/survey.hpp"

namespace TESSERA_NAMESPACE::detail {
namespace {

using nvml::call;
using nvml::Status;

void read_memory(const nvml::Api& api, nvml::Device device, DeviceInfo& info) {
  nvml::Memory memory{};
  if (call(api.memory_info, device, &memory) == Status::success) {
    info.total_memory_bytes = static_cast<std::int64_t>(memory.total);
    info.free_memory_bytes = static_cast<std::int64_t>(memory.free);
    return;
  }
  // NVML does not report the memory of an integrated GPU, which is the host's.
  struct sysinfo host {};
  if (info.integrated && sysinfo(&host) == 0) {
    info.total_memory_bytes = static_cast<std::int64_t>(host.totalram) * host.mem_unit;
    info.free_memory_bytes = static_cast<std::int64_t>(host.freeram) * host.mem_unit;
  }
}

int read_clock(const nvml::Api& api, nvml::Device device, nvml::Clock clock) {
  unsigned mhz = 0;
  return call(api.max_clock, device, clock, &mhz) == Status::success ? static_cast<int>(mhz) : 0;
}

/// The instances of a GPU in MIG mode. They inherit values that the driver reports only for the whole GPU;
/// the width of the memory bus is divided in proportion to memory. Calls `failed` for instances that cannot
/// be queried.
std::vector<MigInstance> read_instances(const nvml::Api& api, nvml::Device gpu, const DeviceInfo& whole,
                                        FunctionRef<void(unsigned slot, Status status)> failed) {
  std::vector<MigInstance> instances;
  unsigned slots = 0;
  if (call(api.max_mig_devices, gpu, &slots) != Status::success) return instances;
  for (unsigned slot = 0; slot < slots; ++slot) {
    nvml::Device handle = nullptr;
    const auto status = call(api.mig_device_by_index, gpu, slot, &handle);
    if (status != Status::success) {
      if (status != Status::not_found) failed(slot, status);  // not found: an empty slot
      continue;
    }
    const auto uuid = parse_uuid(nvml::text_of(api.uuid, handle));
    if (!uuid) continue;
    MigInstance instance;
    instance.info = whole;
    instance.info.uuid = *uuid;
    if (auto name = nvml::text_of(api.name, handle); !name.empty()) instance.info.name = std::move(name);
    call(api.gpu_instance_id, handle, &instance.gpu_instance);
    call(api.compute_instance_id, handle, &instance.compute_instance);
    read_memory(api, handle, instance.info);
    nvml::Attributes attributes{};
    if (call(api.attributes, handle, &attributes) == Status::success)
      instance.info.multiprocessors = static_cast<int>(attributes.multiprocessors);
    if (whole.total_memory_bytes > 0)
      instance.info.memory_bus_bits =
          static_cast<int>(whole.memory_bus_bits * (instance.info.total_memory_bytes >> 20) /
                           (whole.total_memory_bytes >> 20));
    instances.push_back(std::move(instance));
  }
  return instances;
}

/// Returns the status of the first required call that failed, or `success`.
Status read_gpu(const nvml::Api& api, unsigned index, Gpu& gpu,
                FunctionRef<void(unsigned slot, Status status)> instance_failed) {
  nvml::Device device = nullptr;
  if (const auto status = call(api.device_by_index, index, &device); status != Status::success) return status;
  DeviceInfo& info = gpu.info;
  const auto uuid = parse_uuid(nvml::text_of(api.uuid, device));
  if (!uuid) return Status::not_found;
  info.uuid = *uuid;
  nvml::PciInfo pci{};
  if (const auto status = call(api.pci_info, device, &pci); status != Status::success) return status;
  info.pci = {pci.domain, pci.bus, pci.device};
  if (const auto status =
          call(api.compute_capability, device, &info.capability.major, &info.capability.minor);
      status != Status::success)
    return status;

  info.name = nvml::text_of(api.name, device);
  info.integrated = shares_host_memory(info.capability);
  read_memory(api, device, info);
  info.sm_clock_mhz = read_clock(api, device, nvml::Clock::sm);
  info.memory_clock_mhz = read_clock(api, device, nvml::Clock::memory);
  unsigned value = 0;
  unsigned pending = 0;
  if (call(api.core_count, device, &value) == Status::success)
    info.multiprocessors = static_cast<int>(value) / cores_per_multiprocessor(info.capability);
  if (call(api.memory_bus_width, device, &value) == Status::success)
    info.memory_bus_bits = static_cast<int>(value);
  if (call(api.ecc_mode, device, &value, &pending) == Status::success) info.ecc = value != 0;
  if (call(api.mig_mode, device, &value, &pending) == Status::success && value != 0) {
    gpu.mig_mode = true;
    gpu.instances = read_instances(api, device, info, instance_failed);
  }
  return Status::success;
}

Survey no_survey(Absence::Reason reason, std::string message) {
  Survey survey;
  survey.absence = Absence{reason, std::move(message)};
  return survey;
}

}  // namespace

Survey survey_nvml() {
  const NvmlLibrary library;
  if (!library.found())
    return no_survey(Absence::Reason::no_driver,
                     "no NVIDIA driver is installed (libnvidia-ml.so.1 not found)");
  if (library.status() == Status::driver_not_loaded)
    return no_survey(Absence::Reason::no_driver,
                     "the NVIDIA driver is installed but its kernel module is not loaded");
  if (library.status() != Status::success)
    return no_survey(Absence::Reason::driver_error,
                     "the NVIDIA driver does not start: " + library.describe(library.status()));

  const nvml::Api& api = library.api();
  Survey survey;
  if (const auto status = call(api.cuda_driver_version, &survey.cuda_version); status != Status::success)
    return no_survey(Absence::Reason::no_driver,
                     "the NVIDIA driver has no CUDA library (libcuda.so.1): " + library.describe(status));
  unsigned count = 0;
  if (const auto status = call(api.device_count, &count); status != Status::success)
    return no_survey(Absence::Reason::driver_error,
                     "the NVIDIA driver cannot count its GPUs: " + library.describe(status));
  for (unsigned index = 0; index < count; ++index) {
    Gpu gpu;
    const std::string name = "GPU " + std::to_string(index);
    const auto add_broken = [&](const std::string& what, Status status) {
      if (status != Status::no_permission) survey.broken.push_back(what + ": " + library.describe(status));
    };
    const auto status = read_gpu(api, index, gpu, [&](unsigned slot, Status of_instance) {
      add_broken(name + " MIG instance " + std::to_string(slot), of_instance);
    });
    if (status == Status::success) {
      survey.gpus.push_back(std::move(gpu));
    } else {
      add_broken(name, status);
      survey.unreadable.push_back(name + ": " + library.describe(status));
    }
  }
  return survey;
}

}  // namespace TESSERA_NAMESPACE::detail
