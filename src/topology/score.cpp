// SPDX-License-Identifier: Apache-2.0
#include <tessera/error.hpp>
#include <tessera/topology/score.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "topology/driver/architecture.hpp"
#include "topology/measured_score.hpp"

namespace TESSERA_NAMESPACE {
namespace {

// Products of any scores, clocks and widths fit.
__extension__ using Wide = unsigned __int128;

/// The sum of a million highest scores fits 64 bits.
constexpr std::uint64_t highest_score = std::uint64_t{1} << 40;

std::uint64_t fixed(Wide score) {
  return static_cast<std::uint64_t>(std::clamp<Wide>(score, 1, highest_score));
}

std::uint64_t magnitude(std::int64_t figure) {
  return figure > 0 ? static_cast<std::uint64_t>(figure) : 0;
}

std::uint64_t spec_score(const DeviceInfo& device) {
  Wide whole = magnitude(device.multiprocessors);
  if (device.capability.has_fp64_tensor_cores()) whole += 100;
  if (device.capability.has_async_copy()) whole += 50;
  // 4 points per GiB, in units of 1 / score_scale.
  const Wide memory = Wide{4} * magnitude(device.free_memory_bytes) * score_scale >> 30;
  return fixed(whole * score_scale + memory);
}

// An H200's rates from NVML: 132 multiprocessors at 1980 MHz with 64 FP64 lanes; 6144 bits at 3201 MHz.
constexpr std::uint64_t h200_arithmetic = 132ULL * 1980 * 64;
constexpr std::uint64_t h200_bandwidth = 6144ULL * 3201;
/// The score of an H200. A T4 has about 36 points.
constexpr std::uint64_t h200_points = 1000;

std::uint64_t throughput_score(const DeviceInfo& device) {
  const Wide arithmetic = Wide{magnitude(device.multiprocessors)} * magnitude(device.sm_clock_mhz) *
                          magnitude(detail::fp64_lanes_per_multiprocessor(device.capability));
  const Wide bandwidth = Wide{magnitude(device.memory_bus_bits)} * magnitude(device.memory_clock_mhz);
  constexpr Wide half = Wide{h200_points} * score_scale / 2;
  const Wide arithmetic_half = half * arithmetic / h200_arithmetic;
  const Wide bandwidth_half = half * bandwidth / h200_bandwidth;
  // If the driver reports only one rate, it counts twice.
  if (bandwidth == 0) return fixed(2 * arithmetic_half);
  if (arithmetic == 0) return fixed(2 * bandwidth_half);
  return fixed(arithmetic_half + bandwidth_half);
}

}  // namespace

std::uint64_t score(const DeviceInfo& device, ScoreModel model) {
  switch (model) {
    case ScoreModel::spec: return spec_score(device);
    case ScoreModel::throughput: return throughput_score(device);
    case ScoreModel::measured: break;
  }
  throw Error(
      ErrorCode::usage,
      "ScoreModel::measured needs timed work: use another score model, or a job with JobOptions::measure");
}

std::uint64_t detail::measured_score(double seconds_per_unit, double fastest_seconds_per_unit) {
  for (const double seconds : {seconds_per_unit, fastest_seconds_per_unit})
    if (!std::isfinite(seconds) || seconds <= 0)
      throw Error(ErrorCode::usage, "measured_score: a unit cannot take " + std::to_string(seconds) +
                                        " s: give finite seconds above 0");
  const double ratio = fastest_seconds_per_unit / seconds_per_unit;
  return fixed(
      static_cast<Wide>(std::llround(static_cast<double>(measured_score_of_fastest) * std::min(ratio, 1.0))));
}

std::string_view to_string(ScoreModel model) {
  switch (model) {
    case ScoreModel::spec: return "spec";
    case ScoreModel::throughput: return "throughput";
    case ScoreModel::measured: return "measured";
  }
  return "unknown";
}

}  // namespace TESSERA_NAMESPACE
