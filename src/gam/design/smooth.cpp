// SPDX-License-Identifier: Apache-2.0
#include "gam/design/smooth.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/math/elementary.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Eigenvectors and eigenvalues of a margin's penalty; those of the null space (exactly 0) come first.
struct MarginPenalty {
  Matrix matrix;
  Matrix metric;  ///< E'E, where E maps the coefficients to mgcv's; empty: the identity
  SymmetricEigen eigen;
  Matrix common;  ///< T: T' matrix T has the eigenvalues on its diagonal, and T' metric T is the identity
  int null_dimension;
  double column_sum;   ///< the penalty's largest column sum, for mgcv's coefficients
  bool fixed = false;  ///< whether the penalty is omitted (fx): all its eigenvalues are zero
};

double largest_column_sum(const Matrix& a) {
  double largest = 0;
  for (int j = 0; j < a.cols(); ++j) {
    double sum = 0;
    for (const double value : a.column(j)) sum += std::abs(value);
    largest = std::max(largest, sum);
  }
  return largest;
}

Matrix scaled(Matrix a, double divisor) {
  for (double& value : a.values()) value /= divisor;
  return a;
}

/// A power of two near the penalty's size: a decomposition squares the elements, which may overflow.
double unit_of(const Matrix& penalty) {
  return std::ldexp(1.0, std::ilogb(largest(penalty.values())));
}

/// The eigenvalues of the penalty on values at points (te()'s parametrisation), and the eigenvectors in terms
/// of coefficients. The smallest eigenvalue may be 1e-10 of the largest, so they are computed as squares of
/// singular values.
SymmetricEigen eigen_in_values(const PointValues& points, const SymmetricEigen& own, double unit, int rank) {
  const int size = points.values.rows();
  const Matrix inverse = solve(points.values, identity(size)).value();
  Matrix root(rank, size);
  for (int i = 0; i < rank; ++i) {
    const int from = size - rank + i;
    const double length = std::sqrt(own.values[at(from)] / unit);
    for (int j = 0; j < size; ++j) root(i, j) = length * own.vectors(j, from);
  }
  RightSingular found = right_singular(multiply(root, inverse));
  for (double& value : found.values) value *= value * unit;
  found.values.resize(at(size));
  std::reverse(found.values.begin(), found.values.end());
  const Matrix vectors = multiply(inverse, found.vectors);
  SymmetricEigen out{std::move(found.values), Matrix(size, size)};
  for (int j = 0; j < size; ++j)
    std::ranges::copy(vectors.column(size - 1 - j), out.vectors.column(j).begin());
  return out;
}

MarginPenalty decompose(const Basis& margin, bool normalise) {
  if (margin.penalty.empty()) {
    const Matrix unit = identity(margin.size());
    return {.matrix = unit,
            .metric = {},
            .eigen = {std::vector<double>(at(margin.size()), 1.0), unit},
            .common = unit,
            .null_dimension = 0,
            .column_sum = 1};
  }
  const double unit = unit_of(margin.penalty);
  MarginPenalty out{.matrix = margin.penalty,
                    .metric = {},
                    .eigen = symmetric_eigen(scaled(margin.penalty, unit)),
                    .common = {},
                    .null_dimension = margin.size() - margin.rank,
                    .column_sum = 0};
  for (double& value : out.eigen.values) value *= unit;
  out.common = out.eigen.vectors;
  if (margin.points) {
    SymmetricEigen in_values = eigen_in_values(*margin.points, out.eigen, unit, margin.rank);
    out.eigen.values = std::move(in_values.values);
    out.common = std::move(in_values.vectors);
    out.metric = multiply_tn(margin.points->values, margin.points->values);
  }
  std::fill_n(out.eigen.values.begin(), out.null_dimension, 0.0);
  const double largest = normalise ? out.eigen.values.back() : 1.0;
  if (normalise) {
    out.matrix = scaled(std::move(out.matrix), largest);
    for (double& value : out.eigen.values) value /= largest;
  }
  out.column_sum = largest_column_sum(margin.points ? scaled(margin.points->penalty, largest) : out.matrix);
  if (margin.fixed) {
    out.fixed = true;
    out.null_dimension = margin.size();
    std::ranges::fill(out.eigen.values, 0.0);
  }
  return out;
}

