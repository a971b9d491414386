// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/formula/formula.hpp"

#include <map>
#include <string>

namespace TESSERA_NAMESPACE::gam {

using ParametricPenalties = std::map<std::string, ParametricPenalty>;

/// Reads penalties by term, a JSON text or the name of a file with one: {"g": {"S": [[[2, -1], [-1, 2]]],
/// "rank": [2], "sp": [-1]}}, where `rank` and `sp` may be left out. Throws `Error(input)` with the place.
[[nodiscard]] ParametricPenalties parametric_penalties(const std::string& text_or_file);

/// The text that `parametric_penalties` reads back.
[[nodiscard]] std::string text_of(const ParametricPenalties& penalties);

/// The penalty of a term with `size` coefficients. Throws `Error(usage)` that names the term for matrices of
/// another size, matrices that are not symmetric, have negative eigenvalues, are zero, or are of another rank
/// than the given one.
[[nodiscard]] Penalty penalty_of(const ParametricPenalty& given, const std::string& label, int size);

/// Multiplies a block's columns by a factor: its penalties then have the same lambda as without it.
void scale_penalties(CoefBlock& block, double factor);

}  // namespace TESSERA_NAMESPACE::gam
