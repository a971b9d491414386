// SPDX-License-Identifier: Apache-2.0
#include "gam/many/penalty_sums.hpp"

#include "base/math/elementary.hpp"
#include "gam/reml/penalty_basis.hpp"

#include <algorithm>
#include <limits>

namespace TESSERA_NAMESPACE::gam {

using base::at;

template <class Use>
void PenaltySums::for_each_element(std::span<const double> log_sp, int parameter, const Use& use) const {
  for (const int index : component_.penalties) {
    const SharedPenalty& penalty = design_.penalties[at(index)];
    if (parameter != all && penalty.parameter != parameter) continue;
    const double lambda = base::exp(log_lambda(penalty, log_sp));
    if (!(lambda < infinite)) continue;
    for (int j = 0; j < penalty.size(); ++j) {
      const int column = active_.place(penalty.begin + j);
      if (column < 0) continue;
      if (!penalty.diagonal.empty()) {
        use(column, column, lambda * penalty.diagonal[at(j)]);
        continue;
      }
      for (int i = 0; i < penalty.size(); ++i) {
        const int row = active_.place(penalty.begin + i);
        if (row >= 0) use(row, column, lambda * penalty.dense(i, j));
      }
    }
  }
}

void PenaltySums::add_product(std::span<const double> log_sp, int parameter, const std::vector<double>& b,
                              std::vector<double>& to) const {
  for_each_element(log_sp, parameter,
                   [&](int row, int column, double value) { to[at(row)] += value * b[at(column)]; });
}

void PenaltySums::add_matrix(std::span<const double> log_sp, int parameter,
                             std::vector<double>& packed) const {
  for_each_element(log_sp, parameter, [&](int row, int column, double value) {
    if (row <= column) packed[place_in_packed(active_.size(), row, column)] += value;
  });
}

double PenaltySums::trace(std::span<const double> log_sp, int parameter,
                          const std::vector<double>& packed) const {
  double sum = 0;
  for_each_element(log_sp, parameter, [&](int row, int column, double value) {
    sum += value * packed[place_in_packed(active_.size(), std::min(row, column), std::max(row, column))];
  });
  return sum;
}

std::size_t PenaltySums::index_of(int parameter) const {
  return at(
      static_cast<int>(std::ranges::find(component_.parameters, parameter) - component_.parameters.begin()));
}

void PenaltySums::log_determinant(std::span<const double> log_sp, PenaltyTerm& to) const {
  const auto count = static_cast<int>(component_.parameters.size());
  to.value = 0;
  to.gradient.assign(at(count), 0);
  to.hessian = Matrix(count, count);
  if (component_.bases.empty()) {
    for (const int index : component_.penalties) {
      const SharedPenalty& penalty = design_.penalties[at(index)];
      const double one = log_lambda(penalty, log_sp);
      if (one == infinite) continue;
      double rank = 0;
      for (int j = 0; j < penalty.size(); ++j) rank += active_.place(penalty.begin + j) >= 0 ? 1 : 0;
      to.value += rank * one;
      if (penalty.parameter >= 0) to.gradient[index_of(penalty.parameter)] += rank;
    }
    return;
  }
  std::vector<double> log_lambdas;
  for (const SharedPenalty& penalty : design_.penalties) {
    // An infinite lambda counts as 1. The determinants of S and X'WX + S both grow like lambda^rank, and only
    // their ratio matters. The determinant of X'WX + S omits the columns of this penalty.
    const double one = log_lambda(penalty, log_sp);
    log_lambdas.push_back(one == infinite ? 0 : one);
  }
  const auto found = penalty_determinant(component_.bases, log_lambdas, HostAlgebra());
  if (!found) {
    to.value = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  to.value = found->value;
  for (const int k : component_.penalties) {
    const int of_k = design_.penalties[at(k)].parameter;
    if (of_k < 0) continue;
    const auto j = static_cast<int>(index_of(of_k));
    to.gradient[at(j)] += found->gradient[at(k)];
    for (const int l : component_.penalties) {
      const int of_l = design_.penalties[at(l)].parameter;
      if (of_l >= 0) to.hessian(static_cast<int>(index_of(of_l)), j) += found->hessian(l, k);
    }
  }
}

bool PenaltySums::is_absent(int parameter) const {
  for (const int index : component_.penalties) {
    const SharedPenalty& penalty = design_.penalties[at(index)];
    if (penalty.parameter != parameter) continue;
    for (int j = 0; j < penalty.size(); ++j) {
      if (active_.place(penalty.begin + j) >= 0) return false;
    }
  }
  return true;
}

}  // namespace TESSERA_NAMESPACE::gam