Matrix first_columns(const Matrix& a, int count) {
  Matrix out(a.rows(), count);
  std::copy_n(a.data(), out.values().size(), out.data());
  return out;
}

/// Kronecker products of the margins' eigenvectors that at least one penalty does not annihilate.
struct JointEigen {
  Matrix values;            ///< eigenvalues: products x penalties that are not omitted
  std::vector<int> places;  ///< index of each product among all Kronecker products
};

JointEigen joint_eigen(std::span<const MarginPenalty> margins, std::span<const double> s_scale) {
  int size = 1;
  int null_dimension = 1;
  for (const MarginPenalty& margin : margins) {
    size *= margin.matrix.rows();
    null_dimension *= margin.null_dimension;
  }
  const auto count = static_cast<int>(std::ranges::count(margins, false, &MarginPenalty::fixed));
  JointEigen out{Matrix(size - null_dimension, count), {}};
  out.places.reserve(at(size - null_dimension));
  for (int product = 0; product < size; ++product) {
    bool annihilated = true;
    int rest = product;
    std::vector<double> values(margins.size());
    for (std::size_t m = margins.size(); m-- > 0;) {
      const int index = rest % margins[m].matrix.rows();
      rest /= margins[m].matrix.rows();
      values[m] = margins[m].eigen.values[at(index)] / s_scale[m];
      annihilated = annihilated && index < margins[m].null_dimension;
    }
    if (annihilated) continue;
    int column = 0;
    for (std::size_t m = 0; m < margins.size(); ++m)
      if (!margins[m].fixed) out.values(static_cast<int>(out.places.size()), column++) = values[m];
    out.places.push_back(product);
  }
  return out;
}

/// The vectors that diagonalise all penalties of a product: the Kronecker products listed in `places`.
Matrix joint_eigenvectors(std::span<const MarginPenalty> margins, std::span<const int> places) {
  Matrix all = identity(1);
  for (const MarginPenalty& margin : margins) all = kronecker(all, margin.common);
  Matrix out(all.rows(), static_cast<int>(places.size()));
  for (int j = 0; j < out.cols(); ++j) std::ranges::copy(all.column(places[at(j)]), out.column(j).begin());
  return out;
}

/// The penalty of margin m as a penalty on the product of all margins.
Matrix penalty_of_margin(std::span<const MarginPenalty> margins, std::size_t m) {
  Matrix penalty = identity(1);
  for (std::size_t other = 0; other < margins.size(); ++other) {
    const bool plain = margins[other].metric.empty();
    penalty = kronecker(penalty, other == m ? margins[m].matrix
                                 : plain    ? identity(margins[other].matrix.rows())
                                            : margins[other].metric);
  }
  return penalty;
}

/// Sets `values`, the matrix E of the product of margins, if a margin has `Basis::points`.
void add_values(std::span<const Basis> margins, int size, SmoothBasis& smooth) {
  if (std::ranges::none_of(margins, [](const Basis& margin) { return margin.points.has_value(); })) return;
  smooth.values = identity(1);
  for (const Basis& margin : margins) {
    smooth.values = kronecker(smooth.values, margin.points ? margin.points->values : identity(margin.size()));
    if (!margin.points) continue;
    double log_det = 0;
    for (const double value : singular_values(margin.points->values)) log_det += base::log(value);
    const int copies = size / margin.size();
    smooth.log_det_values += log_det * copies;
  }
}

double norm_of(const Matrix& column) {
  return std::sqrt(dot(column.values(), column.values()));
}

