// SPDX-License-Identifier: Apache-2.0
#include "support/rows_model.hpp"

#include "gam/basis/isotropic.hpp"

#include <gtest/gtest.h>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <stdexcept>
#include <string_view>
#include <type_traits>

namespace rows_test {

using tessera::gam::CoefBlock;
using tessera::gam::Component;
using tessera::gam::Design;
using tessera::gam::Family;
using tessera::gam::Frame;
using tessera::gam::IsotropicColumns;
using tessera::gam::Margin;
using tessera::gam::Matrix;
using tessera::gam::Posterior;
using tessera::gam::RadialFunction;
using tessera::gam::RadialKind;
using tessera::gam::RawTerm;
using tessera::gam::Variable;

namespace {

using Random = std::mt19937_64;

double uniform(Random& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
}

/// Arbitrary cubics, not even continuous, on equal or random breaks from 0 to 1.
Margin random_margin(Random& random, int cells, int stride, bool equal, bool cyclic) {
  Margin margin;
  margin.uniform = equal;
  margin.cyclic = cyclic;
  margin.stride = stride;
  for (int i = 0; i <= cells; ++i) {
    margin.breaks.push_back(equal ? static_cast<double>(i) / cells : uniform(random, 0, 1));
  }
  std::sort(margin.breaks.begin(), margin.breaks.end());
  margin.breaks.front() = 0;
  margin.breaks.back() = 1;
  margin.cells.resize(static_cast<std::size_t>(cells));
  for (auto& cell : margin.cells) {
    for (double& c : cell) c = uniform(random, -1, 1);
  }
  return margin;
}

Component numeric(int variable) {
  Component component;
  component.variable = variable;
  return component;
}

/// A numeric component: the sum of two standardised variables.
Component combined(int first, int second) {
  Component component = numeric(first);
  component.parts = {{first, 0.25, 0.5}, {second, -0.125, -2}};
  return component;
}

Component factor(int variable, int levels) {
  Component component;
  component.kind = Component::Kind::factor;
  component.variable = variable;
  component.levels = levels;
  return component;
}

Component spline(int variable, Margin margin) {
  Component component;
  component.kind = Component::Kind::spline;
  component.variable = variable;
  component.margin = std::move(margin);
  return component;
}

/// Dense columns of a margin, with arbitrary weights; the last two are zero.
Component dense(int variable, Margin margin, int columns) {
  Component component = spline(variable, std::move(margin));
  component.kind = Component::Kind::dense;
  component.combinations = Matrix(component.margin.raw_size(), columns);
  for (int j = 0; j + 2 < columns; ++j) {
    for (int i = 0; i < component.combinations.rows(); ++i)
      component.combinations(i, j) = std::cos(0.7 * i + 2.3 * j * j);
  }
  return component;
}

/// An isotropic component of x and z: radial functions of 11 points and 4 polynomials, with arbitrary
/// weights.
Component surface(Random& random, RadialFunction function, int columns) {
  IsotropicColumns isotropic;
  isotropic.function = function;
  isotropic.points = Matrix(11, 2);
  for (double& value : isotropic.points.values()) value = uniform(random, -0.5, 0.5);
  isotropic.shift = {0.5, 0.375};
  isotropic.powers = {{0, 0}, {1, 0}, {0, 1}, {2, 1}};
  Matrix weights(15, columns);
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < weights.rows(); ++i) weights(i, j) = std::cos(0.9 * i + 1.7 * j * j);
  }
  Component component = isotropic_component(std::move(isotropic), weights);
  component.variable = 0;
  component.others = {1};
  return component;
}

void add_term(Design& design, std::vector<Component> components) {
  RawTerm term;
  term.raw_begin = design.raw_size;
  for (const Component& component : components) {
    term.raw_size *= component.raw_size();
    term.nonzeros *= component.nonzeros();
  }
  term.components = std::move(components);
  design.raw_size += term.raw_size;
  design.terms.push_back(std::move(term));
}

/// Adds `count` dense combinations of the columns of term `place`, with arbitrary weights.
void add_dense_columns(Design& design, int place, int count) {
  Matrix weights(design.terms[static_cast<std::size_t>(place)].raw_size, count);
  for (int j = 0; j < weights.cols(); ++j) {
    for (int i = 0; i < weights.rows(); ++i) weights(i, j) = std::sin(1.0 + 3.7 * i + 1.3 * j * j);
  }
  design.add_dense_term(place, weights);
}

