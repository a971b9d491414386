// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/crossproduct_plan.hpp"
#include "gam/rows/layout.hpp"

#include <cstdint>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Layout of the values that kernels store for other kernels: those of terms and of dense components.
struct StoredValues {
  /// `read`: by term, true if another kernel reads its values; the last is the residual.
  StoredValues(const RowLayout& layout, const std::vector<bool>& read);

  std::vector<std::int64_t> value_begins;  ///< by term: offset in a row; -1: not stored
  /// By component: offset of a dense component in a row (its term's, if alone in the term); -1: not stored.
  std::vector<std::int64_t> dense_begins;
  std::int64_t per_row = 0;
};

/// Values that a pass stores. `cross`: null without tensor cores.
[[nodiscard]] StoredValues values_of_pass(const RowLayout& layout, PassKind kind, const CrossPlan* cross);

}  // namespace TESSERA_NAMESPACE::gam
