// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/far_field.hpp"

#include "base/at.hpp"
#include "base/cancellation.hpp"
#include "base/math/trigonometric.hpp"
#include "base/vectors.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Principal logarithm. Not std::log, whose last bits differ between CPUs.
std::complex<double> log_of(const std::complex<double>& z) {
  const double x = z.real();
  const double y = z.imag();
  const bool is_steep = std::abs(y) > std::abs(x);
  const double turn = is_steep ? std::numbers::pi / 2 : x < 0 ? std::numbers::pi : 0;
  const double angle = is_steep ? -base::atan(x / y) : base::atan(y / x);
  return {0.5 * base::log(x * x + y * y), std::copysign(turn, y) + angle};
}

using base::at;

/// Input of `sum_functions`: first the functions of the expansion, whose weights are contiguous, then the
/// near functions, whose weights are indexed by `near`.
struct FarSums {
  const double* expansion;
  int expanded;
  const double* weights;
  int all;  ///< number of points and polynomials, i.e. rows of a panel of `weights`
  const int* near;
  int near_count;
};

#define TESSERA_TEXT "gam/basis/far_field_text.hpp"
#include "base/each_width.hpp"

constexpr double most_left_out = 1e-12;
/// A square with at most this many near points is not divided.
constexpr int most_near = 100;
constexpr int most_divisions = 16;
constexpr int least_points = 200;

}  // namespace

bool FarField::applies(const IsotropicColumns& columns) {
  return columns.shift.size() == 2 && columns.function.kind == RadialKind::power_log &&
         columns.function.power == 2 && columns.points.rows() >= least_points;
}

class FarField::Builder {
 public:
  Builder(FarField& field, const Matrix& combinations)
      : field_(field), columns_(at(field.columns_)), weights_(at(field.points_) * columns_) {
    std::vector<double> sums(columns_);
    for (std::size_t c = 0; c < columns_; ++c) {
      const auto column = combinations.column(static_cast<int>(c)).first(at(field.points_));
      for (std::size_t j = 0; j < column.size(); ++j) weights_[j * columns_ + c] = column[j];
      for (const double weight : column) sums[c] += std::abs(weight);
    }
    const std::vector<double> ranges = ranges_of_columns(combinations);
    for (std::size_t c = 0; c < columns_; ++c) {
      if (ranges[c] > 0) tolerance_ = std::min(tolerance_, most_left_out * ranges[c] / sums[c]);
    }
    tolerance_ /= std::abs(field.function_.scale);
  }

