// SPDX-License-Identifier: Apache-2.0
#include "gam/many/gaussian_spectrum.hpp"

#include "base/at.hpp"
#include "base/math/elementary.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/many/active_columns.hpp"
#include "gam/many/response_constants.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;
using base::lane_count;
using base::Lanes;
using base::load_lanes;
using base::store_lanes;

namespace {

/// Sums over all rows, with u = y - offset - centre.
struct RowTotals {
  Lanes squares{};      ///< sum of w u^2
  Lanes weighted{};     ///< sum of w u
  Lanes differences{};  ///< sum of y - centre
  Lanes zeros{};
  Lanes least = base::all_lanes(infinite);
  Lanes most = base::all_lanes(-infinite);
};

/// to = w u in each row; adds to the totals.
TESSERA_LANE_CLONES void add_totals(const double* y, const double* offset, const double* weights,
                                    double centre, int packets, RowTotals& totals, double* to) {
  RowTotals own = totals;
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; i += lane_count) {
    const Lanes value = load_lanes(y + i);
    const Lanes difference = value - centre;
    const Lanes u = difference - load_lanes(offset + i);
    const Lanes weighted = u * load_lanes(weights + i);
    store_lanes(to + i, weighted);
    own.squares += u * weighted;
    own.weighted += weighted;
    own.differences += difference;
    own.zeros += value == 0.0 ? Lanes{} + 1.0 : Lanes{};
    own.least = value < own.least ? value : own.least;
    own.most = value > own.most ? value : own.most;
  }
  totals = own;
}

/// to = w r in each row with the residuals r = u - fit; adds w r^2 to `squares`.
TESSERA_LANE_CLONES void weigh_residuals(const double* y, const double* offset, const double* weights,
                                         double centre, const double* fit, int packets, Lanes& squares,
                                         double* to) {
  Lanes own = squares;
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; i += lane_count) {
    const Lanes residual = load_lanes(y + i) - centre - load_lanes(offset + i) - load_lanes(fit + i);
    const Lanes weighted = residual * load_lanes(weights + i);
    store_lanes(to + i, weighted);
    own += residual * weighted;
  }
  squares = own;
}

}  // namespace

