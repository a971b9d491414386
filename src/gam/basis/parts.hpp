// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"
#include "gam/basis/margin_data.hpp"
#include "gam/basis/options.hpp"

#include <optional>
#include <utility>

/// The members of a basis type. Each basis is one type in its own file, such as cr.hpp; a type that lacks a
/// member does not compile (`BasisType`).
namespace TESSERA_NAMESPACE::gam {

/// Sizes of a basis of dimension k, known before its construction. `cells` is 0 for a factor, a number, and a
/// dense component.
struct BasisSize {
  int cells = 0;
  int stride = 1;        ///< stride of the `Margin`
  int coefficients = 0;  ///< number of coefficients before constraints
  int free = 0;          ///< dimension of the null space of the (first) penalty
  int dense = 0;         ///< number of columns of a dense component; 0: the component is not dense
  bool radial = false;   ///< whether the dense columns are radial functions, without a margin
  int penalties = 1;     ///< number of penalties; a basis with several cannot be a margin of te()
  bool centred = false;  ///< whether the columns sum to zero over the rows even without a constraint
};

template <class B>
concept BasisType = requires(const MarginData& data, BasisOptions& options) {
  {B::name[0]};         // name in bs=
  {+B::random_effect};  // bool: a random effect: a coefficient per level, or one for a number; no constraint
  {+B::several};        // bool: several variables are allowed
  // Optional member `of_districts`: the variable is a factor of districts.
  {std::optional<OptionFault>(B::settle(options))};
  {BasisSize(B::size(std::as_const(options)))};
  {Basis(B::make(data))};  // *Collective.* Throws the same error on every rank: see knots.hpp
};

/// The available bases: `Bases`, in list.hpp.
template <BasisType... B>
struct BasisList {};

}  // namespace TESSERA_NAMESPACE::gam