enum Column { x, z, v, w, f, g, y, first_offset, second_offset, prior, columns };

Frame random_frame(Random& random, const ModelOptions& options) {
  const auto n = static_cast<std::size_t>(options.rows);
  Frame frame;
  frame.file_rows = options.rows;
  frame.rows = {0, options.rows};
  frame.complete.own().assign(n, 1);
  frame.variables.resize(columns);
  const auto fill = [&](int column, auto&& draw) {
    auto& numbers = frame.variables[static_cast<std::size_t>(column)].numbers.own();
    for (std::size_t i = 0; i < n; ++i) numbers.push_back(draw());
  };
  const auto fill_codes = [&](int column, int levels) {
    Variable& variable = frame.variables[static_cast<std::size_t>(column)];
    variable.factor = true;
    variable.levels.resize(static_cast<std::size_t>(levels));
    for (std::size_t i = 0; i < n; ++i) {
      variable.codes.own().push_back(
          static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(levels)));
    }
  };
  // Some values lie outside the breaks, where splines are linear or periodic.
  fill(x, [&] { return uniform(random, -0.05, 1.05); });
  fill(z, [&] { return uniform(random, -0.05, 1.05); });
  fill(v, [&] { return uniform(random, -1.5, 2.5); });
  fill(w, [&] { return uniform(random, -1, 1); });
  fill_codes(f, 5);
  fill_codes(g, 3);
  fill(y, [&] {
    const std::string_view family = options.family.name();
    if (family.ends_with("binomial")) return static_cast<double>(random() % 3) / 2;
    if (family.ends_with("poisson") || family == "nb" || family == "cpois" || family == "ziP")
      return static_cast<double>(random() % 4);
    if (family == "betar") return uniform(random, 0.05, 0.95);
    if (family == "ziplss") return static_cast<double>(random() % 4);
    if (family == "multinom") return static_cast<double>(random() % 2);
    if (family == "ocat") return static_cast<double>(1 + random() % 3);
    return family == "gaussian" ? uniform(random, -2, 2) : uniform(random, 0.1, 3);
  });
  fill(first_offset, [&] { return uniform(random, -0.5, 0.5); });
  fill(second_offset, [&] { return uniform(random, -0.5, 0.5); });
  fill(prior, [&] { return uniform(random, 0.5, 2); });
  if (options.missing) {
    for (std::size_t i = 0; i < n; ++i) {
      if (random() % 10 != 0) continue;
      frame.complete.own()[i] = 0;
      for (Variable& variable : frame.variables) {
        if (variable.factor) {
          variable.codes.own()[i] = -1;
        } else {
          variable.numbers.own()[i] = std::numeric_limits<double>::quiet_NaN();
        }
      }
    }
  }
  frame.complete_rows = std::count(frame.complete.begin(), frame.complete.end(), std::uint8_t{1});
  return frame;
}

