// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/parted_matrix.hpp"
#include "gam/rows/layout.hpp"

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The quadratic form C = M V M', the covariance of the raw coefficients, as `RowLayout::packed` orders it.
/// The variance of a row's predictor is r' C r for the row's raw columns r. A row needs only products of its
/// nonzeros: 4 J (4 J + 1) / 2 for J splines. Cost: O(raw^2 k) for blocks of k coefficients.
[[nodiscard]] std::vector<double> variance_form(const Design& design, const RowLayout& layout,
                                                const PartedMatrix& covariance);

}  // namespace TESSERA_NAMESPACE::gam
