// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/parted_matrix.hpp"

#include <tessera/gam/matrix.hpp>

#include <cstdint>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// The smoothing parameters of a fit, and what their uncertainty depends on.
struct SmoothingFit {
  std::span<const double> coef;
  const PartedMatrix& covariance;  ///< covariance at these smoothing parameters; without a pattern
  std::span<const double> log_sp;  ///< log smoothing parameter of every penalty, in the order of the blocks
  double scale = 1;
  double covariance_scale = 1;  ///< scale parameter of the covariance
  bool scale_known = false;
  double gamma = 1;
  std::int64_t rows = 0;
};

/// Contribution of the smoothing parameters' uncertainty.
struct SmoothingUncertainty {
  /// K, a row for each coefficient; K K' = J V J' is the contribution to the covariance, J the derivatives of
  /// the coefficients in the log smoothing parameters, V the inverse Hessian of REML, restricted to
  /// directions of positive curvature. No columns: no parameter was estimated.
  Matrix root;
  double edf = 0;  ///< tr(K'X'WXK) / phi, phi the scale of the covariance: edf2 less edf of mgcv
};

/// Propagates the uncertainty of the log smoothing parameters to the coefficients. The part of the
/// covariance, if it has one, is a random effect.
///
/// Source: Wood, Pya and Saefken, JASA 111 (2016), sec. 4, the first order term, as `bam(method = "fREML")`
/// has it. Cost: O(q^3) for each pair of penalties of q coefficients, and O(p^2) for each penalty.
[[nodiscard]] SmoothingUncertainty smoothing_uncertainty(const Design& design, const SmoothingFit& fit);

}  // namespace TESSERA_NAMESPACE::gam
