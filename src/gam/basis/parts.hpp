// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"
#include "gam/basis/margin_data.hpp"
#include "gam/basis/options.hpp"

#include <optional>
#include <utility>

/// The parts of a kind of basis. Each basis is one type in a file of its own, such as cr.hpp; one that lacks
/// a part does not compile (`BasisType`).
namespace TESSERA_NAMESPACE::gam {

/// Sizes of a basis of dimension k before it is constructed; `Basis` agrees with them. `cells` is 0 where the
/// raw columns are a factor's levels, or a number.
struct BasisSize {
  int cells = 0;
  int stride = 1;        ///< stride of the `Margin`
  int coefficients = 0;  ///< before constraints
  int free = 0;          ///< dimension of the null space of the (first) penalty
  int dense = 0;         ///< columns of a dense component; 0: none
  bool radial = false;   ///< the dense columns are radial functions, without a margin
  int penalties = 1;     ///< with several the basis cannot be a margin of te()
  bool centred = false;  ///< the columns sum to zero over the rows, without a constraint
};

template <class B>
concept BasisType = requires(const MarginData& data, BasisOptions& options) {
  {B::name[0]};         // name in bs=
  {+B::random_effect};  // bool: a coefficient for each level, or one for a number, without constraint
  {+B::several};        // bool: several variables are allowed
  // Fills in mgcv's defaults, reports options without effect, or returns why an option is invalid.
  {std::optional<OptionFault>(B::settle(options))};
  {BasisSize(B::size(std::as_const(options)))};
  {Basis(B::make(data))};  // *Collective.* Throws on every rank alike, see knots.hpp
};

/// The available bases: `Bases`, in list.hpp.
template <BasisType... B>
struct BasisList {};

}  // namespace TESSERA_NAMESPACE::gam
