// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/number_scan.hpp"

#include "base/target_clones.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::size_t four = 4;
using FourNumbers = double __attribute__((vector_size(four * sizeof(double))));
using FourMasks = std::int64_t __attribute__((vector_size(four * sizeof(double))));
using FourBits = std::uint64_t __attribute__((vector_size(four * sizeof(double))));
using FourFlags = std::int8_t __attribute__((vector_size(four)));

template <bool flagged>
[[gnu::always_inline]] inline NumberScan scan_fours(std::span<const double> numbers,
                                                    const std::uint8_t* flags) {
  // Several accumulators hide the latency of dependent comparisons.
  constexpr std::size_t registers = 4;
  FourNumbers least[registers];
  FourNumbers largest[registers];
  FourBits carried[registers];
  for (std::size_t r = 0; r < registers; ++r) {
    least[r] = FourNumbers{} + Extent().min;
    largest[r] = FourNumbers{} + Extent().max;
    carried[r] = FourBits{};
  }
  std::size_t i = 0;
  for (; i + registers * four <= numbers.size(); i += registers * four) {
    for (std::size_t r = 0; r < registers; ++r) {
      FourNumbers values;
      std::memcpy(&values, &numbers[i + r * four], sizeof values);
      if constexpr (flagged) {
        FourFlags set;
        std::memcpy(&set, flags + i + r * four, sizeof set);
        const auto unset = __builtin_convertvector(set, FourMasks) == 0;
        values = unset ? FourNumbers{} + missing_number : values;
      }
      least[r] = values < least[r] ? values : least[r];
      largest[r] = values > largest[r] ? values : largest[r];
      if constexpr (!flagged)
        carried[r] |= (reinterpret_cast<FourBits>(values) & magnitude_bits) + lowest_of_exponent;
    }
  }
  NumberScan found;
  std::uint64_t signs = 0;
  for (std::size_t r = 0; r < registers; ++r) {
    for (std::size_t k = 0; k < four; ++k) {
      found.extent.add({.min = least[r][k], .max = largest[r][k]});
      signs |= carried[r][k];
    }
  }
  for (; i < numbers.size(); ++i) {
    const double value = !flagged || flags[i] != 0 ? numbers[i] : missing_number;
    found.extent.add(value);
    signs |= (std::bit_cast<std::uint64_t>(value) & magnitude_bits) + lowest_of_exponent;
  }
  found.all_finite = signs >> 63 == 0;
  return found;
}

// Separate functions, because GCC would export the resolvers of cloned `scan` etc., whatever their
// visibility.
TESSERA_TARGET_CLONES NumberScan scan_wide(std::span<const double> numbers) {
  return scan_fours<false>(numbers, nullptr);
}

TESSERA_TARGET_CLONES NumberScan flagged_wide(std::span<const double> numbers, const std::uint8_t* flags) {
  return scan_fours<true>(numbers, flags);
}

TESSERA_TARGET_CLONES std::int64_t beyond_wide(std::span<const double> numbers, double most,
                                               std::uint8_t* flags, double* to) {
  FourMasks within{};  // minus the number of values within `most`, by lane
  std::size_t i = 0;
  for (; i + four <= numbers.size(); i += four) {
    FourNumbers values;
    std::memcpy(&values, &numbers[i], sizeof values);
    const FourMasks in = (values <= most) & (values >= -most);
    within += in;
    if (flags != nullptr) {
      FourFlags kept;
      std::memcpy(&kept, flags + i, sizeof kept);
      kept &= __builtin_convertvector(in, FourFlags);
      std::memcpy(flags + i, &kept, sizeof kept);
    }
    if (to != nullptr) {
      values = in ? values : FourNumbers{} + missing_number;
      std::memcpy(to + i, &values, sizeof values);
    }
  }
  auto found = static_cast<std::int64_t>(i);
  for (std::size_t k = 0; k < four; ++k) found += within[k];
  for (; i < numbers.size(); ++i) {
    if (std::abs(numbers[i]) <= most) continue;
    if (flags != nullptr) flags[i] = 0;
    if (to != nullptr) to[i] = missing_number;
    ++found;
  }
  return found;
}

}  // namespace

NumberScan scan(std::span<const double> numbers) {
  return scan_wide(numbers);
}

std::int64_t count_beyond(std::span<const double> numbers, double most, std::uint8_t* flags, double* to) {
  return beyond_wide(numbers, most, flags, to);
}

Extent scan_flagged(std::span<const double> numbers, const std::uint8_t* flags) {
  return flagged_wide(numbers, flags).extent;
}

std::int64_t count_flags(std::span<const std::uint8_t> flags) {
  // The highest byte of the product is the sum of the bytes.
  constexpr std::uint64_t sum_of_bytes = 0x0101010101010101;
  std::uint64_t sum = 0;
  for (; flags.size() >= sizeof sum; flags = flags.subspan(sizeof sum)) {
    std::uint64_t some = 0;
    std::memcpy(&some, flags.data(), sizeof some);
    sum += some * sum_of_bytes >> 56;
  }
  for (const std::uint8_t flag : flags) sum += flag;
  return static_cast<std::int64_t>(sum);
}

}  // namespace TESSERA_NAMESPACE::gam
