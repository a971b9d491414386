// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

// The part of NVML's binary interface that Tessera uses, declared here so that a machine without CUDA
// headers builds it, and opened at run time so that one without a driver runs it. Layouts and values
// are those of the NVML API reference; they have been stable since driver 470.
namespace tessera::nvml {

using Device = void*;

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

inline constexpr unsigned text_length = 96;  ///< holds any name or UUID that NVML writes

/// Entry points; null where the installed library has none.
struct Api {
  Status (*init)();
  Status (*shutdown)();
  const char* (*error_string)(Status);
  Status (*cuda_driver_version)(int*);
  Status (*device_count)(unsigned*);
  Status (*device_by_index)(unsigned, Device*);
  Status (*uuid)(Device, char*, unsigned);
  Status (*name)(Device, char*, unsigned);
  Status (*pci_info)(Device, PciInfo*);
  Status (*compute_capability)(Device, int*, int*);
  Status (*memory_info)(Device, Memory*);
  Status (*ecc_mode)(Device, unsigned*, unsigned*);
  Status (*max_clock)(Device, Clock, unsigned*);
  Status (*memory_bus_width)(Device, unsigned*);
  Status (*core_count)(Device, unsigned*);
  Status (*mig_mode)(Device, unsigned*, unsigned*);
  Status (*max_mig_devices)(Device, unsigned*);
  Status (*mig_device_by_index)(Device, unsigned, Device*);
  Status (*attributes)(Device, Attributes*);
  Status (*gpu_instance_id)(Device, unsigned*);
  Status (*compute_instance_id)(Device, unsigned*);
};

/// Calls an entry point; `function_not_found` where the installed library has none.
template <class... Parameters, class... Arguments>
Status call(Status (*function)(Parameters...), Arguments... arguments) {
  return function == nullptr ? Status::function_not_found : function(arguments...);
}

}  // namespace tessera::nvml
