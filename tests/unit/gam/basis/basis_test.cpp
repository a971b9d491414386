// SPDX-License-Identifier: Apache-2.0
// The bases of one variable have the properties of their definitions, independently of mgcv.
#include "gam/basis/basis.hpp"

#include "gam/basis/isotropic.hpp"
#include "gam/basis/list.hpp"
#include "gam/basis/thin_plate.hpp"
#include "gam/design/knots.hpp"
#include "gam/design/natural_basis.hpp"
#include "gam/design/smooth.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Threads for expensive bases.
HostTeam& team() {
  static HostTeam threads(2);
  return threads;
}

/// X of one row.
std::vector<double> basis_row(const Basis& basis, double x) {
  std::vector<double> raw(static_cast<std::size_t>(basis.component.raw_size()));
  const LocalValues local = evaluate(basis.component.margin, x);
  for (std::size_t a = 0; a < 4; ++a) raw[static_cast<std::size_t>(local.first) + a] = local.values[a];
  return multiply_t(basis.map, raw);
}

/// The points of tp, ascending.
std::vector<double> points_of(const std::vector<double>& values) {
  Matrix column(static_cast<int>(values.size()), 1);
  std::ranges::copy(values, column.data());
  const Matrix points = distinct_points(column, means_of(column), 2000, 1);
  std::vector<double> sorted(points.values().begin(), points.values().end());
  std::ranges::sort(sorted);
  return sorted;
}

std::vector<Basis> every_spline() {
  const std::vector<double> uneven{0, 0.1, 0.45, 0.5, 0.8, 1};
  const std::vector<double> ten{-0.4, -0.3, -0.1, 0, 0.3, 0.6, 1, 1.1, 1.5, 1.6};
  return {ps_basis(ps_knots(8, 0, 1), 2, true), ps_basis(ten, 2, false), cp_basis(sequence(0, 1, 7), 2, true),
          cp_basis(uneven, 2, false),           cr_basis(uneven),        cc_basis(uneven)};
}

double value_of(const Basis& basis, const std::vector<double>& coef, double x) {
  return dot(basis_row(basis, x), coef);
}

TEST(Sequence, EndsAreExact) {
  const auto s = sequence(0.1, 0.7, 7);
  EXPECT_EQ(s.front(), 0.1);
  EXPECT_EQ(s.back(), 0.7);
  EXPECT_EQ(s[2], 0.1 + 2 * ((0.7 - 0.1) / 6));
}

TEST(Basis, ConstantsAreOnesAndUnpenalised) {
  for (const Basis& basis : every_spline()) {
    const std::vector<double> ones(static_cast<std::size_t>(basis.size()), 1.0);
    for (const double x : {0.0, 0.02, 0.31, 0.5, 0.77, 1.0}) EXPECT_NEAR(value_of(basis, ones, x), 1, 1e-14);
    for (const double value : multiply(basis.penalty, ones)) EXPECT_NEAR(value, 0, 1e-10);
    EXPECT_EQ(basis.component.raw_size(), basis.map.rows());
  }
}

TEST(Basis, PenaltyHasItsRank) {
  for (const Basis& basis : every_spline()) {
    const auto eigen = symmetric_eigen(basis.penalty);
    const auto first = static_cast<std::size_t>(basis.size() - basis.rank);
    const double largest = eigen.values.back();
    for (std::size_t i = 0; i < first; ++i) EXPECT_NEAR(eigen.values[i] / largest, 0, 1e-14);
    EXPECT_GT(eigen.values[first] / largest, 1e-6);
  }
}

