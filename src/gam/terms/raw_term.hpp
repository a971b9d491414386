// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component.hpp"

#include <tessera/gam/matrix.hpp>

#include <algorithm>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A run of raw columns: the Kronecker product of its components, the last one fastest. No components:
/// the intercept, one raw column of ones. Or dense columns, each a combination of the columns of a term
/// before it: none of them is zero in a row, and they are evaluated on hosts alone.
struct RawTerm {
  std::vector<Component> components;
  int raw_begin = 0;
  int raw_size = 1;
  int nonzeros = 1;
  int combined = -1;      ///< of dense columns: the place of the term that they are combinations of
  Matrix combinations{};  ///< `raw_size` x its raw columns
  /// Only combinations of its columns are in the model: no crossproduct of its own is wanted.
  bool only_combined = false;
  [[nodiscard]] bool is_dense() const noexcept { return combined >= 0; }
  /// The dense columns in a row, from the other term's nonzeros there: `nonzero(k)` is the raw column and the
  /// value of one.
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
