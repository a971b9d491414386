// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <optional>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The REML criterion V as a function of the log smoothing parameter of one penalty S_j, with the others
/// fixed: exact, and evaluated without a factorisation.
///
/// With all other coefficients profiled out, X'WX + S is K + lambda S_j on the coordinates that S_j
/// penalises. In the common (generalised) eigenvectors of K and S_j, with eigenvalues k_i, log|X'WX + S| and
/// the penalised deviance are sums of functions of lambda and a single k_i. Constructed by
/// `RemlCriterion::profiles`.
struct RemlProfile {
  double log_sp = 0;           ///< where the sums below were computed
  double deviance = 0;         ///< RSS + b'Sb there
  double log_det = 0;          ///< log|X'WX + S| there
  std::vector<double> share;   ///< lambda / (k_i + lambda) there
  std::vector<double> square;  ///< squared coefficients there, in the common eigenvectors, times lambda
  double log_det_penalty = 0;  ///< log|S|+ there
  std::vector<double> penalty_share;  ///< lambda / (l_i + lambda) there, l_i from the block's other penalties
  double smallest_deviance = 0;       ///< deviances below this are rounding
  double df = 0;                      ///< n / gamma - M_p
  std::optional<double> scale{};      ///< phi, if it is known
  double gamma = 1;                   ///< see `WorkingModel`
  int unpenalised = 0;                ///< M_p

  /// V if the log smoothing parameter is `at`. Cost: O(rank).
  [[nodiscard]] double value(double at) const;
};

}  // namespace TESSERA_NAMESPACE::gam
