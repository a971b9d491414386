// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/tile.hpp>
#include <tessera/version.hpp>

#include <algorithm>

namespace TESSERA_NAMESPACE {

/// Numbers a rank's threads for host functions in a pass on devices: the first lane of each GPU, then the
/// threads of the host's tile (the last device), then further lanes of GPUs.
struct PassThreads {
  int gpus = 0;
  int host = 0;  ///< 0: the host is not among the devices

  /// Reserves one of `host_threads` for each GPU; the host's tile gets the other threads, at least one.
  [[nodiscard]] static PassThreads with_gpus(int gpus, int host_threads) {
    return {gpus, std::max(host_threads - gpus, 1)};
  }
  [[nodiscard]] int all(int lanes) const noexcept { return lanes * gpus + host; }
  [[nodiscard]] int of_gpu(int device, int lane) const noexcept {
    return device + (lane == 0 ? 0 : lane * gpus + host);
  }
  /// Arguments of the host function for a simulated device.
  [[nodiscard]] HostTile on_simulated(int device, int lane, int lanes, Range units) const noexcept {
    return {.range = units,
            .thread = of_gpu(device, lane),
            .threads = all(lanes),
            .device = device,
            .lane = lane};
  }
  /// Arguments of the host function on thread `thread`, from 0, of the host's tile.
  [[nodiscard]] HostTile on_host(int thread, int lanes, Range units) const noexcept {
    return {.range = units, .thread = gpus + thread, .threads = all(lanes), .device = gpus};
  }
};

}  // namespace TESSERA_NAMESPACE