/// `Penalty::log_det_constant` of a constrained basis: its value for mgcv's coefficients plus twice log|det
/// T|, where T maps the constrained coefficients to mgcv's. If c and d are the constraints on the basis' own
/// and on mgcv's coefficients, then |det E| = |det T| |c| / |d|.
double log_det_in_values(const Matrix& means, const Matrix& null_space, const Matrix& values,
                         double log_det_values) {
  const Matrix in_values = solve(transpose(values), means).value();
  const Matrix functions = multiply(values, null_space);
  const Matrix orthonormal = submatrix(full_q(functions), 0, functions.rows(), 0, functions.cols());
  const double share = norm_of(multiply_tn(orthonormal, in_values)) / norm_of(in_values);
  return 2 * (base::log(share) + log_det_values - base::log(norm_of(means) / norm_of(in_values)));
}

/// mgcv's S.scale, the divisor of a penalty.
double penalty_scale(double column_sum, double largest_row_sum) {
  return column_sum / (largest_row_sum * largest_row_sum);
}

void add_more(const Basis& margin, double largest_row_sum, SmoothBasis& smooth) {
  std::vector<int> ranks{margin.rank};
  Matrix sum = scaled(margin.penalty, largest(margin.penalty.values()));
  for (const MorePenalty& one : margin.more) {
    const double scale = penalty_scale(largest_column_sum(one.matrix), largest_row_sum);
    smooth.penalties.push_back(scaled(one.matrix, scale));
    smooth.s_scale.push_back(scale);
    ranks.push_back(one.rank);
    add_multiple(sum.values(), 1 / largest(one.matrix.values()), one.matrix.values());
  }
  // If null spaces are nested, a sum has the largest rank of its penalties.
  smooth.set_ranks = margin.set_ranks;
  for (std::size_t set = smooth.set_ranks.size(); set < std::size_t{1} << ranks.size(); ++set) {
    int rank = 0;
    for (std::size_t j = 0; j < ranks.size(); ++j) rank = std::max(rank, (set >> j & 1) != 0 ? ranks[j] : 0);
    smooth.set_ranks.push_back(rank);
  }
  smooth.eigenvalues = Matrix();
  smooth.null_space = first_columns(symmetric_eigen(sum).vectors, margin.size() - smooth.set_ranks.back());
}

/// A space of t2(): columns of the product of the margins, by index in the Kronecker product.
struct ProductSpace {
  std::vector<int> places;
  bool free = true;                  ///< whether the space is unpenalised
  int order = 0;                     ///< number of penalised margins
  std::string name;                  ///< mgcv's name
  std::vector<std::string> columns;  ///< names of the columns of an unpenalised space

  /// The products of the columns of this space with columns [begin, end) of a margin of size `size`.
  [[nodiscard]] std::vector<int> times(int begin, int end, int size) const {
    std::vector<int> out;
    for (const int place : places) {
      for (int j = begin; j < end; ++j) out.push_back(place * size + j);
    }
    return out;
  }
};

/// The spaces of t2() in the order of mgcv's t2.model.matrix.
std::vector<ProductSpace> product_spaces(std::span<const Basis> margins, bool full) {
  std::vector<ProductSpace> spaces{{{0}, true, 0, "", {""}}};
  for (const Basis& margin : margins) {
    const int size = margin.size();
    std::vector<ProductSpace> next;
    const auto add = [&](std::vector<int> places, bool free, int order, std::string name) -> ProductSpace& {
      return next.emplace_back(ProductSpace{std::move(places), free, order, std::move(name), {}});
    };
    for (const ProductSpace& one : spaces) {
      if (!full || !one.free) {
        add(one.times(0, margin.rank, size), false, one.order + 1, one.name + "r");
        continue;
      }
      for (std::size_t j = 0; j < one.places.size(); ++j) {
        const ProductSpace column{{one.places[j]}, true, 0, "", {}};
        add(column.times(0, margin.rank, size), false, one.order + 1, one.columns[j] + "r");
      }
    }
    for (const ProductSpace& one : spaces) {
      if (margin.rank == size) continue;
      if (!full || one.free) {
        ProductSpace& product = add(one.times(margin.rank, size, size), one.free, one.order, one.name + "n");
        for (const std::string& column : one.columns) {
          for (int j = margin.rank; j < size; ++j)
            product.columns.push_back(fmt::format("{}{}", column, j - margin.rank + 1));
        }
        continue;
      }
      for (int j = margin.rank; j < size; ++j)
        add(one.times(j, j + 1, size), false, one.order, fmt::format("{}{}", one.name, j - margin.rank + 1));
    }
    spaces = std::move(next);
  }
  return spaces;
}

}  // namespace

