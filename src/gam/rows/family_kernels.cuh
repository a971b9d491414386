// SPDX-License-Identifier: Apache-2.0
// Kernels of a family and link, one thread per row: a row's contribution to a pass, from its linear
// predictors. kernel_source.cpp writes `rows_constants.hpp`, which defines `fixed::family_of(parameters)`.
#include "gam/rows/evaluation.hpp"
#include "gam/rows/terms.cuh"
#include "rows_constants.hpp"

namespace TESSERA_NAMESPACE::gam {

using Family = decltype(fixed::family_of(nullptr));

constexpr bool has_products(PassKind kind) {
  return kind != PassKind::deviance && kind != PassKind::parameters;
}

inline void keep_weight(const SliceBatchView& batch, std::int64_t at, double weight) {
  batch.weights[at] = weight;
  if (batch.roots != nullptr) batch.roots[at] = sqrt(weight);
}

inline void keep_residual(const SliceBatchView& batch, std::int64_t at, double residual) {
  const int t = batch.layout.term_count;
  value_at(batch, batch.value_begins[t], 1, 0, at) = residual;
  start_at(batch, batch.layout.terms[t].placement_begin, at) = 0;
}

/// Makes the row zero in all products.
inline void clear_row(const SliceBatchView& batch, std::int64_t at) {
  keep_weight(batch, at, 0);
  for (int plane = 1; plane < batch.planes; ++plane) batch.weights[plane * batch.capacity + at] = 0;
  clear_values(batch, at);
}

template <class F>
constexpr int parameter_count() {
  if constexpr (CountedFamily<F>) {
    constexpr F of_model = fixed::family_of(nullptr);
    return of_model.count();
  } else {
    return F::parameter_count;
  }
}

template <RowFamily F>
void keep_outcome(const SliceBatchView& batch, PassKind kind, const F& family, Response y, double prior,
                  const RowPlace& place) {
  const std::int64_t at = place.at;
  const double eta = kind == PassKind::moments ? 0 : batch.predictors[at];
  const double offset = offset_of(batch, place.row, 0);
  const RowOutcome<double> outcome = row_outcome(kind, family, y, eta, offset, prior);
  for (int k = 0; k < row_scalar_count; ++k) batch.scalars[k * batch.capacity + at] = outcome.scalars[k];
  if (!has_products(kind)) return;
  keep_residual(batch, at, outcome.residual);
  keep_weight(batch, at, outcome.weight);
  if (kind != PassKind::moments && outcome.scalars[2] != 0) clear_row(batch, at);
}

/// True if a formula's terms are added to linear predictor `predictor` of P.
template <int P>
bool reads(const SliceBatchView& batch, int formula, int predictor) {
  return batch.readers[formula * P + predictor] != 0;
}

/// Stores weights by pair of formulas: the sum over all pairs of a linear predictor that has the first
/// formula's terms and a linear predictor that has the second formula's terms.
template <int P>
void keep_shared_weights(const SliceBatchView& batch, const double* weights, std::int64_t at) {
  const int formulas = batch.formulas;
  for (int f = 0, plane = 0; f < formulas; ++f) {
    double score = 0;
    for (int p = 0; p < P; ++p)
      if (reads<P>(batch, f, p)) score += weights[predictor_pairs(P) + p];
    batch.weights[(predictor_pairs(formulas) + f) * batch.capacity + at] = score;
    for (int g = f; g < formulas; ++g, ++plane) {
      double weight = 0;
      for (int p = 0; p < P; ++p) {
        for (int q = 0; q < P; ++q)
          if (reads<P>(batch, f, p) && reads<P>(batch, g, q)) weight += weights[predictor_pair(p, q, P)];
      }
      batch.weights[plane * batch.capacity + at] = weight;
    }
  }
}

template <class F>
void keep_several(const SliceBatchView& batch, PassKind kind, const F& family, double y, double prior,
                  const RowPlace& place) {
  constexpr int P = F::predictors;
  const std::int64_t at = place.at;
  double eta[P] = {};
  if (kind != PassKind::moments) {
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (batch.readers == nullptr) {
        eta[p] = batch.predictors[p * batch.capacity + at];
      } else {
        for (int f = 0; f < batch.formulas; ++f)
          if (reads<P>(batch, f, p)) eta[p] += batch.predictors[f * batch.capacity + at];
      }
    }
  }
  const auto outcome = several_outcome(kind, family, y, eta, prior, batch.parameters);
  for (int k = 0; k < row_scalar_count; ++k) batch.scalars[k * batch.capacity + at] = outcome.scalars[k];
  if (!has_products(kind)) return;
  keep_residual(batch, at, 1);
  if (batch.readers != nullptr) {
    keep_shared_weights<P>(batch, outcome.weights, at);
  } else {
#pragma unroll
    for (int plane = 0; plane < predictor_pairs(P) + P; ++plane)
      batch.weights[plane * batch.capacity + at] = outcome.weights[plane];
  }
  if (kind != PassKind::moments && outcome.scalars[2] != 0) clear_row(batch, at);
}

