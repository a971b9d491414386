// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/lanczos.hpp"

#include "base/at.hpp"
#include "base/go_on.hpp"
#include "base/hash.hpp"
#include "base/vectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Steps from one look at the eigenvalues to the next, at least.
constexpr int steps_a_look = 10;

/// In several sums, which do not wait for one another.
double dot_of_long(std::span<const double> x, std::span<const double> y) {
  using Two = base::Vectors<2>;
  constexpr std::size_t sums = 4;
  constexpr std::size_t step = sums * Two::count;
  Two::Doubles parts[sums] = {};
  std::size_t i = 0;
  for (; i + step <= x.size(); i += step) {
    for (std::size_t k = 0; k < sums; ++k)
      parts[k] += *Two::at(&x[i + Two::count * k]) * *Two::at(&y[i + Two::count * k]);
  }
  const Two::Doubles all = (parts[0] + parts[1]) + (parts[2] + parts[3]);
  return all[0] + all[1] + dot(x.subspan(i), y.subspan(i));
}

/// Krylov subspaces of several starts at once (Ruhe, Math. Comp. 33, 1979): what is left of each product
/// waits in a queue to become a vector of the basis.
class Lanczos {
 public:
  Lanczos(int size, int count, int starts, const SymmetricProduct& multiply)
      : size_(size), count_(count), multiply_(multiply), waiting_(at(std::min(starts, size))) {
    for (std::vector<double>& start : waiting_) start = drawn();
  }

  SymmetricEigen run() {
    int next_look = count_;
    for (;;) {
      add_vector();
      const int steps = static_cast<int>(basis_.size());
      if (steps == size_) return eigen_of(small_eigen());
      if (steps < next_look) continue;
      next_look = steps + std::max(steps_a_look, steps / steps_a_look);
      SymmetricEigen found = small_eigen();
      if (has_converged(found)) return eigen_of(std::move(found));
    }
  }

 private:
  /// A vector which is in no subspace that symmetry makes.
  std::vector<double> drawn() {
    std::vector<double> out(at(size_));
    for (double& value : out) value = static_cast<double>(base::split_mix(draws_++) >> 11) * 0x1p-53 - 0.5;
    return out;
  }
  /// Twice is enough (Kahan and Parlett). Returns the length that is left.
  double orthogonalise(std::vector<double>& out) const {
    for (int round = 0; round < 2; ++round) {
      for (const std::vector<double>& one : basis_) add_multiple(out, -dot_of_long(one, out), one);
    }
    return std::sqrt(dot(out, out));
  }
  /// Of an invariant subspace all is known, and nothing of what is beside it: an eigenvalue may be there
  /// again.
  [[nodiscard]] bool is_coupled(double left) const {
    constexpr double rounding = 8 * std::numeric_limits<double>::epsilon();
    return left > rounding * scale_;
  }
  void add_vector() {
    base::go_on();
    std::vector<double> next = std::move(waiting_.front());
    waiting_.pop_front();
    double left = orthogonalise(next);
    if (!is_coupled(left)) {
      next = drawn();
      left = orthogonalise(next);
    }
    for (double& value : next) value /= left;
    basis_.push_back(std::move(next));
    std::vector<double> product(at(size_));
    multiply_(basis_.back(), product);
    std::vector<double>& row = projected_.emplace_back();
    for (const std::vector<double>& one : basis_) row.push_back(dot_of_long(one, product));
    scale_ = std::max(scale_, largest(row));
    waiting_.push_back(std::move(product));
  }

  /// Of the matrix in the basis.
  [[nodiscard]] SymmetricEigen small_eigen() const {
    Matrix small(static_cast<int>(projected_.size()), static_cast<int>(projected_.size()));
    for (int i = 0; i < small.rows(); ++i) {
      for (int j = 0; j <= i; ++j) small(i, j) = projected_[at(i)][at(j)];
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
  /// The products that wait are those of the last vectors: a vector's residual is what is left of them, times
  /// its last components.
  [[nodiscard]] bool has_converged(const SymmetricEigen& found) const {
    std::vector<double> left;
    for (std::vector<double> one : waiting_) {
      base::go_on();
      left.push_back(orthogonalise(one));
    }
    if (!std::ranges::all_of(left, [&](double one) { return is_coupled(one); })) return false;
    const int first = found.vectors.rows() - static_cast<int>(left.size());
    const double rounding = std::numeric_limits<double>::epsilon() * largest(found.values);
    return std::ranges::all_of(sought(found), [&](int i) {
      double residual = 0;
      for (std::size_t k = 0; k < left.size(); ++k)
        residual += std::abs(left[k] * found.vectors(first + static_cast<int>(k), i));
      return residual <= rounding;
    });
  }
  [[nodiscard]] SymmetricEigen eigen_of(SymmetricEigen small) const {
    SymmetricEigen out{{}, Matrix(size_, count_)};
    int column = 0;
    for (const int place : sought(small)) {
      base::go_on();
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
  std::deque<std::vector<double>> waiting_;
  std::vector<std::vector<double>> basis_;
  std::vector<std::vector<double>> projected_;  ///< rows of the lower triangle
  double scale_ = 0;
  std::uint64_t draws_ = 1;
};

}  // namespace

SymmetricEigen extreme_eigen(int size, int count, const SymmetricProduct& multiply, int starts) {
  return Lanczos(size, count, starts, multiply).run();
}

}  // namespace TESSERA_NAMESPACE::gam