SmoothBasis combine_by_spaces(std::span<const Basis> margins, bool full, std::span<const int> orders,
                              double largest_row_sum, const std::string& label) {
  std::vector<ProductSpace> spaces = product_spaces(margins, full);
  if (!orders.empty())
    std::erase_if(spaces, [&](const ProductSpace& one) {
      return std::ranges::find(orders, one.order) == orders.end();
    });
  const auto penalised = std::ranges::count_if(spaces, [](const ProductSpace& one) { return !one.free; });
  if (penalised == 0)
    throw base::input_error(
        "{} has no penalty, because ord keeps only unpenalised products: add another order to ord", label);
  if (penalised > most_penalties)
    throw base::input_error(
        "{} has {} smoothing parameters, more than the {} that can be estimated: write full=FALSE, or take "
        "fewer margins",
        label, penalised, most_penalties);
  Matrix map = identity(1);
  Matrix constant = identity(1);
  SmoothBasis smooth;
  for (const Basis& margin : margins) {
    map = kronecker(map, margin.map);
    Matrix own(margin.size(), 1);
    std::ranges::copy(margin.constant, own.data());
    constant = kronecker(constant, own);
    smooth.knots.push_back(margin.knots);
    smooth.knots.resize(smooth.knots.size() + margin.component.others.size());
  }
  int size = 0;
  int free = 0;
  for (const ProductSpace& one : spaces) {
    size += static_cast<int>(one.places.size());
    if (one.free) free = static_cast<int>(one.places.size());
  }
  const double scale = penalty_scale(1, largest_row_sum);
  smooth.map = Matrix(map.rows(), size);
  smooth.eigenvalues = Matrix(size - free, static_cast<int>(penalised));
  int next = 0;
  for (const ProductSpace& one : spaces) {
    const int begin = next;
    for (const int place : one.places) {
      std::ranges::copy(map.column(place), smooth.map.column(next++).begin());
      smooth.constant.push_back(constant(place, 0));
    }
    if (one.free) continue;
    const int index = static_cast<int>(smooth.penalties.size());
    Matrix& penalty = smooth.penalties.emplace_back(size, size);
    for (int i = begin; i < next; ++i) penalty(i, i) = smooth.eigenvalues(i, index) = 1 / scale;
    smooth.s_scale.push_back(scale);
    smooth.penalty_names.push_back(one.name);
  }
  if (penalised > 1) smooth.eigenvectors = submatrix(identity(size), 0, size, 0, size - free);
  smooth.null_space = submatrix(identity(size), 0, size, size - free, free);
  return smooth;
}