std::vector<long double> dense_component(const Frame& frame, const Component& component, std::size_t row) {
  const Variable& variable = frame.variables[static_cast<std::size_t>(component.variable)];
  std::vector<long double> dense(static_cast<std::size_t>(component.raw_size()));
  if (component.kind == Component::Kind::numeric) {
    dense[0] = component.parts.empty() ? variable.numbers[row] : 0;
    for (const auto& part : component.parts) {
      const long double x = frame.variables[static_cast<std::size_t>(part.variable)].numbers[row];
      dense[0] += (x - part.centre) * part.factor;
    }
    return dense;
  }
  if (component.kind == Component::Kind::factor) {
    dense[static_cast<std::size_t>(variable.codes[row])] = 1;
    return dense;
  }
  if (component.isotropic) {
    const IsotropicColumns& columns = *component.isotropic;
    std::vector<long double> u;
    Component::for_each_variable(component, [&](int v) {
      u.push_back(static_cast<long double>(frame.variables[static_cast<std::size_t>(v)].numbers[row]) -
                  columns.shift[u.size()]);
    });
    const int points = columns.points.rows();
    for (int i = 0; i < component.combinations.rows(); ++i) {
      long double value = 1;
      if (i < points) {
        long double square = 0;
        for (int v = 0; v < columns.points.cols(); ++v)
          square += std::pow(u[static_cast<std::size_t>(v)] - columns.points(i, v), 2.0L);
        const long double distance = std::sqrt(square);
        value = columns.function.scale * std::pow(distance, static_cast<long double>(columns.function.power));
        if (columns.function.kind == RadialKind::power_log && distance > 0) value *= std::log(distance);
      } else {
        for (std::size_t v = 0; v < u.size(); ++v)
          value *= std::pow(u[v], columns.powers[static_cast<std::size_t>(i - points)][v]);
      }
      for (std::size_t j = 0; j < dense.size(); ++j)
        dense[j] += value * component.combinations(i, static_cast<int>(j));
    }
    return dense;
  }
  if (component.kind == Component::Kind::dense) {
    Component local = component;
    local.kind = Component::Kind::spline;
    const std::vector<long double> of_margin = dense_component(frame, local, row);
    for (int j = 0; j < component.raw_size(); ++j) {
      for (int i = 0; i < component.combinations.rows(); ++i)
        dense[static_cast<std::size_t>(j)] +=
            of_margin[static_cast<std::size_t>(i)] * component.combinations(i, j);
    }
    return dense;
  }
  const Margin& margin = component.margin;
  long double at = variable.numbers[row];
  const long double low = margin.breaks.front();
  const long double high = margin.breaks.back();
  if (margin.cyclic) {
    while (at < low) at += high - low;
    while (at > high) at -= high - low;
  }
  std::size_t cell = 0;
  while (cell + 1 < margin.cells.size() && at >= margin.breaks[cell + 1]) ++cell;
  const long double width = static_cast<long double>(margin.breaks[cell + 1]) - margin.breaks[cell];
  const long double t = (at - margin.breaks[cell]) / width;
  const long double inside = std::clamp(t, 0.0L, 1.0L);
  for (std::size_t a = 0; a < 4; ++a) {
    const double* c = margin.cells[cell].data() + 4 * a;
    const long double value = c[0] + c[1] * inside + c[2] * inside * inside + c[3] * inside * inside * inside;
    const long double slope = c[1] + 2 * c[2] * inside + 3 * c[3] * inside * inside;
    dense[cell * static_cast<std::size_t>(margin.stride) + a] = value + slope * (t - inside);
  }
  return dense;
}

struct DenseRow {
  long double weight, residual, deviance;
};

