// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"

#include <tessera/gam/matrix.hpp>

#include <functional>

namespace TESSERA_NAMESPACE::gam {

/// A basis in mgcv's natural parametrisation (nat.param of type 1), used for the curves of factor smooths:
/// the penalty is a multiple of the identity on the first `rank` coefficients, and the following, unpenalised
/// columns are orthogonal over the rows. Each unpenalised column has a mean square of one, and the penalised
/// ones on average. `Basis::natural` is the change of coefficients.
///
/// mgcv's rotation of the unpenalised functions is arbitrary, but a model with a smoothing parameter for each
/// of them depends on it. Here the first function is the projection of the basis' first column on their span,
/// as in mgcv in exact arithmetic. For thin plate splines, mgcv's rotation depends on rounding, and so on the
/// order of the rows.
///
/// `mean_products` returns X'X / n over the rows for X = R map, where R has the raw columns of the basis. It
/// is called twice: the second factorisation corrects the rounding of the first. Throws `Error(input)` if the
/// columns are linearly dependent over the rows; `label`: the smooth's label. Source: Wood, Generalized
/// Additive Models (2017), sec. 5.4.2.
[[nodiscard]] Basis natural_basis(Basis basis, const std::function<Matrix(const Matrix& map)>& mean_products,
                                  const std::string& label);

/// A basis in mgcv's natural parametrisation for margins of t2() (nat.param of type 3). The penalty is one on
/// the first `rank` coefficients, by descending original eigenvalue, and zero on the others. The first
/// unpenalised column is the constant; the next ones are uncorrelated over the rows, with ascending variance.
/// The columns of each set have a mean square of one on average. A random effect is only scaled.
///
/// Before that, mgcv scales the unpenalised columns along eigenvectors of the penalty, which are arbitrary.
/// Here, as in `natural_basis`, the first direction is the projection of the basis' first column, unless this
/// projection is zero.
///
/// `mean_products` (called once), `label` and errors: as for `natural_basis`.
[[nodiscard]] Basis natural_margin(Basis basis, const std::function<Matrix(const Matrix& map)>& mean_products,
                                   const std::string& label);

}  // namespace TESSERA_NAMESPACE::gam
