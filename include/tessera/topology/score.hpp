// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <string_view>

namespace TESSERA_NAMESPACE {

/// How the score of a device, its relative speed, is estimated. Scores of different models cannot be
/// compared.
enum class ScoreModel {
  /// Multiprocessors + 4 x free GiB + 100 for FP64 tensor cores + 50 for asynchronous copies.
  spec,
  /// Half from the FP64 arithmetic rate (multiprocessors x clock x FP64 lanes of the architecture),
  /// half from the memory bandwidth (bus width x memory clock), each relative to an H200's.
  throughput,
  /// By a short timed run of the application's work (`JobOptions::measure`).
  measured,
};

/// Scores are fixed-point numbers: an integer score of `score_scale` stands for 1.
inline constexpr std::uint64_t score_scale = 1024;

/// The device's score under `spec` or `throughput`, in units of 1 / `score_scale`; never 0 for a usable
/// device. Integer arithmetic: equal properties give the same score on every rank and machine. Throws
/// `Error(usage)` for `measured`, which needs the device itself.
[[nodiscard]] TESSERA_EXPORT std::uint64_t score(const DeviceInfo& device, ScoreModel model);

/// The score of a job's fastest device under `measured`; large enough that the score of a device that is a
/// million times slower is still exact to a thousandth.
inline constexpr std::uint64_t measured_score_of_fastest = std::uint64_t{1} << 30;

/// "spec", "throughput" or "measured".
[[nodiscard]] TESSERA_EXPORT std::string_view to_string(ScoreModel model);

}  // namespace TESSERA_NAMESPACE