DenseRow dense_working(const Family& family, DenseStep kind, long double y, long double eta,
                       long double offset, long double prior) {
  const bool start = kind == DenseStep::start;
  const auto log_or_zero = [](long double p, long double q) { return p > 0 ? p * std::log(p / q) : 0.0L; };
  if (family.name() == "gaussian" || family.name() == "quasi") {
    const long double mu = start ? y : eta;
    return {prior, start ? y - offset : y - mu, prior * (y - mu) * (y - mu)};
  }
  if (family.link_name() == "cauchit") {
    const long double mu =
        start ? (prior * y + 0.5L) / (prior + 1) : 0.5L + std::atan(eta) / std::numbers::pi_v<long double>;
    const long double at = std::tan(std::numbers::pi_v<long double> * (mu - 0.5L));
    const long double slope = 1 / (std::numbers::pi_v<long double> * (1 + at * at));
    return {prior * slope * slope / (mu * (1 - mu)), (y - mu) / slope + (start ? at - offset : 0),
            2 * prior * (log_or_zero(y, mu) + log_or_zero(1 - y, 1 - mu))};
  }
  if (family.name().ends_with("binomial")) {
    const long double mu = start ? (prior * y + 0.5L) / (prior + 1) : 1 / (1 + std::exp(-eta));
    const long double slope = mu * (1 - mu);
    const long double residual = (y - mu) / slope + (start ? std::log(mu / (1 - mu)) - offset : 0);
    return {prior * slope, residual, 2 * prior * (log_or_zero(y, mu) + log_or_zero(1 - y, 1 - mu))};
  }
  if (family.name().ends_with("poisson") || family.name() == "cpois") {
    const long double mu = start ? y + 0.1L : std::exp(eta);
    return {prior * mu, (y - mu) / mu + (start ? std::log(mu) - offset : 0),
            2 * prior * (log_or_zero(y, mu) - (y - mu))};
  }
  if (family.name() == "Gamma") {
    const long double mu = start ? y : std::exp(eta);
    return {prior, (y - mu) / mu + (start ? std::log(mu) - offset : 0),
            2 * prior * ((y - mu) / mu - std::log(y / mu))};
  }
  if (family.name() == "inverse.gaussian") {
    const long double mu = start ? y : std::exp(eta);
    return {prior / mu, (y - mu) / mu + (start ? std::log(mu) - offset : 0),
            prior * (y - mu) * (y - mu) / (y * mu * mu)};
  }
  if (family.name() == "nb") {
    const long double theta = family.parameters()[0];
    const long double mu = start ? (y > 0 ? y : 1 / 6.0L) : std::exp(eta);
    return {prior * mu * theta / (mu + theta), (y - mu) / mu + (start ? std::log(mu) - offset : 0),
            2 * prior * (log_or_zero(y, mu) - (y + theta) * std::log((y + theta) / (mu + theta)))};
  }
  if (family.title().starts_with("Tweedie")) {
    const long double p = family.parameters()[0];
    const long double mu = start ? y : std::exp(eta);
    return {prior * std::pow(mu, 2 - p), (y - mu) / mu + (start ? std::log(mu) - offset : 0),
            2 * prior *
                (y * (std::pow(y, 1 - p) - std::pow(mu, 1 - p)) / (1 - p) -
                 (std::pow(y, 2 - p) - std::pow(mu, 2 - p)) / (2 - p))};
  }
  if (family.name() == "scat") {
    const long double nu = family.parameters()[0];
    const long double sigma = family.parameters()[1];
    const long double mu = start ? y : eta;
    const long double square = (y - mu) * (y - mu) / (sigma * sigma);
    return {prior * (nu + 1) / ((nu + 3) * sigma * sigma),
            (y - mu) * (nu + 3) / (nu + square) + (start ? mu - offset : 0),
            prior * (nu + 1) * std::log1p(square / nu)};
  }
  if (family.name() == "betar") {
    const long double phi = family.parameters()[0];
    const long double mu = start ? (y + 0.5L) / 2 : 1 / (1 + std::exp(-eta));
    const long double one = mu * phi;
    const long double other = (1 - mu) * phi;
    const long double information = phi * (boost::math::trigamma(one) + boost::math::trigamma(other));
    const long double slope = mu * (1 - mu);
    const long double step =
        (std::log(y / (1 - y)) - boost::math::digamma(one) + boost::math::digamma(other)) / information;
    return {prior * slope * slope * phi * information,
            step / slope + (start ? std::log(mu / (1 - mu)) - offset : 0),
            -2 * prior *
                (std::lgamma(phi) - std::lgamma(one) - std::lgamma(other) + (one - 1) * std::log(y) +
                 (other - 1) * std::log(1 - y))};
  }
  if (family.name() == "ocat") {
    const long double first = family.parameters()[0];
    const long double threshold = family.parameters()[1];
    const long double middle = (threshold + first) / 2;
    const long double at = !start ? eta : y == 1 ? first - 0.5L : y == 2 ? middle : threshold + 0.5L;
    const auto below = [at](long double limit) { return 1 / (1 + std::exp(at - limit)); };
    const long double upper = y == 3 ? 1 : below(y == 1 ? first : threshold);
    const long double lower = y == 1 ? 0 : below(y == 2 ? first : threshold);
    const long double information = upper * (1 - upper) + lower * (1 - lower);
    return {prior * information, (upper + lower - 1) / information + (start ? at - offset : 0),
            -2 * prior * std::log(upper - lower)};
  }
  if (family.name() == "cnorm" || family.name() == "clog") {
    const long double unit = family.parameters()[0] / std::sqrt(prior);
    const long double mu = start ? y : eta;
    const long double z = (y - mu) / unit;
    const long double shift = start ? mu - offset : 0;
    if (family.name() == "cnorm") return {1 / (unit * unit), y - mu + shift, z * z};
    const long double slope = std::tanh(z / 2);
    const long double information = (1 - slope * slope) / 2;
    return {information / (unit * unit), unit * slope / information + shift, 4 * std::log(std::cosh(z / 2))};
  }
  if (family.name() == "elf") {
    const long double qu = family.parameters()[0];
    const long double rate = std::exp(static_cast<long double>(family.parameters()[1]));
    const long double width = family.parameters()[3];
    const long double x = start ? 0 : (y - eta) / width;
    const long double below = 1 / (1 + std::exp(-x));
    const long double residual = (below - 1 + qu) * width / (below * (1 - below));
    const long double least = (1 - qu) * std::log(1 - qu) + qu * std::log(qu);
    return {prior * below * (1 - below) / (width * rate), residual + (start ? y - offset : 0),
            2 * prior * width / rate * (least - (1 - qu) * x + std::log1p(std::exp(x)))};
  }
  if (family.name() == "ziP") {
    const long double slope = family.parameters()[1];
    const long double at = !start ? eta : std::log(y == 0 ? 0.2L : y);
    const long double rate = std::exp(at);
    const long double presence = std::exp(family.parameters()[0] + slope * at);
    const auto share = [](long double of) { return of / std::expm1(of); };  // the slope of log(1 - exp(-of))
    const long double of_rate = share(rate);
    const long double of_presence = share(presence);
    const long double p = -std::expm1(-presence);
    const long double information =
        p * (rate + of_rate * (1 - rate - of_rate)) +
        slope * slope * ((1 - p) * presence - p * of_presence * (1 - presence - of_presence));
    const long double score = y == 0 ? -slope * presence : y - rate - of_rate + slope * of_presence;
    const long double log_likelihood =
        y == 0 ? -presence : std::log(p) + y * at - std::log(std::expm1(rate)) - std::lgamma(y + 1);
    return {prior * information, score / information + (start ? at - offset : 0),
            -2 * prior * log_likelihood};
  }
  throw std::invalid_argument("rows_model.cpp has no dense rows of the family");
}

}  // namespace

