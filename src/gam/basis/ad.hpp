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

/// The weights of `count` penalties of a basis of `size` coefficients: a column for each, with a row for each
/// second difference. The weights are B-splines at the places of the differences, `cyclic` or not; with two
/// penalties they are 1 and the place.
[[nodiscard]] Matrix adaptive_weights(int size, int count, bool cyclic);

/// Replaces the penalty by one on squared second differences for each column of the weights.
[[nodiscard]] Basis with_adaptive_penalties(Basis basis, const Matrix& weights);

/// bs="ad": a smooth of one variable, as smooth as the data are at each place: m[0] smoothing parameters.
/// Source: Wood, Biometrics 62 (2006), 1025; Wood, Journal of the Royal Statistical Society B 73 (2011),
/// sec. 5.1.
struct Ad {
  static constexpr char name[] = "ad";
  static constexpr bool random_effect = false;
  static constexpr bool several = false;
  static std::optional<OptionFault> settle(BasisOptions& options);
  static BasisSize size(const BasisOptions& options);
  static Basis make(const MarginData& data);
};

}  // namespace TESSERA_NAMESPACE::gam
