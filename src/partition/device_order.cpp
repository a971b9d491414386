// SPDX-License-Identifier: Apache-2.0
#include "partition/device_order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace tessera::inline TESSERA_ABI::detail {
namespace {

constexpr int digit_bits = 10;
constexpr std::size_t bucket_count = std::size_t{1} << digit_bits;
/// Below this a comparison sort is faster than filling the histograms.
constexpr std::size_t radix_from = 256;

bool goes_first(const ScoredDevice& a, const ScoredDevice& b) {
  return a.score != b.score ? a.score > b.score : a.index < b.index;
}

/// A stable pass by the digit above `shift`, highest first.
void pass(std::span<const ScoredDevice> from, std::span<ScoredDevice> to, int shift) {
  const auto bucket_of = [shift](const ScoredDevice& device) {
    return ~(device.score >> shift) & (bucket_count - 1);
  };
  std::array<std::size_t, bucket_count> next{};
  for (const auto& device : from) ++next[bucket_of(device)];
  std::exclusive_scan(next.begin(), next.end(), next.begin(), std::size_t{0});
  for (const auto& device : from) to[next[bucket_of(device)]++] = device;
}

}  // namespace

std::span<const ScoredDevice> DeviceOrder::by_score(std::span<const std::uint64_t> scores) {
  devices_.resize(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) devices_[i] = {scores[i], static_cast<std::int32_t>(i)};
  if (scores.size() >= radix_from) {
    radix_sort();
  } else if (scores.size() > 1) {
    std::sort(devices_.begin(), devices_.end(), goes_first);
  }
  return devices_;
}

/// Two passes by the highest bits in use; then runs that agree in these are short, or equal.
void DeviceOrder::radix_sort() {
  std::uint64_t highest = 0;
  for (const auto& device : devices_) highest = std::max(highest, device.score);
  const int low = std::max(0, static_cast<int>(std::bit_width(highest)) - 2 * digit_bits);
  spare_.resize(devices_.size());
  pass(devices_, spare_, low);
  pass(spare_, devices_, low + digit_bits);

  for (auto run = devices_.begin(); run != devices_.end();) {
    auto end = run + 1;
    bool in_order = true;
    for (; end != devices_.end() && end->score >> low == run->score >> low; ++end)
      in_order = in_order && !goes_first(*end, *(end - 1));
    if (!in_order) std::sort(run, end, goes_first);
    run = end;
  }
}

}  // namespace tessera::inline TESSERA_ABI::detail
