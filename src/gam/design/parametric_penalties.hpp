// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/formula/formula.hpp"

#include <map>
#include <string>

namespace TESSERA_NAMESPACE::gam {

using ParametricPenalties = std::map<std::string, ParametricPenalty>;

/// Reads penalties by term from a JSON text or file: {"g": {"S": [[[2, -1], [-1, 2]]], "rank": [2], "sp":
/// [-1]}}. `rank` and `sp` are optional. Throws `Error(input)` that names the field.
[[nodiscard]] ParametricPenalties parametric_penalties(const std::string& text_or_file);

/// The text that `parametric_penalties` reads back.
[[nodiscard]] std::string text_of(const ParametricPenalties& penalties);

/// The penalty of a term with `size` coefficients. Throws `Error(usage)` that names the term for a matrix of
/// another size or rank, or a matrix that is asymmetric, zero, or has negative eigenvalues.
[[nodiscard]] Penalty penalty_of(const ParametricPenalty& given, const std::string& label, int size);

/// Adapts the penalties of a block to columns multiplied by `factor`, so that lambda keeps its meaning.
void scale_penalties(CoefBlock& block, double factor);

}  // namespace TESSERA_NAMESPACE::gam