/// Value and first two derivatives agree at the breaks, and round the end of a cyclic basis.
TEST(Basis, IsTwiceContinuouslyDifferentiable) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (const Basis& basis : every_spline()) {
    std::vector<double> coef(static_cast<std::size_t>(basis.size()));
    for (double& c : coef) c = normal(random);
    const std::vector<double> raw = multiply(basis.map, coef);
    const Margin& margin = basis.component.margin;
    const auto derivative = [&](int cell, double t, int order) {
      const auto at = static_cast<std::size_t>(cell);
      const double h = margin.breaks[at + 1] - margin.breaks[at];
      double sum = 0;
      for (std::size_t a = 0; a < 4; ++a) {
        const double* c = margin.cells[at].data() + 4 * a;
        const double v[] = {c[0] + t * (c[1] + t * (c[2] + t * c[3])), c[1] + t * (2 * c[2] + t * 3 * c[3]),
                            2 * c[2] + t * 6 * c[3]};
        sum += v[order] * raw[static_cast<std::size_t>(cell * margin.stride) + a];
      }
      return sum / std::pow(h, order);
    };
    const int cells = margin.cell_count();
    for (int order = 0; order < 3; ++order) {
      for (int cell = 0; cell + 1 < cells; ++cell) {
        const double left = derivative(cell, 1, order);
        EXPECT_NEAR(left, derivative(cell + 1, 0, order), 1e-11 * (1 + std::abs(left)));
      }
      if (margin.cyclic) {
        const double left = derivative(cells - 1, 1, order);
        EXPECT_NEAR(left, derivative(0, 0, order), 1e-11 * (1 + std::abs(left)));
      }
    }
  }
}

TEST(Basis, UnevenKnotsThatAreEvenGiveTheUniformSplines) {
  const auto knots = ps_knots(9, -2, 5);
  const Basis general = ps_basis(knots, 2, false);
  const Basis uniform = ps_basis(knots, 2, true);
  for (std::size_t c = 0; c < general.component.margin.cells.size(); ++c) {
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_NEAR(general.component.margin.cells[c][i], uniform.component.margin.cells[c][i], 1e-14);
    }
  }
}

TEST(Basis, SplinesOfALowerOrderArePiecewiseLinesAndParabolas) {
  for (const int degree : {1, 2}) {
    const Basis open = ps_basis(ps_knots(8, 0, 1, degree), 1, true, degree);
    const Basis cyclic = cp_basis(sequence(0, 1, 8), 1, true, degree);
    for (const Basis* basis : {&open, &cyclic}) {
      const int size = basis->size();
      EXPECT_EQ(basis->rank, size - 1);
      std::vector<double> coef(static_cast<std::size_t>(size));
      for (std::size_t i = 0; i < coef.size(); ++i) coef[i] = std::sin(static_cast<double>(i));
      const auto value = [&](double x) { return value_of(*basis, coef, x); };
      const std::vector<double>& breaks = basis->component.margin.breaks;
      for (std::size_t c = 0; c + 1 < breaks.size(); ++c) {
        const double width = breaks[c + 1] - breaks[c];
        const auto at = [&](double share) { return value(breaks[c] + share * width); };
        // The difference of the next order vanishes in a cell.
        const double line = at(.75) - 2 * at(.5) + at(.25);
        const double parabola = at(.8) - 3 * at(.6) + 3 * at(.4) - at(.2);
        EXPECT_NEAR(degree == 1 ? line : parabola, 0, 1e-14);
        EXPECT_NEAR(at(-1e-9), at(1e-9), 1e-7);
      }
      const std::vector<double> row = basis_row(*basis, 0.37);
      EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1, 1e-14);
      EXPECT_EQ(std::ranges::count_if(row, [](double one) { return one != 0; }), degree + 1);
    }
    EXPECT_NEAR(basis_row(cyclic, 0.0)[0], basis_row(cyclic, 1.0)[0], 1e-14);
  }
}

TEST(Basis, CubicRegressionSplineInterpolatesItsCoefficients) {
  const std::vector<double> knots{-1, 0, 0.3, 2, 2.5};
  const Basis basis = cr_basis(knots);
  for (int i = 0; i < basis.size(); ++i) {
    const auto row = basis_row(basis, knots[static_cast<std::size_t>(i)]);
    for (int j = 0; j < basis.size(); ++j) EXPECT_NEAR(row[static_cast<std::size_t>(j)], i == j, 1e-14);
  }
}

