// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/quantile/residual_shape.hpp"

#include "base/at.hpp"
#include "base/math/elementary.hpp"
#include "gam/family/location_scale.hpp"
#include "gam/fit/pirls/family_parameters.hpp"
#include "gam/fit/run/block_sums.hpp"
#include "gam/rows/row_reader.hpp"

#include <boost/math/tools/minima.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

constexpr int shape_count = 4;
using ShapeJet = Jet<shape_count>;

ShapeJet shape_density(double x, std::span<const double, shape_count> parameters) {
  std::array<ShapeJet, shape_count> eta;
  for (int p = 0; p < shape_count; ++p) eta[at(p)] = ShapeJet::variable(parameters[at(p)], p);
  return Shash{.b = 0}.log_density(x, eta.data());
}

/// Sums over the rows; `add(residual, sums)` adds the terms of one scaled residual.
template <class Add>
std::vector<double> sums_of_residuals(const FitContext& fit, const Rows& rows,
                                      std::span<const double> raw_coef, double deviation, std::size_t width,
                                      const Add& add) {
  const auto& responses = rows.frame->variables[at(rows.response)].numbers;
  return sums_over_blocks<RowReader>(
      fit, rows, width,
      [&](RowReader& reader, std::size_t begin, std::size_t end, std::span<double> sums) {
        for (std::size_t row = begin; row < end; ++row) {
          if (rows.frame->complete[row] != 0)
            add((responses[row] - reader.linear_predictor(row, raw_coef)) / deviation, sums);
        }
      },
      rows);
}

}  // namespace

double ResidualShape::up_to(double x) const {
  const auto [location, log_scale, skewness, log_kurtosis] = parameters;
  const double z = (x - location) * base::exp(-log_scale - log_kurtosis);
  return normal_probability(base::sinh(base::exp(log_kurtosis) * base::asinh(z) - skewness));
}

double ResidualShape::quantile(double p) const {
  const auto [location, log_scale, skewness, log_kurtosis] = parameters;
  return location + base::exp(log_scale + log_kurtosis) *
                        base::sinh(base::exp(-log_kurtosis) * (base::asinh(probit_of(p)) + skewness));
}

ResidualShape::LogDensity ResidualShape::log_density(double x) const {
  const ShapeJet density = shape_density(x, parameters);
  return {density.value, -density.first[0]};
}

double ResidualShape::mode() const {
  constexpr int bits = 26;
  constexpr double tail = 0.001;
  return boost::math::tools::brent_find_minima([&](double x) { return -log_density(x).value; },
                                               quantile(tail), quantile(1 - tail), bits)
      .first;
}

ResidualShape residual_shape(const FitContext& fit, const Rows& rows, std::span<const double> raw_coef,
                             double deviation) {
  const std::vector<double> moments =
      sums_of_residuals(fit, rows, raw_coef, deviation, 2, [](double residual, std::span<double> sums) {
        sums[0] += residual;
        sums[1] += residual * residual;
      });
  const auto count = static_cast<double>(rows.frame->complete_rows);
  const double mean = moments[0] / count;
  ResidualShape shape{{mean, base::log(moments[1] / count - mean * mean) / 2, 0, 0}};
  const auto look = [&](const ResidualShape& there) {
    const std::vector<double> sums =
        sums_of_residuals(fit, rows, raw_coef, deviation, 1 + shape_count + ShapeJet::pairs,
                          [&](double residual, std::span<double> to) {
                            const ShapeJet density = shape_density(residual, there.parameters);
                            to[0] -= density.value;
                            for (std::size_t i = 0; i < at(shape_count); ++i) to[1 + i] -= density.first[i];
                            for (std::size_t k = 0; k < at(ShapeJet::pairs); ++k)
                              to[1 + shape_count + k] -= density.second[k];
                          });
    RawLikelihood found{.minus_log = sums[0], .gradient = {}, .hessian = Matrix(shape_count, shape_count)};
    found.gradient.assign(sums.begin() + 1, sums.begin() + 1 + shape_count);
    for (int i = 0, k = 1 + shape_count; i < shape_count; ++i) {
      for (int j = i; j < shape_count; ++j, ++k) found.hessian(i, j) = found.hessian(j, i) = sums[at(k)];
    }
    return found;
  };
  constexpr int most_steps = 100;
  constexpr int most_halvings = 30;
  RawLikelihood here = look(shape);
  for (int i = 0; i < most_steps; ++i) {
    std::vector<double> step = descent_step(here);
    fit.job.comm().broadcast(std::span(step), 0);
    for (int halvings = 0;; ++halvings) {
      if (halvings > most_halvings) return shape;
      ResidualShape next = shape;
      for (std::size_t p = 0; p < step.size(); ++p) next.parameters[p] += std::ldexp(step[p], -halvings);
      RawLikelihood there = look(next);
      if (!(there.minus_log < here.minus_log)) continue;
      const double gain = here.minus_log - there.minus_log;
      shape = next;
      here = std::move(there);
      if (gain <= small_gain * std::abs(here.minus_log)) return shape;
      break;
    }
  }
  return shape;
}

double best_error(const ResidualShape& shape, double qu, double edf, double rows) {
  constexpr double least_distance = 0.05;
  constexpr double outermost = 0.01;
  const double at_mode = shape.up_to(shape.mode());
  if (std::abs(qu - at_mode) < least_distance)
    qu = std::clamp(at_mode + std::copysign(least_distance, qu - at_mode), outermost, 1 - outermost);
  const auto [density, slope] = shape.log_density(shape.quantile(qu));
  const double width = base::pow(9 * edf / (rows * base::pow(std::numbers::pi, 4)), 1.0 / 3) *
                       base::exp(-density / 3 - 2 * base::log(std::abs(slope)) / 3);
  return std::min(1.0, width * 2 * std::numbers::ln2 / std::sqrt(2 * std::numbers::pi));
}

}  // namespace TESSERA_NAMESPACE::gam
