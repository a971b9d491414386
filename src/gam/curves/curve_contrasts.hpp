// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/curves.hpp>
#include <tessera/gam/matrix.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/job/job.hpp>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Contrasts that are tested together: of a curve, of a pair of curves, or user-defined.
struct CurveContrasts {
  std::string name;     ///< "s(t1):l1", "s(t1):l1-s(t2):l2"
  Matrix contrasts;     ///< coefficients x contrasts
  std::string group{};  ///< elements of one group are also tested jointly; empty: none
};

struct CurvePoints {
  std::string name;
  std::string variable;  ///< variable of the smooth; its values are `points`
  std::vector<double> points;
  Matrix rows;  ///< coefficients x points: the model matrix, transposed
};

/// *Collective.* The chosen curves at their points, with all other variables at typical values.
[[nodiscard]] std::vector<CurvePoints> curve_points(Job& job, const Model& shared,
                                                    const CurveValueOptions& options);

/// *Collective.* The contrasts of a test. `shared`: the model that all responses share. Throws as
/// `test_curves` does.
[[nodiscard]] std::vector<CurveContrasts> curve_contrasts(Job& job, const Model& shared,
                                                          const CurveTestOptions& options);

}  // namespace TESSERA_NAMESPACE::gam
