// SPDX-License-Identifier: Apache-2.0
#include "gam/data/frame/number_scan.hpp"

#include "base/target_clones.hpp"

#include <bit>
#include <cstddef>
#include <cstring>

namespace TESSERA_NAMESPACE::gam {
namespace {

// A separate function, because GCC would export the resolver of a cloned `scan`, whatever its visibility.
TESSERA_TARGET_CLONES NumberScan scan_wide(std::span<const double> numbers) {
  constexpr std::size_t width = 4;
  using Four = double __attribute__((vector_size(width * sizeof(double))));
  using FourIntegers = std::uint64_t __attribute__((vector_size(width * sizeof(double))));
  // Successive comparisons depend on each other, so several registers of minima and maxima are used.
  constexpr std::size_t registers = 4;
  Four least[registers];
  Four largest[registers];
  FourIntegers carried[registers];
  for (std::size_t r = 0; r < registers; ++r) {
    least[r] = Four{} + Extent().min;
    largest[r] = Four{} + Extent().max;
    carried[r] = FourIntegers{};
  }
  std::size_t i = 0;
  for (; i + registers * width <= numbers.size(); i += registers * width) {
    for (std::size_t r = 0; r < registers; ++r) {
      Four values;
      std::memcpy(&values, numbers.data() + i + r * width, sizeof values);
      least[r] = values < least[r] ? values : least[r];
      largest[r] = values > largest[r] ? values : largest[r];
      carried[r] |= (reinterpret_cast<FourIntegers>(values) & magnitude_bits) + lowest_of_exponent;
    }
  }
  NumberScan found;
  std::uint64_t signs = 0;
  for (std::size_t r = 0; r < registers; ++r) {
    for (std::size_t k = 0; k < width; ++k) {
      found.extent.add({.min = least[r][k], .max = largest[r][k]});
      signs |= carried[r][k];
    }
  }
  for (; i < numbers.size(); ++i) {
    found.extent.add(numbers[i]);
    signs |= (std::bit_cast<std::uint64_t>(numbers[i]) & magnitude_bits) + lowest_of_exponent;
  }
  found.all_finite = signs >> 63 == 0;
  return found;
}

}  // namespace

NumberScan scan(std::span<const double> numbers) {
  return scan_wide(numbers);
}

}  // namespace TESSERA_NAMESPACE::gam
