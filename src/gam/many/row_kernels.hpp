// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/lanes.hpp"
#include "gam/many/packed_matrix.hpp"

#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>

/// Sums over rows in packets of eight: each SIMD lane sums every eighth row in order, and the lanes are added
/// at the end. Results are bitwise equal on every CPU.
namespace TESSERA_NAMESPACE::gam {

/// Some columns of a group of rows. The eight rows of element (packet, column) begin at x[(packet * stride +
/// at[column]) * 8].
struct LaneColumns {
  const double* x;
  std::ptrdiff_t stride;
  const int* at;
  int count;
};

/// to = base + X b; to = X b if `base` is null.
void linear_combination(const LaneColumns& columns, const double* b, int packets, const double* base,
                        double* to);
/// sums += X' diag(weights) X, packed; each element is a SIMD packet.
void add_gram(const LaneColumns& columns, const double* weights, int packets, double* sums);
/// sums += X' v.
void add_products(const LaneColumns& columns, const double* v, int packets, double* sums);
void add_gram_and_products(const LaneColumns& columns, const double* weights, const double* v, int packets,
                           double* gram, double* products);
/// to_i = x_i' C x_i for the packed symmetric matrix C.
void quadratic_forms(const LaneColumns& columns, const double* packed, int packets, double* to);

/// Families of `fit_many`. The search includes tau = log(theta) of nb, or log(phi) of a family with a scale.
enum class ManyFamily : std::uint8_t { nb, poisson, binomial, gaussian, gamma };

/// Rows of one response in packets. `weights`: prior weights, zero for rows left out. `eta` includes offsets.
struct ResponseRows {
  const double* y;
  const double* weights;
  double* eta;
  double* mean;  ///< mu; for nb mu/theta
};

/// Fills `mean`, and sets by row the score dl/deta and the weight w = -d2l/deta2 of the log likelihood l.
void first_derivatives(ManyFamily family, double theta, const ResponseRows& rows, int packets, double* score,
                       double* weight);

/// to = E(w) by row.
void expected_weights(ManyFamily family, double theta, const ResponseRows& rows, int packets, double* to);

/// Sums of `RowLoss` over rows. `score_by_tau` receives d2l/(deta dtau) by row.
struct LossSums {
  base::Lanes loss{};
  base::Lanes by_tau{};
  base::Lanes by_tau_twice{};
};
void add_losses(ManyFamily family, double theta, const ResponseRows& rows, int packets, LossSums& sums,
                double* score_by_tau);

/// `RowWeightDerivatives` by row.
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

void exp_rows(const double* x, int packets, double* to);
/// Arguments of `add_weight_changes`. With `with_tau`, the last parameter is tau.
struct WeightChanges {
  int parameters;
  bool with_tau;
  /// By parameter, at distance `stride`: input d(eta), replaced by the derivatives of the weights.
  double* rows;
  std::ptrdiff_t stride;
  double* leverage_slope;  ///< h dw/deta by row, with the leverages h
  double* score_by_tau;    ///< d/dtau of d2l/(deta dtau) by row
  /// A packet for each pair of parameters j <= k, from element lane_count (parameters j + k): the sum of h
  /// d2w, without terms in second derivatives of the coefficients.
  double* pair_sums;
};
void add_weight_changes(const WeightDerivatives& weights, const double* leverage, int packets,
                        const WeightChanges& to);

/// to = a b by row. `add_sum_of_products` adds the sum of a b c.
void multiply_rows(const double* a, const double* b, int packets, double* to);
void add_sum_of_products(const double* a, const double* b, const double* c, int packets, double* sum);

}  // namespace TESSERA_NAMESPACE::gam
