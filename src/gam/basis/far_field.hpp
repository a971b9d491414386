// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component.hpp"

#include <tessera/job/host_team.hpp>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Fast evaluation of thin plate columns of two variables, sums of r^2 log r over many points, at many
/// places: the far points are summed by one expansion, so that a place costs some 200 functions instead of
/// the 2,000 of as many points.
///
/// With z a place as a complex number, z_j a point, c the centre of a square and t = z - c,
///
///     |z - z_j|^2 log|z - z_j| = Re(conj(z - z_j) (z - z_j) log(z - z_j)),
///
/// the sum over points outside the square is Re(conj(t) F(t) + H(t)), F and H being analytic there: the
/// Taylor series of (d + t) log(d + t), d = c - z_j, of degree `degree` is summed over the points. The
/// truncation error is at most
///
///     |w_j| rho^2 (1 + r) r^(1 - p) / ((r - 1) p (p + 1)),    r = |d| / rho,
///
/// for a weight w_j, rho being the half diagonal and p the degree. A square of the tree takes in the points
/// for which that, times the sum of |w| over all points, is below 1e-12 of the range of each column (the
/// largest value at a subset of the points); shifting an expansion to a quarter is exact. Rounding adds up to
/// 5e-15 of sum_j |w_j r_j^2 log r_j|, where direct summation has 2e-15. Such sums exceed a column's range
/// 1e3 times for 30 columns, and 1e5 times for 200 with evenly spread points, or 1e7 times with clustered
/// ones. Measured errors relative to the range, for 2,000 points and 30, 100 and 200 columns: 5e-13, 3e-12
/// and 1e-11 (direct: 3e-13, 4e-12 and 1e-11); in 12 clusters 3e-12, 1e-10 and 1e-9 (4e-12, 4e-10 and 2e-9).
/// A leaf of the tree has its expansion and a few near points. Source: Greengard and Rokhlin, J. Comput.
/// Phys. 73 (1987), 325, and for the biharmonic functions Greengard, Kropinski and Mayo, J. Comput. Phys. 125
/// (1996), 403.
///
/// Values at a place do not depend on other places. Immutable, so thread-safe. Memory: `bytes`, 8 x 120 x
/// columns a leaf; for 2,000 points and 100 columns some 28 MB with evenly spread points, and 150 MB with
/// clusters. Construction takes 0.5 s on one thread, and a third more memory meanwhile.
class FarField {
 public:
  /// Whether a far field pays for these columns: it takes 1e2 points.
  [[nodiscard]] static bool applies(const IsotropicColumns& columns);
  /// `combinations` are the component's. Built on the threads of the team; bits do not depend on their
  /// number.
  FarField(HostTeam& team, const IsotropicColumns& columns, const Matrix& combinations)
      : FarField(&team, columns, combinations) {}
  /// Memory of the expansions of such a field, from the tree only, in a few milliseconds.
  [[nodiscard]] static std::int64_t bytes(const IsotropicColumns& columns, const Matrix& combinations);

  /// Scratch numbers that `evaluate` needs.
  [[nodiscard]] std::size_t scratch() const noexcept { return scratch_; }
  [[nodiscard]] int leaves() const noexcept { return static_cast<int>(leaves_.size()); }
  /// The leaf of a place, given as variables less their shifts. Leaf 0 is everything outside the tree.
  [[nodiscard]] int leaf_of(const std::array<double, 2>& u) const;

  /// Maximum number of places evaluated at once.
  static constexpr int together = 8;
  /// A number for each function of each leaf, and for each function with contiguous weights: their
  /// coefficients in one combination of the columns, or sums of the functions over places.
  struct Functions {
    std::vector<double> expanded;
    std::vector<double> near;
  };
  [[nodiscard]] Functions none() const;
  /// The sum of the columns times `coef`.
  [[nodiscard]] Functions combined(const double* coef) const;
  /// Adds the columns' sums over places to `out`, from the sums of functions.
  void add_columns(const Functions& sums, double* out) const;

  /// Outputs requested of `evaluate`; null: not requested.
  struct Wanted {
    double* const* columns = nullptr;  ///< array of columns, for each place
    const Functions* combined = nullptr;
    double* combination = nullptr;  ///< one number for each place
    Functions* sums = nullptr;      ///< added to
  };
  /// Evaluates `count` places of one leaf.
  void evaluate(int leaf, int count, const std::array<double, 2>* u, double* scratch,
                const Wanted& wanted) const;

 private:
  static constexpr int degree = 30;
  /// Functions of an expansion: Re t^k and Im t^k to the degree, and those times |t|^2 below it.
  static constexpr int expanded = 4 * degree;
  using Complex = std::complex<double>;

  struct Leaf {
    double x, y, inverse_radius;
    std::vector<int> near;
    std::size_t begin;  ///< where its expansion begins
    bool expanded;
  };
  struct Square {
    double x, y, half;
    std::array<int, 4> quarters{};  ///< indices of the four quarters; 0: not divided
    int leaf = -1;
  };
  class Builder;

  /// Builds only the tree if `team` is null.
  FarField(HostTeam* team, const IsotropicColumns& columns, const Matrix& combinations);
  void functions_at(const Leaf& leaf, int count, const std::array<double, 2>* u, double* functions) const;

  RadialFunction function_;
  int columns_;
  int points_;
  std::vector<std::array<double, 2>> places_;  ///< places of the points
  std::vector<std::array<int, 2>> powers_;     ///< powers of the polynomials
  std::vector<double> weights_;                ///< in panels of four columns: of points, then polynomials
  std::vector<double> expansions_;             ///< by leaf, in panels of four columns
  std::vector<Square> squares_;
  std::vector<Leaf> leaves_;
  std::size_t scratch_ = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
