// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/jet.hpp"

#include <cmath>
#include <limits>

/// Rows of families with several linear predictors, from the same source on the host and in kernels.
namespace TESSERA_NAMESPACE::gam {

/// Mean and standard deviation of a response.
struct ResponseLevel {
  double mean = 0;
  double deviation = 0;
};

/// The predictors of the null model, by which the null deviance is defined as in mgcv.
enum class NullPredictors {
  mean,       ///< the first predictor's mean is that of the responses; the others are those of the model
  constants,  ///< constants of maximum likelihood
  but_scale,  ///< constants of maximum likelihood; the last one is that of the model
  none,       ///< there is no null deviance
};

/// Number of pairs of this many predictors, of each with itself too.
constexpr int predictor_pairs(int predictors) {
  return predictors * (predictors + 1) / 2;
}
/// The index of a pair among them: the upper triangle, row by row.
constexpr int predictor_pair(int one, int other, int predictors) {
  const int low = one < other ? one : other;
  const int high = one < other ? other : one;
  return low * predictors - low * (low - 1) / 2 + high - low;
}

/// The log likelihood of a row with prior weight 1 and, unless they are null, its first derivatives by the
/// predictors (`scores`) and minus the second ones, by pair (`curvatures`). T is a double or a packet of
/// rows.
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

/// Classes 0 to K: each predictor is the log odds of a class against class 0.
template <class T>
struct ClassSum {
  T most, sum;  ///< the largest predictor, or 0; the sum of exp(predictor - `most`)
};
/// Sets the probabilities of the classes, unless `shares` is null.
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
/// As `row_log_likelihood`, of a class; `shares` is scratch for K + 1 numbers, null without derivatives.
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
/// The square of the deviance residual; the probability counts as at least the rounding unit, as in mgcv.
inline double class_squared_residual(int predictors, double own, const double* eta) {
  const double probability = exp(class_log_likelihood(predictors, own, eta, nullptr, nullptr, nullptr));
  return -2 * log(fmax(probability, std::numeric_limits<double>::epsilon()));
}
/// The classes of a kernel, whose number is known when it is compiled.
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
