// SPDX-License-Identifier: Apache-2.0
#include "gam/many/penalty_sums.hpp"

#include "gam/reml/penalty_basis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace TESSERA_NAMESPACE::gam {

using base::at;

template <class Use>
void PenaltySums::for_each_element(std::span<const double> log_sp, int parameter, const Use& use) const {
  for (const SharedPenalty& penalty : design_.penalties) {
    if (parameter != all && penalty.parameter != parameter) continue;
    const double lambda = std::exp(log_lambda(penalty, log_sp));
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

PenaltyTerm PenaltySums::log_determinant(std::span<const double> log_sp) const {
  PenaltyTerm term;
  term.gradient.assign(log_sp.size(), 0);
  term.hessian = Matrix(design_.parameters, design_.parameters);
  const bool single =
      std::ranges::none_of(design_.penalties, [](const SharedPenalty& one) { return one.diagonal.empty(); });
  if (single) {
    for (const SharedPenalty& penalty : design_.penalties) {
      const double one = log_lambda(penalty, log_sp);
      if (one == infinite) continue;
      double rank = 0;
      for (int j = 0; j < penalty.size(); ++j) rank += active_.place(penalty.begin + j) >= 0 ? 1 : 0;
      term.value += rank * one;
      if (penalty.parameter >= 0) term.gradient[at(penalty.parameter)] += rank;
    }
    return term;
  }
  std::vector<double> log_lambdas;
  for (const SharedPenalty& penalty : design_.penalties) {
    // At the limit of a lambda the determinants of its penalty and of X'WX + S keep a constant ratio.
    const double one = log_lambda(penalty, log_sp);
    log_lambdas.push_back(one == infinite ? 0 : one);
  }
  const auto found = penalty_determinant(design_.bases, log_lambdas, HostAlgebra());
  if (!found) {
    term.value = std::numeric_limits<double>::quiet_NaN();
    return term;
  }
  term.value = found->value;
  for (std::size_t k = 0; k < design_.penalties.size(); ++k) {
    const int j = design_.penalties[k].parameter;
    if (j < 0) continue;
    term.gradient[at(j)] += found->gradient[k];
    for (std::size_t l = 0; l < design_.penalties.size(); ++l) {
      const int i = design_.penalties[l].parameter;
      if (i >= 0) term.hessian(i, j) += found->hessian(static_cast<int>(l), static_cast<int>(k));
    }
  }
  return term;
}

bool PenaltySums::is_absent(int parameter) const {
  for (const SharedPenalty& penalty : design_.penalties) {
    if (penalty.parameter != parameter) continue;
    for (int j = 0; j < penalty.size(); ++j) {
      if (active_.place(penalty.begin + j) >= 0) return false;
    }
  }
  return true;
}

}  // namespace TESSERA_NAMESPACE::gam
