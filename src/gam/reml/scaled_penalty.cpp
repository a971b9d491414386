// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/scaled_penalty.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::gam {

void ScaledPenalty::take_places(std::span<const int> order, int first) {
  begin = -1;
  std::vector<double> kept;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    if (diagonal[i] == 0) continue;
    places.push_back(order[base::at(first) + i]);
    kept.push_back(diagonal[i]);
  }
  diagonal = std::move(kept);
}

std::vector<double> ScaledPenalty::own(std::span<const double> b) const {
  std::vector<double> out;
  if (!is_of_part()) {
    const auto part = b.subspan(base::at(begin), base::at(rank));
    out.assign(part.begin(), part.end());
  }
  for (const int place : places) out.push_back(b[base::at(place)]);
  return out;
}

void ScaledPenalty::add_to(std::span<double> b, double factor, std::span<const double> x) const {
  for (std::size_t i = 0; i < x.size(); ++i)
    b[is_of_part() ? base::at(places[i]) : base::at(begin) + i] += factor * x[i];
}

std::vector<double> ScaledPenalty::times(std::span<const double> b) const {
  std::vector<double> out = own(b);
  if (!dense.empty()) return multiply(dense, out);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] *= diagonal[i];
  return out;
}

Matrix ScaledPenalty::after(const Matrix& a, const Algebra& algebra) const {
  Matrix out = submatrix(a, 0, a.rows(), in_outer, rank);
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

PenaltyTraces::PenaltyTraces(const std::vector<ScaledPenalty>& penalties, const Matrix& outer_inverse,
                             const OrderedMatrix& matrix, const EliminatedBlock& block,
                             const Algebra& algebra)
    : penalties_(penalties), algebra_(algebra) {
  for (const ScaledPenalty& s : penalties)
    products_.push_back(s.is_of_part() ? Matrix() : s.after(outer_inverse, algebra));
  if (matrix.order->has_pattern()) {
    select(outer_inverse, matrix, block);
    return;
  }
  const auto eliminated = std::ranges::find_if(penalties, &ScaledPenalty::is_of_part);
  if (eliminated != penalties.end()) eliminate(*eliminated, outer_inverse, matrix.border, block.diagonal);
}

void PenaltyTraces::eliminate(const ScaledPenalty& penalty, const Matrix& outer_inverse, const Border& border,
                              std::span<const double> diagonal) {
  std::vector<double> first;   // S_e D^-2
  std::vector<double> second;  // S_e^2 D^-3
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    const double share = penalty.diagonal[i] / diagonal[i];
    own_ += share;
    own_square_ += share * share;
    first.push_back(share / diagonal[i]);
    second.push_back(share * share / diagonal[i]);
  }
  algebra_.go_on();
  const std::vector<double> forms = border.forms(outer_inverse, algebra_);  // c' V c of each row c
  own_ += dot(first, forms);
  own_square_ += 2 * dot(second, forms);
  algebra_.go_on();
  through_core_ = border.sandwich(outer_inverse, first, algebra_);
  own_square_ += trace_of_product(through_core_, 0, through_core_, 0, algebra_);
}

void PenaltyTraces::select(const Matrix& outer_inverse, const OrderedMatrix& matrix,
                           const EliminatedBlock& block) {
  const std::vector<double> diagonal =
      selected_inverse(matrix, block, outer_inverse, algebra_, true).diagonal;
  const int first = matrix.eliminated();
  for (const ScaledPenalty& s : penalties_) {
    double trace = 0;
    for (std::size_t i = 0; i < s.places.size(); ++i) {
      const int place = s.places[i];
      trace += s.diagonal[i] *
               (place < first ? diagonal[base::at(place)] : outer_inverse(place - first, place - first));
    }
    of_effects_.push_back(trace);
  }
}

double PenaltyTraces::of(std::size_t j) const {
  const ScaledPenalty& s = penalties_[j];
  if (s.is_of_part()) return of_effects_.empty() ? own_ : of_effects_[j];
  double trace = 0;
  for (int i = 0; i < s.rank; ++i) trace += products_[j](s.in_outer + i, i);
  return trace;
}

std::optional<double> PenaltyTraces::of(std::size_t j, std::size_t k) const {
  const ScaledPenalty& first = penalties_[j];
  const ScaledPenalty& second = penalties_[k];
  if (!first.is_of_part() && !second.is_of_part())
    return trace_of_product(products_[j], second.in_outer, products_[k], first.in_outer, algebra_);
  if (!of_effects_.empty()) return std::nullopt;
  if (first.is_of_part() && second.is_of_part()) return own_square_;
  return with_eliminated(first.is_of_part() ? k : j);
}

double PenaltyTraces::with_eliminated(std::size_t k) const {
  return trace_of_product(products_[k], 0, through_core_, penalties_[k].in_outer, algebra_);
}

}  // namespace tessera::gam