/// b'Sb is the integral of f''^2, here by Simpson's rule, which is exact for the square of a line.
TEST(Basis, RegressionSplinePenaltyIsTheIntegralOfTheSquaredSecondDerivative) {
  const std::vector<double> knots{-1, 0, 0.3, 2, 2.5, 4};
  const std::vector<double> all{0.3, -1, 2, 0.5, 0.1, 0.7};
  for (const Basis& basis : {cr_basis(knots), cc_basis(knots)}) {
    const std::vector<double> coef(all.begin(), all.begin() + basis.size());
    const std::vector<double> raw = multiply(basis.map, coef);
    double integral = 0;
    for (std::size_t c = 0; c + 1 < knots.size(); ++c) {
      // The cell's cubic in t, by x.
      double square = 0;
      double cube = 0;
      for (std::size_t a = 0; a < 4; ++a) {
        square += raw[2 * c + a] * basis.component.margin.cells[c][4 * a + 2];
        cube += raw[2 * c + a] * basis.component.margin.cells[c][4 * a + 3];
      }
      const double width = knots[c + 1] - knots[c];
      const double left = 2 * square / width / width;
      const double right = (2 * square + 6 * cube) / width / width;
      const double middle = (left + right) / 2;
      integral += (knots[c + 1] - knots[c]) * (left * left + 4 * middle * middle + right * right) / 6;
    }
    EXPECT_NEAR(dot(coef, multiply(basis.penalty, coef)), integral, 1e-11 * integral);
  }
}

TEST(Basis, GoesOnAsItsTangentOrRepeats) {
  for (const Basis& basis : every_spline()) {
    std::vector<double> coef(static_cast<std::size_t>(basis.size()));
    for (std::size_t i = 0; i < coef.size(); ++i) coef[i] = std::sin(1.0 + 2.0 * static_cast<double>(i));
    const auto& breaks = basis.component.margin.breaks;
    const double first = breaks.front();
    const double last = breaks.back();
    if (basis.component.margin.cyclic) {
      EXPECT_NEAR(value_of(basis, coef, 0.3 + 2 * (last - first)), value_of(basis, coef, 0.3), 1e-12);
      EXPECT_NEAR(value_of(basis, coef, 0.3 - 3 * (last - first)), value_of(basis, coef, 0.3), 1e-12);
      continue;
    }
    const double step = 1e-6;
    for (const double end : {first, last}) {
      const double inward = end == first ? step : -step;
      const double slope = (value_of(basis, coef, end + inward) - value_of(basis, coef, end)) / inward;
      const double far = value_of(basis, coef, end - 5 * (inward / step)) - value_of(basis, coef, end);
      EXPECT_NEAR(far / (-5 * (inward / step)), slope, 1e-3 * (1 + std::abs(slope)));
      const double near = value_of(basis, coef, end - 2.5 * (inward / step)) - value_of(basis, coef, end);
      EXPECT_NEAR(near * 2, far, 1e-11 * (1 + std::abs(far)));
    }
  }
}

TEST(Basis, ReparameterisedCoefficientsAreValuesAtThePoints) {
  Basis basis = ps_basis(ps_knots(7, -1, 3), 2, true);
  const Basis before = basis;
  ASSERT_TRUE(reparameterise_at_points(basis, -1, 3));
  EXPECT_FALSE(basis.unit_rows);
  const auto points = sequence(-1, 3, 7);
  for (int i = 0; i < 7; ++i) {
    const auto row = basis_row(basis, points[static_cast<std::size_t>(i)]);
    for (int j = 0; j < 7; ++j) EXPECT_NEAR(row[static_cast<std::size_t>(j)], i == j, 1e-12);
  }
  // The same function has the same penalty.
  std::vector<double> old_coef{1, -2, 0.5, 3, 1, 0, -1};
  std::vector<double> new_coef;
  for (const double x : points) new_coef.push_back(value_of(before, old_coef, x));
  EXPECT_NEAR(dot(new_coef, multiply(basis.penalty, new_coef)),
              dot(old_coef, multiply(before.penalty, old_coef)), 1e-9);
}

/// The log of the product of all eigenvalues except the `zero` smallest.
double log_det(const Matrix& a, int zero) {
  const SymmetricEigen eigen = symmetric_eigen(a);
  double sum = 0;
  for (auto i = static_cast<std::size_t>(zero); i < eigen.values.size(); ++i)
    sum += std::log(eigen.values[i]);
  return sum;
}

/// log|S|+ of a constrained product: directly, and from its eigenvalues.
std::pair<double, double> log_dets(const SmoothBasis& smooth, const Constraint& constraint, double lambda) {
  Matrix sum = smooth.penalties[0];
  for (std::size_t i = 0; i < sum.values().size(); ++i)
    sum.values()[i] += lambda * smooth.penalties[1].values()[i];
  double by_eigenvalues = constraint.log_det_constant;
  for (int i = 0; i < smooth.eigenvalues.rows(); ++i)
    by_eigenvalues += std::log(smooth.eigenvalues(i, 0) + lambda * smooth.eigenvalues(i, 1));
  return {log_det(multiply_tn(constraint.z, multiply(sum, constraint.z)), 1), by_eigenvalues};
}

