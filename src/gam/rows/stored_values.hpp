// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/crossproduct_plan.hpp"
#include "gam/rows/layout.hpp"

#include <cstdint>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The values of a row that kernels store for each other: those of terms, and those of dense components,
/// which are evaluated first.
struct StoredValues {
  /// Stores the terms that are read, by index; the last one is the residual.
  StoredValues(const RowLayout& layout, const std::vector<bool>& read);

  std::vector<std::int64_t> value_begins;  ///< by term: the number of values before its own; -1: not stored
  /// By component: the number of values before those of a dense one, which are those of its term if it is the
  /// term's only component; -1: not stored.
  std::vector<std::int64_t> dense_begins;
  std::int64_t per_row = 0;
};

/// The values that a pass stores. `cross`: null on devices without matrix units.
[[nodiscard]] StoredValues values_of_pass(const RowLayout& layout, PassKind kind, const CrossPlan* cross);

}  // namespace TESSERA_NAMESPACE::gam
