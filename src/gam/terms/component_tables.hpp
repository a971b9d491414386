// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component.hpp"
#include "gam/terms/tables.hpp"

#include <memory>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Components as tables, and the numbers and variables that these refer to.
struct ComponentTables {
  std::vector<ComponentTable> components;
  std::vector<double> numbers;
  std::vector<int> part_variables;                          ///< of the numeric components
  std::vector<std::shared_ptr<const FarField>> far_fields;  ///< of components, on hosts alone; null: none

  /// Numbers of dense components come last, so that where the others lie does not depend on how many points
  /// those have: `finish` takes them in.
  void add(const Component& component);
  void finish();

 private:
  std::vector<double> dense_numbers_;
};

/// Where the nonzeros of a product of components lie from the first one on, when component i has the stride
/// `strides[i]`; increasing.
[[nodiscard]] std::vector<int> nonzero_offsets(std::span<const Component> components,
                                               std::span<const int> strides);

}  // namespace TESSERA_NAMESPACE::gam