/// Calls `work(place, response, prior weight)` if the thread's row is complete; otherwise stores zeros.
template <class Work>
void with_row(const SliceBatchView& batch, bool with_products, const Work& work) {
  const RowPlace place = place_of_thread(batch);
  if (!place.exists) return;
  if (batch.columns.complete[place.row] == 0) {
    if (with_products) clear_row(batch, place.at);
    for (int k = 0; k < batch.scalar_count; ++k) batch.scalars[k * batch.capacity + place.at] = 0;
    return;
  }
  const auto number = [&](int variable) { return batch.columns.numbers[variable][place.row]; };
  Response response = number(batch.response);
  if (batch.limit >= 0) response.limit = number(batch.limit);
  work(place, batch.response_factor * response,
       batch.prior_weight < 0 ? 1 : batch.prior_factor * number(batch.prior_weight));
}

template <class F>
void keep_row(const SliceBatchView& batch, PassKind kind, const F& family, Response y, double prior,
              const RowPlace& place) {
  if constexpr (RowFamily<F>)
    keep_outcome(batch, kind, family, y, prior, place);
  else
    keep_several(batch, kind, family, y, prior, place);
}

// Grid: rows of a slice x slices.

/// All passes except `PassKind::parameters`.
extern "C" __global__ void keep_rows(SliceBatchView batch, PassKind kind) {
  with_row(batch, has_products(kind), [&](const RowPlace& place, Response response, double prior) {
    keep_row(batch, kind, fixed::family_of(batch.parameters), response, prior, place);
  });
}

template <class F>
void keep_likelihood([[maybe_unused]] const SliceBatchView& batch) {
  if constexpr (ParametricFamily<F>) {
    with_row(batch, false, [&](const RowPlace& place, Response response, double prior) {
      constexpr int count = parameter_scalar_count(parameter_count<F>());
      double scalars[count];
      const F family = fixed::family_of(batch.parameters);
      likelihood_outcome(family, response, batch.predictors[place.at], prior, scalars);
      for (int k = 0; k < count; ++k) batch.scalars[k * batch.capacity + place.at] = scalars[k];
    });
  }
}
/// `PassKind::parameters`. Empty, and never launched, for a family without parameters.
extern "C" __global__ void keep_parameters(SliceBatchView batch) {
  keep_likelihood<Family>(batch);
}

template <class F>
void respond([[maybe_unused]] const SliceBatchView& batch,
             [[maybe_unused]] const PredictionView& prediction) {
  if constexpr (RowFamily<F>) {
    const RowPlace place = place_of_thread(batch);
    if (!place.exists || batch.columns.complete[place.row] == 0) return;
    const F family = fixed::family_of(batch.parameters);
    double* out = prediction.out + 2 * place.row;
    if (prediction.form != nullptr) out[1] *= fabs(family.derivative(out[0]));
    out[0] = family.mean(out[0]);
  }
}
/// Replaces each row's linear predictor by the mean, and its standard error by the mean's.
extern "C" __global__ void predict_means(SliceBatchView batch, PredictionView prediction) {
  respond<Family>(batch, prediction);
}

}  // namespace TESSERA_NAMESPACE::gam
