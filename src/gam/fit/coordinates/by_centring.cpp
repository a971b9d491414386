// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/coordinates/by_centring.hpp"

#include "base/at.hpp"
#include "base/math/elementary.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/terms/point_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <deque>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// A by= variable is centred if |mean| / sd exceeds this: its crossproducts then lose two digits.
constexpr double far = 16;
/// Relative tolerance for equal functions. Different polynomials differ by more, and the null space of a
/// cubic spline's penalty has about this accuracy.
constexpr double same = 1e-6;
/// Relative residual up to which a function is in the span of a basis.
constexpr double span_tolerance = 1e-11;
/// Smooths of more variables or coefficients are not changed.
constexpr std::size_t max_variables = 6;
constexpr int max_coefficients = 1000;

using base::at;

class PointSet {
 public:
  explicit PointSet(int count) : count_(count), index_(at(count)) {
    std::iota(index_.begin(), index_.end(), std::size_t{0});
  }
  void set(int variable, std::vector<double> values) {
    if (at(variable) >= columns_.size()) columns_.resize(at(variable) + 1);
    columns_[at(variable)] = values_.emplace_back(std::move(values)).data();
  }
  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] bool has(int variable) const noexcept {
    return at(variable) < columns_.size() && columns_[at(variable)];
  }
  [[nodiscard]] Points view() const noexcept { return {columns_.data(), nullptr, index_.data(), count_}; }

 private:
  int count_;
  std::vector<std::size_t> index_;
  std::deque<std::vector<double>> values_;
  std::vector<NumberView> columns_;  ///< indexed by variable; empty if not set
};

struct Function {
  int coef_begin = 0;
  std::vector<double> direction;  ///< coefficients in the block
  std::vector<double> values;     ///< at the points
};

bool is_spline(const Component& component) {
  return component.is_curve();
}

/// Whether a block is a smooth of splines with a by= variable of |mean| / sd > `far`.
bool is_by_far_number(const CoefBlock& block, const RawTerm& term, const Standards& standards) {
  if (!block.penalty || block.penalty->null_space.cols() == 0 || block.coef_size > max_coefficients ||
      term.components.size() < 2 || term.components.size() > max_variables + 1)
    return false;
  const Component& by = term.components.front();
  if (by.kind != Component::Kind::numeric || by.parts.size() != 1 || by.parts.front().centre != 0)
    return false;
  if (!std::all_of(term.components.begin() + 1, term.components.end(), is_spline)) return false;
  const NumericPart& centred = standards[at(by.variable)].centred;
  return std::abs(centred.centre * centred.factor) > far;
}

/// Quasi-random points in the box of the splines' variables: fractional parts of multiples of square roots of
/// primes, which are spread evenly in any dimension.
PointSet points_of(std::span<const Component> splines, int count) {
  PointSet points(count);
  double prime = 1;
  for (const Component& spline : splines) {
    do {
      ++prime;
    } while (std::ranges::any_of(std::array{2.0, 3.0, 5.0}, [&](double factor) {
      return prime > factor && std::fmod(prime, factor) == 0;
    }));
    const double step = std::sqrt(prime);
    std::vector<double> values(at(count));
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double share = std::fmod(static_cast<double>(k + 1) * step, 1.0);
      values[k] = spline.extent[0] + share * (spline.extent[1] - spline.extent[0]);
    }
    points.set(spline.variable, std::move(values));
  }
  return points;
}

bool is_of(const Component& component, const PointSet& points) {
  bool all = true;
  Component::for_each_variable(component, [&](int variable) { all = all && points.has(variable); });
  return all;
}

std::vector<double> product_of(std::span<const Component> numbers, const PointSet& points) {
  std::vector<double> values;
  TermEvaluator(numbers, points.count())
      .for_each_nonzero(points.view(),
                        [&](int /*point*/, int /*column*/, double value) { values.push_back(value); });
  return values;
}

/// The smooth's columns at the points, without the factor of its by= variable.
Matrix columns_of(const CoefBlock& block, std::span<const Component> splines, const PointSet& points) {
  Matrix columns(points.count(), block.coef_size);
  TermEvaluator(splines, points.count())
      .for_each_nonzero(points.view(), [&](int point, int column, double value) {
        for (int j = 0; j < columns.cols(); ++j) columns(point, j) += value * block.map(column, j);
      });
  return columns;
}

std::vector<Function> free_functions(const CoefBlock& block, std::span<const Component> splines,
                                     const PointSet& points) {
  const Matrix& null_space = block.penalty->null_space;
  const Matrix columns = multiply(columns_of(block, splines, points), null_space);
  std::vector<Function> functions;
  for (int j = 0; j < columns.cols(); ++j) {
    const auto direction = null_space.column(j);
    const auto values = columns.column(j);
    functions.push_back(
        {block.coef_begin, {direction.begin(), direction.end()}, {values.begin(), values.end()}});
  }
  return functions;
}

