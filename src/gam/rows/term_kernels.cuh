// SPDX-License-Identifier: Apache-2.0
// Kernels that evaluate terms: their values for products, and linear predictors.
#include "gam/rows/terms.cuh"
#include "rows_constants.hpp"

namespace TESSERA_NAMESPACE::gam {

/// The rows of a thread: `count` rows of a slice, `blockDim.x` apart. Tables are read once for all of them.
template <int count>
struct ThreadRows {
  RowPlace places[count];
  bool complete[count];  ///< the row exists and has no missing value

  explicit ThreadRows(const RowsView& batch) {
    const auto in_batch = static_cast<int>(blockIdx.y);
    const Slice slice = slice_of(batch, in_batch);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int r = static_cast<int>((blockIdx.x * count + i) * blockDim.x + threadIdx.x);
      places[i] = {slice.begin + r, static_cast<std::int64_t>(in_batch) * batch.slice_rows + r,
                   r < slice.rows};
      complete[i] = places[i].exists && batch.columns.complete[places[i].row] != 0;
    }
  }
};

/// A term's components in some rows: the product of those with one value, and the four values of each spline.
template <int splines, int count>
struct TermRows {
  double scalar[count];
  double four[splines > 0 ? splines : 1][count][4];
  int start[count];  ///< in the first placement

  /// With `stores`, stores the starts of all placements.
  TermRows(const RowsView& batch, const TermTable& term, const ThreadRows<count>& rows, bool stores);

  /// The term's k-th value in row i: base-4 digits of k select the values of the splines.
  [[nodiscard]] double value(int i, int k) const {
    double product = scalar[i];
#pragma unroll
    for (int s = 0; s < splines; ++s) product *= four[s][i][k >> 2 * (splines - 1 - s) & 3];
    return product;
  }
};

template <int splines, int count>
TermRows<splines, count>::TermRows(const RowsView& batch, const TermTable& term,
                                   const ThreadRows<count>& rows, bool stores) {
  const int placements = term.placement_end - term.placement_begin;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    scalar[i] = 1;
    start[i] = 0;
    for (int p = 0; stores && rows.complete[i] && p < placements; ++p)
      start_at(batch, term.placement_begin + p, rows.places[i].at) = 0;
  }
  int seen = 0;
  for (int c = 0; term.component_begin + c < term.component_end; ++c) {
    const ComponentTable& component = batch.layout.components[term.component_begin + c];
    int first[count] = {};
    if (component.kind == ComponentKind::factor) {
      const std::int32_t* codes = batch.columns.codes[component.variable];
#pragma unroll
      for (int i = 0; i < count; ++i) {
        if (rows.complete[i]) first[i] = codes[rows.places[i].row];
        // An unseen level of a random effect has no column (predictions only).
        if (first[i] < 0) {
          first[i] = 0;
          scalar[i] = 0;
        }
      }
    } else if (component.kind == ComponentKind::numeric) {
      double sum[count] = {};
      for (int part = 0; part < component.parts; ++part) {
        const double* numbers =
            batch.columns.numbers[batch.layout.part_variables[component.part_begin + part]];
        const double* standard = batch.layout.numbers + component.part_numbers + 2 * part;
#pragma unroll
        for (int i = 0; i < count; ++i)
          if (rows.complete[i]) sum[i] += numeric_part(standard, numbers[rows.places[i].row]);
      }
#pragma unroll
      for (int i = 0; i < count; ++i) scalar[i] *= sum[i];
    } else if (component.kind == ComponentKind::spline) {
      const MarginTable margin = component.margin;
      const double* numbers = batch.columns.numbers[component.variable];
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const double x = rows.complete[i] ? numbers[rows.places[i].row] : margin.begin;
        const Located located = locate(margin, batch.layout.numbers, x);
        first[i] = located.first;
        // Constant indices keep the values in registers.
#pragma unroll
        for (int s = 0; s < splines; ++s)
          if (s == seen) local_values(margin, batch.layout.numbers, located, four[s][i]);
      }
      ++seen;
    }
    for (int p = 0; p < placements; ++p) {
      const int stride =
          batch.layout.strides[batch.layout.placements[term.placement_begin + p].stride_begin + c];
#pragma unroll
      for (int i = 0; i < count; ++i) {
        if (p == 0) start[i] += stride * first[i];
        if (stores && rows.complete[i])
          start_at(batch, term.placement_begin + p, rows.places[i].at) += stride * first[i];
      }
    }
  }
}

/// Stores a term's values `value(row, k)` unless `begin` is -1; adds the term to the predictors.
template <int known_nonzeros, int count, class Value>
void use_values(const RowsView& batch, const TermTable& term, const ThreadRows<count>& rows, const int* start,
                std::int64_t begin, const Value& value, double* predictors) {
  const int nonzeros = known_nonzeros > 0 ? known_nonzeros : term.nonzeros;
  const double* coef = batch.raw_coef == nullptr ? nullptr : batch.raw_coef + term.raw_begin;
  const int* offsets = batch.layout.offsets + batch.layout.placements[term.placement_begin].offset_begin;
  double sum[count] = {};
#pragma unroll
  for (int k = 0; k < nonzeros; ++k) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const double of_row = value(i, k);
      if (begin >= 0 && rows.complete[i]) value_at(batch, begin, nonzeros, k, rows.places[i].at) = of_row;
      if (coef != nullptr) sum[i] += coef[start[i] + offsets[k]] * of_row;
    }
  }
