// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/lanczos.hpp"

#include "base/at.hpp"
#include "base/cancellation.hpp"
#include "base/hash.hpp"

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

/// Minimum number of steps between convergence tests.
constexpr int steps_a_look = 10;

/// Calls `work(begin, end)` for parts of [0, count); in parallel only if there is enough work.
template <class Work>
void for_each_part(HostTeam& team, std::size_t count, std::int64_t part, std::size_t multiplications,
                   const Work& work) {
  constexpr std::size_t worth_waking = std::size_t{1} << 16;
  if (multiplications < worth_waking) return work(std::size_t{0}, count);
  team.for_each_block({0, static_cast<std::int64_t>(count)}, part,
                      [&](int /*thread*/, Range range) { work(at(range.begin), at(range.end)); });
}

constexpr std::int64_t vectors_at_once = 16;
constexpr std::int64_t numbers_at_once = 256;

/// to = A' x for a column-major A. Fixed task sizes make rounding independent of the number of threads.
void multiply_by(HostTeam& team, const double* a, std::span<const double> x, std::span<double> to) {
  for_each_part(
      team, to.size(), vectors_at_once, x.size() * to.size(), [&](std::size_t begin, std::size_t end) {
        multiply_t(a + begin * x.size(), static_cast<int>(x.size()), x, to.subspan(begin, end - begin));
      });
}

/// Block Lanczos (Ruhe, Math. Comp. 33, 1979): products with A wait in a queue to become basis vectors.
class Lanczos {
 public:
  Lanczos(HostTeam& team, int size, int count, int starts, const SymmetricProduct& multiply)
      : team_(team), size_(size), count_(count), multiply_(multiply), waiting_(at(std::min(starts, size))) {
    for (std::vector<double>& start : waiting_) start = drawn();
  }

  SymmetricEigen run() {
    int next_look = count_;
    for (;;) {
      add_vector();
      const auto now = static_cast<int>(steps());
      if (now == size_) return eigen_of(small_eigen());
      if (now < next_look) continue;
      next_look = now + std::max(steps_a_look, now / steps_a_look);
      SymmetricEigen found = small_eigen();
      if (has_converged(found)) return eigen_of(std::move(found));
    }
  }

 private:
  /// A pseudo-random start vector. Symmetries of the matrix do not confine it to an invariant subspace.
  std::vector<double> drawn() {
    std::vector<double> out(at(size_));
    for (double& value : out) value = static_cast<double>(base::split_mix(draws_++) >> 11) * 0x1p-53 - 0.5;
    return out;
  }
  [[nodiscard]] std::size_t steps() const { return projected_.size(); }
  /// Dot products of x with the first `vectors` basis vectors.
  [[nodiscard]] std::vector<double> projection_of(std::span<const double> x, std::size_t vectors) const {
    std::vector<double> out(vectors);
    multiply_by(team_, basis_.data(), x, out);
    return out;
  }
  /// Orthogonalises against all basis vectors. Twice is enough (Giraud, Langou, Rozloznik and van den Eshof,
  /// Numer. Math. 101 (2005), 87). Returns the remaining norm.
  double orthogonalise(std::vector<double>& out) const {
    for (int round = 0; round < 2 && steps() > 0; ++round) {
      const std::vector<double> parts = projection_of(out, steps());
      for_each_part(team_, out.size(), numbers_at_once, parts.size() * out.size(),
                    [&](std::size_t begin, std::size_t end) {
                      add_product(-1, basis_.data() + begin, size_, parts,
                                  std::span(out).subspan(begin, end - begin));
                    });
    }
    return std::sqrt(dot(out, out));
  }
  /// False if the residual norm `left` is a rounding error: the basis spans an invariant subspace.
  [[nodiscard]] bool is_coupled(double left) const {
    constexpr double rounding = 8 * std::numeric_limits<double>::epsilon();
    return left > rounding * scale_;
  }
  void add_vector() {
    base::check_cancelled();
    std::vector<double> next = std::move(waiting_.front());
    waiting_.pop_front();
    double left = orthogonalise(next);
    if (!is_coupled(left)) {
      next = drawn();
      left = orthogonalise(next);
    }
    for (double& value : next) value /= left;
    basis_.insert(basis_.end(), next.begin(), next.end());
    std::vector<double> product(at(size_));
    multiply_(next, product);
    projected_.push_back(projection_of(product, steps() + 1));
    scale_ = std::max(scale_, largest(projected_.back()));
    waiting_.push_back(std::move(product));
  }

  /// Eigendecomposition of the projected matrix.
  [[nodiscard]] SymmetricEigen small_eigen() const {
    Matrix small(static_cast<int>(projected_.size()), static_cast<int>(projected_.size()));
    for (int i = 0; i < small.rows(); ++i) {
      for (int j = 0; j <= i; ++j) small(i, j) = projected_[at(i)][at(j)];
    }
    return symmetric_eigen(small);
  }
  /// Indices of the `count_` eigenvalues of largest absolute value, in descending order of the values.
  [[nodiscard]] std::vector<int> sought(const SymmetricEigen& found) const {
    std::vector<int> places(found.values.size());
    std::iota(places.begin(), places.end(), 0);
    std::ranges::stable_sort(places, std::ranges::greater(),
                             [&](int i) { return std::abs(found.values[at(i)]); });
    places.resize(at(count_));
    std::ranges::sort(places, std::ranges::greater());
    return places;
  }
  /// Tests the Ritz residuals: norms of the waiting vectors times the last components of each eigenvector.
  [[nodiscard]] bool has_converged(const SymmetricEigen& found) const {
    std::vector<double> left;
    for (std::vector<double> one : waiting_) {
      base::check_cancelled();
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
    const std::vector<int> places = sought(small);
    for (const int place : places) out.values.push_back(small.values[at(place)]);
    for_each_part(team_, places.size(), 1, places.size() * basis_.size(),
                  [&](std::size_t begin, std::size_t end) {
                    for (std::size_t column = begin; column < end; ++column) {
                      base::check_cancelled();
                      const auto weights = small.vectors.column(places[column]);
                      const auto vector = out.vectors.column(static_cast<int>(column));
                      add_product(1, basis_.data(), size_, weights, vector);
                    }
                  });
    return out;
  }

  HostTeam& team_;
  int size_;
  int count_;
  const SymmetricProduct& multiply_;
  std::deque<std::vector<double>> waiting_;
  std::vector<double> basis_;                   ///< basis vectors, column-major
  std::vector<std::vector<double>> projected_;  ///< projected matrix: rows of its lower triangle
  double scale_ = 0;
  std::uint64_t draws_ = 1;
};

}  // namespace

SymmetricEigen extreme_eigen(HostTeam& team, int size, int count, const SymmetricProduct& multiply,
                             int starts) {
  return Lanczos(team, size, count, starts, multiply).run();
}

SymmetricProduct product_with(HostTeam& team, const Matrix& a) {
  return [&](std::span<const double> x, std::span<double> y) { multiply_by(team, a.data(), x, y); };
}

}  // namespace TESSERA_NAMESPACE::gam
