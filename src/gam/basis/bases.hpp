// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/parts.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A kind of basis by its name; parts.hpp says what each part is.
struct BasisKind {
  std::string_view name;
  bool random_effect;
  bool several;
  std::optional<OptionFault> (*settle)(BasisOptions& options);
  BasisSize (*size)(const BasisOptions& options);
  Basis (*make)(const MarginData& data);
};

/// The list.
[[nodiscard]] std::span<const BasisKind> bases();
[[nodiscard]] std::vector<std::string> basis_names();
/// Null for an unknown name.
[[nodiscard]] const BasisKind* find_basis(std::string_view name);
/// The basis of a margin of a parsed formula.
[[nodiscard]] const BasisKind& basis_of(std::string_view name);
/// False also for names that are not bases, such as "te".
[[nodiscard]] bool is_random_effect(std::string_view name);

}  // namespace TESSERA_NAMESPACE::gam
