// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/lanes.hpp"
#include "gam/many/packed_matrix.hpp"

#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>

/// Sums over rows in packets of eight; each lane is a row. Lanes are summed separately in the order of the
/// packets, and added at the end: the same bits on every processor.
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

/// Rows of one response in packets: responses, prior weights (zero for rows that do not count), linear
/// predictors with offsets, and quantities that a family derives from these once for all passes.
struct ResponseRows {
  const double* y;
  const double* weights;
  double* eta;
  double* mean;  ///< mu; nb: mu / theta
};

/// Fills `mean` and, per row, the score dl/deta and the weight w = -d2l/deta2; l: log likelihood.
void first_derivatives(ManyFamily family, double theta, const ResponseRows& rows, int packets, double* score,
                       double* weight);

/// Computes the expectation of w for each row.
void expected_weights(ManyFamily family, double theta, const ResponseRows& rows, int packets, double* to);

/// Sums over rows of -l without terms that depend only on the response, and for nb of dl/dtau and d2l/dtau2;
/// and per row d2l/(deta dtau).
struct LossSums {
  base::Lanes loss{};
  base::Lanes by_tau{};
  base::Lanes by_tau_twice{};
};
void add_losses(ManyFamily family, double theta, const ResponseRows& rows, int packets, LossSums& sums,
                double* score_by_tau);

/// Derivatives of the weight w, each an array of rows: by eta, by eta twice, and for nb by tau, by eta and
/// tau, by tau twice; and d3l/(deta dtau2).
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
/// The effect of the derivatives of the weights for some parameters, the last of which is tau if `with_tau`.
struct WeightChanges {
  int parameters;
  bool with_tau;
  /// By parameter, `stride` rows apart: derivatives of the linear predictors, then of the weights.
  double* rows;
  std::ptrdiff_t stride;
  double* leverage_slope;  ///< h dw/deta; h: leverages
  double* score_by_tau;    ///< d/dtau of d2l/(deta dtau)
  /// For parameters j <= k, in lanes from element lane_count (parameters j + k) on: the sum of leverage times
  /// the second derivative of the weight, without terms in second derivatives of the coefficients.
  double* pair_sums;
};
void add_weight_changes(const WeightDerivatives& weights, const double* leverage, int packets,
                        const WeightChanges& to);

/// to = a b by row; returns the sum of a b c.
void multiply_rows(const double* a, const double* b, int packets, double* to);
void add_sum_of_products(const double* a, const double* b, const double* c, int packets, double* sum);

}  // namespace TESSERA_NAMESPACE::gam
