// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/jet.hpp"

#include <cmath>
#include <limits>

/// Rows of families with several linear predictors; the same source for host and kernels.
namespace TESSERA_NAMESPACE::gam {

/// Mean and standard deviation of a response; NaN for a class.
struct ResponseLevel {
  double mean = 0;
  double deviation = 0;
};

/// The linear predictors of the null model, for mgcv's null deviance.
enum class NullPredictors {
  mean,       ///< the first predictor is that of the mean response; the others are the model's
  constants,  ///< maximum likelihood constants
  but_scale,  ///< maximum likelihood constants, but the last predictor is the model's
  none,       ///< there is no null deviance
};

/// Number of unordered pairs of predictors, including equal ones.
constexpr int predictor_pairs(int predictors) {
  return predictors * (predictors + 1) / 2;
}
/// Index of a pair in the upper triangle, row by row.
constexpr int predictor_pair(int one, int other, int predictors) {
  const int low = one < other ? one : other;
  const int high = one < other ? other : one;
  return low * predictors - low * (low - 1) / 2 + high - low;
}

/// Log likelihood of a row with prior weight 1. Unless null, `scores` receives the first derivatives with
/// respect to the predictors, and `curvatures` minus the second derivatives, one per pair. T is a double or a
/// SIMD packet of rows.
template <class F, class T>
T row_log_likelihood(const F& family, const Same<T>& y, const T* eta, Same<T>* scores, Same<T>* curvatures) {
  if constexpr (requires { family.row(y, eta, scores, curvatures); }) {
    return family.row(y, eta, scores, curvatures);
  } else {
    using Row = Jet<F::predictors, T>;
    if (scores == nullptr) return family.log_likelihood(y, eta);
    Row at[F::predictors];
    for (int p = 0; p < F::predictors; ++p) at[p] = Row::variable(eta[p], p);
    const Row row = family.log_likelihood(y, at);
    for (int p = 0; p < F::predictors; ++p) scores[p] = row.first[p];
    for (int k = 0; k < row.pairs; ++k) curvatures[k] = -row.second[k];
    return row.value;
  }
}

/// Log-sum-exp terms of the classes 0 to K.
template <class T>
struct ClassSum {
  T most, sum;  ///< max(0, predictors); sum of exp(predictor - most), including class 0
};
/// `shares`: output, the probabilities of the classes, unless null.
template <class T>
ClassSum<T> set_shares(int predictors, const T* eta, Same<T>* shares) {
  T most(0.0);
  for (int p = 0; p < predictors; ++p) most = choose(eta[p] > most, eta[p], most);
  T sum(0.0);
  for (int c = 0; c <= predictors; ++c) {
    const T part = exp((c == 0 ? T(0.0) : eta[c - 1]) - most);
    if (shares != nullptr) shares[c] = part;
    sum += part;
  }
  for (int c = 0; shares != nullptr && c <= predictors; ++c) shares[c] = shares[c] / sum;
  return {most, sum};
}
/// `row_log_likelihood` of multinom. `shares`: scratch for K + 1 numbers; null without derivatives.
template <class T>
T class_log_likelihood(int predictors, const Same<T>& own, const T* eta, Same<T>* shares, Same<T>* scores,
                       Same<T>* curvatures) {
  const ClassSum<T> at = set_shares(predictors, eta, shares);
  T of_own(0.0);
  for (int p = 0, k = 0; p < predictors; ++p) {
    of_own = choose(own == p + 1.0, eta[p], of_own);
    if (scores == nullptr) continue;
    scores[p] = choose(own == p + 1.0, T(1.0), T(0.0)) - shares[p + 1];
    for (int q = p; q < predictors; ++q, ++k)
      curvatures[k] = shares[p + 1] * ((p == q ? 1.0 : 0.0) - shares[q + 1]);
  }
  return of_own - at.most - log(at.sum);
}
/// Squared deviance residual. As in mgcv, the probability is at least machine epsilon.
inline double class_squared_residual(int predictors, double own, const double* eta) {
  const double probability = exp(class_log_likelihood(predictors, own, eta, nullptr, nullptr, nullptr));
  return -2 * log(fmax(probability, std::numeric_limits<double>::epsilon()));
}
/// multinom with a compile-time number of classes, for kernels.
template <int K>
struct FixedClasses {
  static constexpr int predictors = K;
  template <class T>
  static T row(const Same<T>& y, const T* eta, Same<T>* scores, Same<T>* curvatures) {
    T shares[K + 1];
    return class_log_likelihood(K, y, eta, shares, scores, curvatures);
  }
  static double squared_residual(double y, const double* eta) { return class_squared_residual(K, y, eta); }
};

}  // namespace TESSERA_NAMESPACE::gam
