// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component.hpp"
#include "gam/formula/formula.hpp"
#include "gam/table/frame/frame.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A term as far as the formula and the levels of the factors tell: its design, the memory and the time that
/// it takes are made of this.
struct TermShape {
  /// Of its raw columns, in the order of the design. Splines have their sizes, and neither knots nor values.
  std::vector<Component> components;
  std::int64_t blocks = 1;        ///< blocks of coefficients that are alike: levels of a factor that it is by
  std::int64_t raw = 1;           ///< raw columns of each
  std::int64_t coefficients = 1;  ///< of each, before a constraint
  std::int64_t penalties = 0;
  bool constrained = false;  ///< sums to zero over the rows, unless it is by a number that varies
  bool by_number = false;
  bool random = false;    ///< every margin is a random effect
  bool ridge = false;     ///< a random effect whose penalty is a multiple of the identity
  bool diagonal = false;  ///< a factor smooth, whose penalties are diagonal, and whose map is that of a level
};

/// Throws `Error(input)` if the term has more coefficients than can be fitted, or the frame lacks a variable.
[[nodiscard]] TermShape shape_of(const ParametricTerm& term, const Frame& frame);
[[nodiscard]] TermShape shape_of(const SmoothSpec& smooth, const Frame& frame);

/// Nonzero raw values of a row of the model.
[[nodiscard]] double nonzeros_of_row(const FormulaTerms& formula);

/// Coefficients of a term that dense algebra can serve, and of a random effect that is the design's part.
inline constexpr std::int64_t largest_dense_term = 20'000;
inline constexpr std::int64_t largest_parted_effect = 1'000'000;

/// A random effect or factor smooth.
struct EffectSize {
  std::int64_t coefficients = 0;
  std::int64_t columns = 0;  ///< of R
};
/// Which of the effects are the design's part: those of more than `largest_whole` coefficients, and others
/// whose columns times those of these are more numbers than it is cheap to keep; the pairs of levels that
/// occur in `rows` are fewer.
[[nodiscard]] std::vector<bool> parted_effects(std::span<const EffectSize> effects,
                                               std::int64_t largest_whole, std::int64_t rows);

/// Throws `Error(input)` if a term has more coefficients than that.
void check_coefficients(std::int64_t count, const std::string& label, std::int64_t most = largest_dense_term);

}  // namespace TESSERA_NAMESPACE::gam
