// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/degrees_of_freedom.hpp"

#include "base/at.hpp"
#include "gam/linalg/border.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// a b for a symmetric b, which is mostly zero if most coefficients belong to random effects.
Matrix product(const Matrix& a, const Matrix& b, const Algebra& algebra) {
  const auto values = b.values();
  const auto zeros = std::ranges::count(values, 0.0);
  if (zeros < std::ssize(values) / 8 * 7) return algebra.multiply(a, b);
  return Border(b).after(a, algebra);
}

Matrix sum_of(Matrix a, double factor, const Matrix& b) {
  add_multiple(a.values(), factor, b.values());
  return a;
}

}  // namespace

namespace {

// From A^-1 A = I. X'WX has the core G and the block C (part x core); A^-1 the core V, the block X and the
// part's diagonal z; S the part's diagonal s. F has the core V G + X' C, the part's diagonal 1 - s z, and the
// blocks X' (-s) and -X (S of the core). The core of FF is (core of F)^2 + X' s X V^-1 (I - core of F).
Influence influence_of_pattern(const PartedMatrix& inverse, const PartedMatrix& gram,
                               std::span<const double> ridges, const Algebra& algebra) {
  const Matrix& v = inverse.core;
  const Matrix across = transpose(inverse.border);
  Influence out{sum_of(product(v, gram.core, algebra), 1, algebra.multiply(across, gram.border)), {}, {}, {}};
  Matrix weighted = inverse.border;
  for (int j = 0; j < weighted.cols(); ++j) {
    for (std::size_t i = 0; i < ridges.size(); ++i) weighted.column(j)[i] *= ridges[i];
  }
  for (std::size_t i = 0; i < ridges.size(); ++i) out.part.push_back(1 - ridges[i] * inverse.diagonal[i]);
  out.part_square.assign(out.part.size(), std::numeric_limits<double>::quiet_NaN());
  Matrix unit = v;
  const std::vector<double> scale = diagonal_roots(v);
  unscale(unit, scale);
  const auto solved = solve(unit, [&] {
    Matrix square = algebra.multiply(across, weighted);
    unscale(square, scale);
    return square;
  }());
  if (!solved) return out;
  out.through_part = transpose(*solved);
  for (int j = 0; j < v.cols(); ++j)
    for (int i = 0; i < v.rows(); ++i) out.through_part(i, j) *= scale[at(i)] / scale[at(j)];
  return out;
}

}  // namespace

// X'WX has the part G, the off-diagonal block C and the core B; A has the part D = G + s. The inverse has the
// core V and the off-diagonal block -V C' D^-1. Then F = A^-1 X'WX has
//   the core V (B - C' D^-1 C),
//   the off-diagonal blocks s V C' D^-1 and D^-1 C (I - F of the core),
//   the part D^-1 G - s D^-1 C V C' D^-1.
// With U = s C' D^-2 C the core of FF gets V U (I - F of the core). With k = c' V c for a row c of C, FF has
// in the part the diagonal (g^2 - 2 g s k / d) / d^2 + s / d^2 c' ((I - F of the core) V + V U V) c.
Influence influence(const PartedMatrix& inverse, const PartedMatrix& gram, std::span<const double> ridges,
                    const Algebra& algebra) {
  const Matrix& v = inverse.core;
  if (!gram.is_parted()) return {product(v, gram.core, algebra), {}, {}, {}};
  if (gram.pattern()) return influence_of_pattern(inverse, gram, ridges, algebra);
  const double ridge = ridges.front();
  std::vector<double> reciprocal;
  std::vector<double> weights;
  for (const double g : gram.diagonal) {
    const double d = g + ridge;
    reciprocal.push_back(1 / d);
    weights.push_back(ridge / (d * d));
  }
  const Border border(gram.border);
  const Matrix own = sum_of(gram.core, -1, border.weighted_square(reciprocal, algebra));
  Influence out{algebra.multiply(v, own), {}, {}, {}};
  out.through_part = border.sandwich(v, weights, algebra);
  const Matrix rest = sum_of(v, -1, algebra.multiply(sum_of(out.core, -1, out.through_part), v));
  const std::vector<double> k = border.forms(v, algebra);
  const std::vector<double> squares = border.times_rows(border.after(rest, algebra));
  for (std::size_t i = 0; i < k.size(); ++i) {
    const double share = gram.diagonal[i] * reciprocal[i];
    out.part.push_back(share - weights[i] * k[i]);
    out.part_square.push_back(share * share - 2 * share * weights[i] * k[i] + weights[i] * squares[i]);
  }
  return out;
}

std::vector<double> Influence::edf(const Part& place) const {
  std::vector<double> of_core;
  of_core.reserve(at(core.rows()));
  for (int i = 0; i < core.rows(); ++i) of_core.push_back(core(i, i));
  return with_part(of_core, part, place);
}

std::vector<double> Influence::edf1(const Part& place) const {
  const Matrix transposed = transpose(core);
  std::vector<double> of_core;
  of_core.reserve(at(core.rows()));
  for (int i = 0; i < core.rows(); ++i) {
    double square = dot(transposed.column(i), core.column(i));
    for (int k = 0; k < through_part.cols(); ++k)
      square += through_part(i, k) * ((i == k ? 1 : 0) - core(k, i));
    of_core.push_back(2 * core(i, i) - square);
  }
  std::vector<double> of_part;
  of_part.reserve(part.size());
  for (std::size_t i = 0; i < part.size(); ++i) of_part.push_back(2 * part[i] - part_square[i]);
  return with_part(std::move(of_core), of_part, place);
}

}  // namespace TESSERA_NAMESPACE::gam
