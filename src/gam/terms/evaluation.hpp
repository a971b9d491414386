// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/spline.hpp"
#include "gam/terms/tables.hpp"

#include <cstdint>

/// Values of a component in one row; the same source compiles for host and kernels.
namespace TESSERA_NAMESPACE::gam {

/// The variance, or 0 if it is negative because of rounding; NaN stays NaN.
inline double not_negative(double variance) {
  return variance < 0 ? 0.0 : variance;
}

/// Standardised value, (x - centre) * factor.
inline double numeric_part(const double* standard, double x) {
  return (x - standard[0]) * standard[1];
}

struct Located {
  int slot;   ///< cell + 1; slots 0 and cells + 1 are the linear extrapolations
  int first;  ///< first of four consecutive raw columns
  double t;
};

/// The index of the margin's part that contains a value; 0 for NaN.
inline int part_of_margin(const MarginTable& margin, double x) {
  const double u = (x - margin.begin) * margin.inverse_part;
  const double last = margin.parts - 1;
  return static_cast<int>(u > 0 ? (u < last ? u : last) : 0);
}

/// The slot of a value among cells of equal width.
inline int slot_among_equal_cells(const MarginTable& margin, double x) {
  const double u = (x - margin.begin) * margin.inverse_step;
  const double last = margin.cells;
  // The argument is nonnegative, so truncation equals floor; NaN goes to slot 0.
  return static_cast<int>((u > -1 ? (u < last ? u : last) : -1) + 1);
}

/// The first raw column of a slot; for an extrapolation, of the cell at this end.
inline int first_of_slot(const MarginTable& margin, int slot) {
  const int cell = slot < 1 ? 0 : slot > margin.cells ? margin.cells - 1 : slot - 1;
  return cell * margin.stride;
}

inline Located located_in(const MarginTable& margin, const double* numbers, double x, int slot) {
  return {slot, first_of_slot(margin, slot),
          (x - numbers[margin.origins + slot]) * numbers[margin.inverse_widths + slot]};
}

inline Located locate(const MarginTable& margin, const double* numbers, double x) {
  if (margin.cyclic) x = wrap_into_period(x, margin.begin, margin.end);
  return located_in(margin, numbers, x,
                    margin.uniform ? slot_among_equal_cells(margin, x)
                                   : breaks_up_to(numbers + margin.breaks, margin.cells + 1, x));
}

/// Coefficients of a slot's cubics: 4 powers of t x 4 values.
inline const double* cubics_at(const MarginTable& margin, const double* numbers, int slot) {
  // If all cells have the same cubics, reads the first cell: all lanes of a warp then read the same address.
  const bool inside = slot > 0 && slot <= margin.cells;
  return numbers + margin.cubics + std::int64_t{16} * (margin.alike && inside ? 1 : slot);
}

inline void local_values(const MarginTable& margin, const double* numbers, const Located& at,
                         double* values) {
  const double* c = cubics_at(margin, numbers, at.slot);
  for (int a = 0; a < 4; ++a) values[a] = cubic(c[a], c[4 + a], c[8 + a], c[12 + a], at.t);
}

/// Coefficients of a margin's dense columns in a slot: 4 powers of t x columns.
inline const double* dense_cubics_at(const ComponentTable& component, const double* numbers, int slot) {
  return numbers + component.combinations + std::int64_t{4} * component.columns * slot;
}

inline void dense_values(const ComponentTable& component, const double* __restrict numbers, double x,
                         double* __restrict values) {
  const Located at = locate(component.margin, numbers, x);
  const int columns = component.columns;
  const double* __restrict c = dense_cubics_at(component, numbers, at.slot);
  for (int k = 0; k < columns; ++k)
    values[k] = cubic(c[k], c[columns + k], c[2 * columns + k], c[3 * columns + k], at.t);
}

/// Calls `use(i, value)` for each radial function and polynomial of isotropic columns. `u`: the variables
/// minus their shifts.
template <class Use>
inline void for_each_isotropic_function(const ComponentTable& component, int variables,
                                        const double* __restrict numbers, const double* u, const Use& use) {
  for (int i = 0; i < component.points; ++i) {
    double square = 0;
    for (int v = 0; v < variables; ++v) {
      const double distance = u[v] - numbers[component.coordinates + std::int64_t{component.points} * v + i];
      square += distance * distance;
    }
    use(i, radial_value(component.function, square));
  }
  for (int i = 0; i < component.polynomials; ++i) {
    double value = 1;
    for (int v = 0; v < variables; ++v) {
      for (int p = static_cast<int>(numbers[component.powers + variables * i + v]); p > 0; --p) value *= u[v];
    }
    use(component.points + i, value);
  }
}

// Unrolled in device functions: an array with a variable index would not stay in registers.
#ifdef __CUDACC__
#define TESSERA_UNROLL _Pragma("unroll")
#else
#define TESSERA_UNROLL
#endif

/// In-place Kronecker product of `count` values with `more` others, whose index varies fastest.
inline void expand(double* values, int count, const double* others, int more) {
  TESSERA_UNROLL
  for (int k = count - 1; k >= 0; --k) {
    const double value = values[k];
    TESSERA_UNROLL
    for (int j = 0; j < more; ++j) values[more * k + j] = value * others[j];
  }
}

}  // namespace TESSERA_NAMESPACE::gam