double norm_of(std::span<const double> values) {
  return std::sqrt(dot(values, values));
}

/// T' S_j T is diagonal under the constraint, and T with the null space spans all coefficients.
void expect_common_eigenvectors(const SmoothBasis& smooth, const std::vector<double>& means) {
  const Constraint constraint = sum_to_zero(means, smooth.null_space, smooth.values, smooth.log_det_values);
  const Matrix vectors =
      constrained_eigenvectors(smooth.eigenvectors, means, smooth.null_space, constraint.z);
  const int rank = smooth.eigenvalues.rows();
  ASSERT_EQ(vectors.cols(), rank);
  for (std::size_t j = 0; j < smooth.penalties.size(); ++j) {
    const Matrix within = multiply_tn(constraint.z, multiply(smooth.penalties[j], constraint.z));
    const Matrix turned = multiply_tn(vectors, multiply(within, vectors));
    // The rounding error of products of such lengths: T is long if the values at points are nearly singular.
    const double rounding =
        16 * within.rows() * std::numeric_limits<double>::epsilon() * norm_of(within.values());
    for (int c = 0; c < rank; ++c) {
      for (int r = 0; r < rank; ++r)
        EXPECT_NEAR(turned(r, c), r == c ? smooth.eigenvalues(r, static_cast<int>(j)) : 0.0,
                    rounding * norm_of(vectors.column(r)) * norm_of(vectors.column(c)));
    }
  }
  Matrix all(vectors.rows(), vectors.rows());
  assign(all, 0, 0, vectors);
  assign(all, 0, rank,
         constraint.null_space.empty() ? Matrix(vectors.rows(), 0)
                                       : multiply_tn(constraint.z, constraint.null_space));
  EXPECT_GT(log_abs_determinant(all), -30);
}

// A cyclic P-spline of even K is nearly alternating at K points of its period.
TEST(Basis, NearlySingularValuesAtPointsKeepTheCoefficients) {
  Basis basis = cp_basis(sequence(0, 1, 7), 2, true);
  const Basis before = basis;
  ASSERT_TRUE(reparameterise_at_points(basis, 5e-4, 0.9992));
  ASSERT_TRUE(basis.points.has_value());
  EXPECT_EQ(basis.map, before.map);
  EXPECT_EQ(basis.penalty, before.penalty);
  EXPECT_FALSE(basis.unit_rows);
  Basis odd = cp_basis(sequence(0, 1, 6), 2, true);
  ASSERT_TRUE(reparameterise_at_points(odd, 5e-4, 0.9992));
  EXPECT_FALSE(odd.points.has_value());
}

