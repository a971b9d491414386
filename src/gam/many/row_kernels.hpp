// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/lanes.hpp"
#include "gam/many/packed_matrix.hpp"

#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>

/// Sums over rows in packets of eight: each SIMD lane sums every eighth row, in the order of the packets, and
/// the lanes are added at the end. The bits are the same on every processor.
namespace TESSERA_NAMESPACE::gam {

/// Some columns of a group of rows: the eight rows of element (packet, column) begin at x[(packet * stride +
/// at[column]) * 8].
struct LaneColumns {
  const double* x;
  std::ptrdiff_t stride;
  const int* at;
  int count;
};

/// to = base + X b; `base` null: zeros.
void linear_combination(const LaneColumns& columns, const double* b, int packets, const double* base,
                        double* to);
/// sums += X' diag(weights) X, packed, each element a packet of eight.
void add_gram(const LaneColumns& columns, const double* weights, int packets, double* sums);
/// sums += X' v.
void add_products(const LaneColumns& columns, const double* v, int packets, double* sums);
/// Both `add_gram` and `add_products`.
void add_gram_and_products(const LaneColumns& columns, const double* weights, const double* v, int packets,
                           double* gram, double* products);
/// to_i = x_i' C x_i for the packed symmetric matrix C.
void quadratic_forms(const LaneColumns& columns, const double* packed, int packets, double* to);

/// The families of many models. For nb, tau = log(theta) is estimated with the smoothing parameters; for a
/// family with a scale phi, tau = log(phi).
enum class ManyFamily : std::uint8_t { nb, poisson, binomial, gaussian, gamma };

/// Rows of one response in packets: responses, prior weights (zero for rows that are left out), linear
/// predictors including offsets, and quantities that a family derives from these once for all passes.
struct ResponseRows {
  const double* y;
  const double* weights;
  double* eta;
  double* mean;  ///< mu; for nb mu / theta
};

/// Fills `mean`, and sets, for each row, the score dl/deta and the weight w = -d2l/deta2, where l is the log
/// likelihood.
void first_derivatives(ManyFamily family, double theta, const ResponseRows& rows, int packets, double* score,
                       double* weight);

/// Computes the expectation of w for each row.
void expected_weights(ManyFamily family, double theta, const ResponseRows& rows, int packets, double* to);

/// Sums over rows of `RowLoss`, without and with derivatives by tau; and per row d2l/(deta dtau).
struct LossSums {
  base::Lanes loss{};
  base::Lanes by_tau{};
  base::Lanes by_tau_twice{};
};
void add_losses(ManyFamily family, double theta, const ResponseRows& rows, int packets, LossSums& sums,
                double* score_by_tau);

/// Derivatives of the weight w in each row: by eta, and by eta twice; for nb also by tau, by eta and tau, and
/// by tau twice. For nb also d3l/(deta dtau2).
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
/// How the derivatives of the weights by some parameters change the sums; with `with_tau`, the last parameter
/// is tau.
struct WeightChanges {
  int parameters;
  bool with_tau;
  /// For each parameter, `stride` rows apart: first derivatives of the linear predictors, replaced by those
  /// of the weights.
  double* rows;
  std::ptrdiff_t stride;
  double* leverage_slope;  ///< h dw/deta in each row, with the leverages h
  double* score_by_tau;    ///< d/dtau of d2l/(deta dtau) in each row
  /// For each pair of parameters j <= k, a packet from element lane_count (parameters j + k) on: the sum of
  /// the leverage times the second derivative of the weight, without terms in second derivatives of the
  /// coefficients.
  double* pair_sums;
};
void add_weight_changes(const WeightDerivatives& weights, const double* leverage, int packets,
                        const WeightChanges& to);

/// to = a b in each row; `add_sum_of_products` adds the sum of a b c.
void multiply_rows(const double* a, const double* b, int packets, double* to);
void add_sum_of_products(const double* a, const double* b, const double* c, int packets, double* sum);

}  // namespace TESSERA_NAMESPACE::gam
