// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

// The part of NVML's binary interface that Tessera uses, declared here so that a machine without CUDA
// headers builds it, and opened at run time so that one without a driver runs it. Layouts and values
// are those of the NVML API reference; they have been stable since driver 470.
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
  unsigned long long data;  ///< of an Xid error its number
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(Event) == 32);
inline constexpr unsigned long long xid_event = 8;

inline constexpr unsigned text_length = 96;  ///< holds any name, version or UUID that NVML writes
inline constexpr unsigned most_links = 18;   ///< NVLinks of one device

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
  Status (*driver_version)(char*, unsigned);
  Status (*device_by_uuid)(const char*, Device*);
  Status (*ecc_errors)(Device, EccError, EccCounter, unsigned long long*);
  Status (*remapped_rows)(Device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                          unsigned* failed);
  Status (*nvlink_state)(Device, unsigned link, unsigned* active);
  Status (*event_set_create)(EventSet*);
  Status (*event_set_free)(EventSet);
  Status (*register_events)(Device, unsigned long long types, EventSet);
  Status (*event_set_wait)(EventSet, Event*, unsigned milliseconds);
};

/// Calls an entry point; `function_not_found` where the installed library has none.
template <class... Parameters, class... Arguments>
Status call(Status (*function)(Parameters...), Arguments... arguments) {
  return function == nullptr ? Status::function_not_found : function(arguments...);
}

/// What an entry point writes, given `arguments` before the text; empty if it fails.
template <class Function, class... Arguments>
std::string text_of(Function* function, Arguments... arguments) {
  std::array<char, text_length> text{};
  if (call(function, arguments..., text.data(), text_length) != Status::success) return {};
  text.back() = '\0';
  return text.data();
}

}  // namespace tessera::nvml