std::shared_ptr<const GaussianSpectrum> GaussianSpectrum::of(const SharedDesign& design,
                                                             std::vector<double> weight) {
  if (design.parameters != 1) return nullptr;
  for (const SharedPenalty& penalty : design.penalties) {
    if (penalty.parameter < 0 || penalty.diagonal.empty()) return nullptr;
  }
  auto out = std::make_shared<GaussianSpectrum>();
  out->weight_ = std::move(weight);
  out->gram_ = gram_of(design, out->weight_);
  double information = 0;
  double all_penalties = 0;
  out->has_constant_ = true;
  for (const DesignComponent& component : design.components) {
    // Orders unpenalised columns first. `penalty_of`: diagonal of the penalty, by column.
    std::vector<double> penalty_of(at(component.end - component.begin));
    for (const int index : component.penalties) {
      const SharedPenalty& penalty = design.penalties[at(index)];
      for (int j = 0; j < penalty.size(); ++j)
        penalty_of[at(penalty.begin + j - component.begin)] =
            base::exp(penalty.offset) * penalty.diagonal[at(j)];
    }
    std::vector<int> columns;
    for (const bool penalised : {false, true}) {
      for (int j = 0; j < component.end - component.begin; ++j) {
        if ((penalty_of[at(j)] > 0) == penalised) columns.push_back(j);
      }
    }
    const auto q = static_cast<int>(std::ranges::count(penalty_of, 0.0));
    const auto p = static_cast<int>(columns.size());
    Matrix gram(p, p);
    for (int i = 0; i < p; ++i) {
      for (int j = 0; j < p; ++j) {
        const auto [a, b] = std::minmax(columns[at(i)], columns[at(j)]);
        gram(i, j) = out->gram_[place_in_packed(design.columns, component.begin + a, component.begin + b)];
      }
    }
    Component one{.begin = component.begin, .unpenalised = q, .g = {}, .coordinates = Matrix(p, p)};
    const auto put = [&](int first_row, int first_column, const Matrix& block) {
      for (int i = 0; i < block.rows(); ++i) {
        for (int j = 0; j < block.cols(); ++j)
          one.coordinates(columns[at(first_row + i)], first_column + j) = block(i, j);
      }
    };
    Matrix penalised = submatrix(gram, q, p - q, q, p - q);
    Matrix explained;
    if (q > 0) {
      const auto lower = cholesky(submatrix(gram, 0, q, 0, q));
      if (!lower) return nullptr;
      for (int j = 0; j < q; ++j) {
        const double pivot = (*lower)(j, j);
        constexpr double independent = 1e-10;
        if (!(pivot * pivot > independent * gram(j, j))) return nullptr;
        out->log_determinant_ += base::log(pivot);
      }
      put(0, 0, triangular_solve(*lower, identity(q), true));
      const Matrix across = submatrix(gram, 0, q, q, p - q);
      explained = cholesky_solve(*lower, across);
      const Matrix part = multiply_tn(across, explained);
      for (std::size_t i = 0; i < part.values().size(); ++i) penalised.values()[i] -= part.values()[i];
    }
    if (p > q) {
      for (int i = q; i < p; ++i) {
        const double gram_of = gram(i, i);
        if (gram_of != 0) {
          information += gram_of;
          all_penalties += penalty_of[at(columns[at(i)])];
        }
        for (int j = q; j < p; ++j)
          penalised(i - q, j - q) /=
              std::sqrt(penalty_of[at(columns[at(i)])] * penalty_of[at(columns[at(j)])]);
      }
      SymmetricEigen eigen = symmetric_eigen(penalised);
      for (const double value : eigen.values) one.g.push_back(std::max(value, 0.0));
      for (int i = 0; i < p - q; ++i) {
        for (int j = 0; j < p - q; ++j) eigen.vectors(i, j) /= std::sqrt(penalty_of[at(columns[at(q + i)])]);
      }
      put(q, q, eigen.vectors);
      if (q > 0) {
        Matrix across = multiply(explained, eigen.vectors);
        for (double& value : across.values()) value = -value;
        put(0, q, across);
      }
    }
    out->coordinates_ += p;
    out->add_component(design, component, std::move(one));
  }
  constexpr double least = 1e-8;
  out->origin_ = all_penalties > 0 ? base::log(std::max(information, least) / all_penalties) : 0;
  for (std::size_t i = 0; i < values_around_start.size(); ++i) {
    const double lambda = base::exp(out->origin_ + values_around_start[i]);
    out->for_each_coordinate([&](std::size_t /*index*/, double g, double /*largest*/) {
      if (g >= 0) out->costs_around_start_[i] += 0.5 * base::log1p(g / lambda);
    });
  }
  for (const double one : out->weight_) {
    if (one == 0) continue;
    ++out->rows_;
    out->sum_of_weights_ += one;
    out->log_weights_ += base::log(one);
  }
  out->in_order_ = true;
  out->first_row_ = -1;
  for (int row = 0; row < std::ssize(design.slot_of_row); ++row) {
    const int slot = design.slot_of_row[at(row)];
    out->in_order_ = out->in_order_ && slot == row;
    if (slot < 0) continue;
    if (out->weight_[at(slot)] == 0)
      out->unused_.push_back(slot);
    else if (out->first_row_ < 0)
      out->first_row_ = row;
  }
  return out;
}

