// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/driver/survey.hpp"

namespace tessera::testing {

/// A UUID whose text begins with the eight digits of `head`.
inline Uuid uuid_with_head(std::uint32_t head, bool mig = false) {
  Uuid uuid;
  uuid.mig = mig;
  for (std::size_t i = 0; i < 4; ++i) uuid.bytes[i] = static_cast<std::uint8_t>(head >> (24 - 8 * i));
  return uuid;
}

/// An H200 at the given place.
inline detail::Gpu h200(std::uint32_t head, PciId pci) {
  detail::Gpu gpu;
  gpu.info.uuid = uuid_with_head(head);
  gpu.info.pci = pci;
  gpu.info.name = "NVIDIA H200";
  gpu.info.capability = {9, 0};
  gpu.info.multiprocessors = 132;
  gpu.info.total_memory_bytes = std::int64_t{141} << 30;
  gpu.info.free_memory_bytes = std::int64_t{140} << 30;
  gpu.info.sm_clock_mhz = 1980;
  gpu.info.memory_clock_mhz = 3201;
  gpu.info.memory_bus_bits = 6144;
  return gpu;
}

/// A T4 at the given place.
inline detail::Gpu t4(std::uint32_t head, PciId pci) {
  detail::Gpu gpu = h200(head, pci);
  gpu.info.name = "Tesla T4";
  gpu.info.capability = {7, 5};
  gpu.info.multiprocessors = 40;
  gpu.info.sm_clock_mhz = 1590;
  return gpu;
}

/// Puts the GPU in MIG mode with one compute instance in each of `heads.size()` GPU instances.
inline detail::Gpu in_mig_mode(detail::Gpu gpu, const std::vector<std::uint32_t>& heads) {
  gpu.mig_mode = true;
  for (const auto head : heads) {
    detail::MigInstance instance;
    instance.info = gpu.info;
    instance.info.uuid = uuid_with_head(head, true);
    instance.info.multiprocessors = 16;
    instance.gpu_instance = 7 + static_cast<unsigned>(gpu.instances.size());
    gpu.instances.push_back(instance);
  }
  return gpu;
}

inline std::vector<Uuid> uuids_of(const std::vector<DeviceInfo>& devices) {
  std::vector<Uuid> uuids;
  for (const auto& device : devices) uuids.push_back(device.uuid);
  return uuids;
}

}  // namespace tessera::testing
