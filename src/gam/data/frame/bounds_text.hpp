// SPDX-License-Identifier: Apache-2.0
// Code that finds values in a range, compiled for each register width: see base/each_width.hpp.

/// Writes the values in the range to `found`, which must have space for `count` numbers. NaN counts as
/// neither below nor in the range. Few vectors have a value in the range, so a branch per group of vectors is
/// predicted better than a branch per value.
TESSERA_TARGET Bounded find_bounded(const double* values, std::size_t count, double low, double high,
                                    double* found) {
  constexpr std::size_t vectors = 4;
  constexpr std::size_t step = vectors * Wide::count;
  const auto least = Wide::Doubles{} + low;
  const auto greatest = Wide::Doubles{} + high;
  using Flags = decltype(least < greatest);  // -1 if a comparison holds
  Flags below{};
  Bounded out{0, 0};
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
    Flags inside{};
    for (std::size_t v = 0; v < vectors; ++v) {
      const auto some = *Wide::at(values + i + v * Wide::count);
      below -= some < least;
      inside |= (some >= least) & (some <= greatest);
    }
    std::int64_t any = 0;
    for (int lane = 0; lane < Wide::count; ++lane) any |= inside[lane];
    if (any == 0) continue;
    for (std::size_t j = i; j < i + step; ++j) {
      found[out.inside] = values[j];
      out.inside +=
          static_cast<std::int64_t>(values[j] >= low) & static_cast<std::int64_t>(values[j] <= high);
    }
  }
  for (int lane = 0; lane < Wide::count; ++lane) out.below += below[lane];
  for (; i < count; ++i) {
    found[out.inside] = values[i];
    out.below += values[i] < low ? 1 : 0;
    out.inside += values[i] >= low && values[i] <= high ? 1 : 0;
  }
  return out;
}

/// `find_bounded` and `scan`, with AVX-512 in one pass. `found` must have space for `count` numbers and one
/// more register.
TESSERA_TARGET Bounded scan_bounded(const double* values, std::size_t count, double low, double high,
                                    double* found, NumberScan& scanned) {
#if TESSERA_LANES == 8
  // Compresses the values in the range without a branch.
  constexpr std::size_t vectors = 2;
  constexpr std::size_t step = vectors * Wide::count;
  const __m512d least = _mm512_set1_pd(low);
  const __m512d greatest = _mm512_set1_pd(high);
  const __m512i no_sign = _mm512_set1_epi64(static_cast<long long>(magnitude_bits));
  const __m512i exponent = _mm512_set1_epi64(static_cast<long long>(lowest_of_exponent));
  __m512d min[vectors];
  __m512d max[vectors];
  for (std::size_t v = 0; v < vectors; ++v) {
    min[v] = _mm512_set1_pd(Extent().min);
    max[v] = _mm512_set1_pd(Extent().max);
  }
  __m512i carried = _mm512_setzero_si512();
  Bounded out{0, 0};
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const __m512d some = _mm512_loadu_pd(values + i + v * Wide::count);
      // If `some` is NaN, the second operand is the result.
      min[v] = _mm512_min_pd(some, min[v]);
      max[v] = _mm512_max_pd(some, max[v]);
      const __m512i bits = _mm512_and_si512(_mm512_castpd_si512(some), no_sign);
      carried = _mm512_or_si512(carried, _mm512_add_epi64(bits, exponent));
      const __mmask8 below = _mm512_cmp_pd_mask(some, least, _CMP_LT_OQ);
      const __mmask8 inside =
          _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(some, least, _CMP_GE_OQ), some, greatest, _CMP_LE_OQ);
      _mm512_storeu_pd(found + out.inside, _mm512_maskz_compress_pd(inside, some));
      out.below += std::popcount(static_cast<unsigned>(below));
      out.inside += std::popcount(static_cast<unsigned>(inside));
    }
  }
  NumberScan here;
  here.all_finite = _mm512_movepi64_mask(carried) == 0;
  for (std::size_t v = 0; v < vectors; ++v)
    here.extent.add({.min = _mm512_reduce_min_pd(min[v]), .max = _mm512_reduce_max_pd(max[v])});
  scanned.add(here);
  const Bounded rest = find_bounded(values + i, count - i, low, high, found + out.inside);
  scanned.add(scan({values + i, count - i}));
  return {out.below + rest.below, out.inside + rest.inside};
#else
  scanned.add(scan({values, count}));
  return find_bounded(values, count, low, high, found);
#endif
}
