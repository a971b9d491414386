// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/terms/point_values.hpp"

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A nonzero of a `Combination`.
struct Weight {
  int coefficient;
  double value;
};
/// A row of the model matrix, or a difference of rows: its nonzeros by increasing coefficient.
using Combination = std::vector<Weight>;

/// a + `factor` * b.
[[nodiscard]] Combination sum_of(const Combination& a, double factor, const Combination& b);

/// Computes rows of one block of the model matrix, at given values of the block's variables. Not thread-safe.
class CoefBlockRows {
 public:
  /// `components`: the components of the block's term. The first component, if it is a by variable, may be
  /// left out: it then has the value 1 or the block's level. The block must outlive this object.
  CoefBlockRows(const CoefBlock& block, std::span<const Component> components);

  /// `values`: one for each variable of the components; for a factor the index of the level.
  [[nodiscard]] Combination at(std::span<const double> values);

 private:
  const CoefBlock& block_;
  std::vector<Component> components_;
  TermEvaluator evaluator_;
};

}  // namespace TESSERA_NAMESPACE::gam
