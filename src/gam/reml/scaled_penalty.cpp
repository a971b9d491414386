// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/scaled_penalty.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::gam {
std::vector<double> ScaledPenalty::times(std::span<const double> b) const {
  const auto part = b.subspan(base::at(begin), base::at(rank));
  if (!dense.empty()) return multiply(dense, part);
  std::vector<double> out(part.begin(), part.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] *= diagonal[i];
  return out;
}

Matrix ScaledPenalty::after(const Matrix& a, const Algebra& algebra) const {
  Matrix out = submatrix(a, 0, a.rows(), in_core, rank);
  if (!dense.empty()) return algebra.multiply(out, dense);
  for (int j = 0; j < rank; ++j) {
    for (double& v : out.column(j)) v *= diagonal[base::at(j)];
  }
  return out;
}

Matrix ScaledPenalty::root(int columns) const {
  if (dense.empty()) {
    Matrix root(rank, rank);
    for (int i = 0; i < rank; ++i) root(i, i) = std::sqrt(diagonal[base::at(i)]);
    return root;
  }
  const SymmetricEigen eigen = symmetric_eigen(dense);
  Matrix root = submatrix(eigen.vectors, 0, rank, rank - columns, columns);
  for (int j = 0; j < columns; ++j) {
    const double value = eigen.values[base::at(rank - columns + j)];
    for (double& v : root.column(j)) v *= std::sqrt(std::max(value, 0.0));
  }
  return root;
}

PenaltyTraces::PenaltyTraces(const std::vector<ScaledPenalty>& penalties, const Matrix& core_inverse,
                             const Border& border, std::span<const double> diagonal, const Algebra& algebra)
    : penalties_(penalties), algebra_(algebra) {
  for (const ScaledPenalty& s : penalties)
    products_.push_back(s.is_eliminated() ? Matrix() : s.after(core_inverse, algebra));
  const auto eliminated = std::ranges::find_if(penalties, &ScaledPenalty::is_eliminated);
  if (eliminated == penalties.end()) return;
  std::vector<double> first;   // S_e D^-2
  std::vector<double> second;  // S_e^2 D^-3
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    const double share = eliminated->diagonal[i] / diagonal[i];
    own_ += share;
    own_square_ += share * share;
    first.push_back(share / diagonal[i]);
    second.push_back(share * share / diagonal[i]);
  }
  algebra.go_on();
  const std::vector<double> forms = border.forms(core_inverse, algebra);  // c' V c of each row c
  own_ += dot(first, forms);
  own_square_ += 2 * dot(second, forms);
  algebra.go_on();
  through_core_ = border.sandwich(core_inverse, first, algebra);
  own_square_ += trace_of_product(through_core_, 0, through_core_, 0, algebra);
}

double PenaltyTraces::of(std::size_t j) const {
  const ScaledPenalty& s = penalties_[j];
  if (s.is_eliminated()) return own_;
  double trace = 0;
  for (int i = 0; i < s.rank; ++i) trace += products_[j](s.in_core + i, i);
  return trace;
}

double PenaltyTraces::of(std::size_t j, std::size_t k) const {
  const ScaledPenalty& first = penalties_[j];
  const ScaledPenalty& second = penalties_[k];
  if (first.is_eliminated() && second.is_eliminated()) return own_square_;
  if (first.is_eliminated()) return with_eliminated(k);
  if (second.is_eliminated()) return with_eliminated(j);
  return trace_of_product(products_[j], second.in_core, products_[k], first.in_core, algebra_);
}

double PenaltyTraces::with_eliminated(std::size_t k) const {
  return trace_of_product(products_[k], 0, through_core_, penalties_[k].in_core, algebra_);
}

}  // namespace tessera::gam
