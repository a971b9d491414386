// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/parted_matrix.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>

namespace tessera::gam {

using base::at;

PartedMatrix::PartedMatrix(const Matrix& whole, Part part) : PartedMatrix(whole.rows(), part) {
  for (int j = 0; j < whole.cols(); ++j) {
    if (part.has(j)) {
      diagonal[at(j - part.begin)] = whole(j, j);
      continue;
    }
    const auto column = whole.column(j);
    std::ranges::copy(core_of(column, part), core.column(in_core(j)).begin());
    if (part.size > 0)
      std::ranges::copy(column.subspan(at(part.begin), at(part.size)), border.column(in_core(j)).begin());
  }
}

double PartedMatrix::operator()(int i, int j) const noexcept {
  if (!is_parted()) return core(i, j);
  const bool row_of_part = part().has(i);
  const bool column_of_part = part().has(j);
  if (!row_of_part && !column_of_part) return core(in_core(i), in_core(j));
  if (row_of_part && column_of_part) return i == j ? diagonal[at(i - begin_)] : 0.0;
  return row_of_part ? border(i - begin_, in_core(j)) : border(j - begin_, in_core(i));
}

void PartedMatrix::set(int i, int j, double value) noexcept {
  const bool row_of_part = part().has(i);
  const bool column_of_part = part().has(j);
  if (!row_of_part && !column_of_part)
    core(in_core(i), in_core(j)) = core(in_core(j), in_core(i)) = value;
  else if (row_of_part && column_of_part)
    diagonal[at(i - begin_)] = value;
  else if (row_of_part)
    border(i - begin_, in_core(j)) = value;
  else
    border(j - begin_, in_core(i)) = value;
}

std::vector<double> PartedMatrix::row(int i) const {
  const auto own = core.column(in_core(i));
  std::vector<double> values(own.begin(), own.end());
  return is_parted() ? with_part(std::move(values), border.column(in_core(i)), part()) : values;
}

Matrix PartedMatrix::block(int begin, int size) const {
  return submatrix(core, in_core(begin), size, in_core(begin), size);
}

void PartedMatrix::scale(std::span<const double> factors) {
  const std::vector<double> of_core = core_of(factors, part());
  const auto of_part = factors.subspan(at(begin_), diagonal.size());
  for (int j = 0; j < core.cols(); ++j) {
    for (int i = 0; i < core.rows(); ++i) core(i, j) = core(i, j) * of_core[at(i)] * of_core[at(j)];
    for (int i = 0; i < border.rows(); ++i) border(i, j) = border(i, j) * of_part[at(i)] * of_core[at(j)];
  }
  for (std::size_t i = 0; i < diagonal.size(); ++i) diagonal[i] = diagonal[i] * of_part[i] * of_part[i];
}

void PartedMatrix::turn(int begin, const Matrix& u, const Algebra& algebra) {
  const int first = in_core(begin);
  gam::turn(core, first, u, algebra);
  if (u.empty() || !is_parted()) return;
  assign(border, 0, first, algebra.multiply(submatrix(border, 0, border.rows(), first, u.rows()), u));
}

void turn(Matrix& a, int begin, const Matrix& u, const Algebra& algebra) {
  if (u.empty()) return;
  assign(a, 0, begin, algebra.multiply(submatrix(a, 0, a.rows(), begin, u.rows()), u));
  assign(a, begin, 0, algebra.multiply(transpose(u), submatrix(a, begin, u.rows(), 0, a.cols())));
}

std::vector<double> multiply(const PartedMatrix& a, std::span<const double> x) {
  if (!a.is_parted()) return multiply(a.core, x);
  const Part part = a.part();
  const std::vector<double> of_core = core_of(x, part);
  const auto of_part = x.subspan(at(part.begin), at(part.size));
  std::vector<double> core = multiply(a.core, of_core);
  add_multiple(core, 1, multiply_t(a.border, of_part));
  std::vector<double> own = multiply(a.border, of_core);
  for (std::size_t i = 0; i < own.size(); ++i) own[i] += a.diagonal[i] * of_part[i];
  return with_part(std::move(core), own, part);
}

std::vector<double> core_of(std::span<const double> x, Part part) {
  std::vector<double> core(x.begin(), x.end());
  const auto first = core.begin() + part.begin;
  core.erase(first, first + part.size);
  return core;
}

std::vector<double> with_part(std::vector<double> core, std::span<const double> own, Part part) {
  core.insert(core.begin() + part.begin, own.begin(), own.end());
  return core;
}

}  // namespace tessera::gam