// With a margin in either coefficients, a product has the same penalties and log|S|+.
TEST(Basis, AProductInCoefficientsThatAreNoValuesIsTheSameSmooth) {
  const Basis first = cr_basis(sequence(0, 2, 4));
  const Basis own = cp_basis(sequence(0, 1, 6), 2, true);
  Basis in_values = own;
  ASSERT_TRUE(reparameterise_at_points(in_values, 0.001, 0.999));
  ASSERT_FALSE(in_values.points.has_value());
  const int size = own.size();
  // The first rows of a cyclic margin's map are the identity, so those of the other are E^-1.
  const Matrix values = solve(submatrix(in_values.map, 0, size, 0, size), identity(size)).value();
  Basis kept = own;
  kept.unit_rows = false;
  kept.points = PointValues{values, in_values.map, in_values.penalty};

  constexpr double row_sum = 1.7;
  const std::array<Basis, 2> plain{first, in_values};
  const std::array<Basis, 2> turned{first, kept};
  const SmoothBasis a = combine(plain, true, row_sum);
  const SmoothBasis b = combine(turned, true, row_sum);
  ASSERT_FALSE(b.values.empty());
  for (std::size_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(b.s_scale[j] / a.s_scale[j], 1, 1e-12);
    const Matrix same = multiply_tn(b.values, multiply(a.penalties[j], b.values));
    for (std::size_t i = 0; i < same.values().size(); ++i)
      EXPECT_NEAR(b.penalties[j].values()[i], same.values()[i], 1e-12);
  }
  for (std::size_t i = 0; i < a.eigenvalues.values().size(); ++i)
    EXPECT_NEAR(b.eigenvalues.values()[i], a.eigenvalues.values()[i], 1e-12);
  EXPECT_NEAR(b.log_det_values, log_det(multiply_tn(b.values, b.values), 0) / 2, 1e-9);

  std::vector<double> means;
  for (int i = 0; i < a.map.cols(); ++i) means.push_back(1 + 0.3 * std::sin(2.0 * i));
  expect_common_eigenvectors(a, means);
  expect_common_eigenvectors(b, means);
  const Constraint in_a = sum_to_zero(means, a.null_space);
  const Constraint in_b = sum_to_zero(multiply_t(b.values, means), b.null_space, b.values, b.log_det_values);
  const Matrix turn = multiply_tn(in_a.z, multiply(b.values, in_b.z));
  const double turned_det = log_det(multiply_tn(turn, turn), 0) / 2;
  EXPECT_NEAR(in_b.log_det_constant, in_a.log_det_constant + 2 * turned_det, 1e-9);
  // A direct eigenvalue has the rounding error of the largest, some 1e6 times the smallest.
  constexpr double rounding = 1e-7;
  for (const double lambda : {0.2, 1.0, 30.0}) {
    const auto [direct, by_eigenvalues] = log_dets(a, in_a, lambda);
    EXPECT_NEAR(by_eigenvalues, direct, rounding);
    // In other coefficients a determinant differs by a factor without lambda.
    const auto [direct_b, by_eigenvalues_b] = log_dets(b, in_b, lambda);
    const auto [direct_1, by_eigenvalues_1] = log_dets(b, in_b, 1.0);
    EXPECT_NEAR(by_eigenvalues_b - direct_b, by_eigenvalues_1 - direct_1, rounding);
  }
}

// The first coefficient is the constant, the next ones are uncorrelated with it, and the penalty is the sum
// of squares of the others.
TEST(Basis, ANaturalMarginHasAnIdentityForItsPenalty) {
  std::vector<double> x;
  for (int i = 0; i < 200; ++i) x.push_back(std::pow((i + 0.5) / 200, 1.7));
  std::vector<Basis> bases = every_spline();
  bases.push_back(ps_basis(ps_knots(8, 0, 1), 3, true));
  bases.push_back(thin_plate_basis(team(), x, points_of(x), 7));
  for (Basis& basis : bases) {
    const Basis before = basis;
    const auto columns = [&](const Matrix& map) {
      Matrix out(static_cast<int>(x.size()), map.cols());
      for (int i = 0; i < out.rows(); ++i) {
        std::vector<double> raw(static_cast<std::size_t>(map.rows()));
        if (before.component.kind == Component::Kind::dense) {
          evaluate_dense(before.component, std::span(&x[static_cast<std::size_t>(i)], 1), raw);
        } else {
          const LocalValues local = evaluate(before.component.margin, x[static_cast<std::size_t>(i)]);
          std::ranges::copy(local.values, raw.begin() + local.first);
        }
        const std::vector<double> row = multiply_t(map, raw);
        for (int j = 0; j < map.cols(); ++j) out(i, j) = row[static_cast<std::size_t>(j)];
      }
      return out;
    };
    const Basis natural = natural_margin(
        std::move(basis),
        [&](const Matrix& map) {
          const Matrix own = columns(map);
          Matrix products = multiply_tn(own, own);
          for (double& value : products.values()) value /= own.rows();
          return products;
        },
        "t2(x)");
    const int size = natural.size();
    const int rank = natural.rank;
    const Matrix x_natural = columns(natural.map);
    const std::vector<double> ones(x.size(), 1.0);
    const auto n = static_cast<double>(x.size());
    double squares = 0;
    for (int j = 0; j < size; ++j) {
      const auto column = x_natural.column(j);
      squares += dot(column, column) / n;
      if (j == rank - 1) {
        EXPECT_NEAR(squares / rank, 1, 1e-10);
        squares = 0;
      }
    }
    EXPECT_NEAR(squares / (size - rank), 1, 1e-10);
    for (const double value : multiply(x_natural, natural.constant)) EXPECT_NEAR(value, 1, 1e-10);
    // In the null space all functions except the constant are uncorrelated.
    std::vector<double> variances;
    for (int j = rank + 1; j < size; ++j) {
      const double mean = dot(x_natural.column(j), ones) / n;
      variances.push_back(dot(x_natural.column(j), x_natural.column(j)) / n - mean * mean);
      for (int k = rank + 1; k < j; ++k) {
        const double other = dot(x_natural.column(k), ones) / n;
        EXPECT_NEAR(dot(x_natural.column(j), x_natural.column(k)) / n - mean * other, 0, 1e-9);
      }
    }
    EXPECT_TRUE(std::ranges::is_sorted(variances));
    // The natural coefficients from the original ones: both penalties are equal up to a factor.
    const Matrix turn =
        solve(multiply_tn(before.map, before.map), multiply_tn(before.map, natural.map)).value();
    const Matrix penalty = multiply_tn(turn, multiply(before.penalty, turn));
    for (int j = 0; j < size; ++j) {
      for (int i = 0; i < size; ++i)
        EXPECT_NEAR(penalty(i, j) / penalty(0, 0), natural.penalty(i, j), 1e-8) << i << ' ' << j;
    }
  }
}

