// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/curves.hpp>
#include <tessera/gam/matrix.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/job/job.hpp>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The contrasts of a curve, or of a pair of curves, or given ones.
struct CurveContrasts {
  std::string name;     ///< "s(t1):l1", "s(t1):l1-s(t2):l2"
  Matrix contrasts;     ///< coefficients x contrasts
  std::string group{};  ///< parts of one group are tested together too; empty: none
};

/// A curve at points.
struct CurvePoints {
  std::string name;
  std::string variable;  ///< along which it runs
  std::vector<double> points;
  Matrix rows;  ///< coefficients x points: the model matrix, transposed
};

/// *Collective.* The chosen curves at their points, with all other variables at typical values.
[[nodiscard]] std::vector<CurvePoints> curve_points(Job& job, const Model& shared,
                                                    const CurveValueOptions& options);

/// *Collective.* The contrasts that a test has, from the model that all responses share. Throws like
/// `test_curves`.
[[nodiscard]] std::vector<CurveContrasts> curve_contrasts(Job& job, const Model& shared,
                                                          const CurveTestOptions& options);

}  // namespace TESSERA_NAMESPACE::gam