  void make_tree() {
    double low[2];
    double high[2];
    for (int v = 0; v < 2; ++v) {
      const auto of = [&](const std::array<double, 2>& place) { return place.at(at(v)); };
      const auto [least, most] = std::ranges::minmax_element(field_.places_, {}, of);
      low[v] = of(*least);
      high[v] = of(*most);
    }
    // The root square is 10 % larger than the range of the points: other data may lie outside this range.
    const double half = 0.55 * std::max(high[0] - low[0], high[1] - low[1]);
    std::vector<int> all(field_.places_.size());
    std::iota(all.begin(), all.end(), 0);
    field_.leaves_.push_back({0, 0, 0, all, 0, false});
    field_.squares_.push_back({(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, half, {}, -1});
    parts_.push_back({-1, 0, {}});
    divide(0, all, 0);
  }

  /// Computes the expansions level by level; squares of one level run in parallel.
  void expand(HostTeam& team) {
    std::vector<std::vector<int>> levels;
    for (int i = 0; i < std::ssize(parts_); ++i) {
      levels.resize(std::max(levels.size(), at(parts_[at(i)].level) + 1));
      levels[at(parts_[at(i)].level)].push_back(i);
    }
    field_.expansions_.resize(at(field_.leaves() - 1) * expanded * columns_);
    std::vector<Expansion> expansions(parts_.size());
    for (std::size_t level = 0; level < levels.size(); ++level) {
      const std::vector<int>& squares = levels[level];
      team.for_each_block({0, std::ssize(squares)}, 1, [&](int /*thread*/, Range range) {
        base::check_cancelled();
        const int index = squares[at(range.begin)];
        const int parent = parts_[at(index)].parent;
        Expansion own = expansion_of(index, parent < 0 ? Expansion() : expansions[at(parent)]);
        if (field_.squares_[at(index)].leaf < 0)
          expansions[at(index)] = std::move(own);
        else
          fill_leaf(field_.leaves_[at(field_.squares_[at(index)].leaf)], own);
      });
      if (level == 0) continue;
      for (const int index : levels[level - 1]) expansions[at(index)] = {};
    }
  }

 private:
  /// Coefficients of F and H, as powers x 4 x columns. The four parts are Re F, Im F, Re H and Im H.
  using Expansion = std::vector<double>;
  static constexpr std::size_t f_re = 0;
  static constexpr std::size_t f_im = 1;
  static constexpr std::size_t h_re = 2;
  static constexpr std::size_t h_im = 3;
  [[nodiscard]] double* row(Expansion& expansion, int power, std::size_t part) const {
    return expansion.data() + (4 * at(power) + part) * columns_;
  }
  [[nodiscard]] const double* row(const Expansion& expansion, int power, std::size_t part) const {
    return expansion.data() + (4 * at(power) + part) * columns_;
  }

  /// Maximum |value| of each column over a subset of the points.
  [[nodiscard]] std::vector<double> ranges_of_columns(const Matrix& combinations) const {
    constexpr std::size_t looked_at = 64;
    std::vector<double> ranges(columns_);
    const std::size_t step = std::max<std::size_t>(1, field_.places_.size() / looked_at);
    for (std::size_t i = 0; i < field_.places_.size(); i += step) {
      const auto [x, y] = field_.places_[i];
      std::vector<double> values(columns_);
      for (std::size_t j = 0; j < field_.places_.size(); ++j) {
        const double dx = x - field_.places_[j][0];
        const double dy = y - field_.places_[j][1];
        const double value = radial_value(field_.function_, dx * dx + dy * dy);
        for (std::size_t c = 0; c < columns_; ++c) values[c] += value * weights_[j * columns_ + c];
      }
      for (std::size_t c = 0; c < columns_; ++c) {
        for (std::size_t k = 0; k < field_.powers_.size(); ++k)
          values[c] += combinations(field_.points_ + static_cast<int>(k), static_cast<int>(c)) *
                       base::pow(x, field_.powers_[k][0]) * base::pow(y, field_.powers_[k][1]);
        ranges[c] = std::max(ranges[c], std::abs(values[c]));
      }
    }
    return ranges;
  }

  /// Smallest |d| / rho above 1.5, to 2 %, for which the truncation error is within `tolerance_`.
  [[nodiscard]] double least_distance(double rho) const {
    double r = 1.5;
    const auto left_out = [&] {
      return rho * rho * (1 + r) * base::pow(r, 1 - degree) / ((r - 1) * degree * (degree + 1));
    };
    while (left_out() > tolerance_) r *= 1.02;
    return r;
  }

  void take_in(const Square& square, double rho, int point, Expansion& expansion) const {
    const auto [x, y] = field_.places_[at(point)];
    const Complex delta = Complex(square.x - x, square.y - y) / rho;
    const Complex log_d = log_of(delta) + base::log(rho);
    const double unit = field_.function_.scale * rho * rho;
    const double* weights = weights_.data() + at(point) * columns_;
    Complex power = 1.0;  // delta^(1 - k)
    for (int k = 0; k <= degree; ++k) {
      Complex g = k == 0 ? delta * log_d : log_d + 1.0;
      if (k >= 2) {
        power /= -delta;
        g = -power / (k * (k - 1.0));
      }
      g *= unit;
      const Complex h = std::conj(delta) * g;
      const int count = field_.columns_;
      for (const auto& [part, factor] :
           {std::pair{f_re, g.real()}, {f_im, g.imag()}, {h_re, h.real()}, {h_im, h.imag()}})
        TESSERA_AT_WIDTH(add_multiple_of(factor, weights, count, row(expansion, k, part)));
    }
  }

  /// Shifts an expansion to the centre of a quarter, and rescales its powers to half the size.
  [[nodiscard]] Expansion moved(const Expansion& from, Complex shift) const {
    constexpr double half = 0.5;
    Expansion to(from.size());
    std::array<Complex, degree + 1> shifts{1.0};
    for (std::size_t k = 1; k < shifts.size(); ++k) shifts[k] = shifts[k - 1] * shift;
    double size = 1;
    for (int m = 0; m <= degree; ++m, size *= half) {
      double binomial = 1;
      for (int k = m; k <= degree; ++k) {
        const Complex factor = size * binomial * shifts[at(k - m)];
        for (const auto& [re, im] : {std::pair{f_re, f_im}, {h_re, h_im}})
          TESSERA_AT_WIDTH(add_complex_multiple(factor.real(), factor.imag(), row(from, k, re),
                                                row(from, k, im), field_.columns_, row(to, m, re),
                                                row(to, m, im)));
        binomial *= (k + 1.0) / (k + 1 - m);
      }
      TESSERA_AT_WIDTH(add_complex_multiple(shift.real(), -shift.imag(), row(to, m, f_re), row(to, m, f_im),
                                            field_.columns_, row(to, m, h_re), row(to, m, h_im)));
      for (std::size_t i = 0; i < 2 * columns_; ++i) row(to, m, f_re)[i] *= half;
    }
    return to;
  }

  [[nodiscard]] double half_diagonal(const Square& square) const { return std::sqrt(2.0) * square.half; }

  void divide(int index, const std::vector<int>& near_before, int level) {
    base::check_cancelled();
    const Square square = field_.squares_[at(index)];
    const double far = least_distance(half_diagonal(square)) * half_diagonal(square);
    std::vector<int> near;
    for (const int point : near_before) {
      const auto [x, y] = field_.places_[at(point)];
      const double dx = square.x - x;
      const double dy = square.y - y;
      (std::sqrt(dx * dx + dy * dy) < far ? near : parts_[at(index)].far).push_back(point);
    }
    if (near.size() <= most_near || level == most_divisions) {
      field_.squares_[at(index)].leaf = field_.leaves();
      field_.leaves_.push_back({square.x, square.y, 1 / half_diagonal(square), std::move(near),
                                at(field_.leaves() - 1) * expanded * columns_, true});
      return;
    }
    const double half = square.half / 2;
    for (int q = 0; q < 4; ++q) {
      const double dx = q % 2 == 0 ? -half : half;
      const double dy = q / 2 == 0 ? -half : half;
      const int quarter = static_cast<int>(field_.squares_.size());
      field_.squares_.push_back({square.x + dx, square.y + dy, half, {}, -1});
      parts_.push_back({index, level + 1, {}});
      field_.squares_[at(index)].quarters.at(at(q)) = quarter;
      divide(quarter, near, level + 1);
    }
  }

  /// The parent's expansion, shifted, plus the points that are far from the square but near its parent.
  [[nodiscard]] Expansion expansion_of(int index, const Expansion& around) const {
    const Square& square = field_.squares_[at(index)];
    const Part& part = parts_[at(index)];
    Expansion out;
    if (part.parent < 0) {
      out.resize(4 * (degree + 1) * columns_);
    } else {
      const Square& outer = field_.squares_[at(part.parent)];
      out = moved(around, Complex(square.x - outer.x, square.y - outer.y) / half_diagonal(outer));
    }
    for (const int point : part.far) take_in(square, half_diagonal(square), point, out);
    return out;
  }

  /// Stores an expansion as coefficients of real functions, in the order of `functions_at`.
  void fill_leaf(const Leaf& leaf, Expansion& expansion) const {
    // Since Re(conj(t) F_0) = Re(t conj(F_0)), the constant of F is added to the linear term of H.
    for (std::size_t c = 0; c < columns_; ++c) {
      row(expansion, 1, h_re)[c] += row(expansion, 0, f_re)[c];
      row(expansion, 1, h_im)[c] -= row(expansion, 0, f_im)[c];
    }
    std::vector<std::pair<const double*, double>> rows{{row(expansion, 0, h_re), 1.0},
                                                       {row(expansion, 1, f_re), 1.0}};
    for (int k = 1; k <= degree; ++k) {
      rows.emplace_back(row(expansion, k, h_re), 1.0);
      rows.emplace_back(row(expansion, k, h_im), -1.0);
      if (k == degree) continue;
      rows.emplace_back(row(expansion, k + 1, f_re), 1.0);
      rows.emplace_back(row(expansion, k + 1, f_im), -1.0);
    }
    double* to = field_.expansions_.data() + leaf.begin;
    for (std::size_t panel = 0; panel < columns_; panel += 4) {
      for (const auto& [from, sign] : rows) {
        for (std::size_t c = panel; c < panel + 4; ++c) *to++ = sign * from[c];
      }
    }
  }

  /// Data of a square that only the construction needs.
  struct Part {
    int parent;  ///< -1: the root
    int level;
    std::vector<int> far;  ///< points that are far from the square but near its parent
  };

  FarField& field_;
  std::size_t columns_;
  std::vector<Part> parts_;      ///< parallel to `squares_`
  std::vector<double> weights_;  ///< points x columns
  double tolerance_ = 1;         ///< allowed truncation error for unit weight
};

FarField::FarField(HostTeam* team, const IsotropicColumns& columns, const Matrix& combinations)
    : function_(columns.function), columns_(combinations.cols()), points_(columns.points.rows()) {
  for (int j = 0; j < points_; ++j) places_.push_back({columns.points(j, 0), columns.points(j, 1)});
  for (const std::vector<int>& powers : columns.powers) powers_.push_back({powers[0], powers[1]});
  for (int panel = 0; panel < columns_; panel += 4) {
    for (int i = 0; i < combinations.rows(); ++i) {
      for (int c = panel; c < panel + 4; ++c) weights_.push_back(combinations(i, c));
    }
  }
  Builder builder(*this, combinations);
  builder.make_tree();
  if (team != nullptr) builder.expand(*team);
  // `functions_at` evaluates polynomials like near functions.
  std::size_t most = 0;
  for (Leaf& leaf : leaves_) {
    for (std::size_t k = 0; k < powers_.size(); ++k) leaf.near.push_back(points_ + static_cast<int>(k));
    most = std::max(most, leaf.near.size());
  }
  scratch_ = (most + expanded) * together;
}

std::int64_t FarField::bytes(const IsotropicColumns& columns, const Matrix& combinations) {
  const FarField tree(nullptr, columns, combinations);
  return static_cast<std::int64_t>(tree.leaves_.size() * expanded * at(tree.columns_) * sizeof(double));
}

int FarField::leaf_of(const std::array<double, 2>& u) const {
  const Square* square = squares_.data();
  // The negated form also catches NaN.
  if (!(std::abs(u[0] - square->x) <= square->half && std::abs(u[1] - square->y) <= square->half)) return 0;
  while (square->leaf < 0)
    square = squares_.data() + square->quarters.at((u[0] > square->x ? 1 : 0) + (u[1] > square->y ? 2 : 0));
  return square->leaf;
}

void FarField::functions_at(const Leaf& leaf, int count, const std::array<double, 2>* u,
                            double* functions) const {
  double* next = functions;
  if (leaf.expanded) {
    double x[together] = {};
    double y[together] = {};
    double square[together] = {};
    for (int r = 0; r < count; ++r) {
      x[r] = (u[r][0] - leaf.x) * leaf.inverse_radius;
      y[r] = (u[r][1] - leaf.y) * leaf.inverse_radius;
      square[r] = x[r] * x[r] + y[r] * y[r];
    }
    double re[together];
    double im[together];
    for (int r = 0; r < together; ++r) {
      next[r] = 1;
      next[together + r] = square[r];
      re[r] = x[r];
      im[r] = y[r];
    }
    next += 2 * together;
    for (int k = 1; k <= degree; ++k) {
      for (int r = 0; r < together; ++r) {
        next[r] = re[r];
        next[together + r] = im[r];
      }
      next += 2 * together;
      if (k == degree) break;
      for (int r = 0; r < together; ++r) {
        next[r] = square[r] * re[r];
        next[together + r] = square[r] * im[r];
        const double product = re[r] * x[r] - im[r] * y[r];
        im[r] = re[r] * y[r] + im[r] * x[r];
        re[r] = product;
      }
      next += 2 * together;
    }
  }
  for (const int i : leaf.near) {
    std::fill_n(next, together, 0.0);
    if (i < points_) {
      const auto [x, y] = places_[at(i)];
      double square[together] = {};
      for (int r = 0; r < count; ++r) {
        const double dx = u[r][0] - x;
        const double dy = u[r][1] - y;
        square[r] = dx * dx + dy * dy;
      }
      if (function_.kind == RadialKind::power_log) {
        using Pair = base::Packet<2>;
        double logs[together];
        for (int r = 0; r < together; r += Pair::count) base::log(Pair::at(square + r)).store(logs + r);
        for (int r = 0; r < count; ++r) next[r] = power_log_value(function_, square[r], logs[r]);
      } else {
        for (int r = 0; r < count; ++r) next[r] = radial_value(function_, square[r]);
      }
      next += together;
      continue;
    }
    for (int r = 0; r < count; ++r) {
      double value = 1;
      for (std::size_t v = 0; v < 2; ++v) {
        for (int p = powers_[at(i - points_)][v]; p > 0; --p) value *= u[r][v];
      }
      next[r] = value;
    }
    next += together;
  }
}

FarField::Functions FarField::none() const {
  return {std::vector<double>(leaves_.size() * expanded),
          std::vector<double>(weights_.size() / at(columns_))};
}

FarField::Functions FarField::combined(const double* coef) const {
  Functions out = none();
  const auto add = [&](const double* weights, std::size_t count, double* to) {
    for (int panel = 0; panel < columns_; panel += 4) {
      for (std::size_t i = 0; i < count; ++i, weights += 4) {
        for (int c = 0; c < 4; ++c) to[i] += weights[c] * coef[panel + c];
      }
    }
  };
  for (std::size_t l = 0; l < leaves_.size(); ++l) {
    if (leaves_[l].expanded)
      add(expansions_.data() + leaves_[l].begin, expanded, out.expanded.data() + l * expanded);
  }
  add(weights_.data(), out.near.size(), out.near.data());
  return out;
}

void FarField::add_columns(const Functions& sums, double* out) const {
  const auto add = [&](const double* weights, std::size_t count, const double* from) {
    for (int panel = 0; panel < columns_; panel += 4) {
      double four[4] = {};
      for (std::size_t i = 0; i < count; ++i, weights += 4) {
        for (int c = 0; c < 4; ++c) four[c] += from[i] * weights[c];
      }
      for (int c = 0; c < 4; ++c) out[panel + c] += four[c];
    }
  };
  for (std::size_t l = 0; l < leaves_.size(); ++l) {
    if (leaves_[l].expanded)
      add(expansions_.data() + leaves_[l].begin, expanded, sums.expanded.data() + l * expanded);
  }
  add(weights_.data(), sums.near.size(), sums.near.data());
}

void FarField::evaluate(int leaf_index, int count, const std::array<double, 2>* u, double* scratch,
                        const Wanted& wanted) const {
  const Leaf& leaf = leaves_[at(leaf_index)];
  functions_at(leaf, count, u, scratch);
  const int first = leaf.expanded ? expanded : 0;
  const double* f = scratch;
  if (wanted.combined != nullptr) {
    double sum[together] = {};
    const auto add = [&](double weight) {
      for (int r = 0; r < together; ++r) sum[r] += f[r] * weight;
      f += together;
    };
    const double* weights = wanted.combined->expanded.data() + at(leaf_index) * expanded;
    for (int i = 0; i < first; ++i) add(weights[i]);
    for (const int i : leaf.near) add(wanted.combined->near[at(i)]);
    std::copy_n(sum, count, wanted.combination);
  }
  f = scratch;
  if (wanted.sums != nullptr) {
    const auto add = [&](double& to) {
      for (int r = 0; r < count; ++r) to += f[r];
      f += together;
    };
    double* sums = wanted.sums->expanded.data() + at(leaf_index) * expanded;
    for (int i = 0; i < first; ++i) add(sums[i]);
    for (const int i : leaf.near) add(wanted.sums->near[at(i)]);
  }
  if (wanted.columns == nullptr) return;
  const FarSums sums{expansions_.data() + leaf.begin,
                     first,
                     weights_.data(),
                     points_ + static_cast<int>(powers_.size()),
                     leaf.near.data(),
                     static_cast<int>(leaf.near.size())};
  TESSERA_AT_WIDTH(sum_functions(sums, columns_, count, scratch, wanted.columns));
}

}  // namespace TESSERA_NAMESPACE::gam
