// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component.hpp"
#include "gam/terms/tables.hpp"

#include <memory>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Tables of components, with the numbers and variables to which their offsets refer.
struct ComponentTables {
  std::vector<ComponentTable> components;
  std::vector<double> numbers;
  std::vector<int> part_variables;                          ///< variables of the parts of components
  std::vector<std::shared_ptr<const FarField>> far_fields;  ///< one for each component, CPU only; null: none

  /// The numbers of dense components are appended by `finish`, so that the offsets of other components do not
  /// depend on the number of points of a radial basis.
  void add(const Component& component);
  void finish();

 private:
  std::vector<double> dense_numbers_;
};

/// Offsets of the nonzeros of a product of components, relative to the first nonzero, in increasing order.
[[nodiscard]] std::vector<int> nonzero_offsets(std::span<const Component> components,
                                               std::span<const int> strides);

}  // namespace TESSERA_NAMESPACE::gam
