// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>
#include <tessera/version.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {

/// The outcome of one pass (a call of `Job::map`, `scatter`, `reduce` or `update`), the same on every rank.
/// Either the device function succeeded for every tile, or the host function computed every unit from the
/// unchanged input.
struct Verdict {
  enum class Ran {
    devices,   ///< every tile of every rank succeeded on its device
    host,      ///< the host function computed every unit, because there was no device to use
    fallback,  ///< a device failed, in this pass or an earlier one: the host function computed every unit
    none,      ///< the pass ended with an exception: there is no result
  };

  /// The failure of a device. If several devices fail, that of the lowest rank, and of this rank's first tile
  /// in plan order. The stages are
  /// - probe: the rank could not enumerate its devices (`uuid` is empty);
  /// - claim: the process cannot access a claimed device;
  /// - score: the timed run failed on the device (`ScoreModel::measured`);
  /// - bind: the device could not be opened or made current, or its thread could not be bound to cores near
  ///   it;
  /// - allocate: device memory cannot be allocated, or a block exceeds the memory budget;
  /// - copy: an array could not be copied to or from the device;
  /// - tile: the device function threw, called `Tile::fail`, or its work on the stream failed.
  struct Failure {
    int rank = 0;
    std::string hostname;
    int device = 0;    ///< index among the rank's claimed devices
    std::string uuid;  ///< empty if the failure came before a device was known
    std::string stage;
    std::string reason;
  };

  Ran ran = Ran::host;
  int devices = 0;         ///< number of GPUs that computed, by UUID; 0 unless `ran` is `devices`
  int shares = 0;          ///< number of (rank, GPU) pairs that computed, if ranks share GPUs; else 0
  int hosts = 0;           ///< number of ranks whose CPUs computed a tile (`JobOptions::hosts`)
  bool simulated = false;  ///< whether the devices were simulated
  /// If `ran` is `devices`: the failures of the devices that were excluded (`OnDeviceFailure::exclude`) in
  /// this pass and earlier ones, oldest first; failures of one attempt are ordered by rank and tile.
  std::vector<Failure> excluded;
  std::string absence;  ///< why no device was used, if `ran` is `host`
  Failure failure;      ///< meaningful if `ran` is `fallback`
  /// For a pass on the CPU over a plan for devices: the rank with the most units per host thread, and its
  /// share divided by its share in `Job::plan_for_hosts`; 1 if the plan is balanced.
  int busiest_rank = 0;
  double imbalance = 1;
  std::string reason;  ///< how the pass ended, if `ran` is `none`
};

/// One line: "computed on 8 devices", "computed on 8 devices and 2 hosts", "computed on 1 device in 4 shares"
/// where 4 ranks drive it together, "computed on the CPU: no NVIDIA driver is installed", "computed on the
/// CPU: rank 3 (node7) device 1 GPU-… failed in tile: …", or "not computed: stopped by SIGUSR1 on rank 3".
/// Excluded devices are counted, and the first is named: "computed on 7 devices, without 1 that failed: rank
/// 3 (node7) device 1 GPU-… failed in tile: …". Simulated devices are marked as such, and a load imbalance on
/// the CPU is reported: "computed on the CPU, unevenly (by a plan for devices rank 0 had 2.7 times an even
/// share): …".
[[nodiscard]] TESSERA_EXPORT std::string to_string(const Verdict& verdict);
/// The part of `to_string(verdict)` that names the failure.
[[nodiscard]] TESSERA_EXPORT std::string to_string(const Verdict::Failure& failure);
/// Writes `to_string(verdict)` with control characters escaped: see `printable`.
TESSERA_EXPORT std::ostream& operator<<(std::ostream& out, const Verdict& verdict);

}  // namespace TESSERA_NAMESPACE