tessera::gam::Rows Model::rows_of(const Frame& part) const {
  tessera::gam::Rows rows{&part, &design, family, response, offsets, prior_weight};
  rows.limit = limit;
  rows.series = series;
  rows.further_offsets = further_offsets;
  return rows;
}

void add_series(Model& model, double rho, bool by_factor) {
  Frame& frame = model.frame;
  const std::vector<std::int32_t> levels(frame.variables[f].codes.begin(), frame.variables[f].codes.end());
  std::vector<double> begins(frame.complete.size(), std::numeric_limits<double>::quiet_NaN());
  std::int32_t level = -1;
  for (std::size_t row = 0; row < begins.size(); ++row) {
    if (frame.complete[row] == 0) continue;
    begins[row] = by_factor ? levels[row] != level : row % 37 == 0;
    level = levels[row];
  }
  model.series = {};
  model.series.rho = rho;
  model.series.start = static_cast<int>(frame.variables.size());
  Variable& start = frame.variables.emplace_back();
  start.name = "start";
  start.numbers = std::move(begins);
  model.series.constant.assign(frame.variables.size(), 0);
  model.series.constant[f] = by_factor ? 1 : 0;
}

void add_blocks(Model& model) {
  constexpr int cut = 37;
  constexpr int size = 5;
  Design& design = model.design;
  for (const auto& [begin, columns] : {std::array{0, cut}, std::array{cut, design.raw_size - cut}}) {
    CoefBlock block;
    block.raw_begin = begin;
    block.raw_size = columns;
    block.coef_begin = design.coef_size;
    block.coef_size = size;
    block.map = Matrix(columns, size);
    for (std::size_t i = 0; i < block.map.values().size(); ++i) {
      block.map.values()[i] = std::sin(static_cast<double>(i + 1));
    }
    design.coef_size += size;
    design.blocks.push_back(std::move(block));
  }
}

Posterior posterior_of(const Model& model, bool response) {
  const int size = model.design.coef_size;
  Posterior posterior{.coef = {}, .covariance = Matrix(size, size), .response = response};
  for (int i = 0; i < size; ++i) {
    posterior.coef.push_back(0.1 * std::cos(i + 1.0));
    for (int j = 0; j < size; ++j) {
      // B'B + I for an arbitrary B.
      double sum = i == j ? 1 : 0;
      for (int k = 0; k < size; ++k) sum += std::sin(3.0 * i + k) * std::sin(3.0 * j + k);
      posterior.covariance.set(i, j, 0.01 * sum);
    }
  }
  return posterior;
}

/// Responses in turn: exact, right-censored, left-censored, and in the interval [y, y + 1.5].
static void add_limits(Model& model) {
  Frame& frame = model.frame;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> limits(frame.complete.size());
  for (std::size_t row = 0; row < limits.size(); ++row) {
    const double response = frame.variables[y].numbers[row];
    limits[row] = std::array{response, response + infinity, response - infinity, response + 1.5}[row % 4];
  }
  model.limit = static_cast<int>(frame.variables.size());
  Variable& limit = frame.variables.emplace_back();
  limit.name = "limit";
  limit.numbers = std::move(limits);
}

