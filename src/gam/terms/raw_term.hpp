// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component.hpp"

#include <tessera/gam/matrix.hpp>

#include <algorithm>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Contiguous raw columns of the model. If `combined` is -1, they are the Kronecker product of `components`
/// (the last varies fastest), or, without components, the intercept. Otherwise they are dense combinations of
/// the columns of an earlier term, all nonzero in a row (CPU only).
struct RawTerm {
  std::vector<Component> components;
  int raw_begin = 0;
  int raw_size = 1;
  int nonzeros = 1;
  int predictor = 0;      ///< index of the formula that has the term: see `Design::readers`
  int combined = -1;      ///< index of the term whose columns the dense columns combine; -1: none
  Matrix combinations{};  ///< `raw_size` x raw columns of term `combined`
  /// Whether the model has only combinations of the columns, so that their crossproduct is not needed.
  bool only_combined = false;
  [[nodiscard]] bool is_dense() const noexcept { return combined >= 0; }
  /// Computes the dense columns in a row. `nonzero(k)` returns column and value of nonzero k of term
  /// `combined`.
  template <class Nonzero>
  void combine(int count, const Nonzero& nonzero, double* values) const {
    std::fill_n(values, raw_size, 0.0);
    for (int k = 0; k < count; ++k) {
      const auto [column, value] = nonzero(k);
      const double* weights = combinations.column(column).data();
      for (int c = 0; c < raw_size; ++c) values[c] += value * weights[c];
    }
  }
};

}  // namespace TESSERA_NAMESPACE::gam
