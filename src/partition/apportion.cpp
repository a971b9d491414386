// SPDX-License-Identifier: Apache-2.0
#include <tessera/error.hpp>

#include "partition/apportion.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace TESSERA_NAMESPACE::detail {
namespace {

__extension__ using Wide = unsigned __int128;

void split_evenly(std::int64_t units, std::span<std::int64_t> shares) {
  const auto count = static_cast<std::int64_t>(shares.size());
  std::fill(shares.begin(), shares.end(), units / count);
  for (auto& share : shares.first(static_cast<std::size_t>(units % count))) ++share;
}

void give_to_largest_remainders(std::size_t left, std::span<const std::uint64_t> scores,
                                std::span<std::int64_t> shares, ApportionWorkspace& workspace) {
  const auto& remainders = workspace.remainders;
  auto& order = workspace.order;
  order.resize(remainders.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(left);
  std::nth_element(order.begin(), end, order.end(), [&](std::size_t a, std::size_t b) {
    if (remainders[a] != remainders[b]) return remainders[a] > remainders[b];
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  for (auto winner = order.begin(); winner != end; ++winner) ++shares[*winner];
}

}  // namespace

std::uint64_t total_score(std::span<const std::uint64_t> scores) {
  std::uint64_t total = 0;
  for (const std::uint64_t score : scores) {
    if (__builtin_add_overflow(total, score, &total))
      throw Error(ErrorCode::usage, "the sum of the scores exceeds 2^64 - 1: scale all scores down");
  }
  return total;
}

void apportion(std::int64_t units, std::span<const std::uint64_t> scores, std::span<std::int64_t> shares,
               ApportionWorkspace& workspace) {
  if (units < 0)
    throw Error(ErrorCode::usage, "cannot distribute " + std::to_string(units) + " units: give 0 or more");
  const std::uint64_t total = total_score(scores);
  if (scores.empty()) return;
  if (scores.size() == 1) {
    shares[0] = units;
    return;
  }
  if (total == 0) return split_evenly(units, shares);

  workspace.remainders.resize(scores.size());
  std::int64_t left = units;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const Wide quota = Wide{static_cast<std::uint64_t>(units)} * scores[i];
    shares[i] = static_cast<std::int64_t>(quota / total);
    left -= shares[i];
    workspace.remainders[i] = static_cast<std::uint64_t>(quota % total);
  }
  // The remainders sum to left * total, and each is below total. More than `left` of them are therefore
  // positive, and a score of zero never gets a unit.
  if (left > 0) give_to_largest_remainders(static_cast<std::size_t>(left), scores, shares, workspace);
}

}  // namespace TESSERA_NAMESPACE::detail
