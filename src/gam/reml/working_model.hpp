// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"

#include <cstdint>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The working linear model of one step, by coefficient: residuals r = z - X base with weights W. Centring at
/// `base` avoids cancellation in the residual sum of squares.
struct WorkingModel {
  PartedMatrix gram;             ///< X'WX
  std::vector<double> gradient;  ///< X'W r
  double residual = 0;           ///< r'W r
  std::vector<double> base;
  std::int64_t rows = 0;  ///< n
  double scale = 1;       ///< phi, if known
  double gamma = 1;       ///< REML counts n / gamma rows, and divides the residual sum of squares by gamma
};

/// The solution of a working model at the smoothing parameters that minimise REML.
struct RemlFit {
  std::vector<double> log_sp;  ///< log smoothing parameter of every penalty of every block, in order
  std::vector<double> coef;
  double scale = 1;
  /// Scale of the posterior covariance: RSS divided by (n minus the degrees of freedom), as in mgcv. Equals
  /// `scale` if gamma is 1 and REML is at a minimum in every smoothing parameter.
  double covariance_scale = 1;
  double score = 0;              ///< REML at the optimum
  std::vector<double> gradient;  ///< gradient of REML at the optimum by the log smoothing parameters
  std::vector<double> hessian;   ///< by log smoothing parameters and log phi: `RemlCriterion::whole_hessian`
  PartedMatrix inverse;          ///< (X'WX + S)^-1; times the scale it is the posterior covariance
  std::vector<double> part_ridges;  ///< the diagonal of S for the inverse's part
  std::vector<double> edf;          ///< edf of each coefficient: diagonal of F = (X'WX + S)^-1 X'WX
  std::vector<double> edf1;         ///< diagonal of 2F - FF, for reference degrees of freedom
  double penalised_deviance = 0;    ///< weighted residual sum of squares plus b'Sb
  std::vector<double> noise;        ///< rounding error of REML from X'WX: by penalised block, then the rest
  int iterations = 0;
  bool converged = false;  ///< whether the search ended at a minimum of REML, up to rounding
  /// `log_sp` of other minima a few units of REML higher (global search only), lowest first.
  std::vector<std::vector<double>> others;
  /// If not converged: the index of the block whose smoothing parameters have no minimum of REML, or whose
  /// minimum is hidden by rounding.
  int doubtful_block = -1;
  bool hidden_by_rounding = false;
};

}  // namespace TESSERA_NAMESPACE::gam
