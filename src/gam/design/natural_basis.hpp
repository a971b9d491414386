// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"

#include <tessera/gam/matrix.hpp>

#include <functional>

namespace TESSERA_NAMESPACE::gam {

/// A basis in mgcv's natural coordinates (nat.param of type 1), in which a factor smooth has its curves: the
/// penalty is a multiple of the identity on the first `rank` coefficients, and columns behind them, which no
/// penalty sees, are orthogonal over the rows. The columns of each of these two sets have a mean square of
/// one.
///
/// What turns the functions without a penalty among themselves is a decomposition's choice in mgcv, and a
/// model with a smoothing parameter for each depends on it: without rounding the first of the two that most
/// bases have is the projection of the basis' first column on them. It is so here. In mgcv it is for bases of
/// knots; for thin plate splines rounding often chooses, and another order of the rows gives another fit.
///
/// `mean_products` returns X'X / n over the rows of the columns X = R map, R the raw columns of the basis. It
/// is called twice: the second factor corrects the rounding of the first. Throws `Error(input)` if the
/// columns are dependent there; `label` is the smooth's. Source: Wood, Generalized Additive Models (2017),
/// sec. 5.4.2.
[[nodiscard]] Basis natural_basis(Basis basis, const std::function<Matrix(const Matrix& map)>& mean_products,
                                  const std::string& label);

/// A basis in the natural coordinates that mgcv gives a margin of t2() (nat.param of type 3): the penalty is
/// one on the first `rank` coefficients, by descending eigenvalue of what it was, and zero on the others, of
/// which the first is the constant; the others, by ascending variance, are uncorrelated over the rows. Each
/// of these two sets of columns has a mean square of one on average. Of a random effect, a multiple of it.
///
/// Before its rotation mgcv scales what has no penalty, in the directions that a decomposition has chosen. In
/// mgcv, too, the first is the projection of the basis' first column on them, if that is not zero.
///
/// `mean_products` and errors as above; it is called once.
[[nodiscard]] Basis natural_margin(Basis basis, const std::function<Matrix(const Matrix& map)>& mean_products,
                                   const std::string& label);

}  // namespace TESSERA_NAMESPACE::gam
