// SPDX-License-Identifier: Apache-2.0
#include "gam/many/small_cholesky.hpp"
#include "base/math/elementary.hpp"

#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;
using base::lane_count;
using base::Lanes;
using base::load_lanes;
using base::store_lanes;

namespace {

/// to -= factor * from, in the packets from element `first` on.
TESSERA_LANE_INLINE void subtract_row(double factor, const double* from, int first, int stride, double* to) {
  for (int i = first / lane_count * lane_count; i < stride; i += lane_count)
    store_lanes(to + i, load_lanes(to + i) - load_lanes(from + i) * factor);
}

TESSERA_LANE_INLINE void scale_row(double factor, int first, int stride, double* to) {
  for (int i = first / lane_count * lane_count; i < stride; i += lane_count)
    store_lanes(to + i, load_lanes(to + i) * factor);
}

/// Factors the upper triangle in place. Elements below the diagonal become undefined.
TESSERA_LANE_CLONES bool factor_clones(double* a, int size, int stride, double* inverse) {
  for (int k = 0; k < size; ++k) {
    double* const row = a + std::ptrdiff_t{stride} * k;
    if (!(row[k] > 0)) return false;
    inverse[k] = 1 / std::sqrt(row[k]);
    scale_row(inverse[k], k, stride, row);
    for (int i = k + 1; i < size; ++i) subtract_row(row[i], row, i, stride, a + std::ptrdiff_t{stride} * i);
  }
  return true;
}

/// x = R^-T x for all columns of x.
TESSERA_LANE_CLONES void solve_transposed_clones(const double* upper, int size, int stride,
                                                 const double* inverse, double* x) {
  for (int k = 0; k < size; ++k) {
    double* const row = x + std::ptrdiff_t{stride} * k;
    scale_row(inverse[k], 0, stride, row);
    for (int i = k + 1; i < size; ++i)
      subtract_row(upper[std::ptrdiff_t{stride} * k + i], row, 0, stride, x + std::ptrdiff_t{stride} * i);
  }
}

/// x = R^-1 x for all columns of x.
TESSERA_LANE_CLONES void solve_clones(const double* upper, int size, int stride, const double* inverse,
                                      double* x) {
  for (int k = size; k-- > 0;) {
    double* const row = x + std::ptrdiff_t{stride} * k;
    scale_row(inverse[k], 0, stride, row);
    for (int i = 0; i < k; ++i)
      subtract_row(upper[std::ptrdiff_t{stride} * i + k], row, 0, stride, x + std::ptrdiff_t{stride} * i);
  }
}

TESSERA_LANE_CLONES double dot_clones(const double* a, const double* b, std::ptrdiff_t count) {
  Lanes sum{};
  for (std::ptrdiff_t i = 0; i < count; i += lane_count) sum += load_lanes(a + i) * load_lanes(b + i);
  return base::sum_of_lanes(sum);
}

}  // namespace

double dot(const LaneSquare& a, const LaneSquare& b) {
  return dot_clones(a.row(0), b.row(0), std::ptrdiff_t{a.stride()} * a.size());
}

void subtract_product(const LaneSquare& a, const double* x, double* to) {
  for (int i = 0; i < a.size(); ++i) {
    const double* const row = a.row(i);
    double sum = 0;
    for (int j = 0; j < a.size(); ++j) sum += row[j] * x[j];
    to[i] -= sum;
  }
}

bool SmallCholesky::factor(const std::vector<double>& packed, int size) {
  upper_.resize(size);
  inverse_.resize(at(size));
  const double* from = packed.data();
  for (int a = 0; a < size; ++a) {
    for (int b = a; b < size; ++b) upper_.row(a)[b] = *from++;
  }
  return factor_clones(upper_.row(0), size, upper_.stride(), inverse_.data());
}

double SmallCholesky::log_determinant() const {
  double sum = 0;
  for (int i = 0; i < upper_.size(); ++i) sum += base::log(upper_.row(i)[i]);
  return 2 * sum;
}

void SmallCholesky::solve(double* x) const {
  const int size = upper_.size();
  for (int k = 0; k < size; ++k) {
    const double* const row = upper_.row(k);
    x[k] *= inverse_[at(k)];
    for (int i = k + 1; i < size; ++i) x[i] -= row[i] * x[k];
  }
  for (int k = size; k-- > 0;) {
    const double* const row = upper_.row(k);
    double sum = x[k];
    for (int i = k + 1; i < size; ++i) sum -= row[i] * x[i];
    x[k] = sum * inverse_[at(k)];
  }
}

void SmallCholesky::inverse(std::vector<double>& packed) const {
  const int size = upper_.size();
  square_.resize(size);
  for (int i = 0; i < size; ++i) square_.row(i)[i] = 1;
  solve_transposed_clones(upper_.row(0), size, upper_.stride(), inverse_.data(), square_.row(0));
  solve_clones(upper_.row(0), size, upper_.stride(), inverse_.data(), square_.row(0));
  packed.clear();
  for (int i = 0; i < size; ++i) packed.insert(packed.end(), square_.row(i) + i, square_.row(i) + size);
}

void SmallCholesky::scale(LaneSquare& a) const {
  for (int side = 0; side < 2; ++side) {
    solve_transposed_clones(upper_.row(0), a.size(), a.stride(), inverse_.data(), a.row(0));
    for (int i = 0; i < a.size(); ++i) {
      for (int j = i + 1; j < a.size(); ++j) std::swap(a.row(i)[j], a.row(j)[i]);
    }
  }
}

}  // namespace TESSERA_NAMESPACE::gam
