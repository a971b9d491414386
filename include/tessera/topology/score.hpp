// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <string_view>

namespace tessera::inline TESSERA_ABI {

/// How a device's relative speed is judged. Scores are compared only inside one model.
enum class ScoreModel {
  /// Multiprocessors + 4 x free GiB + 100 for FP64 tensor cores + 50 for asynchronous copies.
  spec,
  /// Half from the FP64 arithmetic rate (multiprocessors x clock x FP64 lanes of the architecture),
  /// half from the memory bandwidth (bus width x memory clock), each relative to an H200's.
  throughput,
  /// What a short timed run of the caller's own work says (`JobOptions::measure`).
  measured,
};

/// One unit of a score, as fixed point: `score()` is a whole multiple of 1 / `score_scale`.
inline constexpr std::uint64_t score_scale = 1024;

/// The device's score under `spec` or `throughput`, in 1 / `score_scale`; never 0 for a device that can
/// compute. The same on every rank and machine for the same figures: integer arithmetic. Throws
/// `Error(usage)` for `measured`, which needs the device itself.
[[nodiscard]] TESSERA_EXPORT std::uint64_t score(const DeviceInfo& device, ScoreModel model);

/// What the fastest device of a job scores under `measured`; fine enough that one that is a million times
/// slower is told from its like to a thousandth.
inline constexpr std::uint64_t measured_score_of_fastest = std::uint64_t{1} << 30;

/// "spec", "throughput" or "measured".
[[nodiscard]] TESSERA_EXPORT std::string_view to_string(ScoreModel model);

}  // namespace tessera::inline TESSERA_ABI