/// The unpenalised functions of the design that depend only on variables of the points.
std::vector<Function> functions_beside(const Design& design, const PointSet& points) {
  std::vector<Function> functions;
  for (const CoefBlock& block : design.blocks) {
    const RawTerm& term = design.term_of(block);
    const auto all = [&](auto&& holds) { return std::ranges::all_of(term.components, holds); };
    if (block.penalty) {
      const bool splines = all([&](const Component& one) { return is_spline(one) && is_of(one, points); });
      if (!splines || block.penalty->null_space.cols() == 0) continue;
      for (Function& one : free_functions(block, term.components, points))
        functions.push_back(std::move(one));
    } else if (block.coef_size == block.raw_size &&
               all([](const Component& one) { return one.kind == Component::Kind::factor; })) {
      // Indicators of levels or cells, and the intercept, contribute one function: the constant.
      functions.push_back(
          {block.coef_begin, std::vector(at(block.coef_size), 1.0), std::vector(at(points.count()), 1.0)});
    } else if (block.coef_size == 1 && term.raw_size == 1 &&
               all([&](const Component& one) { return is_of(one, points); })) {
      Function one{block.coef_begin, {1}, product_of(term.components, points)};
      for (double& value : one.values) value *= block.map(0, 0);
      functions.push_back(std::move(one));
    }
  }
  return functions;
}

Matrix columns_of(std::span<const Function> functions) {
  Matrix columns(static_cast<int>(functions.front().values.size()), static_cast<int>(functions.size()));
  for (std::size_t j = 0; j < functions.size(); ++j)
    std::ranges::copy(functions[j].values, columns.column(static_cast<int>(j)).begin());
  return columns;
}

std::vector<Function> independent(std::vector<Function> functions) {
  if (functions.empty()) return functions;
  Matrix columns = columns_of(functions);
  for (int j = 0; j < columns.cols(); ++j) {
    const double length = std::sqrt(dot(columns.column(j), columns.column(j)));
    if (length > 0) std::ranges::for_each(columns.column(j), [&](double& value) { value /= length; });
  }
  const PivotedQr qr = pivoted_qr(columns);
  std::vector<Function> kept;
  for (int i = 0; i < qr.r.rows(); ++i) {
    if (std::abs(qr.r(i, i)) > same * std::abs(qr.r(0, 0)))
      kept.push_back(std::move(functions[at(qr.pivots[at(i)])]));
  }
  return kept;
}

/// Minimises |a x - b| for `a` of full column rank: the normal equations with two steps of iterative
/// refinement are as accurate as QR. Returns a matrix without columns if `a` is singular.
Matrix least_squares(const Matrix& a, const Matrix& b) {
  const auto lower = cholesky(multiply_tn(a, a));
  if (!lower) return {};
  Matrix x(a.cols(), b.cols());
  for (int round = 0; round < 3; ++round) {
    Matrix left = multiply(a, x);
    for (std::size_t i = 0; i < left.values().size(); ++i)
      left.values()[i] = b.values()[i] - left.values()[i];
    const Matrix step = cholesky_solve(*lower, multiply_tn(a, left));
    for (std::size_t i = 0; i < step.values().size(); ++i) x.values()[i] += step.values()[i];
  }
  return x;
}

/// Intersection of the column spans of `own` and `others`, as orthonormal combinations of the columns of
/// `own`. No columns if the spans share only 0.
Matrix shared_part(const Matrix& own, const Matrix& others) {
  const int count = own.cols();
  const Matrix q = submatrix(full_q(own), 0, own.rows(), 0, count);
  const Matrix left = unexplained(others, q);
  const SymmetricEigen eigen = symmetric_eigen(multiply_tn(left, left));
  const auto shared =
      static_cast<int>(std::ranges::count_if(eigen.values, [](double value) { return value < same * same; }));
  if (shared == 0) return {};
  const Matrix combinations =
      solve(multiply_tn(q, own), submatrix(eigen.vectors, 0, count, 0, shared)).value();
  return submatrix(full_q(combinations), 0, count, 0, shared);
}

/// Monomials in the splines' variables, each centred at the middle of its range and scaled to about [-1, 1].
struct Monomials {
  std::vector<std::vector<Component>> factors;  ///< factors of each monomial; empty for the constant
  Matrix values;                                ///< a row per point, a column per monomial

