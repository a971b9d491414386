// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"
#include "gam/basis/margin_data.hpp"
#include "gam/basis/options.hpp"

#include <optional>
#include <utility>

/// The parts of a kind of basis. Each basis is one type in its own file, such as cr.hpp; a type that lacks a
/// part does not compile (`BasisType`).
namespace TESSERA_NAMESPACE::gam {

/// The sizes that a basis of dimension k will have once it is constructed. `cells` is 0 if the raw columns
/// are the levels of a factor, or a single number.
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
  {+B::random_effect};  // bool: one coefficient for each level, or one for a number, without a constraint
  {+B::several};        // bool: several variables are allowed
  // A basis whose variable is a factor of districts has a member `of_districts` too.
  // Fills in mgcv's defaults and reports options without effect; or returns why an option is invalid.
  {std::optional<OptionFault>(B::settle(options))};
  {BasisSize(B::size(std::as_const(options)))};
  {Basis(B::make(data))};  // *Collective.* Throws the same error on every rank: see knots.hpp
};

/// The available bases: `Bases`, in list.hpp.
template <BasisType... B>
struct BasisList {};

}  // namespace TESSERA_NAMESPACE::gam
