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

/// Computes `LikelihoodSums` on devices for many responses concurrently. Each response is fitted in a fiber
/// of a host thread. The fiber suspends during a pass, and the waiting passes of all fibers form one batch.
class DeviceLikelihood {
 public:
  /// `design` must outlive this object. `own_rows`: responses may have their own weights or offsets.
  DeviceLikelihood(const SharedDesign& design, ManyFamily family, bool own_rows);
  ~DeviceLikelihood();
  DeviceLikelihood(const DeviceLikelihood&) = delete;
  DeviceLikelihood& operator=(const DeviceLikelihood&) = delete;

  /// The kernels. The caller must compile them by `Job::compile` before the first `run`.
  [[nodiscard]] const ModuleSource& source() const noexcept { return source_; }

  /// Calls `fit` for up to `responses` concurrent responses, fewer if device memory is short. Each call is in
  /// a fiber of one of `threads` threads, with its own sums on the tile's device. Returns when all calls have
  /// returned. Thread-safe for tiles of different devices. After a stop request or a CUDA error, the sums
  /// throw an exception that `fit` must not catch. Throws `Error(job_fault)` for a CUDA error, and rethrows
  /// exceptions of `fit`.
  void run(Tile& tile, std::size_t threads, std::size_t responses,
           FunctionRef<void(std::unique_ptr<LikelihoodSums>)> fit);

 private:
  struct OnDevice;
  [[nodiscard]] OnDevice& on_device(int index);

  const SharedDesign& design_;
  LikelihoodLayout layout_;
  ModuleSource source_;
  /// Number of arrays of `LikelihoodResponse` that belong to the response instead of the design.
  std::size_t parts_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<OnDevice>> devices_;  ///< by `Tile::device_index`
};

}  // namespace TESSERA_NAMESPACE::gam
