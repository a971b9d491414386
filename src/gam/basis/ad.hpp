// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/cc.hpp"
#include "gam/basis/cp.hpp"
#include "gam/basis/cr.hpp"
#include "gam/basis/parts.hpp"
#include "gam/basis/ps.hpp"

#include <tessera/gam/matrix.hpp>

#include <optional>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// The weights of the second differences in `count` penalties, as (size - 2) x count. Column j contains the
/// values of B-spline j, cyclic or not, at the positions of the differences in (0, 1). With two penalties,
/// the columns are 1 and the position.
[[nodiscard]] Matrix adaptive_weights(int size, int count, bool cyclic);

/// Replaces the penalty by one for each column of `weights`: the weighted sum of squared second differences.
[[nodiscard]] Basis with_adaptive_penalties(Basis basis, const Matrix& weights);

/// bs="ad": an adaptive smooth of one variable. m[0] smoothing parameters let the smoothness change with the
/// variable. Source: Wood, Biometrics 62 (2006), 1025; Wood, Journal of the Royal Statistical Society B 73
/// (2011), sec. 5.1.
struct Ad {
  static constexpr char name[] = "ad";
  static constexpr bool random_effect = false;
  static constexpr bool several = false;
  static std::optional<OptionFault> settle(BasisOptions& options);
  static BasisSize size(const BasisOptions& options);
  static Basis make(const MarginData& data);
};

}  // namespace TESSERA_NAMESPACE::gam
