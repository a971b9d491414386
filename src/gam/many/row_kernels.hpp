// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/lanes.hpp"

#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>

/// Sums over rows in packets of eight, whose lanes are rows. Sums are taken lane by lane in the order of the
/// packets, and the lanes are added at the end: the same bits on every processor.
namespace TESSERA_NAMESPACE::gam {

/// Some columns of a group of rows: element (packet, column) of eight rows begins at
/// x[(packet * stride + at[column]) * 8].
struct LaneColumns {
  const double* x;
  std::ptrdiff_t stride;
  const int* at;
  int count;
};

/// Number of elements of a packed symmetric matrix: rows of its upper triangle, one after the other.
[[nodiscard]] constexpr int packed_size(int columns) noexcept {
  return columns * (columns + 1) / 2;
}

/// to = base + X b; `base` null: zeros.
void linear_combination(const LaneColumns& columns, const double* b, int packets, const double* base,
                        double* to);
/// sums += X' diag(weights) X, packed, each element a packet of eight.
void add_gram(const LaneColumns& columns, const double* weights, int packets, double* sums);
/// sums += X' v.
void add_products(const LaneColumns& columns, const double* v, int packets, double* sums);
/// Both.
void add_gram_and_products(const LaneColumns& columns, const double* weights, const double* v, int packets,
                           double* gram, double* products);
/// to_i = x_i' C x_i for the packed symmetric matrix C.
void quadratic_forms(const LaneColumns& columns, const double* packed, int packets, double* to);

/// The families of many models. A parameter tau = log(theta) of nb is estimated with the smoothing
/// parameters; so is log(phi) of a family with a scale phi.
enum class ManyFamily : std::uint8_t { nb, poisson, binomial, gaussian, gamma };

/// Rows of one response, in packets: responses, prior weights (zero for rows that do not count), linear
/// predictors with their offsets, and what a family derives from these once for all passes.
struct ResponseRows {
  const double* y;
  const double* weights;
  double* eta;
  double* mean;  ///< mu; nb: mu / theta
};

/// Fills `mean`, and per row the score dl/deta and the weight w = -d2l/deta2 of the log likelihood l.
void first_derivatives(ManyFamily family, double theta, const ResponseRows& rows, int packets, double* score,
                       double* weight);

/// Per row the expectation of w.
void expected_weights(ManyFamily family, double theta, const ResponseRows& rows, int packets, double* to);

/// Sums over rows of -l, without what depends on the response only, and for nb of dl/dtau and d2l/dtau2; and
/// per row d2l/(deta dtau).
struct LossSums {
  base::Lanes loss{};
  base::Lanes by_tau{};
  base::Lanes by_tau_twice{};
};
void add_losses(ManyFamily family, double theta, const ResponseRows& rows, int packets, LossSums& sums,
                double* score_by_tau);

/// Derivatives of the weight w per row, each an array of rows: by eta, by eta twice, and for nb by tau, by
/// eta and tau, by tau twice; and d3l/(deta dtau2).
struct WeightDerivatives {
  double* eta;
  double* eta_eta;
  double* tau;
  double* eta_tau;
  double* tau_tau;
  double* score_tau_tau;
};
void weight_derivatives(ManyFamily family, double theta, const ResponseRows& rows, int packets,
                        const WeightDerivatives& to);

/// to = e^x.
void exp_rows(const double* x, int packets, double* to);
/// What the derivatives of the weights give for some parameters, the last of which is tau if `with_tau`.
struct WeightChanges {
  int parameters;
  bool with_tau;
  /// By parameter, `stride` rows apart: the derivatives of the linear predictors; they become those of the
  /// weights.
  double* rows;
  std::ptrdiff_t stride;
  double* leverage_slope;  ///< h dw/deta, for the leverages h
  double* score_by_tau;    ///< d/dtau of d2l/(deta dtau)
  /// By pairs of parameters j <= k, from element 8 (m j + k) on: the sum of h d2w without the second
  /// derivatives of the coefficients.
  double* pair_sums;
};
void add_weight_changes(const WeightDerivatives& weights, const double* leverage, int packets,
                        const WeightChanges& to);

/// to = a b, and the sum of a b c, by rows.
void multiply_rows(const double* a, const double* b, int packets, double* to);
void add_sum_of_products(const double* a, const double* b, const double* c, int packets, double* sum);

}  // namespace TESSERA_NAMESPACE::gam
