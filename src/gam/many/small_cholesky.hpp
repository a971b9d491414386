// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The Cholesky factor L L' of a small matrix, without allocation from call to call, and by plain loops: the
/// same bits whatever BLAS is installed.
class SmallCholesky {
 public:
  /// `packed`: the upper triangle by rows. Returns false if it is not numerically positive definite.
  [[nodiscard]] bool factor(const std::vector<double>& packed, int size) {
    n_ = static_cast<std::size_t>(size);
    lower_.resize(n_ * n_);
    const double* from = packed.data();
    for (std::size_t j = 0; j < n_; ++j) {
      for (std::size_t i = j; i < n_; ++i) lower_[i * n_ + j] = *from++;
    }
    for (std::size_t j = 0; j < n_; ++j) {
      double pivot = lower_[j * n_ + j];
      for (std::size_t k = 0; k < j; ++k) pivot -= lower_[j * n_ + k] * lower_[j * n_ + k];
      if (!(pivot > 0)) return false;
      const double root = std::sqrt(pivot);
      lower_[j * n_ + j] = root;
      for (std::size_t i = j + 1; i < n_; ++i) {
        double sum = lower_[i * n_ + j];
        for (std::size_t k = 0; k < j; ++k) sum -= lower_[i * n_ + k] * lower_[j * n_ + k];
        lower_[i * n_ + j] = sum / root;
      }
    }
    return true;
  }

  [[nodiscard]] double log_determinant() const {
    double sum = 0;
    for (std::size_t i = 0; i < n_; ++i) sum += std::log(lower_[i * n_ + i]);
    return 2 * sum;
  }

  /// x = L^-1 x.
  void solve_lower(double* x) const {
    for (std::size_t i = 0; i < n_; ++i) {
      double sum = x[i];
      for (std::size_t k = 0; k < i; ++k) sum -= lower_[i * n_ + k] * x[k];
      x[i] = sum / lower_[i * n_ + i];
    }
  }
  /// x = (L L')^-1 x.
  void solve(double* x) const {
    solve_lower(x);
    for (std::size_t i = n_; i-- > 0;) {
      double sum = x[i];
      for (std::size_t k = i + 1; k < n_; ++k) sum -= lower_[k * n_ + i] * x[k];
      x[i] = sum / lower_[i * n_ + i];
    }
  }
  /// (L L')^-1, packed.
  void inverse(std::vector<double>& packed) const {
    packed.clear();
    column_.resize(n_);
    for (std::size_t j = 0; j < n_; ++j) {
      column_.assign(n_, 0);
      column_[j] = 1;
      solve(column_.data());
      packed.insert(packed.end(), column_.begin() + static_cast<std::ptrdiff_t>(j), column_.end());
    }
  }

 private:
  std::size_t n_ = 0;
  std::vector<double> lower_;
  mutable std::vector<double> column_;
};

}  // namespace TESSERA_NAMESPACE::gam
