// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/shared_library.hpp"

#include <array>
#include <string>

// The part of NVML's ABI that Tessera uses. It is declared here to build without CUDA headers, and loaded at
// run time to run without a driver. Layouts and values follow the NVML API reference, and are stable since
// driver 470.
namespace tessera::nvml {

using Device = void*;
using EventSet = void*;

enum class Status : int {
  success = 0,
  not_supported = 3,
  no_permission = 4,
  not_found = 6,
  driver_not_loaded = 9,
  library_not_found = 12,
  function_not_found = 13,
};

enum class Clock : int { sm = 1, memory = 2 };

enum class EccError : int { corrected = 0, uncorrected = 1 };
enum class EccCounter : int { since_driver_load = 0, of_life = 1 };

struct PciInfo {
  std::array<char, 16> bus_id_legacy;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  std::array<char, 32> bus_id;
};
static_assert(sizeof(PciInfo) == 68);

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Attributes {
  unsigned multiprocessors;
  unsigned shared_copy_engines;
  unsigned shared_decoders;
  unsigned shared_encoders;
  unsigned shared_jpeg;
  unsigned shared_ofa;
  unsigned gpu_instance_slices;
  unsigned compute_instance_slices;
  unsigned long long memory_mib;
};
static_assert(sizeof(Attributes) == 40);

struct Event {
  Device device;
  unsigned long long type;
  unsigned long long data;  ///< the number of an Xid error
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(Event) == 32);
inline constexpr unsigned long long xid_event = 8;

inline constexpr unsigned text_length = 96;  ///< maximum length of a name, version or UUID
inline constexpr unsigned most_links = 18;

/// Entry points; null if the installed library lacks the function.
struct Api {
  const base::SharedLibrary& library;

  Status (*init)() = library.symbol("nvmlInit_v2");
  Status (*shutdown)() = library.symbol("nvmlShutdown");
  const char* (*error_string)(Status) = library.symbol("nvmlErrorString");
  Status (*cuda_driver_version)(int*) = library.symbol("nvmlSystemGetCudaDriverVersion_v2");
  Status (*device_count)(unsigned*) = library.symbol("nvmlDeviceGetCount_v2");
  Status (*device_by_index)(unsigned, Device*) = library.symbol("nvmlDeviceGetHandleByIndex_v2");
  Status (*uuid)(Device, char*, unsigned) = library.symbol("nvmlDeviceGetUUID");
  Status (*name)(Device, char*, unsigned) = library.symbol("nvmlDeviceGetName");
  Status (*pci_info)(Device, PciInfo*) = library.symbol("nvmlDeviceGetPciInfo_v3");
  Status (*compute_capability)(Device, int*, int*) = library.symbol("nvmlDeviceGetCudaComputeCapability");
  Status (*memory_info)(Device, Memory*) = library.symbol("nvmlDeviceGetMemoryInfo");
  Status (*ecc_mode)(Device, unsigned*, unsigned*) = library.symbol("nvmlDeviceGetEccMode");
  Status (*max_clock)(Device, Clock, unsigned*) = library.symbol("nvmlDeviceGetMaxClockInfo");
  Status (*memory_bus_width)(Device, unsigned*) = library.symbol("nvmlDeviceGetMemoryBusWidth");
  Status (*core_count)(Device, unsigned*) = library.symbol("nvmlDeviceGetNumGpuCores");
  Status (*mig_mode)(Device, unsigned*, unsigned*) = library.symbol("nvmlDeviceGetMigMode");
  Status (*max_mig_devices)(Device, unsigned*) = library.symbol("nvmlDeviceGetMaxMigDeviceCount");
  Status (*mig_device_by_index)(Device, unsigned,
                                Device*) = library.symbol("nvmlDeviceGetMigDeviceHandleByIndex");
  Status (*attributes)(Device, Attributes*) = library.symbol("nvmlDeviceGetAttributes_v2");
  Status (*gpu_instance_id)(Device, unsigned*) = library.symbol("nvmlDeviceGetGpuInstanceId");
  Status (*compute_instance_id)(Device, unsigned*) = library.symbol("nvmlDeviceGetComputeInstanceId");
  Status (*driver_version)(char*, unsigned) = library.symbol("nvmlSystemGetDriverVersion");
  Status (*device_by_uuid)(const char*, Device*) = library.symbol("nvmlDeviceGetHandleByUUID");
  Status (*ecc_errors)(Device, EccError, EccCounter,
                       unsigned long long*) = library.symbol("nvmlDeviceGetTotalEccErrors");
  Status (*remapped_rows)(Device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                          unsigned* failed) = library.symbol("nvmlDeviceGetRemappedRows");
  Status (*nvlink_state)(Device, unsigned link,
                         unsigned* active) = library.symbol("nvmlDeviceGetNvLinkState");
  Status (*event_set_create)(EventSet*) = library.symbol("nvmlEventSetCreate");
  Status (*event_set_free)(EventSet) = library.symbol("nvmlEventSetFree");
  Status (*register_events)(Device, unsigned long long types,
                            EventSet) = library.symbol("nvmlDeviceRegisterEvents");
  Status (*event_set_wait)(EventSet, Event*, unsigned milliseconds) = library.symbol("nvmlEventSetWait_v2");
};

/// Calls an entry point; returns `function_not_found` if the installed library lacks it.
template <class... Parameters, class... Arguments>
Status call(Status (*function)(Parameters...), Arguments... arguments) {
  return function == nullptr ? Status::function_not_found : function(arguments...);
}

/// The text that `function(arguments..., buffer, length)` writes; empty on failure.
template <class Function, class... Arguments>
std::string text_of(Function* function, Arguments... arguments) {
  std::array<char, text_length> text{};
  if (call(function, arguments..., text.data(), text_length) != Status::success) return {};
  text.back() = '\0';
  return text.data();
}

}  // namespace tessera::nvml
