// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "exact_integer.hpp"

namespace tessera {

/// The fault of `shares` as the largest-remainder apportionment of `units` by `scores`, in exact arithmetic
/// and from the definition; empty if there is none. It does not compute the shares but verifies them: they
/// add up to `units`; each is the floor of its quota units * score / total, or one more; and no share with
/// one more ranks behind a share without.
inline std::string wrong_with_shares(std::int64_t units, std::span<const std::uint64_t> scores,
                                     std::span<const std::int64_t> shares) {
  if (shares.size() != scores.size()) return "there are " + std::to_string(shares.size()) + " shares";
  if (scores.empty()) return "";
  const auto n = static_cast<std::uint64_t>(units);
  ExactInteger sum;
  ExactInteger total;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (shares[i] < 0) return "share " + std::to_string(i) + " is negative";
    sum = sum + static_cast<std::uint64_t>(shares[i]);
    total = total + scores[i];
  }
  if (sum != n) return "the shares do not add up";

  if (total == 0) {  // an even split, what is left going to the lowest indices
    const std::uint64_t count = scores.size();
    for (std::size_t i = 0; i < count; ++i)
      if (static_cast<std::uint64_t>(shares[i]) != n / count + (i < n % count ? 1 : 0))
        return "share " + std::to_string(i) + " is not even";
    return "";
  }

  struct Standing {
    ExactInteger remainder;  // of units * score divided by total
    std::uint64_t score = 0;
    std::size_t index = 0;

    [[nodiscard]] bool before(const Standing& other) const {
      if (remainder != other.remainder) return remainder > other.remainder;
      if (score != other.score) return score > other.score;
      return index < other.index;
    }
  };
  Standing last_winner;
  Standing first_loser;
  bool any_winner = false;
  bool any_loser = false;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const ExactInteger product = ExactInteger(n) * scores[i];
    const ExactInteger taken = total * static_cast<std::uint64_t>(shares[i]);
    const std::string who = "share " + std::to_string(i);
    if (taken <= product) {
      Standing loser{product - taken, scores[i], i};
      if (loser.remainder >= total) return who + " is below the floor of its quota";
      if (!any_loser || loser.before(first_loser)) first_loser = loser;
      any_loser = true;
    } else {
      if (taken - product >= total) return who + " is more than one above its quota";
      Standing winner{product + total - taken, scores[i], i};
      if (!any_winner || last_winner.before(winner)) last_winner = winner;
      any_winner = true;
    }
  }
  if (any_winner && any_loser && first_loser.before(last_winner))
    return "share " + std::to_string(last_winner.index) + " got a unit that share " +
           std::to_string(first_loser.index) + " should have";
  return "";
}

}  // namespace tessera
