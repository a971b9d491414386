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

/// Fast evaluation of thin plate columns of two variables, which are sums of r^2 log r over many points, at
/// many places. One expansion replaces the far points: with 2,000 points, a place costs some 200 function
/// values instead of 2,000.
///
/// Let z be a place as a complex number, z_j a point, c the centre of a square, and t = z - c. Then
///
///     |z - z_j|^2 log|z - z_j| = Re(conj(z - z_j) (z - z_j) log(z - z_j)),
///
/// and the sum over points outside the square is Re(conj(t) F(t) + H(t)), where F and H are analytic in the
/// square: the Taylor series of (d + t) log(d + t), d = c - z_j, up to degree `degree`, is summed over the
/// points. The truncation error is at most
///
///     |w_j| rho^2 (1 + r) r^(1 - p) / ((r - 1) p (p + 1)),    r = |d| / rho,
///
/// for a weight w_j, half diagonal rho and degree p. The expansion of a square includes the points for which
/// this bound, with the sum of |w| over all points as weight, is below 1e-12 of the range of each column. The
/// range is the maximum |value| at a subset of the points. Shifting an expansion to a quarter is exact.
/// Squares are divided into a tree of quarters; a leaf has an expansion and a few near points. Source:
/// Greengard and Rokhlin, J. Comput. Phys. 73 (1987), 325; for biharmonic functions Greengard, Kropinski and
/// Mayo, J. Comput. Phys. 125 (1996), 403.
///
/// Rounding adds up to 5e-15 of sum_j |w_j r_j^2 log r_j|; direct summation adds 2e-15. This sum is up to 1e7
/// times a column's range (200 columns, clustered points). Measured errors relative to the range, for 2,000
/// points and 30 to 200 columns: 5e-13 to 1e-11, as with direct summation; with points in 12 clusters 3e-12
/// to 1e-9.
///
/// Values at a place do not depend on other places. Immutable, hence thread-safe. Memory: 8 x 120 x columns
/// bytes per leaf (see `bytes`); for 2,000 points and 100 columns some 28 MB with evenly spread points, and
/// 150 MB with clusters. The construction takes 0.5 s on one thread, and meanwhile a third more memory.
class FarField {
 public:
  /// Whether the columns are r^2 log r of two variables, with enough points for a far field to be faster.
  [[nodiscard]] static bool applies(const IsotropicColumns& columns);
  /// `combinations`: see `Component`. Builds on the team's threads; the bits do not depend on their number.
  FarField(HostTeam& team, const IsotropicColumns& columns, const Matrix& combinations)
      : FarField(&team, columns, combinations) {}
  /// Memory of the expansions in bytes. Builds only the tree, in a few milliseconds.
  [[nodiscard]] static std::int64_t bytes(const IsotropicColumns& columns, const Matrix& combinations);

  /// Size of the `scratch` of `evaluate`, in doubles.
  [[nodiscard]] std::size_t scratch() const noexcept { return scratch_; }
  [[nodiscard]] int leaves() const noexcept { return static_cast<int>(leaves_.size()); }
  /// The leaf that contains a place; outside the tree leaf 0, which has no expansion. `u`: the variables
  /// minus their shifts.
  [[nodiscard]] int leaf_of(const std::array<double, 2>& u) const;

  /// Maximum number of places evaluated at once.
  static constexpr int together = 8;
  /// One number for each function: `expanded` for the expansions of all leaves, `near` for the points and
  /// polynomials. The number is the function's coefficient in a combination of columns, or its sum over
  /// places.
  struct Functions {
    std::vector<double> expanded;
    std::vector<double> near;
  };
  [[nodiscard]] Functions none() const;
  /// Coefficients of the functions in the combination of the columns with weights `coef`.
  [[nodiscard]] Functions combined(const double* coef) const;
  /// Adds the columns' sums over places to `out`, given the sums of the functions.
  void add_columns(const Functions& sums, double* out) const;

  /// Outputs of `evaluate`. An output whose pointer is null is not computed.
  struct Wanted {
    double* const* columns = nullptr;  ///< for each place, an array of all columns
    const Functions* combined = nullptr;
    double* combination = nullptr;  ///< a number for each place
    Functions* sums = nullptr;      ///< the sums of the functions are added to this
  };
  /// Evaluates `count` places of one leaf, at most `together`.
  void evaluate(int leaf, int count, const std::array<double, 2>* u, double* scratch,
                const Wanted& wanted) const;

 private:
  static constexpr int degree = 30;
  /// Number of functions of an expansion: Re t^k and Im t^k up to the degree, and for k below the degree the
  /// products of these with |t|^2.
  static constexpr int expanded = 4 * degree;
  using Complex = std::complex<double>;

  struct Leaf {
    double x, y, inverse_radius;
    std::vector<int> near;
    std::size_t begin;  ///< offset in `expansions_`
    bool expanded;
  };
  struct Square {
    double x, y, half;
    std::array<int, 4> quarters{};  ///< indices in `squares_`; 0: the square is a leaf
    int leaf = -1;
  };
  class Builder;

  /// Builds only the tree if `team` is null.
  FarField(HostTeam* team, const IsotropicColumns& columns, const Matrix& combinations);
  void functions_at(const Leaf& leaf, int count, const std::array<double, 2>* u, double* functions) const;

  RadialFunction function_;
  int columns_;
  int points_;
  std::vector<std::array<double, 2>> places_;  ///< the points
  std::vector<std::array<int, 2>> powers_;     ///< exponents of both variables in each polynomial
  std::vector<double> weights_;                ///< weights of points, then polynomials; panels of 4 columns
  std::vector<double> expansions_;             ///< expansion of each leaf, in panels of four columns
  std::vector<Square> squares_;
  std::vector<Leaf> leaves_;
  std::size_t scratch_ = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
