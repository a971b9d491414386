// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component.hpp"
#include "gam/data/frame/frame.hpp"
#include "gam/formula/formula.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The size of a term, computed from the formula and the factors' levels alone.
struct TermShape {
  /// Components of the raw columns, in design order. Splines have only sizes, without knots and values.
  std::vector<Component> components;
  std::int64_t blocks = 1;        ///< blocks of coefficients: one per level of a factor by variable
  std::int64_t raw = 1;           ///< raw columns per block
  std::int64_t coefficients = 1;  ///< coefficients per block, before a constraint
  std::int64_t penalties = 0;
  /// Whether the smooth has a sum-to-zero constraint; with a numeric by variable, only if this variable is
  /// constant.
  bool constrained = false;
  bool by_number = false;
  bool random = false;    ///< whether every margin is a random effect
  bool ridge = false;     ///< whether the penalty is a multiple of the identity (a random effect)
  bool diagonal = false;  ///< whether penalties are diagonal: a factor smooth, with one map for all levels
};

/// Throws `Error(input)` if the term has more coefficients than can be fitted, or the frame lacks a variable.
[[nodiscard]] TermShape shape_of(const ParametricTerm& term, const Frame& frame);
[[nodiscard]] TermShape shape_of(const SmoothSpec& smooth, const Frame& frame);

[[nodiscard]] double nonzeros_of_row(const FormulaTerms& formula);

/// Maximum number of coefficients of a term in dense matrices, and of a random effect in the sparse part.
inline constexpr std::int64_t largest_dense_term = 20'000;
inline constexpr std::int64_t largest_parted_effect = 1'000'000;

struct EffectSize {
  std::int64_t coefficients = 0;
  std::int64_t columns = 0;  ///< raw columns
};
/// Marks the effects of the sparse part of the design: those with more than `largest_whole` coefficients, and
/// those whose dense crossproducts with the former would have too many elements. The sparse part stores only
/// pairs of levels that occur together: at most `rows` pairs for two effects.
[[nodiscard]] std::vector<bool> parted_effects(std::span<const EffectSize> effects,
                                               std::int64_t largest_whole, std::int64_t rows);

/// Throws `Error(input)` if `count` exceeds `most`.
void check_coefficients(std::int64_t count, const std::string& label, std::int64_t most = largest_dense_term);

}  // namespace TESSERA_NAMESPACE::gam
