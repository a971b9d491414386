// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::inline TESSERA_ABI {

/// A device's identity: the same in every process of the node, whatever its index is there.
/// For a MIG instance, the instance's own UUID.
struct Uuid {
  std::array<std::uint8_t, 16> bytes{};
  bool mig = false;

  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

/// As the driver writes it: "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6" or "MIG-…".
[[nodiscard]] TESSERA_EXPORT std::string to_string(const Uuid& uuid);
/// The reverse of `to_string`; nothing if `text` is not a UUID.
[[nodiscard]] TESSERA_EXPORT std::optional<Uuid> parse_uuid(std::string_view text);

/// A device's CUDA index in this process, after CUDA_VISIBLE_DEVICES; never an identity.
enum class Ordinal : int {};

/// Where a device sits on the PCI bus: what hwloc and NVML both know it by.
struct PciId {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;

  friend auto operator<=>(const PciId&, const PciId&) = default;
};
/// "0000:3b:00.0", with eight digits of domain where four do not hold it.
[[nodiscard]] TESSERA_EXPORT std::string to_string(const PciId& pci);

/// The generation of an NVIDIA GPU, e.g. 9.0, and what it can do by it.
struct ComputeCapability {
  int major = 0;
  int minor = 0;

  friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;

  /// FP64 matrix units at full rate: the data-centre parts 8.0 and 9.0, and 10.0.
  [[nodiscard]] bool has_fp64_tensor_cores() const noexcept {
    return (major == 8 || major == 9 || major == 10) && minor == 0;
  }
  [[nodiscard]] bool has_async_copy() const noexcept { return major >= 8; }
};

/// What is known of one device. Quantities that NVML cannot tell are empty until a claimed device is
/// first opened (`DeviceContext` fills them in).
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
  bool simulated_for_rank = false;  ///< a simulated device that no other process has
  int numa_node = -1;               ///< hwloc OS index of the nearest NUMA node; -1 if not known
  /// Cores near the device among those that this rank may use, as an hwloc list ("0-15,32-47"); empty
  /// if none of them is near (or the device is simulated): a thread then stays where the rank is.
  std::string near_cpuset;

  [[nodiscard]] bool mig() const noexcept { return uuid.mig; }
  /// Device memory that one job should plan with: the lesser of what is free and half of the total.
  [[nodiscard]] std::int64_t memory_budget_bytes() const noexcept {
    const std::int64_t half = total_memory_bytes / 2;
    return free_memory_bytes < half ? free_memory_bytes : half;
  }
};

/// Why there is no GPU to use: a fact with a reason, not an error.
struct Absence {
  /// What kind of reason it is.
  enum class Reason {
    not_built,       ///< this build has no CUDA
    no_driver,       ///< the driver's libraries are not installed
    driver_too_old,  ///< the driver is older than the CUDA version this library was built with
    driver_error,    ///< the driver is there but does not answer
    no_device,       ///< the driver sees no GPU
    none_visible,    ///< CUDA_VISIBLE_DEVICES leaves none of them
    none_left,       ///< the other ranks of the node drive them all
    driven,          ///< other jobs of the user drive all that the rank sees
    not_started,     ///< CUDA was started in this process without them
    excluded,        ///< the policy is `cpu`
    fault,           ///< a fault point said so (test builds)
  };
  Reason reason = Reason::no_device;
  std::string message;  ///< one plain sentence
};

}  // namespace tessera::inline TESSERA_ABI
