// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/likelihood_kernel_source.hpp"
#include "gam/many/likelihood_layout.hpp"
#include "gam/many/likelihood_sums.hpp"

#include <tessera/function.hpp>
#include <tessera/job/tile.hpp>

#include <map>
#include <memory>
#include <mutex>

namespace TESSERA_NAMESPACE::gam {

/// `LikelihoodSums` by devices, for many responses at once: each response is fitted by a fiber of a host
/// thread that waits while the device sums, and passes that wait are computed together.
class DeviceLikelihood {
 public:
  /// The design must outlive it. `own_rows`: responses may have weights or offsets of their own.
  DeviceLikelihood(const SharedDesign& design, ManyFamily family, bool own_rows);
  ~DeviceLikelihood();
  DeviceLikelihood(const DeviceLikelihood&) = delete;
  DeviceLikelihood& operator=(const DeviceLikelihood&) = delete;

  /// The kernels, to be compiled for the job (`Job::compile`) before its first pass.
  [[nodiscard]] const ModuleSource& source() const noexcept { return source_; }

  /// Calls `fit` for up to `responses` responses at a time, fewer if the device's memory asks for it, each in
  /// a fiber of `threads` threads and with its own sums on the tile's device; returns when all have returned.
  /// Thread-safe for tiles of different devices. Once a stop is requested or a CUDA call fails, sums throw
  /// what `fit` must let pass. Throws `Error(job_fault)` naming the CUDA call that failed, and what `fit`
  /// threw.
  void run(Tile& tile, std::size_t threads, std::size_t responses,
           FunctionRef<void(std::unique_ptr<LikelihoodSums>)> fit);

 private:
  struct OnDevice;
  [[nodiscard]] OnDevice& on_device(int index);

  const SharedDesign& design_;
  LikelihoodLayout layout_;
  ModuleSource source_;
  std::size_t parts_;  ///< of `LikelihoodResponse` that each response has of its own
  std::mutex mutex_;
  std::map<int, std::unique_ptr<OnDevice>> devices_;  ///< by `Tile::device_index`
};

}  // namespace TESSERA_NAMESPACE::gam
