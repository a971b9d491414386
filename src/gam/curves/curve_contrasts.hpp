// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/curves.hpp>
#include <tessera/gam/matrix.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/job/job.hpp>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The contrasts of a curve, or of a pair of curves.
struct CurveContrasts {
  std::string name;  ///< "s(t1):l1", "s(t1):l1-s(t2):l2"
  Matrix contrasts;  ///< coefficients x contrasts
};

/// *Collective.* The contrasts that a test has, from the model that all responses share. Throws like
/// `test_curves`.
[[nodiscard]] std::vector<CurveContrasts> curve_contrasts(Job& job, const Model& shared,
                                                          const CurveTestOptions& options);

}  // namespace TESSERA_NAMESPACE::gam