TEST(Basis, ACyclicBasisWhosePointsCoincideIsLeftAsItIs) {
  Basis basis = cp_basis(sequence(0, 1, 6), 2, true);
  const Matrix before = basis.map;
  EXPECT_FALSE(reparameterise_at_points(basis, 0, 1));
  EXPECT_EQ(basis.map, before);
  EXPECT_TRUE(basis.unit_rows);
}

/// Unevenly spaced, some repeated, and two nearly equal.
std::vector<double> uneven_values() {
  std::mt19937 random(20);
  std::exponential_distribution<double> exponential;
  std::vector<double> values;
  for (int i = 0; i < 240; ++i) values.push_back(3 + exponential(random));
  for (int i = 0; i < 20; ++i) values.push_back(values[static_cast<std::size_t>(i)]);
  values.push_back(values[5] + 1e-9);
  return values;
}

std::vector<double> dense_row_of(const Basis& basis, double x) {
  const LocalValues local = evaluate(basis.component.margin, x);
  std::vector<double> row(static_cast<std::size_t>(basis.size()));
  for (std::size_t j = 0; j < row.size(); ++j) {
    for (int a = 0; a < 4; ++a)
      row[j] += local.values[static_cast<std::size_t>(a)] *
                basis.component.combinations(local.first + a, static_cast<int>(j));
  }
  return row;
}

/// The radial columns, only from points and map, as stored in the model's file.
std::vector<long double> radial_row(const RadialColumns& radial, double x) {
  const auto unit_of_point = [&](double point) {
    return static_cast<long double>((point - radial.shift) / radial.unit);
  };
  const long double u = unit_of_point(x);
  const int points = static_cast<int>(radial.points.size());
  std::vector<long double> row;
  for (int j = 0; j < radial.map.cols(); ++j) {
    long double sum = radial.map(points, j) + radial.map(points + 1, j) * u;
    for (int i = 0; i < points; ++i) {
      const long double r = std::abs(u - unit_of_point(radial.points[static_cast<std::size_t>(i)]));
      sum += radial.map(i, j) * r * r * r / 12;
    }
    row.push_back(sum);
  }
  return row;
}

TEST(ThinPlate, ColumnsAreTheirRadialFunctions) {
  const std::vector<double> values = uneven_values();
  const std::vector<double> points = points_of(values);
  EXPECT_EQ(points.size(), 241u);
  const Basis basis = thin_plate_basis(team(), values, points, 25);
  for (double x = 1; x < 15; x += 0.037) {
    const std::vector<double> mine = dense_row_of(basis, x);
    const std::vector<long double> theirs = radial_row(*basis.component.radial, x);
    // The slope beyond the last points is that of the outermost interval.
    const double scale = x < points.front() || x > points.back() ? 1e-9 : 2e-13;
    for (std::size_t j = 0; j < mine.size(); ++j)
      EXPECT_NEAR(mine[j], static_cast<double>(theirs[j]), scale * (1 + std::abs(mine[j]))) << x << ' ' << j;
  }
}

