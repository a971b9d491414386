// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"
#include "gam/basis/margin_data.hpp"
#include "gam/basis/options.hpp"

#include <optional>
#include <utility>

/// What a kind of basis is made of. A basis is one type in a file of its own, such as cr.hpp; one that lacks
/// a part does not compile (`BasisType`).
namespace TESSERA_NAMESPACE::gam {

/// How large a basis of k is, before it is made: what `Basis` then has. `cells` is 0 where the raw columns
/// are the levels of a factor, or a number.
struct BasisSize {
  int cells = 0;
  int stride = 1;        ///< of `Margin`
  int coefficients = 0;  ///< before constraints
  int free = 0;          ///< dimension of the null space of the (first) penalty
  int dense = 0;         ///< columns of a dense component; 0: there is none
  bool radial = false;   ///< these are radial functions, without a margin
  int penalties = 1;     ///< with several it is no margin of te()
  bool centred = false;  ///< the columns sum to zero over the rows, and there is no constraint
};

template <class B>
concept BasisType = requires(const MarginData& data, BasisOptions& options) {
  {B::name[0]};         // as bs= has it
  {+B::random_effect};  // bool: a coefficient for each level, or one for a number, without constraint
  {+B::several};        // bool: it may be of several variables
  // Puts mgcv's defaults in the place of what is not given, tells what has no effect, or says what cannot be.
  {std::optional<OptionFault>(B::settle(options))};
  {BasisSize(B::size(std::as_const(options)))};
  {Basis(B::make(data))};  // *Collective.* Throws on every rank alike, see knots.hpp
};

/// The bases that there are: `Bases`, in list.hpp.
template <BasisType... B>
struct BasisList {};

}  // namespace TESSERA_NAMESPACE::gam