Model make_model(const ModelOptions& options) {
  Random random(options.seed);
  Model model;
  model.family = options.family;
  model.frame = random_frame(random, options);
  Design& design = model.design;
  const Margin x_margin = random_margin(random, 6, 1, true, false);
  const Margin z_margin = random_margin(random, 5, 2, false, false);
  const Margin v_margin = random_margin(random, 4, 1, true, true);
  add_term(design, {});
  add_term(design, {factor(f, 5)});
  add_term(design, {numeric(w)});
  add_term(design, {factor(f, 5), factor(g, 3)});
  add_term(design, {spline(x, x_margin)});
  add_term(design, {spline(z, z_margin)});
  add_term(design, {spline(v, v_margin)});
  add_term(design, {spline(x, x_margin), spline(z, z_margin)});
  add_term(design, {factor(f, 5), spline(x, x_margin)});
  add_term(design, {spline(z, z_margin), factor(g, 3)});
  add_term(design, {numeric(w), spline(v, v_margin)});
  add_term(design, {factor(g, 3), combined(z, w)});
  add_term(design, {spline(v, v_margin), factor(g, 3), spline(z, z_margin)});
  add_term(design, {spline(v, v_margin), factor(g, 3), spline(x, x_margin), spline(z, z_margin)});
  while (design.terms.size() > options.terms) {
    design.raw_size = design.terms.back().raw_begin;
    design.terms.pop_back();
  }
  if (options.curves) {
    add_term(design, {dense(x, x_margin, 12)});
    add_term(design, {factor(g, 3), dense(z, z_margin, 8)});
    add_term(design, {numeric(w), dense(v, v_margin, 8)});
    add_term(design, {surface(random, {RadialKind::power_log, 2, 0.125}, 10)});
    add_term(design, {factor(g, 3), surface(random, {RadialKind::power, 3, -0.5}, 8)});
  }
  if (options.dense) {
    add_dense_columns(design, 7, 21);
    add_dense_columns(design, 8, 5);
    design.terms[7].only_combined = true;
  }
  for (int i = 0; i < design.raw_size; ++i) model.raw_coef.push_back(uniform(random, -0.3, 0.3));
  model.response = y;
  if (options.limits) add_limits(model);
  if (options.offsets) model.offsets = {first_offset, second_offset};
  if (options.weights) model.prior_weight = prior;
  return model;
}

Model make_splines(const ModelOptions& options, int count) {
  Model model = make_model(options);
  Design& design = model.design;
  design.terms.clear();
  design.raw_size = 0;
  model.raw_coef.clear();
  Random random(options.seed + 1);
  add_term(design, {});
  add_term(design, {numeric(w)});
  const auto same = random_margin(random, 1, 1, true, false).cells.front();
  for (int i = 0; i < count; ++i) {
    // Margins of different sizes, strides and break kinds. With stride 1, all cells share one cubic, as in
    // P-splines.
    const int stride = i % 4 == 3 ? 2 : 1;
    const int cells = i % 2 == 0 ? 17 : 3 + i % 5;
    Margin margin = random_margin(random, cells, stride, stride == 1, i % 5 == 4);
    if (stride == 1) margin.cells.assign(margin.cells.size(), same);
    const auto variable = static_cast<int>(model.frame.variables.size());
    Variable& column = model.frame.variables.emplace_back();
    for (const std::uint8_t complete : model.frame.complete) {
      const double number = uniform(random, -0.05, 1.05);
      column.numbers.own().push_back(complete != 0 ? number : std::numeric_limits<double>::quiet_NaN());
    }
    add_term(design, {spline(variable, margin)});
  }
  for (int i = 0; i < design.raw_size; ++i) model.raw_coef.push_back(uniform(random, -0.3, 0.3));
  return model;
}

Model make_several(const ModelOptions& options) {
  Model model = make_model(options);
  const int predictors = model.family.predictor_count();
  for (std::size_t t = 0; t < model.design.terms.size(); ++t)
    model.design.terms[t].predictor = static_cast<int>(t) % predictors;
  for (int p = 1; p < predictors; ++p) model.further_offsets.push_back({model.offsets.at(0)});
  return model;
}