void GaussianSpectrum::add_component(const SharedDesign& design, const DesignComponent& component,
                                     Component one) {
  const int p = component.end - component.begin;
  indices_.resize(std::max(indices_.size(), at(p)));
  std::iota(indices_.begin(), indices_.end(), 0);
  std::vector<double> ones(at(p));  // X'W 1
  for (int g = component.first_group; g < component.last_group; ++g) {
    const RowGroup& rows = design.groups[at(g)];
    Group group{
        .begin = rows.begin, .end = rows.end, .component = static_cast<int>(components_.size()), .x = {}};
    const std::size_t stride = rows.columns.size();
    group.x.assign(at(rows.end - rows.begin) * at(p) * lane_count, 0);
    for (std::size_t packet = 0; packet < at(rows.end - rows.begin); ++packet) {
      for (std::size_t lane = 0; lane < lane_count; ++lane) {
        for (std::size_t j = 0; j < at(p); ++j) {
          double sum = 0;
          for (std::size_t c = 0; c < stride; ++c)
            sum += rows.x[(packet * stride + c) * lane_count + lane] *
                   one.coordinates(rows.columns[c] - component.begin, static_cast<int>(j));
          group.x[(packet * at(p) + j) * lane_count + lane] = sum;
          ones[j] += sum * weight_[(at(rows.begin) + packet) * lane_count + lane];
        }
      }
    }
    groups_.push_back(std::move(group));
  }
  one.constant.assign(ones.begin(), ones.begin() + one.unpenalised);
  double unexplained = 0;
  for (int g = component.first_group; g < component.last_group; ++g) {
    const Group& group = groups_[at(g)];
    for (std::size_t packet = 0; packet < at(group.end - group.begin); ++packet) {
      for (std::size_t lane = 0; lane < lane_count; ++lane) {
        if (weight_[(at(group.begin) + packet) * lane_count + lane] == 0) continue;
        double rest = 1;
        for (std::size_t j = 0; j < one.constant.size(); ++j)
          rest -= group.x[(packet * at(p) + j) * lane_count + lane] * one.constant[j];
        unexplained = std::max(unexplained, std::abs(rest));
      }
    }
  }
  constexpr double rounding = 1e-11;
  has_constant_ = has_constant_ && unexplained < rounding;
  components_.push_back(std::move(one));
}

template <class Use>
void GaussianSpectrum::for_each_coordinate(const Use& use) const {
  for (const Component& component : components_) {
    for (int j = 0; j < component.unpenalised; ++j) use(at(component.begin + j), -1, 0);
    const double largest = component.g.empty() ? 0 : component.g.back();
    for (std::size_t j = 0; j < component.g.size(); ++j)
      use(at(component.begin + component.unpenalised) + j, component.g[j], largest);
  }
}

template <class Weigh>
void GaussianSpectrum::project(const Weigh& weigh, std::vector<double>& sums, std::vector<double>& to) const {
  to.assign(at(coordinates_), 0);
  std::array<double, run_rows> weighted;
  for (const Group& group : groups_) {
    const Component& component = components_[at(group.component)];
    const int p = component.coordinates.rows();
    sums.assign(at(p) * lane_count, 0);
    for (int begin = group.begin; begin < group.end; begin += run_packets) {
      const int packets = std::min(run_packets, group.end - begin);
      const LaneColumns columns{group.x.data() + std::ptrdiff_t{p} * lane_count * (begin - group.begin), p,
                                indices_.data(), p};
      weigh(component, columns, at(begin) * lane_count, packets, weighted.data());
      add_products(columns, weighted.data(), packets, sums.data());
    }
    for (int j = 0; j < p; ++j)
      to[at(component.begin + j)] += base::sum_of_lanes(load_lanes(sums.data() + at(j) * lane_count));
  }
}

