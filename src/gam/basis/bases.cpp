// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/bases.hpp"

#include "gam/basis/list.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace TESSERA_NAMESPACE::gam {
namespace {

template <class B>
constexpr bool takes_districts = requires {
  B::of_districts;
};

template <class... B>
constexpr auto kinds_of(BasisList<B...> /*list*/) {
  return std::array{BasisKind{B::name, B::random_effect, B::several, takes_districts<B>, &B::settle, &B::size,
                              &B::make}...};
}

constexpr auto basis_kinds = kinds_of(Bases{});

}  // namespace

std::span<const BasisKind> bases() {
  return basis_kinds;
}

std::vector<std::string> basis_names() {
  std::vector<std::string> names;
  names.reserve(basis_kinds.size());
  for (const BasisKind& kind : basis_kinds) names.emplace_back(kind.name);
  return names;
}

const BasisKind* find_basis(std::string_view name) {
  const auto* const found = std::find_if(basis_kinds.begin(), basis_kinds.end(),
                                         [&](const BasisKind& kind) { return kind.name == name; });
  return found == basis_kinds.end() ? nullptr : found;
}

const BasisKind& basis_of(std::string_view name) {
  const BasisKind* const found = find_basis(name);
  if (found == nullptr) throw std::invalid_argument("there is no basis " + std::string(name));
  return *found;
}

bool is_random_effect(std::string_view name) {
  const BasisKind* const found = find_basis(name);
  return found != nullptr && found->random_effect;
}

}  // namespace TESSERA_NAMESPACE::gam