SmoothBasis combine(std::span<const Basis> margins, bool tensor, double largest_row_sum) {
  std::vector<MarginPenalty> penalties;
  for (const Basis& margin : margins) penalties.push_back(decompose(margin, tensor));

  SmoothBasis smooth;
  smooth.map = identity(1);
  smooth.null_space = identity(1);
  Matrix constant = identity(1);
  std::vector<double> scales;
  int size = 1;
  for (const Basis& margin : margins) size *= margin.size();
  for (std::size_t m = 0; m < margins.size(); ++m) {
    smooth.map = kronecker(smooth.map, margins[m].map.empty() ? identity(margins[m].size()) : margins[m].map);
    smooth.null_space =
        kronecker(smooth.null_space, first_columns(penalties[m].eigen.vectors, penalties[m].null_dimension));
    scales.push_back(penalty_scale(penalties[m].column_sum, largest_row_sum));
    if (!margins[m].fixed) {
      smooth.penalties.push_back(scaled(penalty_of_margin(penalties, m), scales[m]));
      smooth.s_scale.push_back(scales[m]);
    }
    smooth.knots.push_back(margins[m].knots);
    smooth.knots.resize(smooth.knots.size() + margins[m].component.others.size());
    Matrix own(margins[m].size(), 1);
    std::ranges::fill(own.values(), 1.0);
    std::ranges::copy(margins[m].constant, own.data());
    constant = kronecker(constant, own);
  }
  smooth.constant.assign(constant.values().begin(), constant.values().end());
  JointEigen joint = joint_eigen(penalties, scales);
  smooth.eigenvalues = std::move(joint.values);
  if (margins.size() > 1) smooth.eigenvectors = joint_eigenvectors(penalties, joint.places);
  add_values(margins, size, smooth);
  if (margins.size() == 1 && !margins[0].more.empty()) add_more(margins[0], largest_row_sum, smooth);
  return smooth;
}

SmoothBasis random_effect(std::size_t margins, int size, double largest_row_sum) {
  SmoothBasis smooth;
  const double scale = penalty_scale(1, largest_row_sum);
  smooth.ridge = 1 / scale;
  smooth.eigenvalues = Matrix(size, 1);
  std::ranges::fill(smooth.eigenvalues.values(), smooth.ridge);
  smooth.null_space = Matrix(size, 0);
  smooth.s_scale = {scale};
  smooth.knots.resize(margins);
  return smooth;
}

SmoothBasis factor_smooth(const Basis& curve, int levels, double largest_row_sum) {
  SmoothBasis smooth;
  smooth.map = curve.map;
  smooth.copies = levels;
  const int size = curve.size();
  const double square = largest_row_sum * largest_row_sum;
  smooth.eigenvalues = Matrix(levels * size, 1 + size - curve.rank);
  for (int i = 0; i < smooth.eigenvalues.rows(); ++i)
    smooth.eigenvalues(i, std::max(0, i % size - curve.rank + 1)) = square;
  smooth.null_space = Matrix(levels * size, 0);
  smooth.s_scale.assign(at(smooth.eigenvalues.cols()), 1 / square);
  smooth.s_scale.front() *= curve.penalty(0, 0);
  smooth.knots.push_back(curve.knots);
  // Only the curve's first variable has knots.
  smooth.knots.resize(2 + curve.component.others.size());
  return smooth;
}

SmoothBasis level_deviations(const Basis& curve, std::span<const int> levels, bool sum_to_zero,
                             bool one_penalty, double largest_row_sum) {
  Matrix contrasts = identity(1);  // one row per combination of levels
  for (const int count : levels) {
    Matrix own = identity(count);
    if (sum_to_zero) {
      own = submatrix(own, 0, count, 0, count - 1);
      for (int j = 0; j < own.cols(); ++j) own(count - 1, j) = -1;
    }
    contrasts = kronecker(contrasts, own);
  }
  const MarginPenalty penalty = decompose(curve, false);
  const double scale = penalty_scale(penalty.column_sum, largest_row_sum);
  const Matrix of_level = scaled(penalty.matrix, scale);

  SmoothBasis smooth;
  smooth.map = kronecker(contrasts, curve.map.empty() ? identity(curve.size()) : curve.map);
  smooth.null_space =
      kronecker(identity(contrasts.cols()), first_columns(penalty.eigen.vectors, penalty.null_dimension));
  if (one_penalty) {
    const Matrix squares = multiply_tn(contrasts, contrasts);
    smooth.penalties = {kronecker(squares, of_level)};
    const std::vector<double> of_levels = symmetric_eigen(squares).values;
    smooth.eigenvalues = Matrix(squares.cols() * curve.rank, 1);
    for (int i = 0; i < smooth.eigenvalues.rows(); ++i)
      smooth.eigenvalues(i, 0) = of_levels[at(i / curve.rank)] *
                                 penalty.eigen.values[at(penalty.null_dimension + i % curve.rank)] / scale;
  } else {
    smooth.levels = transpose(contrasts);
    smooth.of_level = of_level;
    smooth.rank_of_level = curve.rank;
    smooth.penalties = penalties_of_levels(smooth.levels, of_level);
  }
  smooth.s_scale.assign(smooth.penalties.size(), scale);
  smooth.knots.push_back(curve.knots);
  // Only the curve's first variable has knots.
  smooth.knots.resize(1 + curve.component.others.size() + levels.size());
  return smooth;
}

