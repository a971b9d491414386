// SPDX-License-Identifier: Apache-2.0
// Values of splines and of dense columns at points, for registers of any width: see base/each_width.hpp.

/// As `breaks_up_to`, of several points at a time: the processor then need not wait for one step to begin the
/// next.
TESSERA_TARGET void find_among_breaks(const double* breaks, int all, int count, const double* x, int* slots) {
  constexpr int together = 8;
  int r = 0;
  for (; r + together <= count; r += together) {
    int low[together] = {};
    int left = all;
    for (; left > 1; left -= left / 2) {
      const int half = left / 2;
      for (int k = 0; k < together; ++k) low[k] += breaks[low[k] + half - 1] <= x[r + k] ? half : 0;
    }
    for (int k = 0; k < together; ++k) slots[r + k] = low[k] + (breaks[low[k]] <= x[r + k] ? 1 : 0);
  }
  for (; r < count; ++r) slots[r] = breaks_up_to(breaks, all, x[r]);
}

/// Where points fall in a margin, by slots (see `Located`): among equal cells, several
/// `slot_among_equal_cells` at a time. Brings them into the period of a cyclic margin.
TESSERA_TARGET void find_slots(const MarginTable& margin, const double* numbers, int count, double* x,
                               int* slots) {
  if (margin.cyclic) {
    for (int r = 0; r < count; ++r) x[r] = within_period(x[r], margin.begin, margin.end);
  }
  if (!margin.uniform) return find_among_breaks(numbers + margin.breaks, margin.cells + 1, count, x, slots);
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

TESSERA_TARGET void spline_values(const MarginTable margin, const double* numbers, int count, double* x,
                                  int* slots, int* first, double* values) {
  find_slots(margin, numbers, count, x, slots);
  for (int r = 0; r < count; ++r, values += 4) {
    const Located at = located_in(margin, numbers, x[r], slots[r]);
    first[r] = at.first;
    const double* c = cubics_at(margin, numbers, at.slot);
    for (int a = 0; a < 4; a += UpToFour::count) {
      *UpToFour::at(values + a) =
          ((*UpToFour::at(c + 12 + a) * at.t + *UpToFour::at(c + 8 + a)) * at.t + *UpToFour::at(c + 4 + a)) *
              at.t +
          *UpToFour::at(c + a);
    }
  }
}

/// Begins to read numbers into the nearest cache.
TESSERA_TARGET void fetch(const double* numbers, int count) {
  constexpr int of_line = 8;
  for (int i = 0; i < count; i += of_line) __builtin_prefetch(numbers + i);
}

/// As `dense_values`, at each point. Tables of many cells exceed the nearest caches.
TESSERA_TARGET void dense_values_of_points(const ComponentTable& component, const double* numbers, int count,
                                           double* x, int* slots, double* values) {
  const MarginTable margin = component.margin;
  find_slots(margin, numbers, count, x, slots);
  const std::ptrdiff_t columns = component.columns;
  constexpr int ahead = 6;
  for (int r = 0; r < count; ++r, values += columns) {
    if (r + ahead < count) {
      const Located next = located_in(margin, numbers, x[r + ahead], slots[r + ahead]);
      fetch(cubics_at(margin, numbers, next.slot), 16);
      fetch(numbers + component.combinations + columns * next.first, 4 * static_cast<int>(columns));
    }
    const Located at = located_in(margin, numbers, x[r], slots[r]);
    double four[4];
    local_values(margin, numbers, at, four);
    const double* weights = numbers + component.combinations + columns * at.first;
    for (std::ptrdiff_t c = 0; c < columns; c += UpToFour::count) {
      *UpToFour::at(values + c) =
          ((four[0] * *UpToFour::at(weights + c) + four[1] * *UpToFour::at(weights + columns + c)) +
           four[2] * *UpToFour::at(weights + 2 * columns + c)) +
          four[3] * *UpToFour::at(weights + 3 * columns + c);
    }
  }
}

/// out += a curve by its cells, at each point.
TESSERA_TARGET void add_curve_values(const double* cells, int count, const double* x, const int* slots,
                                     double* out) {
  for (int r = 0; r < count; ++r) {
    const double* c = cells + std::ptrdiff_t{numbers_of_cell} * slots[r];
    out[r] += cubic(c[0], c[1], c[2], c[3], (x[r] - c[4]) * c[5]);
  }
}

/// Isotropic columns at `count` points of a tile, from the `functions` that they are combinations of, each at
/// `points_of_tile` points.
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
