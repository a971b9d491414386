// SPDX-License-Identifier: Apache-2.0
// Values of splines and of dense columns at points, compiled for each SIMD width: see base/each_width.hpp.

/// `breaks_up_to` for several points at a time, so that the CPU overlaps their independent searches.
TESSERA_TARGET void find_among_breaks(const MarginTable& margin, const double* numbers, int count,
                                      const double* x, int* slots) {
  constexpr int together = 8;
  const double* breaks = numbers + margin.breaks;
  const bool whole = margin.parts == 0;
  int r = 0;
  for (; r + together <= count; r += together) {
    int low[together] = {};
    if (!whole) {
      for (int k = 0; k < together; ++k)
        low[k] = static_cast<int>(numbers[margin.breaks_before + part_of_margin(margin, x[r + k])]);
    }
    int left = whole ? margin.cells + 1 : margin.breaks_of_part;
    for (; left > 1; left -= left / 2) {
      const int half = left / 2;
      for (int k = 0; k < together; ++k) low[k] += breaks[low[k] + half - 1] <= x[r + k] ? half : 0;
    }
    for (int k = 0; k < together; ++k) slots[r + k] = low[k] + (breaks[low[k]] <= x[r + k] ? 1 : 0);
  }
  for (; r < count; ++r) slots[r] = breaks_up_to(breaks, margin.cells + 1, x[r]);
}

/// Finds the slot of each point; for uniform cells, this is `slot_among_equal_cells` with SIMD.
TESSERA_TARGET void find_slots(const MarginTable& margin, const double* numbers, int count, const double* x,
                               int* slots) {
  if (!margin.uniform) return find_among_breaks(margin, numbers, count, x, slots);
  const auto least = Wide::Doubles{} - 1.0;
  const auto last = Wide::Doubles{} + static_cast<double>(margin.cells);
  int r = 0;
  for (; r + Wide::count <= count; r += Wide::count) {
    const auto u = (*Wide::at(x + r) - margin.begin) * margin.inverse_step;
    const auto below = u < last ? u : last;
    *Wide::at(slots + r) = __builtin_convertvector((u > least ? below : least) + 1.0, Wide::Ints);
  }
  for (; r < count; ++r) slots[r] = slot_among_equal_cells(margin, x[r]);
}

/// Finds the slots, and replaces each x by t, its position within the slot.
TESSERA_TARGET void locate_points(const MarginTable& margin, const double* numbers, int count, double* x,
                                  int* slots) {
  if (margin.cyclic) {
    for (int r = 0; r < count; ++r) x[r] = wrap_into_period(x[r], margin.begin, margin.end);
  }
  find_slots(margin, numbers, count, x, slots);
  const double* origins = numbers + margin.origins;
  const double* inverse_widths = numbers + margin.inverse_widths;
  for (int r = 0; r < count; ++r) x[r] = (x[r] - origins[slots[r]]) * inverse_widths[slots[r]];
}

/// The four values of a spline, and the index of the first nonzero raw column.
TESSERA_TARGET void spline_values(const MarginTable& margin, const double* numbers, int count,
                                  const double* t, const int* slots, int* first, double* values) {
  for (int r = 0; r < count; ++r, values += 4) {
    first[r] = first_of_slot(margin, slots[r]);
    const double* c = cubics_at(margin, numbers, slots[r]);
    for (int a = 0; a < 4; a += UpToFour::count) {
      *UpToFour::at(values + a) =
          ((*UpToFour::at(c + 12 + a) * t[r] + *UpToFour::at(c + 8 + a)) * t[r] + *UpToFour::at(c + 4 + a)) *
              t[r] +
          *UpToFour::at(c + a);
    }
  }
}

TESSERA_TARGET void fetch(const double* numbers, std::ptrdiff_t count) {
  constexpr int of_line = 8;
  for (std::ptrdiff_t i = 0; i < count; i += of_line) __builtin_prefetch(numbers + i);
}

/// `dense_values` at each point, with prefetching: tables of many cells exceed the L1 cache.
TESSERA_TARGET void dense_values_of_points(const ComponentTable& component, const double* numbers, int count,
                                           const double* t, const int* slots, double* values) {
  const std::ptrdiff_t columns = component.columns;
  constexpr int ahead = 6;
  for (int r = 0; r < count; ++r, values += columns) {
    if (r + ahead < count) fetch(dense_cubics_at(component, numbers, slots[r + ahead]), 4 * columns);
    const double* c = dense_cubics_at(component, numbers, slots[r]);
    for (std::ptrdiff_t k = 0; k < columns; k += UpToFour::count) {
      *UpToFour::at(values + k) =
          ((*UpToFour::at(c + 3 * columns + k) * t[r] + *UpToFour::at(c + 2 * columns + k)) * t[r] +
           *UpToFour::at(c + columns + k)) *
              t[r] +
          *UpToFour::at(c + k);
    }
  }
}

/// Adds the dense columns of a margin, summed over points, to `out`. `sums`: the sums of t^0 to t^3 in each
/// slot.
TESSERA_TARGET void add_dense_sums(const ComponentTable& component, const double* numbers, const double* sums,
                                   double* out) {
  const int cells = component.margin.cells;
  for (int slot = 0; slot < cells + 2; ++slot, sums += 4) {
    if (sums[0] == 0) continue;
    const double* cubics = dense_cubics_at(component, numbers, slot);
    // Outside the breaks a column is linear, and higher powers of t may be infinite: skip them.
    const int powers = slot == 0 || slot > cells ? 2 : 4;
    for (int power = 0; power < powers; ++power, cubics += component.columns) {
      for (int k = 0; k < component.columns; k += UpToFour::count)
        *UpToFour::at(out + k) += sums[power] * *UpToFour::at(cubics + k);
    }
  }
}

/// Adds the curve at each point to `out`. `cells`: see `curve_cells`.
TESSERA_TARGET void add_curve_values(const double* cells, int count, const double* t, const int* slots,
                                     double* out) {
  for (int r = 0; r < count; ++r) {
    const double* c = cells + std::ptrdiff_t{numbers_of_cell} * slots[r];
    out[r] += cubic(c[0], c[1], c[2], c[3], t[r]);
  }
}

/// `functions`: radial functions and polynomials, as functions x `points_of_tile`.
TESSERA_TARGET void combine_functions(const ComponentTable& component, const double* numbers, int count,
                                      const double* functions, double* values) {
  const std::ptrdiff_t columns = component.columns;
  const std::ptrdiff_t all = component.points + component.polynomials;
  for (std::ptrdiff_t c = 0; c < columns; c += UpToFour::count) {
    const double* weights = numbers + component.combinations + c / 4 * 4 * all + c % 4;
    UpToFour::Doubles sums[points_of_tile] = {};
    for (std::ptrdiff_t i = 0; i < all; ++i) {
      const auto weight = *UpToFour::at(weights + 4 * i);
      for (int r = 0; r < points_of_tile; ++r) sums[r] += functions[points_of_tile * i + r] * weight;
    }
    for (int r = 0; r < count; ++r) *UpToFour::at(values + r * columns + c) = sums[r];
  }
}
