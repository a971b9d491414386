// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/parted_matrix.hpp"

#include <tessera/gam/matrix.hpp>

#include <cstdint>
#include <span>

namespace TESSERA_NAMESPACE::gam {

struct SmoothingFit {
  std::span<const double> coef;
  const PartedMatrix& covariance;  ///< covariance at these smoothing parameters; it has no sparsity pattern
  std::span<const double> log_sp;  ///< of every penalty, in the order of the blocks
  double scale = 1;
  double covariance_scale = 1;  ///< scale in `covariance`
  bool scale_known = false;
  double gamma = 1;
  std::int64_t rows = 0;
};

struct SmoothingUncertainty {
  /// K, with a row per coefficient: K K' = J V J' is the contribution to the covariance. J has the
  /// derivatives of the coefficients by the log smoothing parameters. V is the inverse Hessian of REML,
  /// restricted to directions of positive curvature. No columns if no smoothing parameter was estimated.
  Matrix root;
  double edf = 0;  ///< tr(K'X'WXK) / phi, with the covariance's scale phi: mgcv's edf2 minus edf
};

/// Propagates the uncertainty of the log smoothing parameters to the coefficients. If the covariance
/// has a part, it must be a single random effect.
///
/// Source: Wood, Pya and Saefken, JASA 111 (2016), sec. 4, the first order term, as in `bam(method =
/// "fREML")`. Cost: O(q^3) for each pair of penalties of q coefficients, and O(p^2) for each penalty.
[[nodiscard]] SmoothingUncertainty smoothing_uncertainty(const Design& design, const SmoothingFit& fit);

}  // namespace TESSERA_NAMESPACE::gam
