// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/claim.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Controls which GPUs CUDA finds in this process. CUDA reads CUDA_VISIBLE_DEVICES once, during its
/// initialisation. Between the claim and CUDA's initialisation the variable names the GPUs of this process's
/// jobs; before and after, it has the user's value. Not thread-safe, like the environment.
namespace TESSERA_NAMESPACE::detail {

/// Makes only the claimed devices visible to CUDA, by UUID in claim order. CUDA's initialisation is then
/// short, and does not touch the GPUs of other ranks. Devices of other jobs of this process stay visible. If
/// other ranks or jobs use all GPUs (`none_left`, `driven`), no GPU is visible. Does nothing for simulated
/// devices, for claims that are empty for another reason, and if CUDA is already initialised.
class CudaVisibility {
 public:
  explicit CudaVisibility(const Claim& claim);
  /// The destructor of the last object restores the variable.
  ~CudaVisibility();
  CudaVisibility(const CudaVisibility&) = delete;
  CudaVisibility& operator=(const CudaVisibility&) = delete;

  /// The index that CUDA will assign to a claimed device; empty if this object has no effect (see above). If
  /// CUDA is already initialised, query CUDA instead.
  [[nodiscard]] std::optional<Ordinal> ordinal_of(const DeviceInfo& device) const;

 private:
  bool holds_ = false;
};

/// Restores the variable if CUDA is initialised. A repeated call costs a lock.
void restore_once_cuda_has_started();

/// The user's value of CUDA_VISIBLE_DEVICES.
[[nodiscard]] std::optional<std::string> visible_devices_as_found();
/// The value of CUDA_VISIBLE_DEVICES that CUDA has read, or will read.
[[nodiscard]] std::optional<std::string> visible_devices_for_cuda();

/// The devices that CUDA has found; empty if CUDA is not initialised in this process. Neither loads nor
/// initialises CUDA. Does not set `Uuid::mig`.
[[nodiscard]] std::optional<std::vector<Uuid>> devices_of_started_cuda();

}  // namespace TESSERA_NAMESPACE::detail
