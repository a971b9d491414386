// SPDX-License-Identifier: Apache-2.0
#include "gam/design/general_penalty.hpp"

#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

struct SetSum {
  SymmetricEigen eigen;
  int rank = 0;
};

/// Eigendecomposition of the sum of a subset of penalties, each scaled to unit norm if there are several.
SetSum sum_of(const std::vector<Matrix>& penalties, std::size_t set) {
  const int size = penalties.front().rows();
  Matrix sum(size, size);
  for (std::size_t j = 0; j < penalties.size(); ++j) {
    if ((set >> j & 1) == 0) continue;
    const auto values = penalties[j].values();
    const double norm = penalties.size() > 1 ? std::sqrt(dot(values, values)) : 1;
    for (std::size_t i = 0; i < values.size(); ++i) sum.values()[i] += values[i] / norm;
  }
  SetSum out{symmetric_eigen(sum), 0};
  const double least = rank_tolerance * out.eigen.values.back();
  out.rank = static_cast<int>(std::ranges::count_if(out.eigen.values, [&](double v) { return v > least; }));
  return out;
}

}  // namespace

void derive_from_matrices(Penalty& penalty, int size) {
  if (penalty.matrices.empty()) {
    penalty.null_space = identity(size);
    return;
  }
  const std::size_t sets = std::size_t{1} << penalty.matrices.size();
  const SetSum all = sum_of(penalty.matrices, sets - 1);
  penalty.null_space = submatrix(all.eigen.vectors, 0, size, 0, size - all.rank);
  penalty.log_det_constant = 0;
  penalty.set_ranks.clear();
  if (penalty.matrices.size() == 1) {
    penalty.eigenvalues = Matrix(all.rank, 1);
    std::copy(all.eigen.values.end() - all.rank, all.eigen.values.end(), penalty.eigenvalues.data());
    return;
  }
  penalty.eigenvalues = Matrix();
  penalty.set_ranks.push_back(0);
  for (std::size_t set = 1; set + 1 < sets; ++set) {
    penalty.set_ranks.push_back(sum_of(penalty.matrices, set).rank);
  }
  penalty.set_ranks.push_back(all.rank);
}

}  // namespace TESSERA_NAMESPACE::gam