TEST(ThinPlate, ColumnsHaveAMeanSquareOfOneAndASignOfTheirOwn) {
  const std::vector<double> values = uneven_values();
  const Basis basis = thin_plate_basis(team(), values, points_of(values), 12);
  std::vector<double> squares(12);
  double row_sum = 0;
  for (const double x : values) {
    double sum = 0;
    const std::vector<double> row = dense_row_of(basis, x);
    for (std::size_t j = 0; j < row.size(); ++j) {
      squares[j] += row[j] * row[j] / static_cast<double>(values.size());
      sum += std::abs(row[j]);
    }
    row_sum = std::max(row_sum, sum);
  }
  for (const double square : squares) EXPECT_NEAR(square, 1, 1e-10);
  EXPECT_NEAR(basis.row_sum.value(), row_sum, 1e-12 * row_sum);
  for (int j = 0; j < 10; ++j) {
    const Matrix& combinations = basis.component.combinations;
    std::vector<double> at_points;
    for (int i = 0; i < combinations.rows(); i += 2) at_points.push_back(combinations(i, j));
    const double large = 0.1 * largest(at_points);
    const double first =
        *std::ranges::find_if(at_points, [&](double value) { return std::abs(value) >= large; });
    EXPECT_GT(first, 0) << j;
  }
}

/// b'Sb is the integral of f''^2, by Simpson's rule between neighbouring points.
TEST(ThinPlate, PenaltyIsTheIntegralOfTheSquaredSecondDerivative) {
  const std::vector<double> values = uneven_values();
  const Basis basis = thin_plate_basis(team(), values, points_of(values), 9);
  const std::vector<double> coef{0.3, -1, 2, 0.5, 0.1, 0.7, -0.2, 4, 5};
  const double unit = basis.component.radial->unit;
  const std::vector<double>& points = basis.component.radial->points;
  std::vector<double> second;
  for (int i = 0; i < static_cast<int>(points.size()); ++i) {
    double sum = 0;
    for (int j = 0; j < 9; ++j)
      sum += basis.component.combinations(2 * i + 1, j) * coef[static_cast<std::size_t>(j)];
    second.push_back(sum / unit / unit);
  }
  double integral = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const double middle = (second[i] + second[i + 1]) / 2;
    integral += (points[i + 1] - points[i]) *
                (second[i] * second[i] + 4 * middle * middle + second[i + 1] * second[i + 1]) / 6;
  }
  EXPECT_NEAR(dot(coef, multiply(basis.penalty, coef)), integral, 1e-10 * integral);
}

TEST(ThinPlate, IsTheSameInAnyUnit) {
  const std::vector<double> values = uneven_values();
  const Basis basis = thin_plate_basis(team(), values, points_of(values), 8);
  for (const int power : {-300, 200}) {
    std::vector<double> scaled = values;
    for (double& value : scaled) value = std::ldexp(value, power);
    const Basis other = thin_plate_basis(team(), scaled, points_of(scaled), 8);
    EXPECT_EQ(dense_row_of(other, scaled[7]), dense_row_of(basis, values[7]));
    EXPECT_EQ(other.penalty(1, 1), std::ldexp(basis.penalty(1, 1), -3 * power));
  }
}

/// sort(sample(1:2500, 2000)) after set.seed(1) in R.
TEST(ThinPlate, DrawsTwoThousandPointsAsMgcvDoes) {
  std::vector<double> values;
  for (int i = 2500; i > 0; --i) values.push_back(i);
  const std::vector<double> points = points_of(values);
  ASSERT_EQ(points.size(), 2000u);
  EXPECT_EQ((std::vector<double>{points[0], points[1], points[2], points[3], points[4]}),
            (std::vector<double>{1, 3, 4, 5, 7}));
  EXPECT_EQ(points[999], 1246);
  EXPECT_EQ(std::accumulate(points.begin(), points.end(), 0.0), 2'487'311);
  values.resize(2000);
  EXPECT_EQ(points_of(values).front(), 501);
}