#pragma unroll
  for (int i = 0; i < count; ++i) predictors[i] += sum[i];
}

template <int splines, int count>
void add_splines(const RowsView& batch, const TermTable& term, const ThreadRows<count>& rows,
                 std::int64_t begin, double* predictors) {
  const TermRows<splines, count> here(batch, term, rows, begin >= 0);
  use_values<1 << 2 * splines>(
      batch, term, rows, here.start, begin, [&](int i, int k) { return here.value(i, k); }, predictors);
}

/// Any term. Reads the values of dense components that `evaluate_dense` stored.
inline void add_any(const RowsView& batch, const TermTable& term, const ThreadRows<1>& rows,
                    std::int64_t begin, double* predictors) {
  const TermRows<most_splines_of_term, 1> here(batch, term, rows, begin >= 0);
  const auto value = [&](int /*row*/, int k) {
    // The last component varies fastest.
    double product = here.scalar[0];
    int spline = term.splines;
    for (int c = term.component_end - 1; c >= term.component_begin; --c) {
      const ComponentTable& component = batch.layout.components[c];
      if (component.kind == ComponentKind::spline) {
        product *= here.four[--spline][0][k % 4];
        k /= 4;
      } else if (component.kind == ComponentKind::dense) {
        if (rows.complete[0])
          product *= value_at(batch, batch.dense_begins[c], component.columns, k % component.columns,
                              rows.places[0].at);
        k /= component.columns;
      }
    }
    return product;
  };
  use_values<0>(batch, term, rows, here.start, begin, value, predictors);
}

/// A curve without stored values: one cubic per slot.
template <int count>
void add_curve(const RowsView& batch, const TermTable& term, const ThreadRows<count>& rows,
               const double* cubics, double* predictors) {
  const ComponentTable& component = batch.layout.components[term.component_begin];
  const MarginTable margin = component.margin;
  const double* numbers = batch.columns.numbers[component.variable];
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const Located at =
        locate(margin, batch.layout.numbers, rows.complete[i] ? numbers[rows.places[i].row] : margin.begin);
    const double* c = cubics + 4 * at.slot;
    predictors[i] += cubic(c[0], c[1], c[2], c[3], at.t);
  }
}

/// Evaluates unstored curves, and, by `add`, the other terms except those of a single dense component.
template <int count, class Add>
void evaluate_rows(const RowsView& batch, const Add& add) {
  const ThreadRows<count> rows(batch);
#pragma unroll
  for (int i = 0; i < count; ++i)
    if (rows.places[i].exists && !rows.complete[i]) clear_values(batch, rows.places[i].at);
  for (int formula = 0; formula < batch.formulas; ++formula) {
    double predictors[count] = {};
#pragma unroll
    for (int i = 0; i < count; ++i)
      if (rows.complete[i]) predictors[i] = offset_of(batch, rows.places[i].row, formula);
    for (int t = 0; t < batch.layout.term_count; ++t) {
      const TermTable& term = batch.layout.terms[t];
      if (term.predictor != formula) continue;
      if (batch.curve_begins[t] >= 0)
        add_curve(batch, term, rows, batch.curves + batch.curve_begins[t], predictors);
      else if (!is_dense_alone(term))
        add(term, rows, batch.value_begins[t], predictors);
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (batch.raw_coef != nullptr && rows.complete[i])
        batch.predictors[formula * batch.capacity + rows.places[i].at] = predictors[i];
    }
  }
}

// Grid of both kernels: (rows of a slice / rows of a thread) x slices.

/// For models whose terms have at most one spline, and no dense component that is not a whole term.
extern "C" __global__ void __launch_bounds__(threads_per_block) evaluate_curves(RowsView batch) {
  evaluate_rows<curve_rows_of_thread>(
      batch, [&](const TermTable& term, const auto& rows, std::int64_t begin, double* predictors) {
        if (term.splines == 1)
          add_splines<1>(batch, term, rows, begin, predictors);
        else
          add_splines<0>(batch, term, rows, begin, predictors);
      });
}

extern "C" __global__ void __launch_bounds__(threads_per_block) evaluate_terms(RowsView batch) {
  evaluate_rows<1>(batch,
                   [&](const TermTable& term, const auto& rows, std::int64_t begin, double* predictors) {
                     if (term.dense > 0) return add_any(batch, term, rows, begin, predictors);
                     switch (term.splines) {
                       case 0: return add_splines<0>(batch, term, rows, begin, predictors);
                       case 1: return add_splines<1>(batch, term, rows, begin, predictors);
                       case 2: return add_splines<2>(batch, term, rows, begin, predictors);
                       case 3: return add_splines<3>(batch, term, rows, begin, predictors);
                       default: return add_any(batch, term, rows, begin, predictors);
                     }
                   });
}

