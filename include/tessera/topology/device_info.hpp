// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace TESSERA_NAMESPACE {

/// A device's identity: the same in every process of the node, unlike its index. For a MIG instance, the
/// instance's own UUID.
struct Uuid {
  std::array<std::uint8_t, 16> bytes{};
  bool mig = false;

  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

/// In the driver's format: "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6" or "MIG-…".
[[nodiscard]] TESSERA_EXPORT std::string to_string(const Uuid& uuid);

/// A device's CUDA index in this process, after CUDA_VISIBLE_DEVICES; never an identity.
enum class Ordinal : int {};

/// A device's PCI bus id, by which hwloc and NVML both identify it.
struct PciId {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;

  friend auto operator<=>(const PciId&, const PciId&) = default;
};
/// "0000:3b:00.0"; a domain above ffff has eight digits.
[[nodiscard]] TESSERA_EXPORT std::string to_string(const PciId& pci);

/// The compute capability of an NVIDIA GPU, e.g. 9.0, and features that it implies.
struct ComputeCapability {
  int major = 0;
  int minor = 0;

  friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;

  /// True for capabilities 8.0, 9.0 and 10.0, whose data-centre GPUs have FP64 tensor cores at full rate.
  [[nodiscard]] bool has_fp64_tensor_cores() const noexcept {
    return (major == 8 || major == 9 || major == 10) && minor == 0;
  }
  [[nodiscard]] bool has_async_copy() const noexcept { return major >= 8; }
};

/// The properties of one device. Properties that NVML does not report are empty until the device is opened
/// (`DeviceContext::info`).
struct DeviceInfo {
  Uuid uuid;
  PciId pci;
  std::string name;
  ComputeCapability capability;
  int multiprocessors = 0;
  std::optional<int> threads_per_multiprocessor;
  std::optional<std::int64_t> shared_memory_per_block_bytes;
  std::optional<std::int64_t> l2_bytes;
  std::int64_t total_memory_bytes = 0;
  std::int64_t free_memory_bytes = 0;
  int sm_clock_mhz = 0;      ///< highest SM clock
  int memory_clock_mhz = 0;  ///< highest memory clock
  int memory_bus_bits = 0;
  bool ecc = false;
  bool integrated = false;
  bool simulated = false;
  bool host = false;  ///< true: stands for the host threads of a rank (`JobOptions::hosts`), without a UUID
  bool simulated_for_rank = false;  ///< whether it is a simulated device that only one rank sees
  double memory_fraction = 0.5;     ///< fraction of the total memory that one job may use
  int numa_node = -1;               ///< hwloc OS index of the nearest NUMA node; -1 if not known
  /// Cores near the device that this rank may use, as an hwloc list ("0-15,32-47"). Empty if there are none,
  /// or the device is simulated: threads then keep the rank's binding.
  std::string near_cpuset;

  [[nodiscard]] bool mig() const noexcept { return uuid.mig; }
  /// Whether the device uses host memory and host functions, without GPU and CUDA.
  [[nodiscard]] bool has_host_memory() const noexcept { return simulated || host; }
  /// Device memory that one job may use: the minimum of the free memory and `memory_fraction` of the total.
  [[nodiscard]] std::int64_t memory_budget_bytes() const noexcept {
    const auto part = static_cast<std::int64_t>(memory_fraction * static_cast<double>(total_memory_bytes));
    return free_memory_bytes < part ? free_memory_bytes : part;
  }
};

/// Why there is no usable GPU: a condition with a reason, not an error.
struct Absence {
  enum class Reason {
    not_built,       ///< this build has no CUDA
    no_driver,       ///< the driver's libraries are not installed
    driver_too_old,  ///< the driver is older than the CUDA version this library was built with
    driver_error,    ///< the driver is installed but does not work
    no_device,       ///< the driver sees no GPU that this build can use, or none is simulated for the rank
    none_visible,    ///< CUDA_VISIBLE_DEVICES hides all GPUs
    none_left,       ///< all GPUs are assigned to other ranks of the node
    driven,          ///< other jobs of the user have claimed all GPUs that the rank sees
    not_started,     ///< CUDA was initialised in this process earlier, with other GPUs visible
    excluded,        ///< the policy is `cpu`
    fault,           ///< injected by a fault point (test builds)
  };
  Reason reason = Reason::no_device;
  std::string message;  ///< one plain sentence
};

}  // namespace TESSERA_NAMESPACE
