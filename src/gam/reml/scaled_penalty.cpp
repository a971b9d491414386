// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/scaled_penalty.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

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
  algebra_.check_cancelled();
  const std::vector<double> forms = border.forms(outer_inverse, algebra_);  // c' V c for each row c of C
  own_ += dot(first, forms);
  own_square_ += 2 * dot(second, forms);
  algebra_.check_cancelled();
  through_core_ = border.sandwich(outer_inverse, first, algebra_);
  own_square_ += trace_of_product(through_core_, 0, through_core_, 0, algebra_);
}

void PenaltyTraces::select(const Matrix& outer_inverse, const OrderedMatrix& matrix,
                           const EliminatedBlock& block) {
  if (!matrix.order->blocks.empty()) return take_blocks(matrix, block, outer_inverse);
  take_traces(selected_inverse(matrix, block, outer_inverse, algebra_, true).diagonal, outer_inverse);
}

/// `diagonal`: the diagonal of A for the eliminated coefficients.
void PenaltyTraces::take_traces(std::span<const double> diagonal, const Matrix& outer_inverse) {
  const int first = static_cast<int>(diagonal.size());
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

// On the part, A = B^-1 + U V U' with U = B^-1 C. Then tr(A S_j A S_k) is tr(V U'S_j U V U'S_k U) plus the
// sum of s_a s_b B^-1_ab (2 A_ab - B^-1_ab) over the elements of blocks, with the penalties' diagonals s.
void PenaltyTraces::take_blocks(const OrderedMatrix& matrix, const EliminatedBlock& block,
                                const Matrix& outer_inverse) {
  const EliminationOrder& order = *matrix.order;
  const BlockInverse own = block_inverse(matrix, block, outer_inverse, algebra_);
  take_traces(own.whole_diagonal, outer_inverse);
  const int count = static_cast<int>(penalties_.size());
  own_squares_ = Matrix(count, count);
  std::vector<int> penalty(base::at(order.eliminated()), -1);  // by eliminated coefficient: its penalty
  std::vector<double> size(penalty.size());
  for (int j = 0; j < count; ++j) {
    const ScaledPenalty& s = penalties_[base::at(j)];
    for (std::size_t i = 0; i < s.places.size(); ++i) {
      penalty[base::at(s.places[i])] = j;
      size[base::at(s.places[i])] = s.diagonal[i];
    }
  }
  const auto add = [&](int a, int b, double alone, double both) {
    const double value = size[base::at(a)] * size[base::at(b)] * alone * (2 * both - alone);
    own_squares_(penalty[base::at(a)], penalty[base::at(b)]) += value;
    if (a != b) own_squares_(penalty[base::at(b)], penalty[base::at(a)]) += value;
  };
  for (int a = 0; a < order.eliminated(); ++a) {
    add(a, a, own.diagonal[base::at(a)], own.whole_diagonal[base::at(a)]);
    auto place = base::at(order.lower.begins[base::at(a)]);
    for (const int b : order.lower.rows_of(a)) {
      add(a, b, own.lower[place], own.whole_lower[place]);
      ++place;
    }
  }
  for (int j = 0; j < count; ++j) {
    Matrix& through = through_blocks_.emplace_back();
    const ScaledPenalty& s = penalties_[base::at(j)];
    if (!s.is_of_part()) continue;
    std::vector<double> weights(size.size());
    for (std::size_t i = 0; i < s.places.size(); ++i) weights[base::at(s.places[i])] = s.diagonal[i];
    algebra_.check_cancelled();
    through = algebra_.multiply(outer_inverse, own.solved.weighted_square(weights, algebra_));
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
  if (!through_blocks_.empty()) {
    if (first.is_of_part() != second.is_of_part()) {
      const std::size_t outer = first.is_of_part() ? k : j;
      return trace_of_product(products_[outer], 0, through_blocks_[outer == j ? k : j],
                              penalties_[outer].in_outer, algebra_);
    }
    return own_squares_(static_cast<int>(j), static_cast<int>(k)) +
           trace_of_product(through_blocks_[j], 0, through_blocks_[k], 0, algebra_);
  }
  if (!of_effects_.empty()) return std::nullopt;
  if (first.is_of_part() && second.is_of_part()) return own_square_;
  return with_eliminated(first.is_of_part() ? k : j);
}

double PenaltyTraces::with_eliminated(std::size_t k) const {
  return trace_of_product(products_[k], 0, through_core_, penalties_[k].in_outer, algebra_);
}

}  // namespace TESSERA_NAMESPACE::gam
