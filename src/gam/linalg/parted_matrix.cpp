// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/parted_matrix.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <algorithm>

namespace TESSERA_NAMESPACE::gam {

using base::at;

int Part::size() const noexcept {
  int size = 0;
  for (const Part::Run& run : runs_) size += run.size;
  return size;
}

int Part::run_of(int i) const noexcept {
  for (std::size_t k = 0; k < runs_.size(); ++k) {
    if (runs_[k].has(i)) return static_cast<int>(k);
  }
  return -1;
}

int Part::in_core(int i) const noexcept {
  int before = 0;
  for (const Part::Run& run : runs_) before += run.begin < i ? run.size : 0;
  return i - before;
}

int Part::in_part(int i) const noexcept {
  const auto run = at(run_of(i));
  return begin_of(run) + i - runs_[run].begin;
}

int Part::row_at(int place) const noexcept {
  std::size_t run = 0;
  while (place >= runs_[run].size) place -= runs_[run++].size;
  return runs_[run].begin + place;
}

int Part::begin_of(std::size_t run) const noexcept {
  int before = 0;
  for (std::size_t k = 0; k < run; ++k) before += runs_[k].size;
  return before;
}

std::span<const int> SparsePattern::rows_of(int column) const noexcept {
  const std::int64_t begin = begins[at(column)];
  return std::span(rows).subspan(at(begin), at(begins[at(column) + 1] - begin));
}

std::int64_t SparsePattern::find(int row, int column) const noexcept {
  const auto own = rows_of(column);
  const auto found = std::ranges::lower_bound(own, row);
  return found == own.end() || *found != row ? -1 : begins[at(column)] + (found - own.begin());
}

PartedMatrix::PartedMatrix(const Matrix& whole, const Part& part) : PartedMatrix(whole.rows(), part) {
  for (int j = 0; j < whole.cols(); ++j) {
    if (part.has(j)) {
      diagonal[at(part.in_part(j))] = whole(j, j);
      continue;
    }
    std::ranges::copy(core_of(whole.column(j), part), core.column(in_core(j)).begin());
    if (is_parted()) std::ranges::copy(part_of(whole.column(j), part), border.column(in_core(j)).begin());
  }
}

PartedMatrix::PartedMatrix(int size, Part part, std::shared_ptr<const SparsePattern> pattern)
    : core(size - part.size(), size - part.size()),
      border(part.size(), part.size() > 0 ? size - part.size() : 0),
      diagonal(at(part.size())),
      beside(pattern ? pattern->rows.size() : 0),
      part_(std::move(part)),
      pattern_(std::move(pattern)) {}

bool operator==(const PartedMatrix& a, const PartedMatrix& b) {
  const bool same_pattern =
      a.pattern_ == b.pattern_ || (a.pattern_ && b.pattern_ && *a.pattern_ == *b.pattern_);
  return same_pattern && a.part_ == b.part_ && a.core == b.core && a.border == b.border &&
         a.diagonal == b.diagonal && a.beside == b.beside;
}

bool PartedMatrix::has(int i, int j) const noexcept {
  if (i == j || !part_.has(i) || !part_.has(j)) return true;
  const auto [column, row] = std::minmax({part_.in_part(i), part_.in_part(j)});
  return pattern_ && pattern_->find(row, column) >= 0;
}

double PartedMatrix::operator()(int i, int j) const noexcept {
  if (!is_parted()) return core(i, j);
  const bool row_of_part = part_.has(i);
  const bool column_of_part = part_.has(j);
  if (!row_of_part && !column_of_part) return core(in_core(i), in_core(j));
  if (!row_of_part) return border(part_.in_part(j), in_core(i));
  if (!column_of_part) return border(part_.in_part(i), in_core(j));
  const auto [column, row] = std::minmax({part_.in_part(i), part_.in_part(j)});
  if (row == column) return diagonal[at(row)];
  const std::int64_t place = pattern_ ? pattern_->find(row, column) : -1;
  return place < 0 ? 0.0 : beside[at(place)];
}

void PartedMatrix::set(int i, int j, double value) noexcept {
  const bool row_of_part = part_.has(i);
  const bool column_of_part = part_.has(j);
  if (!row_of_part && !column_of_part) {
    core(in_core(i), in_core(j)) = core(in_core(j), in_core(i)) = value;
  } else if (!row_of_part) {
    border(part_.in_part(j), in_core(i)) = value;
  } else if (!column_of_part) {
    border(part_.in_part(i), in_core(j)) = value;
  } else {
    const auto [column, row] = std::minmax({part_.in_part(i), part_.in_part(j)});
    (row == column ? diagonal[at(row)] : beside[at(pattern_->find(row, column))]) = value;
  }
}

std::vector<double> PartedMatrix::row(int i) const {
  const auto own = core.column(in_core(i));
  return is_parted() ? with_part(own, border.column(in_core(i)), part_)
                     : std::vector<double>(own.begin(), own.end());
}

Matrix PartedMatrix::block(int begin, int size) const {
  return submatrix(core, in_core(begin), size, in_core(begin), size);
}

void PartedMatrix::scale(std::span<const double> factors) {
  const std::vector<double> of_core = core_of(factors, part_);
  const std::vector<double> of_part = part_of(factors, part_);
  for (int j = 0; j < core.cols(); ++j) {
    for (int i = 0; i < core.rows(); ++i) core(i, j) = core(i, j) * of_core[at(i)] * of_core[at(j)];
    for (int i = 0; i < border.rows(); ++i) border(i, j) = border(i, j) * of_part[at(i)] * of_core[at(j)];
  }
  for (std::size_t i = 0; i < diagonal.size(); ++i) diagonal[i] = diagonal[i] * of_part[i] * of_part[i];
  for_each_beside([&](std::size_t place, int i, int j) {
    beside[place] = beside[place] * of_part[at(i)] * of_part[at(j)];
  });
}

void PartedMatrix::change_basis(int begin, const Matrix& u, const Algebra& algebra) {
  const int first = in_core(begin);
  gam::change_basis(core, first, u, algebra);
  if (u.empty() || !is_parted()) return;
  assign(border, 0, first, algebra.multiply(submatrix(border, 0, border.rows(), first, u.rows()), u));
}

void change_basis(Matrix& a, int begin, const Matrix& u, const Algebra& algebra) {
  if (u.empty()) return;
  assign(a, 0, begin, algebra.multiply(submatrix(a, 0, a.rows(), begin, u.rows()), u));
  assign(a, begin, 0, algebra.multiply(transpose(u), submatrix(a, begin, u.rows(), 0, a.cols())));
}

std::vector<double> multiply(const PartedMatrix& a, std::span<const double> x) {
  if (!a.is_parted()) return multiply(a.core, x);
  const std::vector<double> of_core = core_of(x, a.part());
  const std::vector<double> of_part = part_of(x, a.part());
  std::vector<double> core = multiply(a.core, of_core);
  add_multiple(core, 1, multiply_t(a.border, of_part));
  std::vector<double> own = multiply(a.border, of_core);
  for (std::size_t i = 0; i < own.size(); ++i) own[i] += a.diagonal[i] * of_part[i];
  a.for_each_beside([&](std::size_t place, int i, int j) {
    own[at(i)] += a.beside[place] * of_part[at(j)];
    own[at(j)] += a.beside[place] * of_part[at(i)];
  });
  return with_part(core, own, a.part());
}

std::vector<double> core_of(std::span<const double> x, const Part& part) {
  std::vector<double> core;
  core.reserve(x.size() - at(part.size()));
  std::ptrdiff_t end = 0;
  for (const Part::Run& run : part.runs()) {
    core.insert(core.end(), x.begin() + end, x.begin() + run.begin);
    end = run.begin + run.size;
  }
  core.insert(core.end(), x.begin() + end, x.end());
  return core;
}

std::vector<double> part_of(std::span<const double> x, const Part& part) {
  std::vector<double> own;
  own.reserve(at(part.size()));
  for (const Part::Run& run : part.runs()) {
    const auto values = x.subspan(at(run.begin), at(run.size));
    own.insert(own.end(), values.begin(), values.end());
  }
  return own;
}

std::vector<double> with_part(std::span<const double> core, std::span<const double> own, const Part& part) {
  std::vector<double> x(core.begin(), core.end());
  for (const Part::Run& run : part.runs()) {
    const auto first = own.begin();
    x.insert(x.begin() + run.begin, first, first + run.size);
    own = own.subspan(at(run.size));
  }
  return x;
}

}  // namespace TESSERA_NAMESPACE::gam
