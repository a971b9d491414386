// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/lanczos.hpp"

#include "base/at.hpp"
#include "base/hash.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace tessera::gam {
namespace {

using base::at;

/// Steps from one look at the eigenvalues to the next.
constexpr int steps_a_look = 10;

class Lanczos {
 public:
  Lanczos(int size, int count, const SymmetricProduct& multiply)
      : size_(size), count_(count), multiply_(multiply) {}

  SymmetricEigen run() {
    std::vector<double> next(at(size_));
    begin_anew(next);
    for (;;) {
      basis_.push_back(next);
      const std::vector<double>& last = basis_.back();
      multiply_(last, next);
      diagonal_.push_back(dot(last, next));
      orthogonalise(next);
      const double left = std::sqrt(dot(next, next));
      const int steps = static_cast<int>(basis_.size());
      if (steps == size_) return eigen_of(small_eigen());
      const bool coupled = left > std::numeric_limits<double>::epsilon() * scale();
      // Of an invariant subspace all is known, and nothing of what is beside it: an eigenvalue may be there
      // again.
      if (coupled && steps >= count_ && (steps - count_) % steps_a_look == 0) {
        SymmetricEigen found = small_eigen();
        if (has_converged(found, left)) return eigen_of(std::move(found));
      }
      if (coupled) {
        beside_.push_back(left);
        for (double& value : next) value /= left;
      } else {
        beside_.push_back(0);
        begin_anew(next);
      }
    }
  }

 private:
  /// A unit vector orthogonal to the basis, which is in no subspace that symmetry makes.
  void begin_anew(std::vector<double>& out) {
    for (double& value : out) value = static_cast<double>(base::split_mix(draws_++) >> 11) * 0x1p-53 - 0.5;
    orthogonalise(out);
    const double length = std::sqrt(dot(out, out));
    for (double& value : out) value /= length;
  }
  /// Twice is enough (Kahan and Parlett).
  void orthogonalise(std::vector<double>& out) const {
    for (int round = 0; round < 2; ++round) {
      for (const std::vector<double>& one : basis_) add_multiple(out, -dot(one, out), one);
    }
  }
  [[nodiscard]] double scale() const { return std::max(largest(diagonal_), largest(beside_)); }

  /// Of the tridiagonal matrix.
  [[nodiscard]] SymmetricEigen small_eigen() const {
    Matrix small(static_cast<int>(diagonal_.size()), static_cast<int>(diagonal_.size()));
    for (int i = 0; i < small.rows(); ++i) {
      small(i, i) = diagonal_[at(i)];
      if (i > 0) small(i, i - 1) = beside_[at(i - 1)];
    }
    return symmetric_eigen(small);
  }
  /// The indices of the eigenvalues sought, in descending order of the values.
  [[nodiscard]] std::vector<int> sought(const SymmetricEigen& found) const {
    std::vector<int> places(found.values.size());
    std::iota(places.begin(), places.end(), 0);
    std::ranges::stable_sort(places, std::ranges::greater(),
                             [&](int i) { return std::abs(found.values[at(i)]); });
    places.resize(at(count_));
    std::ranges::sort(places, std::ranges::greater());
    return places;
  }
  /// A vector's residual is what the last step left, times its last component.
  [[nodiscard]] bool has_converged(const SymmetricEigen& found, double left) const {
    const int last = found.vectors.rows() - 1;
    const double rounding = std::numeric_limits<double>::epsilon() * largest(found.values);
    return std::ranges::all_of(sought(found),
                               [&](int i) { return std::abs(left * found.vectors(last, i)) <= rounding; });
  }
  [[nodiscard]] SymmetricEigen eigen_of(SymmetricEigen small) const {
    SymmetricEigen out{{}, Matrix(size_, count_)};
    int column = 0;
    for (const int place : sought(small)) {
      out.values.push_back(small.values[at(place)]);
      const auto weights = small.vectors.column(place);
      const auto vector = out.vectors.column(column++);
      for (std::size_t i = 0; i < basis_.size(); ++i) add_multiple(vector, weights[i], basis_[i]);
    }
    return out;
  }

  int size_;
  int count_;
  const SymmetricProduct& multiply_;
  std::vector<std::vector<double>> basis_;
  std::vector<double> diagonal_, beside_;
  std::uint64_t draws_ = 1;
};

}  // namespace

SymmetricEigen extreme_eigen(int size, int count, const SymmetricProduct& multiply) {
  return Lanczos(size, count, multiply).run();
}

}  // namespace tessera::gam
