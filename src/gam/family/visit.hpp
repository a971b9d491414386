// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/family.hpp"
#include "gam/family/list.hpp"

#include <iterator>
#include <span>

namespace TESSERA_NAMESPACE::gam {

template <class Use, class First, class... Rest>
decltype(auto) visit_index(int index, int link, int side, FamilyList<First, Rest...> /*list*/,
                           std::span<const double> parameters, Use& use) {
  if constexpr (sizeof...(Rest) > 0) {
    if (index > 0) return visit_index(index - 1, link, side, FamilyList<Rest...>{}, parameters, use);
  }
  const auto family = family_of<First>(parameters.data(), static_cast<int>(parameters.size()));
  if constexpr (std::size(First::links) > 1) {
    if (link > 0) return use(Linked<First>{family, First::links[link], static_cast<double>(side)});
  }
  return use(family);
}

/// Calls `use` with an object of the family's own type, so that loops are compiled for each family.
template <class Use>
decltype(auto) visit(const Family& family, Use&& use) {
  if (const CustomFamily* custom = family.custom()) return use(*custom);
  if (const SeveralFamily* several = family.several()) return use(*several);
  return visit_index(family.index(), family.link(), family.side(), BuiltInFamilies{}, family.parameters(),
                     use);
}

}  // namespace TESSERA_NAMESPACE::gam
