// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/parts.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A table entry for one type of list.hpp; parts.hpp describes the members.
struct BasisKind {
  std::string_view name;
  bool random_effect;
  bool several;
  /// Whether the variable is a factor of districts, with a penalty on differences between districts.
  bool of_districts;
  std::optional<OptionFault> (*settle)(BasisOptions& options);
  BasisSize (*size)(const BasisOptions& options);
  Basis (*make)(const MarginData& data);
};

[[nodiscard]] std::span<const BasisKind> bases();
[[nodiscard]] std::vector<std::string> basis_names();
/// Null for an unknown name.
[[nodiscard]] const BasisKind* find_basis(std::string_view name);
/// Like `find_basis`, but throws std::invalid_argument for an unknown name.
[[nodiscard]] const BasisKind& basis_of(std::string_view name);
/// False also for names that are not bases, such as "te".
[[nodiscard]] bool is_random_effect(std::string_view name);

}  // namespace TESSERA_NAMESPACE::gam