  Monomials(std::span<const Component> splines, const PointSet& points) {
    const int degree = splines.size() > 2 ? 1 : 2;
    factors.emplace_back();
    for (const Component& spline : splines) {
      Component component;
      component.kind = Component::Kind::numeric;
      component.variable = spline.variable;
      const auto [low, high] = spline.extent;
      component.parts = {{spline.variable, low / 2 + high / 2, power_of_two_for(high / 2 - low / 2)}};
      const std::size_t before = factors.size();
      for (int power = 1; power <= degree; ++power) {
        for (std::size_t i = 0; i < before; ++i) {
          factors.push_back(factors[i]);
          factors.back().insert(factors.back().end(), at(power), component);
        }
      }
    }
    values = Matrix(points.count(), static_cast<int>(factors.size()));
    for (std::size_t j = 0; j < factors.size(); ++j)
      std::ranges::copy(product_of(factors[j], points), values.column(static_cast<int>(j)).begin());
  }
};

double largest_difference(const Matrix& a, const Matrix& b) {
  double size = 0;
  for (std::size_t i = 0; i < a.values().size(); ++i)
    size = std::max(size, std::abs(a.values()[i] - b.values()[i]));
  return size;
}

/// The functions removed from a smooth with a by= variable, and the functions that replace them.
struct Exchange {
  Matrix given;       ///< coefficients x count: the removed unpenalised functions, orthonormal
  Matrix kept;        ///< orthogonal complement of `given`
  Matrix null_space;  ///< null space of the remaining penalty, in the coordinates of `kept`
  std::vector<std::vector<Component>> factors;  ///< factors of each new raw column, besides u
  Matrix map;                                   ///< new raw columns x count: the replacing functions
  std::vector<Function> others;                 ///< functions of the other terms
  Matrix in_others;  ///< others x count: each removed function as a combination of `others`
};

void keep_used(Exchange& exchange, const Monomials& monomials, const Matrix& all) {
  std::vector<int> used;
  for (int i = 0; i < all.rows(); ++i) {
    const Matrix row = submatrix(all, i, 1, 0, all.cols());
    if (largest(row.values()) > 0.1 * span_tolerance * largest(all.values())) used.push_back(i);
  }
  exchange.map = Matrix(static_cast<int>(used.size()), all.cols());
  for (std::size_t i = 0; i < used.size(); ++i) {
    exchange.factors.push_back(monomials.factors[at(used[i])]);
    for (int j = 0; j < all.cols(); ++j) exchange.map(static_cast<int>(i), j) = all(used[i], j);
  }
}

/// Unpenalised functions of `block` in the span of `beside`, the functions of the other terms: their
/// coefficients in `block` and in `beside`. No columns if no function is shared.
std::pair<Matrix, Matrix> shared_functions(const CoefBlock& block, const Matrix& own, const Matrix& beside) {
  const Matrix free = multiply(own, block.penalty->null_space);
  const Matrix shared = shared_part(free, beside);
  if (shared.empty()) return {};
  Matrix in_others = least_squares(beside, multiply(free, shared));
  if (in_others.empty()) return {};
  // The other terms' functions are exact: projecting on them makes the coefficients in `block` exact too.
  const Matrix functions = multiply(beside, in_others);
  const Matrix coefficients = least_squares(own, functions);
  if (coefficients.empty() || !(largest_difference(multiply(own, coefficients), functions) <
                                span_tolerance * largest(functions.values())))
    return {};
  const int count = shared.cols();
  Matrix given = submatrix(full_q(coefficients), 0, coefficients.rows(), 0, count);
  const auto back = solve(multiply_tn(given, coefficients), identity(count));
  if (!back) return {};
  in_others = multiply(in_others, *back);
  return {std::move(given), std::move(in_others)};
}

/// Orthogonal complement of the removed functions in the penalty's null space, in the kept coefficients.
Matrix rest_of(const Matrix& null_space, const Matrix& given, const Matrix& kept) {
  const Matrix along = multiply_tn(null_space, given);
  const Matrix rest = submatrix(full_q(along), 0, along.rows(), along.cols(), along.rows() - along.cols());
  return multiply_tn(kept, multiply(null_space, rest));
}

