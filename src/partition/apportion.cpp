// SPDX-License-Identifier: Apache-2.0
#include <tessera/error.hpp>

#include "partition/apportion.hpp"
#include "partition/wide_divider.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace tessera::inline TESSERA_ABI::detail {
namespace {

void split_evenly(std::int64_t units, std::span<std::int64_t> shares) {
  const auto count = static_cast<std::int64_t>(shares.size());
  std::fill(shares.begin(), shares.end(), units / count);
  for (auto& share : shares.first(static_cast<std::size_t>(units % count))) ++share;
}

/// The `rank`-th largest value, counted from 1, digit by digit from the highest: a histogram of the next
/// digit among the values that agree so far tells which digit it has. Nothing is moved, as a selection by
/// exchanges would.
std::uint64_t largest_at(std::size_t rank, std::span<const std::uint64_t> values) {
  constexpr int digit_bits = 11;
  std::uint64_t any = 0;
  std::uint64_t all = ~std::uint64_t{0};
  for (const std::uint64_t value : values) {
    any |= value;
    all &= value;
  }
  std::uint64_t found = all;  // where every value has the same bit, so has this one
  std::uint64_t known = ~(any ^ all);
  while (~known != 0) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(~known)) - digit_bits);
    std::array<std::size_t, std::size_t{1} << digit_bits> counts{};
    for (const std::uint64_t value : values) {
      if (((value ^ found) & known) == 0) ++counts[value >> shift & (counts.size() - 1)];
    }
    std::size_t digit = counts.size() - 1;
    for (; counts[digit] < rank; --digit) rank -= counts[digit];
    const std::uint64_t mask = std::uint64_t{counts.size() - 1} << shift;
    found = (found & ~mask) | std::uint64_t{digit} << shift;
    known |= mask;
    if (counts[digit] == 1 || shift == 0) break;
  }
  // One value may be left before its last digits are known.
  return *std::ranges::find_if(values, [&](std::uint64_t value) { return ((value ^ found) & known) == 0; });
}

/// One unit more to each of the `left` largest remainders, ties to the higher score and then the lower
/// index. Which ones win matters, not their order: everything above the least remainder that wins, and
/// as many of its ties as are left.
void give_to_largest_remainders(std::size_t left, std::span<const std::uint64_t> scores,
                                std::span<std::int64_t> shares, ApportionWorkspace& workspace) {
  const auto& remainders = workspace.remainders;
  const std::uint64_t least = largest_at(left, remainders);

  auto& tied = workspace.tied;
  tied.clear();
  for (std::size_t i = 0; i < remainders.size(); ++i) {
    const bool wins = remainders[i] > least;  // no branch: which ones do is not predictable
    shares[i] += wins ? 1 : 0;
    left -= wins ? 1 : 0;
    if (remainders[i] == least) tied.push_back(i);
  }
  const auto end = tied.begin() + static_cast<std::ptrdiff_t>(left);
  if (end != tied.end())
    std::nth_element(tied.begin(), end, tied.end(), [&](std::size_t a, std::size_t b) {
      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    });
  for (auto winner = tied.begin(); winner != end; ++winner) ++shares[*winner];
}

}  // namespace

std::uint64_t total_score(std::span<const std::uint64_t> scores) {
  std::uint64_t total = 0;
  for (const std::uint64_t score : scores) {
    if (__builtin_add_overflow(total, score, &total))
      throw Error(ErrorCode::usage, "the scores add up to more than 2^64 - 1: scale them all down");
  }
  return total;
}

void apportion(std::int64_t units, std::span<const std::uint64_t> scores, std::span<std::int64_t> shares,
               ApportionWorkspace& workspace) {
  if (units < 0)
    throw Error(ErrorCode::usage, "cannot share out " + std::to_string(units) + " units: give 0 or more");
  const std::uint64_t total = total_score(scores);
  if (scores.empty()) return;
  if (scores.size() == 1) {
    shares[0] = units;
    return;
  }
  if (total == 0) return split_evenly(units, shares);

  workspace.remainders.resize(scores.size());
  const WideDivider by_total(total);
  std::int64_t left = units;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto quota = by_total.divide(Wide{static_cast<std::uint64_t>(units)} * scores[i]);
    shares[i] = static_cast<std::int64_t>(quota.quotient);
    left -= shares[i];
    workspace.remainders[i] = quota.remainder;
  }
  // The remainders add up to left * total and each is below the total, so that more than `left` of them
  // are not zero: a score of zero never wins.
  if (left > 0) give_to_largest_remainders(static_cast<std::size_t>(left), scores, shares, workspace);
}

}  // namespace tessera::inline TESSERA_ABI::detail