bool GaussianSpectrum::add_rows(const SharedDesign& design, double padding, Buffers& buffers) const {
  const std::vector<double>& y = buffers.y_;
  Projections& to = buffers.of_response_;
  const double centre = has_constant_ ? padding : 0;
  RowTotals totals;
  project(
      [&](const Component& /*component*/, const LaneColumns& /*columns*/, std::size_t slot, int packets,
          double* weighted) {
        add_totals(y.data() + slot, design.offset.data() + slot, weight_.data() + slot, centre, packets,
                   totals, weighted);
      },
      buffers.sums_, to.w);
  double squares = base::sum_of_lanes(totals.squares);
  if (!std::isfinite(squares)) return false;
  const double padded = static_cast<double>(y.size()) - rows_;
  to.mean = centre + (base::sum_of_lanes(totals.differences) - padded * (padding - centre)) / rows_;
  to.zeros = base::sum_of_lanes(totals.zeros) - (padding == 0 ? padded : 0);
  std::array<double, lane_count> least;
  std::array<double, lane_count> most;
  store_lanes(least.data(), totals.least);
  store_lanes(most.data(), totals.most);
  to.is_constant = *std::ranges::min_element(least) == *std::ranges::max_element(most);
  double level = base::sum_of_lanes(totals.weighted) / sum_of_weights_;
  to.null_deviance = squares - sum_of_weights_ * level * level;

  // Residuals near the least-squares solution.
  constexpr double ridge = 1e-7;
  to.base.assign(to.w.size(), 0);
  to.rest.assign(to.w.size(), 0);
  to.squares = squares;
  for_each_coordinate([&](std::size_t i, double g, double largest) {
    if (g < 0) {
      to.base[i] = to.w[i];
      to.squares -= to.w[i] * to.w[i];
      return;
    }
    to.base[i] = to.w[i] / (g + ridge * largest);
    to.rest[i] = to.w[i] - g * to.base[i];
    to.squares -= to.base[i] * (2 * to.w[i] - g * to.base[i]);
  });
  constexpr double small = 1e-3;
  if (to.squares > small * squares && to.null_deviance > small * squares) {
    add_centre(centre, to);
    return true;
  }
  // The difference of sums of squares would cancel: sum the squared residuals directly.
  Lanes residuals{};
  Lanes of_level{};
  std::array<double, run_rows> fit;
  std::array<double, run_rows> constant;
  std::vector<double>& rest = buffers.residual_sums_;
  project(
      [&](const Component& component, const LaneColumns& columns, std::size_t slot, int packets,
          double* weighted) {
        constant.fill(level);
        weigh_residuals(y.data() + slot, design.offset.data() + slot, weight_.data() + slot, centre,
                        constant.data(), packets, of_level, weighted);
        linear_combination(columns, to.base.data() + component.begin, packets, nullptr, fit.data());
        weigh_residuals(y.data() + slot, design.offset.data() + slot, weight_.data() + slot, centre,
                        fit.data(), packets, residuals, weighted);
      },
      buffers.sums_, rest);
  to.null_deviance = base::sum_of_lanes(of_level);
  to.squares = base::sum_of_lanes(residuals);
  for_each_coordinate([&](std::size_t i, double g, double /*largest*/) {
    if (g < 0) {
      to.w[i] += rest[i];
      to.squares -= rest[i] * rest[i];
      return;
    }
    to.rest[i] = rest[i];
    to.w[i] = g * to.base[i] + rest[i];
  });
  constexpr double rounding = 1e-26;
  if (!(to.squares > rounding * squares)) return false;
  add_centre(centre, to);
  return true;
}

/// Adds the projections of the constant `centre`, which was subtracted from the response.
void GaussianSpectrum::add_centre(double centre, Projections& to) const {
  if (centre == 0) return;
  for (const Component& component : components_) {
    for (std::size_t j = 0; j < component.constant.size(); ++j)
      to.w[at(component.begin) + j] += centre * component.constant[j];
  }
}

struct GaussianSpectrum::Value {
  double value = 0;
  double slope = 0;
  double curvature = 0;
  double deviance = 0;
  double penalised_deviance = 0;
  double edf = 0;  ///< of the penalised coordinates
};

/// The criterion V at the optimal scale phi = D/(n - M), up to a constant. D is the penalised deviance, M the
/// dimension of the unpenalised space. V = (n - M) (1 + log(2 pi phi))/2 + sum log(1 + g/lambda)/2.
GaussianSpectrum::Value GaussianSpectrum::value_at(const SharedDesign& design, const Projections& of,
                                                   double log_sp) const {
  const bool linear = log_sp == infinite;
  const double lambda = linear ? 0 : base::exp(log_sp);
  const double inverse_lambda = linear ? 0 : 1 / lambda;
  Value out;
  out.deviance = of.squares;
  double roughness = 0;
  double first = 0;  // derivative of D
  double second = 0;
  double logarithms = 0;
  double product = 1;
  int factors = 0;
  double curvature = 0;
  for_each_coordinate([&](std::size_t i, double g, double /*largest*/) {
    if (g < 0) return;
    const double inverse = linear ? 0 : 1 / (g + lambda);
    const double c = of.w[i] * inverse;
    const double change = linear ? -of.base[i] : (of.rest[i] - lambda * of.base[i]) * inverse;
    out.deviance += change * (g * change - 2 * of.rest[i]);
    if (linear) return;
    const double rough = lambda * c * c;
    const double share = lambda * inverse;
    const double fitted = g * inverse;
    roughness += rough;
    first += rough;
    second += rough * (1 - 2 * share);
    // One logarithm for 16 factors, whose product does not overflow.
    constexpr int most_factors = 16;
    product *= (g + lambda) * inverse_lambda;
    if (++factors % most_factors == 0) {
      logarithms += base::log(product);
      product = 1;
    }
    out.edf += fitted;
    curvature += share * fitted;
  });
  out.penalised_deviance = out.deviance + roughness;
  const double freedom = rows_ - design.null_space;
  const double relative = first / out.penalised_deviance;
  out.value = 0.5 * freedom * (1 + base::log(2 * M_PI * out.penalised_deviance / freedom)) +
              0.5 * (logarithms + base::log(product) - log_weights_) + log_determinant_;
  out.slope = 0.5 * (freedom * relative - out.edf);
  out.curvature = 0.5 * (freedom * (second / out.penalised_deviance - relative * relative) + curvature);
  return out;
}

