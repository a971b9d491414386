// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/step_halving.hpp"

#include "base/math/elementary.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

std::vector<Matrix> penalty_roots(const Design& design) {
  std::vector<Matrix> roots;
  for (const CoefBlock& block : design.blocks) {
    if (!block.penalty) continue;
    for (std::size_t j = 0; j < block.penalty->count(); ++j) {
      Matrix& root = roots.emplace_back();
      if (block.penalty->is_diagonal() || !block.penalty->levels.empty()) continue;
      const SymmetricEigen eigen = symmetric_eigen(block.penalty->matrices[j]);
      root = Matrix(block.penalty->rank_of(j), block.coef_size);
      for (int r = 0; r < root.rows(); ++r) {
        const int k = root.cols() - 1 - r;
        const double size = std::sqrt(std::max(eigen.values[static_cast<std::size_t>(k)], 0.0));
        for (int i = 0; i < root.cols(); ++i) root(r, i) = size * eigen.vectors(i, k);
      }
    }
  }
  return roots;
}

PenaltyOnLine penalty_on_line(const Design& design, std::span<const Matrix> roots,
                              std::span<const double> log_sp, std::span<const double> begin,
                              std::span<const double> end) {
  PenaltyOnLine line;
  const Matrix none;
  std::size_t sp = 0;
  for (const CoefBlock& block : design.blocks) {
    if (!block.penalty) continue;
    const auto index = static_cast<std::size_t>(block.coef_begin);
    const auto size = static_cast<std::size_t>(block.coef_size);
    const auto from = begin.subspan(index, size);
    const auto to = end.subspan(index, size);
    for (std::size_t j = 0; j < block.penalty->count(); ++j) {
      const double lambda = base::exp(log_sp[sp]);
      const Matrix& root = roots.empty() ? none : roots[sp];
      ++sp;
      if (root.empty()) {
        const std::vector<double> penalised = block.penalty->times(j, to);
        line.begin += lambda * dot(from, block.penalty->times(j, from));
        line.across += lambda * dot(from, penalised);
        line.end += lambda * dot(to, penalised);
      } else {
        const std::vector<double> first = multiply(root, from);
        const std::vector<double> last = multiply(root, to);
        line.begin += lambda * dot(first, first);
        line.across += lambda * dot(first, last);
        line.end += lambda * dot(last, last);
      }
    }
  }
  return line;
}

}  // namespace TESSERA_NAMESPACE::gam
