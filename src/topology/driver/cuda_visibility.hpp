// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/claim.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Controls which GPUs CUDA finds in this process. CUDA reads CUDA_VISIBLE_DEVICES once, during its
/// initialisation. From the claim until that moment the variable names the GPUs of this process's jobs;
/// before and after, it has the user's value. Not thread-safe, like the environment.
namespace TESSERA_NAMESPACE::detail {

/// Makes only the claimed devices visible to CUDA, by UUID in claim order, so that CUDA's initialisation does
/// not touch the GPUs of other ranks, and is short. Devices of other jobs of this process stay visible. If
/// other ranks or jobs use all GPUs (`none_left`, `driven`), no GPU is visible. Does nothing for simulated
/// devices, for claims that are empty for another reason, and if CUDA is already initialised.
class CudaVisibility {
 public:
  explicit CudaVisibility(const Claim& claim);
  /// The destructor of the last object restores the variable.
  ~CudaVisibility();
  CudaVisibility(const CudaVisibility&) = delete;
  CudaVisibility& operator=(const CudaVisibility&) = delete;

  /// The index that CUDA will assign to a claimed device; empty if CUDA is already initialised: then query
  /// CUDA.
  [[nodiscard]] std::optional<Ordinal> ordinal_of(const DeviceInfo& device) const;

 private:
  bool holds_ = false;
};

/// Restores the variable once CUDA is initialised. Cost after that: a lock.
void restore_once_cuda_has_started();

/// The user's value of the variable, whatever its current value.
[[nodiscard]] std::optional<std::string> visible_devices_as_found();
/// The value of the variable that CUDA has read, or will read.
[[nodiscard]] std::optional<std::string> visible_devices_for_cuda();

/// The devices that CUDA has found; empty if it is not initialised in this process, as far as libcuda
/// reports. Neither loads nor initialises CUDA. UUIDs of MIG instances are not marked as such.
[[nodiscard]] std::optional<std::vector<Uuid>> devices_of_started_cuda();

}  // namespace TESSERA_NAMESPACE::detail
