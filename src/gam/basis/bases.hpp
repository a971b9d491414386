// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/parts.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A kind of basis, found by its name; parts.hpp describes the parts.
struct BasisKind {
  std::string_view name;
  bool random_effect;
  bool several;
  /// Whether its variable is a factor, whose levels are districts with a penalty on their differences.
  bool of_districts;
  std::optional<OptionFault> (*settle)(BasisOptions& options);
  BasisSize (*size)(const BasisOptions& options);
  Basis (*make)(const MarginData& data);
};

/// All bases, in the order of list.hpp.
[[nodiscard]] std::span<const BasisKind> bases();
[[nodiscard]] std::vector<std::string> basis_names();
/// The basis with this name; null for an unknown name.
[[nodiscard]] const BasisKind* find_basis(std::string_view name);
/// The basis of a margin of a parsed formula.
[[nodiscard]] const BasisKind& basis_of(std::string_view name);
/// Whether this is the name of a random effect; false also for names that are not bases, such as "te".
[[nodiscard]] bool is_random_effect(std::string_view name);

}  // namespace TESSERA_NAMESPACE::gam
