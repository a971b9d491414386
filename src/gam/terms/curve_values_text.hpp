// SPDX-License-Identifier: Apache-2.0
// Values of splines and of dense columns at points, for registers of any width: see base/each_width.hpp.

/// Where points fall in a margin, by slots (see `Located`): among equal cells, several
/// `slot_among_equal_cells` at a time. Brings them into the period of a cyclic margin.
TESSERA_TARGET void find_slots(const MarginTable& margin, const double* numbers, int count, double* x,
                               int* slots) {
  if (margin.cyclic) {
    for (int r = 0; r < count; ++r) x[r] = within_period(x[r], margin.begin, margin.end);
  }
  if (!margin.uniform) {
    for (int r = 0; r < count; ++r) slots[r] = breaks_up_to(numbers + margin.breaks, margin.cells + 1, x[r]);
    return;
  }
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

/// As `dense_values`, at each point.
TESSERA_TARGET void dense_values_of_points(const ComponentTable& component, const double* numbers, int count,
                                           double* x, int* slots, double* values) {
  const MarginTable margin = component.margin;
  find_slots(margin, numbers, count, x, slots);
  const std::ptrdiff_t columns = component.columns;
  for (int r = 0; r < count; ++r, values += columns) {
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