Frame part_of(const Frame& whole, tessera::Range range) {
  Frame part = whole;
  // New vectors of the part's size, so that reading another rank's row is out of bounds.
  const auto cut = [&](auto& values) {
    using Values = std::remove_reference_t<decltype(values)>;
    if (!values.empty()) values = Values(values.begin() + range.begin, values.begin() + range.end);
  };
  cut(part.complete.own());
  for (Variable& variable : part.variables) {
    cut(variable.numbers.own());
    cut(variable.codes.own());
  }
  part.rows = range;
  return part;
}

std::vector<long double> dense_row(const Model& model, std::size_t row) {
  std::vector<long double> dense;
  for (const RawTerm& term : model.design.terms) {
    if (term.is_dense()) {
      const RawTerm& from = model.design.terms[static_cast<std::size_t>(term.combined)];
      for (int j = 0; j < term.raw_size; ++j) {
        long double sum = 0;
        for (int i = 0; i < from.raw_size; ++i)
          sum += dense[static_cast<std::size_t>(from.raw_begin + i)] * term.combinations(j, i);
        dense.push_back(sum);
      }
      continue;
    }
    std::vector<long double> product{1};
    for (const Component& component : term.components) {
      const auto next = dense_component(model.frame, component, row);
      std::vector<long double> longer;
      for (const long double a : product) {
        for (const long double b : next) longer.push_back(a * b);
      }
      product = std::move(longer);
    }
    dense.insert(dense.end(), product.begin(), product.end());
  }
  return dense;
}

DenseSums dense_sums(const Model& model, DenseStep kind) {
  const auto size = static_cast<std::size_t>(model.design.raw_size);
  DenseSums sums;
  sums.gram.assign(size * size, 0);
  sums.gradient.assign(size, 0);
  sums.column_sums.assign(size, 0);
  std::vector<long double> magnitude(size, 0);
  std::vector<long double>
      before;  // previous row and residual of the series, times the square root of the weight
  const long double rho = model.series.rho;
  const auto number = [&](int column, std::size_t row) -> long double {
    return model.frame.variables[static_cast<std::size_t>(column)].numbers[row];
  };
  for (std::size_t row = 0; row < model.frame.complete.size(); ++row) {
    if (model.frame.complete[row] == 0) continue;
    auto dense = dense_row(model, row);
    long double offset = 0;
    for (const int variable : model.offsets) offset += number(variable, row);
    const long double weight = model.prior_weight < 0 ? 1 : number(model.prior_weight, row);
    long double eta = offset;
    for (std::size_t i = 0; i < size; ++i) {
      eta += dense[i] * model.raw_coef[i];
      sums.column_sums[i] += dense[i];
    }
    const long double response = number(model.response, row);
    DenseRow at = dense_working(model.family, kind, response, eta, offset, weight);
    if (rho != 0) {
      dense.push_back(at.residual);
      for (long double& value : dense) value *= std::sqrt(at.weight);
      std::vector<long double> transformed = dense;
      if (!before.empty() && number(model.series.start, row) == 0) {
        for (std::size_t i = 0; i < dense.size(); ++i)
          transformed[i] = (dense[i] - rho * before[i]) / std::sqrt(1 - rho * rho);
      }
      before = std::move(dense);
      dense = std::move(transformed);
      at.weight = 1;
      at.residual = dense.back();
    }
    std::vector<std::size_t> nonzero;
    for (std::size_t i = 0; i < size; ++i) {
      if (dense[i] != 0) nonzero.push_back(i);
      sums.gradient[i] += dense[i] * at.weight * at.residual;
      magnitude[i] += std::abs(dense[i] * at.weight) * (1 + std::abs(at.residual));
    }
    for (const std::size_t i : nonzero) {
      for (const std::size_t j : nonzero) sums.gram[j * size + i] += dense[i] * at.weight * dense[j];
    }
    const bool of_deviance = model.family.name() == "elf" && kind != DenseStep::start && rho == 0;
    sums.residual += of_deviance ? at.deviance : at.weight * at.residual * at.residual;
    sums.deviance += at.deviance;
    sums.sum_weight += weight;
    sums.sum_weighted_response += weight * (model.family.linear() ? response - offset : response);
  }
  for (const RawTerm& term : model.design.terms) {
    if (!term.only_combined) continue;
    for (int i = term.raw_begin; i < term.raw_begin + term.raw_size; ++i) {
      const auto column = static_cast<std::size_t>(i);
      for (std::size_t j = 0; j < size; ++j) sums.gram[j * size + column] = sums.gram[column * size + j] = 0;
    }
  }
  sums.largest = std::max(
      {*std::max_element(magnitude.begin(), magnitude.end()), sums.residual, sums.deviance, sums.sum_weight});
  return sums;
}

