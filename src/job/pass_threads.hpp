// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/tile.hpp>
#include <tessera/version.hpp>

#include <algorithm>

namespace tessera::inline TESSERA_ABI {

/// The threads of a rank in a pass on devices, and the numbers by which host functions know them: first one
/// for each GPU, then those that compute the tile of the host, which is the last device.
struct PassThreads {
  int gpus = 0;
  int host = 0;  ///< 0: the host is not among the devices

  /// GPUs do not wait for a core where there are enough: the host's tile has what `host_threads` leave.
  [[nodiscard]] static PassThreads beside_gpus(int gpus, int host_threads) {
    return {gpus, std::max(host_threads - gpus, 1)};
  }
  [[nodiscard]] int all() const noexcept { return gpus + host; }
  /// For the host function in the place of a simulated device.
  [[nodiscard]] HostTile on_simulated(int device, Range units) const noexcept {
    return {.range = units, .thread = device, .threads = all(), .device = device};
  }
  /// For the host function on a thread of the host's tile, counted from 0.
  [[nodiscard]] HostTile on_host(int thread, Range units) const noexcept {
    return {.range = units, .thread = gpus + thread, .threads = all(), .device = gpus};
  }
};

}  // namespace tessera::inline TESSERA_ABI
