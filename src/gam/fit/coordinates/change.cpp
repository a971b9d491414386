// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/coordinates/change.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/reml/degrees_of_freedom.hpp"

#include <algorithm>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

/// Moves the rows of the eliminated part to the position that `part` gives.
PartedMatrix moved(PartedMatrix from, const Part& part) {
  PartedMatrix out(from.size(), part, from.pattern());
  out.core = std::move(from.core);
  out.border = std::move(from.border);
  out.diagonal = std::move(from.diagonal);
  out.beside = std::move(from.beside);
  return out;
}

}  // namespace

std::vector<double> Change::coefficients_of_formula(std::span<const double> coef) const {
  std::vector<double> core = core_of(coef, part);
  for (const auto& [begin, to_formula] : blocks) {
    const auto own = std::span(core).subspan(at(part.in_core(begin)), at(to_formula.cols()));
    std::ranges::copy(multiply(to_formula, own), own.begin());
  }
  return with_part(core, part_of(coef, part), formula_part);
}

void Change::transform_covariance(PartedMatrix& covariance) const {
  for (const auto& [begin, to_formula] : blocks)
    covariance.change_basis(begin, transpose(to_formula), HostAlgebra());
  if (part != formula_part) covariance = moved(std::move(covariance), formula_part);
}

Matrix Change::triangle_of_formula(Matrix triangle) const {
  for (const auto& [begin, to_formula] : blocks) {
    const Matrix own = submatrix(triangle, 0, triangle.rows(), begin, to_formula.cols());
    assign(triangle, 0, begin, after_inverse(own, to_formula));
  }
  return triangle_of(std::move(triangle));
}

void Change::transform_solution(RemlFit& fit, PartedMatrix& gram) const {
  Influence f = influence(fit.inverse, gram, fit.part_ridges, HostAlgebra());
  for (const auto& [begin, to_formula] : blocks) {
    const int size = to_formula.cols();
    const int first = part.in_core(begin);
    const Matrix back = solve(to_formula, identity(size)).value();
    for (Matrix* const a : {&f.core, &f.through_part}) {
      if (a->empty()) continue;
      assign(*a, 0, first, multiply(submatrix(*a, 0, a->rows(), first, size), back));
      assign(*a, first, 0, multiply(to_formula, submatrix(*a, first, size, 0, a->cols())));
    }
    gram.change_basis(begin, back, HostAlgebra());
  }
  if (part != formula_part) gram = moved(std::move(gram), formula_part);
  transform_covariance(fit.inverse);
  fit.edf = f.edf(formula_part);
  fit.edf1 = f.edf1(formula_part);
  fit.coef = coefficients_of_formula(fit.coef);
  fit.score -= log_determinant;
}

}  // namespace TESSERA_NAMESPACE::gam
