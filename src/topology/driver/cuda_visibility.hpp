// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/claim.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Which GPUs CUDA is to find in this process. CUDA reads CUDA_VISIBLE_DEVICES once, as it starts. Between
/// the claim and that moment the variable names the GPUs that the jobs of this process drive; before and
/// after it is the user's. Not thread-safe, as the environment is not.
namespace tessera::inline TESSERA_ABI::detail {

/// Makes the claimed devices alone visible to CUDA, by UUID in claim order, so that its start does not pay
/// for the GPUs of other ranks, nor touch them. Where jobs of this process are there already whose devices
/// are visible, it adds to them. A rank whose GPUs others drive (`none_left`, `driven`) is shown none.
/// Simulated devices, and a claim that is empty for another reason, change nothing, nor does a CUDA that has
/// started.
class CudaVisibility {
 public:
  explicit CudaVisibility(const Claim& claim);
  /// The variable is as it was found once the last of them goes.
  ~CudaVisibility();
  CudaVisibility(const CudaVisibility&) = delete;
  CudaVisibility& operator=(const CudaVisibility&) = delete;

  /// The index that CUDA will give a claimed device; empty if that is to be asked of CUDA, which has started.
  [[nodiscard]] std::optional<Ordinal> ordinal_of(const DeviceInfo& device) const;

 private:
  bool holds_ = false;
};

/// Puts the variable back as it was found, if CUDA has started. Cost: a lock, after the first time.
void restore_once_cuda_has_started();

/// The variable as the user has it, whatever it is just now.
[[nodiscard]] std::optional<std::string> visible_devices_as_found();
/// The variable as CUDA found it, or will.
[[nodiscard]] std::optional<std::string> visible_devices_for_cuda();

/// The devices that CUDA has found; empty if it has not started in this process, as far as libcuda tells.
/// It is neither loaded nor started. UUIDs of MIG instances are not marked as such.
[[nodiscard]] std::optional<std::vector<Uuid>> devices_of_started_cuda();

}  // namespace tessera::inline TESSERA_ABI::detail