TEST(Isotropic, WritesNumbersAsRDoes) {
  EXPECT_EQ(text_in_r(0), "0");
  EXPECT_EQ(text_in_r(-1.5), "-1.5");
  EXPECT_EQ(text_in_r(0.1 + 0.2), "0.3");
  EXPECT_EQ(text_in_r(100000), "1e+05");
  EXPECT_EQ(text_in_r(123456), "123456");
  EXPECT_EQ(text_in_r(0.0001), "1e-04");
  EXPECT_EQ(text_in_r(0.00012), "0.00012");
  EXPECT_EQ(text_in_r(1.0 / 3), "0.333333333333333");
  EXPECT_EQ(text_in_r(-1e-7 / 3), "-3.33333333333333e-08");
  EXPECT_EQ(text_in_r(1234567.1), "1234567.1");
  EXPECT_EQ(text_in_r(1e300), "1e+300");
}

/// uniquecombs(x, TRUE)[sample(1:30, 5), ] after set.seed(2) in R, of more rows than five.
TEST(Isotropic, DrawsPointsInTheOrderOfTheirTexts) {
  Matrix values(60, 2);
  for (int i = 0; i < 60; ++i) {
    values(i, 0) = 7 * i % 30 - 12;
    values(i, 1) = 11 * i % 30 / 4.0;
  }
  const Matrix points = distinct_points(values, std::vector<double>{0, 0}, 5, 2);
  ASSERT_EQ(points.rows(), 5);
  EXPECT_EQ(std::vector<double>(points.values().begin(), points.values().end()),
            (std::vector<double>{16, 10, -3, 7, -5, 3.5, 6.5, 6.75, 4.25, 2.75}));
}

TEST(Isotropic, PolynomialsAreInTheOrderOfMgcv) {
  EXPECT_EQ(polynomials_below(1, 1), (std::vector<std::vector<int>>{{0}}));
  EXPECT_EQ(polynomials_below(3, 2),
            (std::vector<std::vector<int>>{{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {0, 2}}));
  EXPECT_EQ(polynomials_below(2, 3),
            (std::vector<std::vector<int>>{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}));
}

/// For a square of points each eigenvalue, except those of symmetric functions, is double: a rotation of the
/// square leaves the function space unchanged if both are included.
TEST(Isotropic, ASquareOfPointsHasTheSameFunctionsWhenItIsTurned) {
  Matrix values(81, 2);
  Matrix turned(81, 2);
  for (int i = 0; i < 81; ++i) {
    values(i, 0) = i % 9;
    values(i, 1) = i / 9;
    turned(i, 0) = values(i, 1);
    turned(i, 1) = 8 - values(i, 0);
  }
  const int size = 8;  // between two eigenvalues that differ
  const auto columns_at = [&](const Matrix& points) {
    const Basis basis = isotropic_thin_plate(
        team(), values, distinct_points(values, means_of(values), 2000, 1), means_of(values), 2, size);
    Matrix out(points.rows(), size);
    std::vector<double> row(static_cast<std::size_t>(size));
    for (int i = 0; i < points.rows(); ++i) {
      evaluate_dense(basis.component, std::vector<double>{points(i, 0), points(i, 1)}, row);
      for (int j = 0; j < size; ++j) out(i, j) = row[static_cast<std::size_t>(j)];
    }
    return out;
  };
  const Matrix q = full_q(columns_at(values));
  const Matrix beside = submatrix(q, 0, 81, size, 81 - size);
  EXPECT_LT(largest(multiply_tn(beside, columns_at(turned)).values()), 1e-10);
}

TEST(ParseKnots, ReadsANameAndNumbers) {
  const auto [name, values] = parse_knots(" month = 12.5, 0.5 ");
  EXPECT_EQ(name, "month");
  EXPECT_EQ(values, (std::vector<double>{12.5, 0.5}));  // points of several variables have an order
  EXPECT_EQ(parse_knots("log(x)=-1e-3,2,3").second, (std::vector<double>{-1e-3, 2, 3}));
}

TEST(ParseKnots, RefusesWhatIsNotThat) {
  for (const char* text :
       {"month", "=1,2", "x=", "x=1", "x=1,", "x=1,b", "x=1,2 3", "x=1,inf", "x=nan,1", "x=2,2"}) {
    const std::string said = error_of(
        ErrorCode::usage, [&] { static_cast<void>(parse_knots(text)); }, text);
    EXPECT_TRUE(said.starts_with("knots '" + std::string(text) + "': ")) << said;
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