/// A dense component in one row.
struct DenseRow {
  const RowsView& batch;
  const ComponentTable& component;
  RowPlace place;
  std::int64_t begin;  ///< -1: values are not stored
  const double* coef;  ///< null: not added to the predictor
  double sum = 0;

  void use(int k, double value) {
    if (begin >= 0) value_at(batch, begin, component.columns, k, place.at) = value;
    if (coef != nullptr) sum += coef[k] * value;
  }
};

/// Columns that are cubics in each cell of a margin.
inline void use_cubics(DenseRow& row) {
  const ComponentTable& component = row.component;
  const double* numbers = row.batch.layout.numbers;
  const Located at =
      locate(component.margin, numbers, row.batch.columns.numbers[component.variable][row.place.row]);
  const double* c = dense_cubics_at(component, numbers, at.slot);
  const int columns = component.columns;
#pragma unroll 4
  for (int k = 0; k < columns; ++k)
    row.use(k, cubic(c[k], c[columns + k], c[2 * columns + k], c[3 * columns + k], at.t));
}

/// Up to `at_once` columns from `first` on: linear combinations of radial functions and polynomials.
/// `is_full`: all panels of four columns exist.
template <int at_once, bool is_full, int known_variables>
void use_isotropic(DenseRow& row, int first) {
  const ComponentTable& component = row.component;
  const double* numbers = row.batch.layout.numbers;
  const int variables = known_variables > 0 ? known_variables : component.parts;
  double u[known_variables > 0 ? known_variables : most_isotropic_variables];
#pragma unroll
  for (int part = 0; part < variables; ++part) {
    const int variable = row.batch.layout.part_variables[component.part_begin + part];
    u[part] = numeric_part(numbers + component.part_numbers + 2 * part,
                           row.batch.columns.numbers[variable][row.place.row]);
  }
  const std::int64_t panel = std::int64_t{4} * (component.points + component.polynomials);
  const double* combinations = numbers + component.combinations + first / 4 * panel;
  const int columns = component.columns - first;
  double sums[at_once] = {};
  for_each_isotropic_function(component, variables, numbers, u, [&](int j, double value) {
    const double* weights = combinations + std::int64_t{4} * j;
#pragma unroll
    for (int q = 0; q < at_once / 4; ++q) {
      if (!is_full && 4 * q >= columns) break;
#pragma unroll
      for (int k = 0; k < 4; ++k) sums[4 * q + k] += value * weights[q * panel + k];
    }
  });
#pragma unroll
  for (int k = 0; k < at_once; ++k)
    if (k < columns) row.use(first + k, sums[k]);
}

/// Evaluates a dense component by `use(row)`. `term`: index of its term if the component is the whole term,
/// whose contribution is added to the predictor; otherwise -1.
template <class Use>
void with_dense(const RowsView& batch, int index, int term, const Use& use) {
  const RowPlace place = place_of_thread(batch);
  if (!place.exists || batch.columns.complete[place.row] == 0) return;
  DenseRow row{batch, batch.layout.components[index], place, batch.dense_begins[index], nullptr};
  if (term >= 0) {
    const TermTable& table = batch.layout.terms[term];
    if (batch.raw_coef != nullptr) row.coef = batch.raw_coef + table.raw_begin;
    if (row.begin >= 0)
      for (int p = table.placement_begin; p < table.placement_end; ++p) start_at(batch, p, place.at) = 0;
  }
  use(row);
  if (row.coef != nullptr)
    batch.predictors[batch.layout.terms[term].predictor * batch.capacity + place.at] += row.sum;
}

// Grid: rows of a slice x slices.

/// Columns from `first` on.
extern "C" __global__ void __launch_bounds__(threads_per_block)
    evaluate_dense(RowsView batch, int component, int term, int first) {
  with_dense(batch, component, term, [&](DenseRow& row) {
    if (row.component.parts == 0) return use_cubics(row);
    for (int begin = first; begin < row.component.columns; begin += few_dense_columns) {
      if (row.component.parts == 2)
        use_isotropic<few_dense_columns, false, 2>(row, begin);
      else
        use_isotropic<few_dense_columns, false, 0>(row, begin);
    }
  });
}
/// `many_dense_columns` isotropic columns from `first` on; the last panel of four may be shorter.
extern "C" __global__ void __launch_bounds__(threads_per_block)
    evaluate_many_dense(RowsView batch, int component, int term, int first) {
  with_dense(batch, component, term, [&](DenseRow& row) {
    if (row.component.parts == 2)
      use_isotropic<many_dense_columns, true, 2>(row, first);
    else
      use_isotropic<many_dense_columns, true, 0>(row, first);
  });
}

}  // namespace TESSERA_NAMESPACE::gam