/// Newton's method with step halving, like `ResponseFitter` but for one parameter.
ManyStatus GaussianSpectrum::search(const SharedDesign& design, const Projections& of, double& log_sp,
                                    int& iterations) const {
  const double lower = origin_ - range_below;
  const double upper = origin_ + range_above;
  double slope_of_limit = first_slope_of_limit;
  const Value at_limit = value_at(design, of, infinite);
  log_sp = origin_;
  Value here = value_at(design, of, log_sp);
  for (iterations = 0; iterations < most_iterations; ++iterations) {
    if (log_sp == infinite) {
      // If the deviance can fall by enough, look for a lower minimum at a finite value.
      const double most_gain =
          0.5 * (rows_ - design.null_space) * base::log(at_limit.penalised_deviance / of.squares);
      bool found = false;
      for (std::size_t i = 0; i < values_around_start.size() && !found; ++i) {
        if (costs_around_start_[i] > most_gain) continue;
        const Value finite = value_at(design, of, origin_ + values_around_start[i]);
        found = finite.value < at_limit.value - limit_rounding;
        if (!found) continue;
        log_sp = origin_ + values_around_start[i];
        here = finite;
      }
      if (!found) return ManyStatus::converged;
    }
    if (log_sp <= lower && here.slope > 0) return ManyStatus::unbounded;
    // If the criterion falls to its limit faster than e^-x, with x = log_sp, Newton steps are too short.
    const bool is_flat_to_limit =
        here.slope < 0 && -here.slope < negligible_slope && at_limit.value <= here.value;
    if ((log_sp >= upper && here.slope < 0) || is_flat_to_limit) {
      log_sp = infinite;
      continue;
    }
    const double curvature = std::abs(here.curvature);
    if (may_fall_to_limit(here.slope, here.curvature, slope_of_limit)) {
      const Value between = value_at(design, of, log_sp + base::log(10.0));
      if (falls_by(here.value - at_limit.value, -here.slope) &&
          falls_by(between.value - at_limit.value, 0.1 * -here.slope)) {
        log_sp = infinite;
        continue;
      }
    }
    constexpr double least_curvature = 1e-9;
    double step = std::clamp(-here.slope / std::max(curvature, least_curvature), -longest_step, longest_step);
    constexpr double exact = 1e-11;
    constexpr double slope_at_rounding = 1e-12;
    if (std::abs(step) < exact || std::abs(here.slope) < slope_at_rounding) return ManyStatus::converged;
    bool moved = false;
    for (int halving = 0; halving < most_halvings && !moved; ++halving, step /= 2) {
      const double next = std::clamp(log_sp + step, lower, upper);
      const Value there = value_at(design, of, next);
      // After a short step the difference of the values is rounding: compare the slopes.
      constexpr double short_step = 1e-3;
      moved = std::abs(step) < short_step && here.curvature > 0
                  ? std::abs(there.slope) < std::abs(here.slope)
                  : there.value <= here.value + criterion_rounding * (1 + std::abs(here.value));
      if (!moved) continue;
      log_sp = next;
      here = there;
    }
    if (!moved) return std::abs(here.slope) < negligible_slope ? ManyStatus::converged : ManyStatus::failed;
  }
  return ManyStatus::failed;
}