Constraint sum_to_zero(std::span<const double> means, const Matrix& null_space, const Matrix& values,
                       double log_det_values, const std::string& label) {
  const int size = static_cast<int>(means.size());
  const double length = std::sqrt(dot(means, means));
  if (!(length > 0)) {
    throw base::input_error("{}: the smooth is zero in every row: check its by= variable", label);
  }
  Matrix column(size, 1);
  for (int i = 0; i < size; ++i) column(i, 0) = means[at(i)];
  const Matrix q = full_q(column);
  Constraint constraint{Matrix(size, size - 1), 0, {}};
  std::copy(q.values().begin() + size, q.values().end(), constraint.z.values().begin());
  const std::vector<double> projected = multiply_t(null_space, means);
  constraint.log_det_constant = values.empty()
                                    ? 2 * base::log(std::sqrt(dot(projected, projected)) / length)
                                    : log_det_in_values(column, null_space, values, log_det_values);
  const int dimension = null_space.cols();
  if (dimension == 0) return constraint;
  Matrix along(dimension, 1);
  std::copy(projected.begin(), projected.end(), along.values().begin());
  const Matrix axes = full_q(along);
  constraint.null_space = multiply(null_space, submatrix(axes, 0, dimension, 1, dimension - 1));
  return constraint;
}

Basis centred_margin(Basis margin, std::span<const double> means) {
  const Matrix z = sum_to_zero(means, Matrix(margin.size(), 0)).z;
  margin.map = multiply(margin.map, z);
  margin.penalty = symmetrised(multiply_tn(z, multiply(margin.penalty, z)));
  margin.rank = std::min(margin.rank, margin.size());
  margin.unit_rows = false;
  margin.row_sum.reset();
  margin.constant.clear();  // a constrained margin does not contain the constant
  margin.constraint.assign(means.begin(), means.end());
  return margin;
}

void free_constant(Penalty& penalty, std::span<const double> constant) {
  const int rank = static_cast<int>(constant.size()) - 1;
  const std::vector<int> ranks = penalty.ranks_of_sets();
  for (Matrix& matrix : penalty.matrices) {
    const std::vector<double> product = multiply(matrix, constant);
    const double square = dot(constant, product);
    if (!(square > 0)) continue;
    for (int j = 0; j < matrix.cols(); ++j) add_multiple(matrix.column(j), -product[at(j)] / square, product);
  }
  penalty.eigenvectors = Matrix();
  if (penalty.matrices.size() == 1) {
    const std::vector<double> values = symmetric_eigen(penalty.matrices.front()).values;
    penalty.eigenvalues = Matrix(rank, 1);
    std::copy(values.begin() + 1, values.end(), penalty.eigenvalues.data());
    return;
  }
  penalty.set_ranks = ranks;
  for (int& one : penalty.set_ranks) one = std::min(one, rank);
  penalty.eigenvalues = Matrix();
}

void restrict_to_constraint(Penalty& penalty) {
  const int size = penalty.matrices.front().rows();
  std::vector<int> ranks = penalty.ranks_of_sets();
  penalty.log_det_constant = 0;
  penalty.eigenvectors = Matrix();
  penalty.eigenvalues = Matrix();
  penalty.null_space = Matrix(size, 0);
  if (penalty.matrices.size() == 1) {
    penalty.eigenvalues = Matrix(size, 1);
    std::ranges::copy(symmetric_eigen(penalty.matrices.front()).values, penalty.eigenvalues.data());
    return;
  }
  for (int& rank : ranks) rank = std::min(rank, size);
  penalty.set_ranks = std::move(ranks);
}

