// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/driver/nvml_library.hpp"

#include <tessera/topology/device_info.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// Receives the Xid errors (GPU faults that the driver logs) of devices since construction. Ignores errors
/// that faulty programs cause, and devices that NVML cannot watch, such as simulated ones.
class XidWatch {
 public:
  explicit XidWatch(std::span<const DeviceInfo> devices);
  ~XidWatch();
  XidWatch(const XidWatch&) = delete;
  XidWatch& operator=(const XidWatch&) = delete;

  /// The error numbers received since the last call, by device. Does not block.
  [[nodiscard]] std::vector<std::vector<std::uint64_t>> take();

 private:
  NvmlLibrary library_;
  nvml::EventSet set_ = nullptr;
  std::vector<nvml::Device> watched_;  ///< null: not watched
};

}  // namespace TESSERA_NAMESPACE::detail
