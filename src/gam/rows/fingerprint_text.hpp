// SPDX-License-Identifier: Apache-2.0
// Hashes values with their row numbers. Compiled for each SIMD width: see base/each_width.hpp.

/// `base::split_mix` of each element.
TESSERA_TARGET void mix(std::uint64_t __attribute__((vector_size(8 * Wide::count))) & states) {
  states += 0x9e3779b97f4a7c15u;
  states = (states ^ (states >> 30)) * 0xbf58476d1ce4e5b9u;
  states = (states ^ (states >> 27)) * 0x94d049bb133111ebu;
  states ^= states >> 31;
}

/// Sum of the hashes of consecutive rows from row `row` on.
TESSERA_TARGET std::uint64_t sum_of_mixed(const double* values, std::size_t count, std::uint64_t row) {
  using Words = std::uint64_t __attribute__((vector_size(8 * Wide::count)));
  Words rows{};
  for (int lane = 0; lane < Wide::count; ++lane) rows[lane] = row + static_cast<std::uint64_t>(lane);
  Words sums{};
  std::size_t i = 0;
  for (; i + Wide::count <= count; i += Wide::count) {
    Words mixed = rows;
    mix(mixed);
    // Adding 0.0 makes -0.0 and 0.0 equal.
    mixed ^= reinterpret_cast<Words>(*Wide::at(values + i) + 0.0);
    mix(mixed);
    sums += mixed;
    rows += Wide::count;
  }
  std::uint64_t sum = 0;
  for (int lane = 0; lane < Wide::count; ++lane) sum += sums[lane];
  for (; i < count; ++i)
    sum += base::split_mix(base::split_mix(row + i) ^ std::bit_cast<std::uint64_t>(values[i] + 0.0));
  return sum;
}
