// SPDX-License-Identifier: Apache-2.0
#include "base/math/normal.hpp"
#include "base/math/trigonometric.hpp"
#include "gam/formula/expression.hpp"
#include "gam/formula/orthogonal_polynomial.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace TESSERA_NAMESPACE::gam {
namespace {

using Op = Expression::Op;
using Step = Expression::Step;

constexpr double missing_value = std::numeric_limits<double>::quiet_NaN();

double standard_normal_density(double x) {
  return base::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

// R's pmin() and pmax(): missing if any argument is missing.
double least(double a, double b) {
  return std::isnan(a) ? a : b < a || std::isnan(b) ? b : a;
}

// R's arithmetic: x^2 is x * x exactly.
double power(double x, double exponent) {
  return exponent == 2 ? x * x : base::pow(x, exponent);
}

// R's %%: the result has the sign of the divisor.
double modulo(double a, double b) {
  const double quotient = a / b;
  return b == 0 || !std::isfinite(quotient) ? missing_value : a - std::floor(quotient) * b;
}

// R's round() since 4.0.0: of the two decimals on either side of x, the nearer one; ties go to the even one.
double rounded(double x, double digits) {
  if (std::isnan(digits) || !std::isfinite(x)) return std::isnan(digits) ? digits : x;
  digits = std::floor(digits + 0.5);
  if (digits == 0) return std::nearbyint(x);
  if (digits < 0) {
    const double unit = base::pow(10.0, -digits);
    return std::nearbyint(x / unit) * unit;
  }
  // A double has about 15 digits: rounding to more leaves x unchanged.
  if (x == 0 || digits + std::ceil(-base::log10(std::abs(x))) > 15) return x;
  const double unit = base::pow(10.0, digits);
  const double scaled = x * unit;
  const double down = std::floor(scaled) / unit;
  const double up = std::ceil(scaled) / unit;
  const double below = x - down;
  const double above = up - x;
  return below < above || (below == above && std::fmod(std::floor(scaled), 2) == 0) ? down : up;
}

double truth(bool value) {
  return value ? 1 : 0;
}

template <class Compare>
double compared(double a, double b, const Compare& compare) {
  return std::isnan(a) || std::isnan(b) ? missing_value : truth(compare(a, b));
}

// R's three-valued logic, with NaN for NA.
double both(double a, double b) {
  if (a == 0 || b == 0) return 0;
  return std::isnan(a) || std::isnan(b) ? missing_value : 1;
}
double either(double a, double b) {
  if ((a != 0 && !std::isnan(a)) || (b != 0 && !std::isnan(b))) return 1;
  return std::isnan(a) || std::isnan(b) ? missing_value : 0;
}

double level_value(const Step& step, double code) {
  if (std::isnan(code)) return code;
  const bool known = code >= 0 && code < static_cast<double>(step.table.size());
  return known ? step.table[static_cast<std::size_t>(code)] : step.number;
}

double place_in(const Step& step, double value) {
  if (std::isnan(value)) return value;
  const auto found = std::find(step.table.begin(), step.table.end(), value);
  return found == step.table.end() ? step.number : static_cast<double>(found - step.table.begin());
}

/// `place_in` by binary search, for a sorted table (`index` of the step is 1).
double place_among_sorted(const Step& step, double value) {
  if (std::isnan(value)) return value;
  const auto found = std::lower_bound(step.table.begin(), step.table.end(), value);
  return found == step.table.end() || *found != value ? step.number
                                                      : static_cast<double>(found - step.table.begin());
}

/// The index, from 0, of the interval between breaks in `table` that contains x, like R's .bincode. Bit 0 of
/// the step's `index`: intervals are closed on the right, otherwise on the left. Bit 1: the outermost
/// interval is closed at both ends.
double interval_of(const Step& step, double x) {
  const std::vector<double>& breaks = step.table;
  const bool right = (step.index & 1) != 0;
  const double open_end = right ? breaks.front() : breaks.back();
  if (!(x >= breaks.front() && x <= breaks.back()) || (x == open_end && (step.index & 2) == 0))
    return missing_value;
  const auto next = right ? std::lower_bound(breaks.begin(), breaks.end(), x)
                          : std::upper_bound(breaks.begin(), breaks.end(), x);
  return static_cast<double>(
      std::clamp<std::ptrdiff_t>(next - breaks.begin() - 1, 0, std::ssize(breaks) - 2));
}

/// R's predict.poly. `table` has alpha, then the squared norms of the polynomials of degree 0, 1, …
double polynomial(const Step& step, double x) {
  const std::size_t degree = (step.table.size() - 1) / 2;
  const double* const alpha = step.table.data();
  const double* const square = alpha + degree;
  return orthogonal_polynomial(alpha, square, static_cast<std::size_t>(step.index), x) /
         std::sqrt(square[step.index]);
}

/// The spline sum_j weights[j] B_j(x). Outside the knots, the outermost polynomial is extrapolated.
double spline_sum(std::span<const double> knots, std::span<const double> weights, std::size_t degree,
                  double x) {
  std::size_t cell = degree;
  while (cell + 1 < weights.size() && x >= knots[cell + 1]) ++cell;
  // De Boor's algorithm.
  std::array<double, 16> d{};
  for (std::size_t j = 0; j <= degree; ++j) d[j] = weights[cell - degree + j];
  for (std::size_t r = 1; r <= degree; ++r) {
    for (std::size_t j = degree; j >= r; --j) {
      const double left = knots[cell - degree + j];
      const double right = knots[cell + 1 + j - r];
      const double share = (x - left) / (right - left);
      d[j] = (1 - share) * d[j - 1] + share * d[j];
    }
  }
  return d[degree];
}

/// The step's `table` has the degree, the number of knots, both ends, the knots and the weights; `index` is 1
/// for linear extrapolation.
double spline(const Step& step, double x) {
  if (std::isnan(x)) return x;
  const auto degree = static_cast<std::size_t>(step.table[0]);
  const auto count = static_cast<std::size_t>(step.table[1]);
  const std::span knots = std::span(step.table).subspan(4, count);
  const std::span weights = std::span(step.table).subspan(4 + count);
  const double inside = std::clamp(x, step.table[2], step.table[3]);
  if (step.index == 0 || inside == x) return spline_sum(knots, weights, degree, x);
  std::vector<double> slopes;
  for (std::size_t j = 0; j + 1 < weights.size(); ++j)
    slopes.push_back(static_cast<double>(degree) * (weights[j + 1] - weights[j]) /
                     (knots[j + 1 + degree] - knots[j + 1]));
  return spline_sum(knots, weights, degree, inside) +
         spline_sum(knots.subspan(1, count - 2), slopes, degree - 1, inside) * (x - inside);
}

/// Evaluates at most `strip` rows; `value_of(column, row)` returns the value of a column.
template <std::size_t strip, class ValueOf>
void evaluate_strip(std::span<const Step> steps, std::size_t rows, const ValueOf& value_of, double* values) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): zeroing would cost time in every row
  std::array<std::array<double, strip>, max_stack + 1> stack;
  std::size_t top = 0;
  const auto push = [&](const auto& value_at) {
    for (std::size_t i = 0; i < rows; ++i) stack[top][i] = value_at(i);
    ++top;
  };
  const auto replace = [&](const auto& function) {
    std::array<double, strip>& operand = stack[top - 1];
    for (std::size_t i = 0; i < rows; ++i) operand[i] = function(operand[i]);
  };
  const auto join = [&](const auto& function) {
    const std::array<double, strip>& right = stack[--top];
    std::array<double, strip>& left = stack[top - 1];
    for (std::size_t i = 0; i < rows; ++i) left[i] = function(left[i], right[i]);
  };
  for (const Step& step : steps) {
    switch (step.op) {
      case Op::number: push([&](std::size_t) { return step.number; }); break;
      case Op::column:
        push([&](std::size_t i) { return value_of(static_cast<std::size_t>(step.index), i); });
        break;
      case Op::negate: replace([](double x) { return -x; }); break;
      case Op::log: replace([](double x) { return base::log(x); }); break;
      case Op::log2: replace([](double x) { return base::log2(x); }); break;
      case Op::log10: replace([](double x) { return base::log10(x); }); break;
      case Op::sqrt: replace([](double x) { return std::sqrt(x); }); break;
      case Op::exp: replace([](double x) { return base::exp(x); }); break;
      case Op::log1p: replace([](double x) { return base::log1p(x); }); break;
      case Op::expm1: replace([](double x) { return base::expm1(x); }); break;
      case Op::sin: replace([](double x) { return base::sin(x); }); break;
      case Op::cos: replace([](double x) { return base::cos(x); }); break;
      case Op::tan: replace([](double x) { return base::tan(x); }); break;
      case Op::abs: replace([](double x) { return std::abs(x); }); break;
      case Op::floor: replace([](double x) { return std::floor(x); }); break;
      case Op::ceiling: replace([](double x) { return std::ceil(x); }); break;
      case Op::trunc: replace([](double x) { return std::trunc(x); }); break;
      case Op::sign: replace([](double x) { return std::isnan(x) ? x : truth(x > 0) - truth(x < 0); }); break;
      case Op::pnorm: replace([](double x) { return base::normal_probability(x); }); break;
      case Op::dnorm: replace(standard_normal_density); break;
      case Op::add: join([](double a, double b) { return a + b; }); break;
      case Op::subtract: join([](double a, double b) { return a - b; }); break;
      case Op::multiply: join([](double a, double b) { return a * b; }); break;
      case Op::divide: join([](double a, double b) { return a / b; }); break;
      case Op::power: join(power); break;
      case Op::modulo: join(modulo); break;
      case Op::whole_quotient: join([](double a, double b) { return std::floor(a / b); }); break;
      case Op::pmin: join(least); break;
      case Op::pmax: join([](double a, double b) { return -least(-a, -b); }); break;
      case Op::round: join(rounded); break;
      case Op::less:
        join([](double a, double b) { return compared(a, b, [](double c, double d) { return c < d; }); });
        break;
      case Op::less_equal:
        join([](double a, double b) { return compared(a, b, [](double c, double d) { return c <= d; }); });
        break;
      case Op::equal:
        join([](double a, double b) { return compared(a, b, [](double c, double d) { return c == d; }); });
        break;
      case Op::unequal:
        join([](double a, double b) { return compared(a, b, [](double c, double d) { return c != d; }); });
        break;
      case Op::both: join(both); break;
      case Op::either: join(either); break;
      case Op::negation: replace([](double x) { return std::isnan(x) ? x : truth(x == 0); }); break;
      case Op::choose: {
        const std::array<double, strip>& no = stack[--top];
        const std::array<double, strip>& yes = stack[--top];
        std::array<double, strip>& condition = stack[top - 1];
        for (std::size_t i = 0; i < rows; ++i) {
          if (!std::isnan(condition[i])) condition[i] = condition[i] != 0 ? yes[i] : no[i];
        }
        break;
      }
      case Op::is_missing: replace([](double x) { return truth(std::isnan(x)); }); break;
      case Op::lookup: replace([&](double x) { return level_value(step, x); }); break;
      case Op::match:
        replace([&](double x) { return step.index == 1 ? place_among_sorted(step, x) : place_in(step, x); });
        break;
      case Op::in_set:
        replace([&](double x) { return truth(std::ranges::find(step.table, x) != step.table.end()); });
        break;
      case Op::interval: replace([&](double x) { return interval_of(step, x); }); break;
      case Op::polynomial: replace([&](double x) { return polynomial(step, x); }); break;
      case Op::spline: replace([&](double x) { return spline(step, x); }); break;
    }
  }
  std::copy_n(stack[0].begin(), rows, values);
}

}  // namespace

double Expression::evaluate(std::span<const double> columns_of_row) const {
  double value = 0;
  evaluate_strip<1>(
      steps, 1, [&](std::size_t column, std::size_t) { return columns_of_row[column]; }, &value);
  return value;
}

void Expression::evaluate(std::span<const double* const> columns, std::span<double> values) const {
  evaluate_steps(steps, columns, values);
}

void evaluate_steps(std::span<const Step> steps, std::span<const double* const> columns,
                    std::span<double> values) {
  constexpr std::size_t strip = 64;
  for (std::size_t begin = 0; begin < values.size(); begin += strip)
    evaluate_strip<strip>(
        steps, std::min(strip, values.size() - begin),
        [&](std::size_t column, std::size_t row) { return columns[column][begin + row]; },
        values.data() + begin);
}

}  // namespace TESSERA_NAMESPACE::gam
