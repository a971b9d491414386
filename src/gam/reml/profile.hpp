// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <optional>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The REML criterion V along the log smoothing parameter of one penalty S_j, with the others fixed: exact,
/// and evaluated without a factorisation. Constructed by `RemlCriterion::profiles`.
///
/// With all other coefficients profiled out, X'WX + S is K + lambda S_j on the coordinates that S_j
/// penalises. In the generalised eigenvectors of K and S_j, with eigenvalues k_i, log|X'WX + S| and the
/// penalised deviance are sums of functions of lambda and a single k_i.
struct RemlProfile {
  double log_sp = 0;                  ///< log lambda at which the members below are computed
  double deviance = 0;                ///< RSS + b'Sb
  double log_det = 0;                 ///< log|X'WX + S|
  std::vector<double> share;          ///< lambda / (k_i + lambda)
  std::vector<double> square;         ///< lambda times squared coefficients in the common eigenvectors
  double log_det_penalty = 0;         ///< log|S|+
  std::vector<double> penalty_share;  ///< lambda / (l_i + lambda), l_i from the block's other penalties
  double smallest_deviance = 0;       ///< smaller deviances are rounding errors
  double df = 0;                      ///< n / gamma - M_p
  std::optional<double> scale{};      ///< phi, if known
  double gamma = 1;                   ///< see `WorkingModel`
  int unpenalised = 0;                ///< M_p

  /// REML at the log smoothing parameter `at`. Cost: O(rank).
  [[nodiscard]] double value(double at) const;
};

}  // namespace TESSERA_NAMESPACE::gam