void expect_near(const tessera::gam::RawSums& sums, const DenseSums& dense, double tolerance) {
  const auto allowed = static_cast<double>(tolerance * dense.largest);
  const std::size_t size = dense.gradient.size();
  ASSERT_EQ(sums.gram.size(), static_cast<int>(size));
  ASSERT_EQ(sums.gradient.size(), size);
  for (std::size_t j = 0; j < size; ++j) {
    ASSERT_NEAR(sums.gradient[j], static_cast<double>(dense.gradient[j]), allowed) << "gradient " << j;
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_NEAR(sums.gram(static_cast<int>(i), static_cast<int>(j)),
                  static_cast<double>(dense.gram[j * size + i]), allowed)
          << "gram " << i << ", " << j;
    }
  }
  EXPECT_NEAR(sums.residual, static_cast<double>(dense.residual), allowed);
  EXPECT_NEAR(sums.deviance, static_cast<double>(dense.deviance), allowed);
  EXPECT_EQ(sums.bad_rows, 0);
}

void expect_near(const tessera::gam::RawMoments& moments, const DenseSums& dense, double tolerance) {
  const auto allowed = static_cast<double>(tolerance * dense.largest);
  ASSERT_EQ(moments.column_sums.size(), dense.column_sums.size());
  for (std::size_t i = 0; i < dense.column_sums.size(); ++i) {
    ASSERT_NEAR(moments.column_sums[i], static_cast<double>(dense.column_sums[i]), allowed) << i;
  }
  EXPECT_NEAR(moments.sum_weight, static_cast<double>(dense.sum_weight), allowed);
  EXPECT_NEAR(moments.sum_weighted_response, static_cast<double>(dense.sum_weighted_response), allowed);
}

void expect_same_bits(const tessera::gam::RawSums& a, const tessera::gam::RawSums& b) {
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  ASSERT_EQ(a.gram.core.values().size(), b.gram.core.values().size());
  ASSERT_EQ(a.gradient.size(), b.gradient.size());
  for (std::size_t i = 0; i < a.gram.core.values().size(); ++i) {
    ASSERT_EQ(bits(a.gram.core.values()[i]), bits(b.gram.core.values()[i])) << "gram element " << i;
  }
  for (std::size_t i = 0; i < a.gradient.size(); ++i) {
    ASSERT_EQ(bits(a.gradient[i]), bits(b.gradient[i])) << "gradient " << i;
  }
  EXPECT_EQ(bits(a.residual), bits(b.residual));
  EXPECT_EQ(bits(a.deviance), bits(b.deviance));
  EXPECT_EQ(bits(a.bad_rows), bits(b.bad_rows));
}

std::vector<Family> families() {
  std::vector<Family> all = tessera::gam::built_in_families();
  // The default link of inverse.gaussian has no mean for a negative linear predictor.
  for (Family& one : all) {
    if (one.name() == "inverse.gaussian") one = *one.linked("log");
    if (one.name() == "Tweedie") one = tessera::gam::chosen_family("Tweedie(p=1.7)");
    if (one.name() == "elf") one = tessera::gam::chosen_family("elf(qu=0.7, lsig=-1, co=0.3)");
  }
  all.push_back(tessera::gam::chosen_family("binomial(cauchit)"));
  return all;
}

std::vector<Family> several_families() {
  std::vector<Family> all;
  for (const std::string_view name : tessera::gam::several_family_names())
    all.push_back(tessera::gam::chosen_family(std::string(name)));
  all.push_back(tessera::gam::chosen_family("multinom(K=2)"));
  all.push_back(tessera::gam::own_family(
      "name = 'own'\npredictors = 3\nlog_likelihood = 'log(pnorm(eta1 - y^2)) - sqrt(1 + abs(eta2))^1.5 - "
      "expm1(pmin(eta3, 2)) + dnorm(sin(eta1)) * pmax(cos(y), eta2 / 3) + 2^eta3'\n",
      "test"));
  return all;
}

std::string name_of(const Family& family) {
  std::string name =
      std::string(family.name()) + (family.link() > 0 ? "_" + std::string(family.link_name()) : "");
  std::ranges::replace(name, '.', '_');
  return name;
}

}  // namespace rows_test
