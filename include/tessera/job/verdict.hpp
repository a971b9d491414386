// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>
#include <tessera/version.hpp>

#include <iosfwd>
#include <string>

namespace tessera::inline TESSERA_ABI {

/// The job-wide outcome of one pass, the same on every rank: every tile succeeded on its device, or
/// every unit was computed by the CPU function from the untouched input. Never a mixture.
struct Verdict {
  enum class Ran {
    devices,   ///< every tile of every rank succeeded on its device
    host,      ///< the CPU function computed every unit, because there was no device to use
    fallback,  ///< a device failed: the CPU function computed every unit, in this pass or since an earlier
               ///< one
    none,      ///< the pass ended with an exception: there is no result
  };

  /// The first failure: of the lowest rank that failed, its first tile in plan order. The stages are
  /// - probe: the rank could not look for its devices (`uuid` is empty);
  /// - claim: a claimed device cannot be reached by this process;
  /// - score: the caller's timed run failed on it (`ScoreModel::measured`);
  /// - bind: it could not be opened, made current, or its thread not be bound near it;
  /// - allocate: its memory does not hold a block;
  /// - tile: the device function threw, called `Tile::fail`, or its work on the stream failed.
  struct Failure {
    int rank = 0;
    std::string hostname;
    int device = 0;    ///< counts the rank's claimed devices
    std::string uuid;  ///< empty if the failure came before a device was known
    std::string stage;
    std::string reason;
  };

  Ran ran = Ran::host;
  int devices = 0;         ///< devices that computed; 0 unless `ran` is `devices`
  bool simulated = false;  ///< the devices were simulated
  std::string absence;     ///< why no device was used, if `ran` is `host`
  Failure failure;         ///< meaningful if `ran` is `fallback`
  /// Of a pass on the CPU over a plan for devices: the rank that had the most units for its host threads, and
  /// how many times the share of `Job::plan_for_hosts` it had; 1 where the plan was even.
  int busiest_rank = 0;
  double imbalance = 1;
  std::string reason;  ///< how the pass ended, if `ran` is `none`
};

/// One line: "computed on 8 devices", "computed on the CPU: no NVIDIA driver is installed",
/// "computed on the CPU: rank 3 (node7) device 1 GPU-… failed in tile: …", or "not computed: stopped by
/// SIGUSR1 on rank 3". Simulated devices are called so, and an imbalance of the CPU's work is told: "computed
/// on the CPU, unevenly (by a plan for devices rank 0 had 2.7 times an even share): …".
[[nodiscard]] TESSERA_EXPORT std::string to_string(const Verdict& verdict);
/// The part of that line that names the failure.
[[nodiscard]] TESSERA_EXPORT std::string to_string(const Verdict::Failure& failure);
/// Writes `to_string(verdict)` as a terminal may have it: see `printable`.
TESSERA_EXPORT std::ostream& operator<<(std::ostream& out, const Verdict& verdict);

}  // namespace tessera::inline TESSERA_ABI
