// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"
#include "gam/linalg/linalg.hpp"

#include <cstddef>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// mgcv's shrinkage factor: the penalty on the null space, relative to the smallest nonzero eigenvalue.
inline constexpr double shrinkage = 0.1;

/// Adds a penalty on the null space. Column j of its orthonormal basis `null_space` gets `shares[j]` times
/// the smallest nonzero eigenvalue of the penalty.
inline void shrink(Basis& basis, const Matrix& null_space, std::span<const double> shares) {
  const int size = basis.size();
  const double least = symmetric_eigen(basis.penalty).values[static_cast<std::size_t>(size - basis.rank)];
  for (int c = 0; c < null_space.cols(); ++c) {
    const auto column = null_space.column(c);
    for (int j = 0; j < size; ++j)
      add_multiple(basis.penalty.column(j),
                   shares[static_cast<std::size_t>(c)] * least * column[static_cast<std::size_t>(j)], column);
  }
  basis.rank = size;
}

}  // namespace TESSERA_NAMESPACE::gam
