// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::inline TESSERA_ABI::detail {

struct ScoredDevice {
  std::uint64_t score;
  std::int32_t index;
};

/// Orders the devices of one rank: highest score first, ties to the lower index. Keeps its memory from
/// rank to rank.
class DeviceOrder {
 public:
  /// The devices in order, valid until the next call. Where there are many, a radix sort by the
  /// highest bits first (Knuth, TAOCP 3, 5.2.5).
  [[nodiscard]] std::span<const ScoredDevice> by_score(std::span<const std::uint64_t> scores);

 private:
  void radix_sort();

  std::vector<ScoredDevice> devices_;
  std::vector<ScoredDevice> spare_;
};

}  // namespace tessera::inline TESSERA_ABI::detail