std::vector<double> GaussianSpectrum::coefficients(const Projections& of, double log_sp) const {
  std::vector<double> b(at(coordinates_));
  const double lambda = base::exp(log_sp);
  for (const Component& component : components_) {
    const int p = component.coordinates.rows();
    for (int j = 0; j < p; ++j) {
      const int i = j - component.unpenalised;
      const double w = of.w[at(component.begin + j)];
      const double c = i < 0 ? w : w / (component.g[at(i)] + lambda);
      if (c == 0) continue;
      for (int k = 0; k < p; ++k) b[at(component.begin + k)] += c * component.coordinates(k, j);
    }
  }
  return b;
}

void GaussianSpectrum::write_covariance(const SharedDesign& design, double log_sp, ResponseFit& out) const {
  const double lambda = base::exp(log_sp);
  out.gram = gram_;
  out.inverse.assign(gram_.size(), 0);
  std::vector<double> scaled;
  for (const Component& component : components_) {
    const int p = component.coordinates.rows();
    const int q = component.unpenalised;
    for (int a = 0; a < p; ++a) {
      scaled.clear();
      for (int j = 0; j < p; ++j)
        scaled.push_back(component.coordinates(a, j) * (j < q ? 1 : 1 / (component.g[at(j - q)] + lambda)));
      double* const row =
          out.inverse.data() + place_in_packed(design.columns, component.begin + a, component.begin + a);
      for (int b = a; b < p; ++b) {
        double sum = 0;
        for (int j = 0; j < p; ++j) sum += scaled[at(j)] * component.coordinates(b, j);
        row[b - a] = sum;
      }
    }
  }
}

bool GaussianSpectrum::fit(const SharedDesign& design, int least_rows, std::span<const double> values,
                           Buffers& buffers, ResponseFit& out) const {
  if (rows_ <= design.null_space) return false;
  std::vector<double>& y = buffers.y_;
  y.resize(design.slots());
  const double padding = values[at(first_row_)];
  if (in_order_) {
    std::memcpy(y.data(), values.data(), values.size_bytes());
    std::fill(y.begin() + static_cast<std::ptrdiff_t>(values.size()), y.end(), padding);
  } else {
    std::ranges::fill(y, padding);
    for (std::size_t row = 0; row < values.size(); ++row) {
      if (design.slot_of_row[row] >= 0) y[at(design.slot_of_row[row])] = values[row];
    }
  }
  for (const int slot : unused_) y[at(slot)] = padding;
  if (!add_rows(design, padding, buffers)) return false;
  const Projections& response = buffers.of_response_;
  out.rows = rows_;
  out.mean = response.mean;
  out.zeros = response.zeros / rows_;
  if (rows_ < least_rows || response.is_constant) {
    out.status = rows_ < least_rows ? ManyStatus::too_few : ManyStatus::constant;
    return true;
  }
  double log_sp = 0;
  out.status = search(design, response, log_sp, out.iterations);
  if (out.status == ManyStatus::failed)
    out.reason = out.iterations == most_iterations ? ManyReason::iterations : ManyReason::no_step;
  if (out.status == ManyStatus::failed) return true;
  const Value value = value_at(design, response, log_sp);
  out.log_sp = {log_sp};
  out.coef = coefficients(response, log_sp);
  out.criterion = value.value;
  out.deviance = value.deviance;
  out.null_deviance = response.null_deviance;
  const ResponseConstants constants{.rows = static_cast<double>(rows_), .log_weight = log_weights_};
  out.log_likelihood = log_likelihood_of(ManyFamily::gaussian, constants, 0, 0, out.deviance, 0);
  // Covariance and tests replace an infinite log smoothing parameter by a large finite one.
  const double of_tests = log_sp == infinite ? origin_ + range_of_tests : log_sp;
  out.log_sp_of_tests = {of_tests};
  const Value near = log_sp == infinite ? value_at(design, response, of_tests) : value;
  out.coef_of_tests = log_sp == infinite ? coefficients(response, of_tests) : out.coef;
  out.scale = near.deviance / (rows_ - design.null_space - near.edf);
  write_covariance(design, of_tests, out);
  return true;
}

}  // namespace TESSERA_NAMESPACE::gam
