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

/// Computes `LikelihoodSums` on devices for many responses at once. Each response is fitted in a fiber of a
/// host thread, which waits while the device sums. Waiting passes of all fibers are computed together.
class DeviceLikelihood {
 public:
  /// The design must outlive this object. `own_rows`: responses may have further weights or offsets.
  DeviceLikelihood(const SharedDesign& design, ManyFamily family, bool own_rows);
  ~DeviceLikelihood();
  DeviceLikelihood(const DeviceLikelihood&) = delete;
  DeviceLikelihood& operator=(const DeviceLikelihood&) = delete;

  /// The kernels; compile them for the job (`Job::compile`) before its first pass.
  [[nodiscard]] const ModuleSource& source() const noexcept { return source_; }

  /// Calls `fit` for up to `responses` responses at a time (fewer if the device's memory requires it), each
  /// in a fiber of one of `threads` threads, with its own sums on the tile's device. Returns when all calls
  /// have returned. Thread-safe for tiles of different devices. After a stop request or a failed CUDA call,
  /// sums throw an exception that `fit` must not catch. Throws `Error(job_fault)` with the failed CUDA call,
  /// and passes on exceptions of `fit`.
  void run(Tile& tile, std::size_t threads, std::size_t responses,
           FunctionRef<void(std::unique_ptr<LikelihoodSums>)> fit);

 private:
  struct OnDevice;
  [[nodiscard]] OnDevice& on_device(int index);

  const SharedDesign& design_;
  LikelihoodLayout layout_;
  ModuleSource source_;
  std::size_t parts_;  ///< number of parts of `LikelihoodResponse` that belong to the response, not to the
                       ///< design
  std::mutex mutex_;
  std::map<int, std::unique_ptr<OnDevice>> devices_;  ///< state by `Tile::device_index`
};

}  // namespace TESSERA_NAMESPACE::gam
