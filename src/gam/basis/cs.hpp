// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/cr.hpp"
#include "gam/basis/parts.hpp"
#include "gam/basis/shrinkage.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <array>
#include <optional>

namespace TESSERA_NAMESPACE::gam {

/// bs="cs": a cubic regression spline with shrinkage. In the null space of the penalty, the linear function
/// is penalised by `shrinkage`, and the constant by the square of `shrinkage`. In mgcv, rounding decides
/// which functions of the null space get these factors.
struct Cs : Cr {
  static constexpr char name[] = "cs";

  static std::optional<OptionFault> settle(BasisOptions& options) { return settle_as(options, name); }
  static BasisSize size(const BasisOptions& options) {
    BasisSize size = Cr::size(options);
    size.free = 0;
    return size;
  }

  static Basis make(const MarginData& data) {
    Basis basis = Cr::make(data);
    const int size = basis.size();
    const double unit = unit_of(basis.knots);
    Matrix lines(size, 2);
    for (int i = 0; i < size; ++i) {
      lines(i, 0) = 1;
      lines(i, 1) = (basis.knots[static_cast<std::size_t>(i)] - basis.knots.front()) / unit;
    }
    shrink(basis, submatrix(full_q(lines), 0, size, 0, 2), std::array{shrinkage * shrinkage, shrinkage});
    return basis;
  }
};

}  // namespace TESSERA_NAMESPACE::gam