std::optional<Exchange> exchange_of(const Design& design, const CoefBlock& block, const RawTerm& term) {
  const std::span<const Component> splines = std::span(term.components).subspan(1);
  const PointSet points = points_of(splines, 4 * block.coef_size + 200);
  Exchange exchange;
  exchange.others = independent(functions_beside(design, points));
  if (exchange.others.empty()) return std::nullopt;
  const Matrix beside = columns_of(exchange.others);
  std::tie(exchange.given, exchange.in_others) =
      shared_functions(block, columns_of(block, splines, points), beside);
  if (exchange.given.empty()) return std::nullopt;
  const int count = exchange.given.cols();
  exchange.kept = submatrix(full_q(exchange.given), 0, block.coef_size, count, block.coef_size - count);
  exchange.null_space = rest_of(block.penalty->null_space, exchange.given, exchange.kept);

  const Matrix values = multiply(beside, exchange.in_others);
  const Monomials monomials(splines, points);
  const Matrix polynomials = least_squares(monomials.values, values);
  if (polynomials.empty() || !(largest_difference(multiply(monomials.values, polynomials), values) <
                               span_tolerance * largest(values.values())))
    return std::nullopt;
  keep_used(exchange, monomials, polynomials);
  return exchange;
}

CoefBlock reduced(CoefBlock block, const Exchange& exchange) {
  Penalty& penalty = *block.penalty;
  for (Matrix& matrix : penalty.matrices)
    matrix = multiply_tn(exchange.kept, multiply(matrix, exchange.kept));
  penalty.null_space = exchange.null_space;
  penalty.eigenvectors = {};
  block.map = multiply(block.map, exchange.kept);
  block.coef_size = exchange.kept.cols();
  block.names.resize(at(block.coef_size));
  return block;
}

/// The block of the removed functions times the centred variable. Its raw columns are added to `design`.
CoefBlock centred_block(Design& design, const CoefBlock& smooth, const Component& by,
                        const Exchange& exchange) {
  CoefBlock block;
  block.label = smooth.label;
  block.kind = "parametric";
  block.raw_begin = design.raw_size;
  block.raw_size = exchange.map.rows();
  for (const std::vector<Component>& factors : exchange.factors) {
    std::vector<Component> components{by};
    components.insert(components.end(), factors.begin(), factors.end());
    design.add_term(std::move(components));
  }
  block.map = exchange.map;
  block.coef_size = exchange.map.cols();
  for (int i = 1; i <= block.coef_size; ++i) block.names.push_back(smooth.label);
  return block;
}

}  // namespace

std::optional<ChangedDesign> centre_by_variables(const Design& design, const Standards& standards) {
  if (standards.empty()) return std::nullopt;
  std::map<std::size_t, Exchange> exchanges;
  for (std::size_t b = 0; b < design.blocks.size(); ++b) {
    const CoefBlock& block = design.blocks[b];
    const RawTerm& term = design.term_of(block);
    if (!is_by_far_number(block, term, standards)) continue;
    if (auto exchange = exchange_of(design, block, term)) exchanges.emplace(b, std::move(*exchange));
  }
  if (exchanges.empty()) return std::nullopt;

  ChangedDesign out{design, {}};
  Change& change = out.change;
  const Part& parted = change.formula_part = design.parted_coefficients();
  const int core_size = design.coef_size - parted.size();
  Matrix to_formula(core_size, core_size);
  int column = 0;
  for (std::size_t b = 0; b < design.blocks.size(); ++b) {
    const CoefBlock& block = design.blocks[b];
    if (parted.has(block.coef_begin)) continue;
    const auto found = exchanges.find(b);
    const Matrix part = found == exchanges.end() ? identity(block.coef_size) : found->second.kept;
    assign(to_formula, parted.in_core(block.coef_begin), column, part);
    column += part.cols();
    if (found != exchanges.end()) out.design.blocks[b] = reduced(block, found->second);
  }
  for (const auto& [b, exchange] : exchanges) {
    const CoefBlock& block = design.blocks[b];
    const Component& by = design.term_of(block).components.front();
    const NumericPart& centred = standards[at(by.variable)].centred;
    Component component = by;
    component.parts = {centred};
    out.design.blocks.push_back(centred_block(out.design, block, component, exchange));
    // (z - m) g q = (g / f) (f z q) - g m q, with z's centre m and factor g, and the smooth's factor f.
    const double unit = centred.factor / by.parts.front().factor;
    const double shift = centred.factor * centred.centre;
    for (int j = 0; j < exchange.map.cols(); ++j, ++column) {
      for (int i = 0; i < block.coef_size; ++i)
        to_formula(parted.in_core(block.coef_begin + i), column) += unit * exchange.given(i, j);
      for (std::size_t k = 0; k < exchange.others.size(); ++k) {
        const Function& other = exchange.others[k];
        const double weight = shift * exchange.in_others(static_cast<int>(k), j);
        for (std::size_t i = 0; i < other.direction.size(); ++i)
          to_formula(parted.in_core(other.coef_begin) + static_cast<int>(i), column) -=
              weight * other.direction[i];
      }
      change.log_determinant += base::log(unit);
    }
  }
  out.design.count_coefficients();
  change.part = out.design.parted_coefficients();
  change.blocks.push_back({0, std::move(to_formula)});
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