Matrix sweep_and_drop(const Matrix& coefficients, std::span<const double> constant, int left_out) {
  Matrix out(coefficients.rows() - 1, coefficients.cols());
  for (int j = 0; j < out.cols(); ++j) {
    // The multiple of the constant that cancels the dropped coefficient.
    const double share = coefficients(left_out, j) / constant[at(left_out)];
    for (int i = 0; i < out.rows(); ++i) {
      const int from = i < left_out ? i : i + 1;
      out(i, j) = coefficients(from, j) - share * constant[at(from)];
    }
  }
  return out;
}

void penalise_null_space(Penalty& penalty, const Matrix& coefficients) {
  const Matrix& free = penalty.null_space;
  const int size = free.rows();
  const int count = free.cols();
  const Matrix functions = multiply(coefficients, free);
  const Matrix orthonormal = submatrix(full_q(functions), 0, functions.rows(), 0, count);
  const Matrix part = multiply_tn(orthonormal, coefficients);
  std::vector<int> ranks = penalty.ranks_of_sets();
  for (std::size_t set = 0, sets = ranks.size(); set < sets; ++set) ranks.push_back(ranks[set] + count);

  Matrix common = penalty.eigenvectors;
  if (penalty.matrices.size() == 1) {
    SymmetricEigen eigen = symmetric_eigen(penalty.matrices.front());
    common = submatrix(eigen.vectors, 0, size, count, size - count);
    penalty.eigenvalues = Matrix(size - count, 1);
    std::copy(eigen.values.begin() + count, eigen.values.end(), penalty.eigenvalues.data());
  }
  penalty.matrices.push_back(multiply_tn(part, part));
  penalty.of_level = Matrix();
  penalty.log_det_constant = 0;
  penalty.eigenvectors = Matrix();
  if (common.empty()) {
    penalty.set_ranks = std::move(ranks);
    penalty.eigenvalues = Matrix();
  } else {
    // Adds null-space functions to each earlier eigenvector, so that the new penalty annihilates it. Changes
    // the basis of the null space, so that the new penalty is diagonal in it.
    const Matrix own = multiply(free, solve(multiply(part, free), identity(count)).value());
    add_multiple(common.values(), -1, multiply(own, multiply(part, common)).values());
    penalty.eigenvectors = Matrix(size, size);
    assign(penalty.eigenvectors, 0, 0, common);
    assign(penalty.eigenvectors, 0, common.cols(), own);
    Matrix values(size, penalty.eigenvalues.cols() + 1);
    assign(values, 0, 0, penalty.eigenvalues);
    std::ranges::fill(values.column(values.cols() - 1).last(at(count)), 1.0);
    penalty.eigenvalues = std::move(values);
    penalty.log_det_constant = -2 * log_abs_determinant(penalty.eigenvectors);
  }
  penalty.null_space = Matrix(size, 0);
}

Matrix constrained_eigenvectors(const Matrix& eigenvectors, std::span<const double> means,
                                const Matrix& null_space, const Matrix& z) {
  // Adding null-space functions cannot enforce a constraint that is nearly orthogonal to the null space.
  constexpr double least = 1e-6;
  const std::vector<double> along = multiply_t(null_space, means);
  const double square = dot(along, along);
  if (eigenvectors.empty() || !(square > least * least * dot(means, means))) return {};
  const std::vector<double> direction = multiply(null_space, along);
  const std::vector<double> breach = multiply_t(eigenvectors, means);
  Matrix moved = eigenvectors;
  for (int j = 0; j < moved.cols(); ++j) add_multiple(moved.column(j), -breach[at(j)] / square, direction);
  return multiply_tn(z, moved);
}

}  // namespace TESSERA_NAMESPACE::gam
