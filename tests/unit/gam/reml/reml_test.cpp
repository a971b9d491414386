// SPDX-License-Identifier: Apache-2.0
#include "gam/reml/reml.hpp"

#include "gam/design/smooth.hpp"
#include "gam/linalg/algebra.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/reml/criterion.hpp"
#include "gam/reml/search.hpp"
#include "support/dense_model.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using testing::DenseModel;

constexpr int rows = 400;

/// Three covariates in (0, 1), noise, and two groupings, always the same.
struct Data {
  Data() {
    std::mt19937_64 random(20240917);
    std::mt19937_64 of_groups(20260111);
    const auto uniform = [&random] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
    for (int i = 0; i < rows; ++i) {
      x.push_back(uniform());
      z.push_back(uniform());
      v.push_back(uniform());
      noise.push_back(uniform() + uniform() + uniform() + uniform() - 2);
      weight.push_back(0.5 + uniform());
      group.push_back(std::to_string(100 + i % 9));
      many.push_back(std::to_string(1000 + of_groups() % 130));
      some.push_back(std::to_string(100 + of_groups() % 30));
    }
  }
  std::vector<double> x, z, v, noise, weight;
  std::vector<std::string> group, many, some;
};

std::vector<double> response(const Data& data, double (*f)(double x, double z, double v)) {
  std::vector<double> y;
  for (std::size_t i = 0; i < data.x.size(); ++i) {
    y.push_back(f(data.x[i], data.z[i], data.v[i]) + 0.3 * data.noise[i]);
  }
  return y;
}

double wavy(double x, double z, double v) {
  return std::sin(6 * x) + std::cos(4 * z) * x + v * v;
}

Matrix as_column(const std::vector<double>& x) {
  Matrix out(static_cast<int>(x.size()), 1);
  std::copy(x.begin(), x.end(), out.values().begin());
  return out;
}

std::vector<double> zeros(const DenseModel& model) {
  return std::vector<double>(static_cast<std::size_t>(model.design().coef_size));
}

/// One term of every kind: parametric, one penalty with and without a null space, two penalties.
DenseModel mixed_model(const Data& data) {
  DenseModel model(rows);
  model.add_intercept();
  model.add_ps("s(v)", data.v, 9);
  model.add_te("te(x,z)", data.x, 6, data.z, 5);
  model.add_re("s(group)", data.group);
  return model;
}

/// A random effect that is eliminated, between other terms, one of them sparse relative to it.
DenseModel crossed_model(const Data& data) {
  DenseModel model(rows);
  model.add_intercept();
  model.add_ps("s(v)", data.v, 9);
  model.add_re("s(many)", data.many);
  model.add_te("te(x,z)", data.x, 6, data.z, 5);
  model.add_re("s(some)", data.some);
  return model;
}

/// The same as the first, with penalties that are not known to have common eigenvectors.
DenseModel graded_model(const Data& data) {
  DenseModel model = mixed_model(data);
  model.forget_eigenvectors();
  return model;
}

/// Penalties that span blocks: four with two parameters, one of them with columns of two sizes.
DenseModel linked_model(const Data& data) {
  DenseModel model(rows);
  model.add_intercept();
  model.add_ps("s(v)", data.v, 9);
  model.add_re("s(many)", data.many);
  model.add_ps("s(x)", data.x, 7);
  model.add_re("s(some)", data.some);
  model.link({"s(v)", "s(x)"}, {4, 0.5});
  model.link({"s(many)", "s(some)"}, {1, 1});
  return model;
}

/// log lambda of each penalty.
std::vector<double> each_of(const std::vector<double>& log_sp, const Design& design) {
  if (design.blocks[1].ids.empty()) return log_sp;
  return {log_sp[0], log_sp[1], log_sp[0] - 6 * std::log(2.0), log_sp[1]};
}

double total(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double log_det(const Matrix& a) {
  double sum = 0;
  for (const double v : symmetric_eigen(a).values) sum += std::log(v);
  return sum;
}

/// X'WX + S, and log|S|+ from eigenvalues of each block.
std::pair<Matrix, double> penalised_gram(const WorkingModel& working, const Design& design,
                                         const std::vector<double>& log_sp) {
  Matrix penalised = working.gram.core;
  double log_det_s = 0;
  std::size_t place = 0;
  for (const CoefBlock& block : design.blocks) {
    if (!block.penalty) continue;
    Matrix sum(block.coef_size, block.coef_size);
    for (std::size_t j = 0; j < block.penalty->count(); ++j) {
      const Matrix s = block.penalty->matrix(j);
      const double lambda = std::exp(log_sp[place++]);
      for (std::size_t i = 0; i < s.values().size(); ++i) sum.values()[i] += lambda * s.values()[i];
    }
    const std::vector<double> values = symmetric_eigen(sum).values;
    for (int i = block.coef_size - block.penalty->rank(); i < block.coef_size; ++i) {
      log_det_s += std::log(values[static_cast<std::size_t>(i)]);
    }
    for (int j = 0; j < block.coef_size; ++j) {
      for (int i = 0; i < block.coef_size; ++i) {
        penalised(block.coef_begin + i, block.coef_begin + j) += sum(i, j);
      }
    }
  }
  return {std::move(penalised), log_det_s};
}

/// V by definition, with every matrix formed.
double criterion_by_definition(const WorkingModel& working, const Design& design,
                               const std::vector<double>& log_sp, bool scale_known) {
  const auto [penalised, log_det_s] = penalised_gram(working, design, log_sp);
  const std::vector<double> b = cholesky_solve(*cholesky(penalised), working.gradient);
  const double deviance = working.residual - dot(b, working.gradient);
  const double gamma = working.gamma;
  const double df = static_cast<double>(working.rows) / gamma - design.null_space();
  const double phi = scale_known ? 1 : deviance / (gamma * df);
  return (deviance / (gamma * phi) + df * std::log(2 * M_PI * phi) + design.null_space() * std::log(gamma) +
          log_det(penalised) - log_det_s) /
         2;
}

/// A criterion with the objects that it refers to.
struct Criterion {
  Criterion(const WorkingModel& working, const Design& design, bool scale_known)
      : bases(penalty_bases(design)), criterion(working, design, bases, scale_known, algebra) {}
  Criterion(const Criterion&) = delete;
  Criterion& operator=(const Criterion&) = delete;
  const RemlCriterion* operator->() const { return &criterion; }

  std::vector<BlockBasis> bases;
  HostAlgebra algebra;
  RemlCriterion criterion;
};

/// This many of the numbers that a test is about.
std::vector<double> first_of(std::vector<double> values, const Criterion& criterion) {
  values.resize(static_cast<std::size_t>(criterion->size()));
  return values;
}

class OfModel : public ::testing::TestWithParam<DenseModel (*)(const Data&)> {
 protected:
  /// Working models with a gamma of 1.4 and without.
  [[nodiscard]] std::array<WorkingModel, 2> with_gammas() const {
    std::array<WorkingModel, 2> both{working, working};
    both[1].gamma = 1.4;
    return both;
  }
  const Data data;
  const DenseModel model = GetParam()(data);
  const WorkingModel working = model.working(response(data, wavy), data.weight, zeros(model));
};
INSTANTIATE_TEST_SUITE_P(RemlCriterion, OfModel,
                         ::testing::Values(mixed_model, crossed_model, graded_model, linked_model),
                         [](const auto& one) {
                           return one.param == mixed_model     ? "Mixed"
                                  : one.param == crossed_model ? "Crossed"
                                  : one.param == graded_model  ? "Graded"
                                                               : "Linked";
                         });

TEST_P(OfModel, IsTheDefinition) {
  for (const WorkingModel& one : with_gammas()) {
    for (const bool scale_known : {false, true}) {
      const Criterion criterion(one, model.design(), scale_known);
      for (const std::vector<double>& values :
           {std::vector<double>{0, 0, 0, 0, 0}, {3, -2, 1.5, -1, 2}, {-4, 5, -3, 2, -1}, {8, 4, 9, 6, 5}}) {
        const std::vector<double> log_sp = first_of(values, criterion);
        const double expected =
            criterion_by_definition(one, model.design(), each_of(log_sp, model.design()), scale_known);
        EXPECT_NEAR(criterion->evaluate(log_sp)->value, expected, 1e-8 * std::abs(expected));
        EXPECT_EQ(criterion->value(log_sp), criterion->evaluate(log_sp)->value);
      }
    }
  }
}

/// The derivatives of a criterion are those of its value.
void expect_derivatives(const Criterion& criterion, const std::vector<double>& at) {
  const auto exact = criterion->evaluate(at);
  const double step = 1e-4;
  for (std::size_t j = 0; j < at.size(); ++j) {
    std::vector<double> up = at;
    std::vector<double> down = at;
    up[j] += step;
    down[j] -= step;
    const auto above = criterion->evaluate(up);
    const auto below = criterion->evaluate(down);
    EXPECT_NEAR(exact->gradient[j], (above->value - below->value) / (2 * step), 1e-6);
    for (std::size_t k = 0; k < at.size(); ++k) {
      EXPECT_NEAR(exact->hessian(static_cast<int>(j), static_cast<int>(k)),
                  (above->gradient[k] - below->gradient[k]) / (2 * step), 1e-6);
    }
  }
}

TEST_P(OfModel, HasTheDerivativesOfItsValue) {
  for (const WorkingModel& one : with_gammas()) {
    for (const bool scale_known : {false, true}) {
      const Criterion criterion(one, model.design(), scale_known);
      const std::vector<double> at = first_of({1, -1, 2, 0.5, 0.3}, criterion);
      expect_derivatives(criterion, at);
    }
  }
}

/// A model to start with: an intercept, and a term of every kind, with a response.
class FitReml : public ::testing::Test {
 protected:
  FitReml() { model.add_intercept(); }

  const Data data;
  DenseModel model{rows};
  const DenseModel mixed = mixed_model(data);
  const WorkingModel working = mixed.working(response(data, wavy), data.weight, zeros(mixed));
};
using OfCriterion = FitReml;

TEST_F(OfCriterion, TakesGivenParametersAsTheyAre) {
  Design given = mixed.design();
  given.blocks[1].log_sp = {1.5};
  given.blocks[2].log_sp = {NAN, -0.5};
  const Criterion all(working, mixed.design(), false);
  const Criterion some(working, given, false);
  EXPECT_EQ(some->size(), 2);
  const std::vector<double> every{1.5, 0.3, -0.5, 0.7};
  const std::vector<double> free{0.3, 0.7};
  const auto expected = all->evaluate(every);
  const auto found = some->evaluate(free);
  EXPECT_EQ(found->value, expected->value);
  EXPECT_EQ(found->gradient, (std::vector<double>{expected->gradient[1], expected->gradient[3]}));
  EXPECT_EQ(found->hessian(0, 1), expected->hessian(1, 3));
  EXPECT_EQ(some->parameters_of(every), free);
  const RemlFit fit = some->solution(free);
  EXPECT_EQ(fit.log_sp, every);
  EXPECT_EQ(fit.coef, all->solution(every).coef);
  // Away from the minimum the covariance has a scale of its own, that of the residuals.
  EXPECT_NE(fit.covariance_scale, fit.scale);
  given.blocks[2].log_sp = {0.3, -0.5};
  given.blocks[3].log_sp = {0.7};
  const RemlFit whole = fit_reml(working, given, false);
  EXPECT_TRUE(whole.converged);
  EXPECT_EQ(whole.log_sp, every);
  EXPECT_EQ(whole.scale, whole.covariance_scale);
}

TEST_F(OfCriterion, AddsLeastParameters) {
  Design bounded = mixed.design();
  bounded.blocks[1].least_sp = {2};
  bounded.blocks[2].least_sp = {0, 0.5};
  const Criterion free(working, mixed.design(), false);
  const Criterion criterion(working, bounded, false);
  const std::vector<double> at{0.4, 0.3, -0.5, 0.7};
  const std::vector<double> lambda{std::log(2 + std::exp(0.4)), 0.3, std::log(0.5 + std::exp(-0.5)), 0.7};
  const auto exact = criterion->evaluate(at);
  EXPECT_NEAR(exact->value, free->evaluate(lambda)->value, 1e-9);
  const std::vector<double> back = criterion->parameters_of(lambda);
  for (std::size_t j = 0; j < at.size(); ++j) EXPECT_NEAR(back[j], at[j], 1e-12);
  expect_derivatives(criterion, at);
}

TEST_F(FitReml, EndsAtALeastParameterWhereTheOptimumIsBelow) {
  const RemlFit free = fit_reml(working, mixed.design(), false);
  Design bounded = mixed.design();
  bounded.blocks[1].least_sp = {100 * std::exp(free.log_sp[0])};
  bounded.blocks[2].least_sp = {0.01 * std::exp(free.log_sp[1]), 0};
  const RemlFit fit = fit_reml(working, bounded, false);
  EXPECT_TRUE(fit.converged);
  EXPECT_NEAR(fit.log_sp[0], free.log_sp[0] + std::log(100), 1e-7);
  // The others have the values that they would have if the first were given.
  Design given = mixed.design();
  given.blocks[1].log_sp = {fit.log_sp[0]};
  const RemlFit expected = fit_reml(working, given, false);
  for (std::size_t j = 0; j < fit.log_sp.size(); ++j) EXPECT_NEAR(fit.log_sp[j], expected.log_sp[j], 1e-6);
  EXPECT_NEAR(fit.covariance_scale / expected.covariance_scale, 1, 1e-7);
  EXPECT_EQ(fit.scale, fit.covariance_scale);
}

TEST_F(OfCriterion, HasTheScaleOfTheResidualsAtAMinimum) {
  const RemlFit fit = fit_reml(working, mixed.design(), false);
  std::vector<double> log_sp = fit.log_sp;
  Design given = mixed.design();
  std::size_t next = 0;
  for (CoefBlock& block : given.blocks) {
    for (std::size_t j = 0; block.penalty && j < block.penalty->count(); ++j)
      block.log_sp.push_back(log_sp[next++]);
  }
  EXPECT_NEAR(fit_reml(working, given, false).covariance_scale / fit.covariance_scale, 1, 1e-7);
}

TEST_P(OfModel, HasTheSolutionOfThePenalisedNormalEquations) {
  const Criterion criterion(working, model.design(), false);
  const std::vector<double> at = first_of({1, -1, 2, 0.5, 0.3}, criterion);
  const RemlFit fit = criterion->solution(at);
  const std::vector<double> log_lambda = each_of(at, model.design());
  EXPECT_EQ(fit.log_sp, log_lambda);
  EXPECT_EQ(criterion->parameters_of(log_lambda), at);
  const Matrix lower = *cholesky(penalised_gram(working, model.design(), log_lambda).first);
  const std::vector<double> coef = cholesky_solve(lower, working.gradient);
  const Matrix inverse = cholesky_inverse(lower);
  const Matrix f = multiply(inverse, working.gram.core);
  const Matrix ff = multiply(f, f);
  for (int i = 0; i < inverse.rows(); ++i) {
    const auto place = static_cast<std::size_t>(i);
    EXPECT_NEAR(fit.coef[place], coef[place], 1e-10);
    EXPECT_NEAR(fit.edf[place], f(i, i), 1e-10);
    EXPECT_NEAR(fit.edf1[place], 2 * f(i, i) - ff(i, i), 1e-10);
    for (int j = 0; j < inverse.rows(); ++j) EXPECT_NEAR(fit.inverse(i, j), inverse(i, j), 1e-10);
  }
}

TEST_P(OfModel, HasTheSameSolutionIfARandomEffectIsKeptByItsDiagonal) {
  const Criterion criterion(working, model.design(), false);
  const std::vector<double> at = first_of({1, -1, 2, 0.5, 0.3}, criterion);
  const RemlFit whole = criterion->solution(at);
  for (const CoefBlock& block : model.design().blocks) {
    if (!block.penalty || !block.penalty->is_ridge()) continue;
    SCOPED_TRACE(block.label);
    const Part part(block.coef_begin, block.coef_size);
    WorkingModel parted = working;
    parted.gram = PartedMatrix(working.gram.core, part);
    const RemlFit fit = Criterion(parted, model.design(), false)->solution(at);
    EXPECT_NEAR(fit.score, whole.score, 1e-10 * std::abs(whole.score));
    EXPECT_EQ(fit.inverse.part(), part);
    for (int i = 0; i < whole.inverse.size(); ++i) {
      const auto place = static_cast<std::size_t>(i);
      EXPECT_NEAR(fit.coef[place], whole.coef[place], 1e-10);
      EXPECT_NEAR(fit.edf[place], whole.edf[place], 1e-10);
      EXPECT_NEAR(fit.edf1[place], whole.edf1[place], 1e-10);
      for (int j = 0; j < whole.inverse.size(); ++j) {
        if (i != j && part.has(i) && part.has(j)) continue;
        EXPECT_NEAR(fit.inverse(i, j), whole.inverse(i, j), 1e-10);
      }
    }
  }
}

/// The model with all random effects in a part, and their sparsity.
WorkingModel with_all_effects_parted(const WorkingModel& whole, const Design& design) {
  Part part;
  for (const CoefBlock& block : design.blocks) {
    if (block.penalty && block.penalty->is_ridge()) part.add(block.coef_begin, block.coef_size);
  }
  auto pattern = std::make_shared<SparsePattern>();
  for (int j = 0; j < part.size(); ++j) {
    for (int i = j + 1; i < part.size(); ++i) {
      if (whole.gram(part.row_at(i), part.row_at(j)) != 0) pattern->rows.push_back(i);
    }
    pattern->begins.push_back(std::ssize(pattern->rows));
  }
  WorkingModel parted = whole;
  parted.gram = PartedMatrix(whole.gram.size(), part, pattern);
  for (int j = 0; j < whole.gram.size(); ++j) {
    for (int i = 0; i <= j; ++i) {
      if (parted.gram.has(i, j)) parted.gram.set(i, j, whole.gram(i, j));
    }
  }
  return parted;
}

TEST(Design, APenaltyKeepsItsParameterWhereOthersOfItsBlockAreLost) {
  DenseModel model(rows);
  const Data data;
  model.add_te("te(x,z)", data.x, 5, data.z, 5);
  model.add_te("te(v,z)", data.v, 5, data.z, 5);
  model.add_ps("s(x)", data.x, 9);
  model.link({"te(x,z)", "te(v,z)"}, {1, 1});
  const auto indices = [](const Design& design) {
    std::vector<int> all;
    for (const PenaltyParameter& one : design.parameters()) all.push_back(one.index);
    return all;
  };
  EXPECT_EQ(indices(model.design()), (std::vector{0, 1, 0, 1, 2}));
  for (const std::size_t block : {0, 1}) {
    Design design = model.design();
    design.blocks[block].penalty->matrices.erase(design.blocks[block].penalty->matrices.begin());
    design.blocks[block].ids.erase(design.blocks[block].ids.begin());
    EXPECT_EQ(indices(design), block == 0 ? (std::vector{0, 1, 0, 2}) : (std::vector{0, 1, 1, 2}));
  }
}

class OfEffects : public ::testing::TestWithParam<DenseModel (*)(const Data&)> {};
INSTANTIATE_TEST_SUITE_P(RemlCriterion, OfEffects, ::testing::Values(crossed_model, linked_model),
                         [](const auto& one) { return one.param == crossed_model ? "Crossed" : "Linked"; });

TEST_P(OfEffects, IsTheSameIfAllRandomEffectsAreSparse) {
  const Data data;
  const DenseModel model = GetParam()(data);
  const WorkingModel whole = model.working(response(data, wavy), data.weight, zeros(model));
  const WorkingModel parted = with_all_effects_parted(whole, model.design());
  ASSERT_GT(parted.gram.part().runs().size(), 1U);
  for (const bool scale_known : {false, true}) {
    const Criterion exact(whole, model.design(), scale_known);
    const Criterion sparse(parted, model.design(), scale_known);
    EXPECT_FALSE(sparse->is_exact());
    for (const std::vector<double>& values : {std::vector<double>{1, -1, 2, 0.5, 0.3}, {-4, 5, -3, 2, -1}}) {
      const std::vector<double> at = first_of(values, exact);
      const auto a = exact->evaluate(at);
      const auto b = sparse->evaluate(at);
      EXPECT_NEAR(a->value, b->value, 1e-10 * std::abs(a->value));
      EXPECT_EQ(b->value, sparse->value(at));
      for (std::size_t j = 0; j < at.size(); ++j) EXPECT_NEAR(a->gradient[j], b->gradient[j], 1e-9) << j;
      const RemlFit first = exact->solution(at);
      const RemlFit second = sparse->solution(at);
      for (int i = 0; i < whole.gram.size(); ++i) {
        const auto place = static_cast<std::size_t>(i);
        EXPECT_NEAR(second.coef[place], first.coef[place], 1e-10);
        EXPECT_NEAR(second.edf[place], first.edf[place], 1e-10);
        if (parted.gram.part().has(i)) {
          EXPECT_TRUE(std::isnan(second.edf1[place]));
        } else {
          EXPECT_NEAR(second.edf1[place], first.edf1[place], 1e-9);
        }
        for (int j = 0; j < whole.gram.size(); ++j) {
          if (second.inverse.has(i, j)) {
            EXPECT_NEAR(second.inverse(i, j), first.inverse(i, j), 1e-10);
          }
        }
      }
    }
    const RemlFit least = fit_reml(whole, model.design(), scale_known);
    const RemlFit found = fit_reml(parted, model.design(), scale_known);
    EXPECT_TRUE(found.converged);
    EXPECT_NEAR(found.score, least.score, 1e-9 * std::abs(least.score));
    for (std::size_t j = 0; j < least.log_sp.size(); ++j) {
      if (least.log_sp[j] < 15) {
        EXPECT_NEAR(found.log_sp[j], least.log_sp[j], 1e-6) << j;
      }
    }
  }
}

TEST_F(OfCriterion, HasExactSecondDerivativesWhereThePartConsistsOfSmallBlocks) {
  model.add_ps("s(v)", data.v, 9);
  model.add_re("s(many)", data.many);
  model.add_re("s(many,more)", data.many);  // so that each level has a block of two
  const WorkingModel whole = model.working(response(data, wavy), data.weight, zeros(model));
  // Like those of a factor smooth, both are one run.
  WorkingModel parted = with_all_effects_parted(whole, model.design());
  const std::vector<Part::Run> runs = parted.gram.part().runs();
  const PartedMatrix two = parted.gram;
  parted.gram = PartedMatrix(two.size(), Part(runs[0].begin, runs[0].size + runs[1].size), two.pattern());
  parted.gram.core = two.core;
  parted.gram.border = two.border;
  parted.gram.diagonal = two.diagonal;
  parted.gram.beside = two.beside;
  for (const bool scale_known : {false, true}) {
    const Criterion dense(whole, model.design(), scale_known);
    const Criterion sparse(parted, model.design(), scale_known);
    ASSERT_TRUE(sparse->is_exact());
    for (const std::vector<double>& at : {std::vector<double>{1, -1, 2}, {-4, 5, -3}}) {
      const auto a = dense->evaluate(at);
      const auto b = sparse->evaluate(at);
      EXPECT_TRUE(b->exact);
      EXPECT_NEAR(a->value, b->value, 1e-10 * std::abs(a->value));
      for (int j = 0; j < a->hessian.cols(); ++j) {
        EXPECT_NEAR(a->gradient[static_cast<std::size_t>(j)], b->gradient[static_cast<std::size_t>(j)], 1e-9)
            << j;
        for (int k = 0; k < a->hessian.rows(); ++k)
          EXPECT_NEAR(a->hessian(k, j), b->hessian(k, j), 1e-9) << k << j;
      }
    }
  }
}

TEST_F(OfCriterion, EliminatesTheLargestRandomEffect) {
  const DenseModel crossed = crossed_model(data);
  const WorkingModel about_zero = crossed.working(response(data, wavy), data.weight, zeros(crossed));
  const Criterion criterion(about_zero, crossed.design(), false);
  int levels = 0;
  for (const CoefBlock& block : crossed.design().blocks) levels = std::max(levels, block.coef_size);
  EXPECT_GT(levels, 100);
  EXPECT_EQ(criterion->core_size(), crossed.design().coef_size - levels);
}

TEST_P(OfModel, DoesNotDependOnTheBase) {
  std::vector<double> base = zeros(model);
  for (std::size_t i = 0; i < base.size(); ++i) base[i] = std::sin(static_cast<double>(i));
  const WorkingModel about_base = model.working(response(data, wavy), data.weight, base);
  const Criterion about_zero(working, model.design(), false);
  const std::vector<double> at = first_of({1, -1, 2, 0.5, 0.3}, about_zero);
  const RemlFit a = about_zero->solution(at);
  const RemlFit b = Criterion(about_base, model.design(), false)->solution(at);
  EXPECT_NEAR(a.score, b.score, 1e-9 * std::abs(a.score));
  for (std::size_t i = 0; i < a.coef.size(); ++i) EXPECT_NEAR(a.coef[i], b.coef[i], 1e-9);
}

TEST_F(OfCriterion, HasTheSameProfilesWhetherItsPenaltiesAreDiagonalTogetherOrNot) {
  const DenseModel graded = graded_model(data);
  ASSERT_TRUE(penalty_bases(mixed.design())[1].dense.empty());
  ASSERT_FALSE(penalty_bases(graded.design())[1].dense.empty());
  const Criterion first(working, mixed.design(), false);
  const Criterion second(working, graded.design(), false);
  const std::vector<double> at{1, -1, 2, 0.5};
  const std::vector<int> all{0, 1, 2, 3};
  const auto ours = first->profiles(at, all);
  const auto theirs = second->profiles(at, all);
  for (std::size_t j = 0; j < all.size(); ++j) {
    for (const double away : {-6.0, -1.0, 0.0, 2.0, 9.0})
      EXPECT_NEAR(ours[j].value(at[j] + away), theirs[j].value(at[j] + away), 1e-7);
  }
}

TEST(HostAlgebra, HasTheSameBitsOnAnyNumberOfThreads) {
  Matrix a(131, 90);
  Matrix b(90, 257);
  for (std::size_t i = 0; i < a.values().size(); ++i) a.values()[i] = std::sin(static_cast<double>(3 * i));
  for (std::size_t i = 0; i < b.values().size(); ++i) b.values()[i] = std::cos(static_cast<double>(5 * i));
  const Matrix product = HostAlgebra(1).multiply(a, b);
  const Matrix expected = multiply(a, b);
  for (std::size_t i = 0; i < expected.values().size(); ++i) {
    ASSERT_NEAR(product.values()[i], expected.values()[i], 1e-12);
  }
  for (const int threads : {2, 3, 8}) EXPECT_EQ(HostAlgebra(threads).multiply(a, b), product);
}

TEST(GradePenalties, KeepTheSmallOneBesideTheLarge) {
  // Commuting penalties in rotated coordinates, so that the answer is known: eigenvalues (1, 0), (1, 1), (0,
  // 1).
  Matrix mixing(6, 6);
  for (std::size_t i = 0; i < mixing.values().size(); ++i) {
    mixing.values()[i] = std::sin(3.1 * static_cast<double>(i * i) + 1);
  }
  const Matrix q = full_q(mixing);
  Matrix first(6, 6);
  Matrix second(6, 6);
  for (int i = 0; i < 6; ++i) {
    first(i, i) = i < 4 ? 1 : 0;
    second(i, i) = i < 2 ? 0 : 1;
  }
  Penalty known;
  known.eigenvalues = Matrix(6, 2);
  for (int i = 0; i < 6; ++i) {
    known.eigenvalues(i, 0) = first(i, i);
    known.eigenvalues(i, 1) = second(i, i);
  }
  BlockBasis basis;
  basis.dense = {multiply(q, multiply_nt(first, q)), multiply(q, multiply_nt(second, q))};
  basis.spread = {1, 1};
  basis.penalty = &known;
  for (const double ratio : {1e4, 1e12, 1e20}) {
    const std::vector<double> lambda{ratio, 1};
    const GradedPenalties graded = grade_penalties(basis, lambda, HostAlgebra());
    // Comparable penalties need no rotation.
    EXPECT_EQ(graded.rotation.empty(), ratio < 1e5);
    const Matrix turn = graded.rotation.empty() ? identity(6) : graded.rotation;
    const Matrix rotated = multiply_tn(turn, turn);
    Matrix sum(6, 6);
    double scale[6];
    for (int j = 0; j < 6; ++j) {
      for (int i = 0; i < 6; ++i) {
        EXPECT_NEAR(rotated(i, j), i == j, 1e-14);
        sum(i, j) = ratio * graded.penalties[0](i, j) + graded.penalties[1](i, j);
      }
    }
    for (int i = 0; i < 6; ++i) scale[i] = std::sqrt(sum(i, i));
    double value = 0;
    for (int j = 0; j < 6; ++j) {
      value += 2 * std::log(scale[j]);
      for (int i = 0; i < 6; ++i) sum(i, j) /= scale[i] * scale[j];
    }
    const auto lower = cholesky(sum);
    ASSERT_TRUE(lower.has_value()) << ratio;
    for (int i = 0; i < 6; ++i) value += 2 * std::log((*lower)(i, i));
    EXPECT_NEAR(value, 2 * std::log(ratio) + 2 * std::log(ratio + 1), 1e-10) << ratio;
  }
}

/// A design with only deviations of `levels` levels, whose curves have a penalty of eigenvalues 0, 0.5, 2 and
/// 3.
Design deviations_of(int levels) {
  Matrix mixing(4, 4);
  for (std::size_t i = 0; i < mixing.values().size(); ++i)
    mixing.values()[i] = std::sin(2.3 * static_cast<double>(i * i) + 1);
  const Matrix q = full_q(mixing);
  Basis curve;
  curve.map = identity(4);
  curve.rank = 3;
  curve.penalty = Matrix(4, 4);
  for (int j = 1; j < 4; ++j) {
    for (int i = 0; i < 16; ++i)
      curve.penalty.values()[static_cast<std::size_t>(i)] += (j == 1 ? 0.5 : j) * q(i % 4, j) * q(i / 4, j);
  }
  SmoothBasis smooth = level_deviations(curve, std::vector{levels}, true, false, 1);
  CoefBlock block;
  block.label = "s(g,x)";
  block.kind = "sz";
  block.coef_size = smooth.map.cols();
  block.penalty = Penalty{.matrices = std::move(smooth.penalties),
                          .eigenvalues = {},
                          .log_det_constant = 0,
                          .labels = {},
                          .set_ranks = {},
                          .levels = std::move(smooth.levels),
                          .of_level = std::move(smooth.of_level),
                          .rank_of_level = smooth.rank_of_level,
                          .null_space = std::move(smooth.null_space)};
  Design design;
  design.blocks.push_back(std::move(block));
  return design;
}

TEST(PenaltyDeterminant, OfLevelDeviationsIsKnown) {
  constexpr int levels = 5;
  constexpr int rank = 3;
  const Design design = deviations_of(levels);
  const std::vector<BlockBasis> bases = penalty_bases(design);
  // |diag(lambda) + lambda_5 1 1'| = prod(lambda) sum(1 / lambda), of each penalised function.
  for (const std::vector<double>& log_sp : {std::vector<double>{0.3, -1, 2, 0.5, 1},
                                            {30, -8, 2, 25, -3},
                                            {-5, -6, 20, -7, 38},
                                            {0, 0, 0, 0, -40}}) {
    double logs = 0;
    double inverse = 0;
    for (const double one : log_sp) {
      logs += one;
      inverse += std::exp(-one);
    }
    std::vector<double> gradient;
    for (const double one : log_sp) gradient.push_back(rank * (1 - std::exp(-one) / inverse));
    const auto at = penalty_determinant(bases, log_sp, HostAlgebra());
    ASSERT_TRUE(at.has_value());
    double of_level = 0;
    const std::vector<double> values = symmetric_eigen(design.blocks[0].penalty->of_level).values;
    for (std::size_t i = 1; i < 4; ++i) of_level += std::log(values[i]);
    EXPECT_NEAR(at->value, rank * (logs + std::log(inverse)) + (levels - 1) * of_level, 1e-9);
    for (std::size_t j = 0; j < gradient.size(); ++j) EXPECT_NEAR(at->gradient[j], gradient[j], 1e-9) << j;
    for (int j = 0; j < levels; ++j) {
      for (int k = 0; k < levels; ++k) {
        const double share = std::exp(-log_sp[static_cast<std::size_t>(j)]) / inverse;
        const double other = std::exp(-log_sp[static_cast<std::size_t>(k)]) / inverse;
        EXPECT_NEAR(at->hessian(j, k), rank * ((j == k ? share : 0) - share * other), 1e-9);
      }
    }
  }
}

TEST(PenaltyDeterminant, OfLevelsInOtherCoordinatesIsTheSame) {
  const Design design = deviations_of(4);
  Design other = design;
  other.blocks[0].penalty->of_level = {};
  for (const std::vector<double>& log_sp : {std::vector<double>{0.3, -1, 2, 0.5}, {30, -8, 2, 25}}) {
    const auto known = penalty_determinant(penalty_bases(design), log_sp, HostAlgebra());
    const auto found = penalty_determinant(penalty_bases(other), log_sp, HostAlgebra());
    ASSERT_TRUE(known && found);
    EXPECT_NEAR(known->value, found->value, 1e-8);
    for (int i = 0; i < 16; ++i)
      EXPECT_NEAR(known->hessian.values()[static_cast<std::size_t>(i)],
                  found->hessian.values()[static_cast<std::size_t>(i)], 1e-8);
  }
}

TEST_F(FitReml, TheGradientVanishesAtTheOptimum) {
  for (const bool scale_known : {false, true}) {
    const RemlFit fit = fit_reml(working, mixed.design(), scale_known);
    EXPECT_TRUE(fit.converged);
    EXPECT_LT(fit.iterations, 30);
    const auto at = Criterion(working, mixed.design(), scale_known)->evaluate(fit.log_sp);
    for (const double g : at->gradient) EXPECT_NEAR(g, 0, 1e-8);
    for (const double v : symmetric_eigen(at->hessian).values) EXPECT_GT(v, -1e-8);
  }
}

TEST_F(FitReml, TheSameOptimumFromAnyStart) {
  model.add_ps("s(x)", data.x, 12);
  model.add_ps("s(v)", data.v, 9);
  const WorkingModel of_two = model.working(response(data, wavy), data.weight, zeros(model));
  const RemlFit expected = fit_reml(of_two, model.design(), false);
  for (const std::vector<double>& start : {std::vector<double>{-8, 8}, {30, 30}, {8, -40}}) {
    const RemlFit fit = fit_reml(of_two, model.design(), false, start);
    EXPECT_TRUE(fit.converged);
    for (std::size_t j = 0; j < 2; ++j) EXPECT_NEAR(fit.log_sp[j], expected.log_sp[j], 1e-6);
  }
}

TEST_F(FitReml, TheSameBitsForTheSameInput) {
  const RemlFit a = fit_reml(working, mixed.design(), false);
  const RemlFit b = fit_reml(working, mixed.design(), false);
  EXPECT_EQ(a.coef, b.coef);
  EXPECT_EQ(a.log_sp, b.log_sp);
  EXPECT_EQ(a.inverse, b.inverse);
  EXPECT_EQ(a.score, b.score);
}

TEST_F(FitReml, LinearTermsGoToInfinityWithoutWandering) {
  model.add_ps("s(x)", data.x, 20);
  model.add_ps("s(z)", data.z, 20);
  model.add_te("te(x,v)", data.v, 6, data.noise, 6);
  // Exactly linear in each variable, plus a part that no smooth of the model can fit.
  std::vector<double> y;
  for (int i = 0; i < rows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    y.push_back(2 * data.x[at] - data.z[at] + data.v[at] + 0.1 * (i % 2 == 0 ? 1 : -1));
  }
  const RemlFit fit =
      fit_reml(model.working(y, std::vector<double>(rows, 1.0), zeros(model)), model.design(), false);
  EXPECT_TRUE(fit.converged);
  EXPECT_LT(fit.iterations, 40);
  EXPECT_GE(total(fit.edf), 6 - 1e-6);
  EXPECT_TRUE(std::isfinite(fit.score));
}

TEST_F(FitReml, ALevelWithoutDeviationGoesToInfinityBesideOthers) {
  // Without deviations of the first level those of the other two are the same functions: V determines only
  // the sum of their smoothing parameters. With seed 1807 Newton's step along that valley leads up.
  Design design = deviations_of(3);
  design.count_coefficients();
  const std::vector<BlockBasis> bases = penalty_bases(design);
  const HostAlgebra algebra;
  for (std::uint64_t seed = 1800; seed <= 1810; ++seed) {
    std::mt19937_64 random(seed);
    const auto noise = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53 - 0.5; };
    Matrix x(200, 8);
    for (double& value : x.values()) value = noise();
    WorkingModel own;
    own.rows = x.rows();
    own.base.resize(8);
    std::vector<double> y = multiply(x, std::vector<double>{0, 0, 0, 0, 1, -1, 0.5, 0.3});
    for (double& value : y) value += noise();
    own.residual = dot(y, y);
    own.gram = multiply_tn(x, x);
    own.gradient = multiply_t(x, y);
    const RemlCriterion criterion(own, design, bases, false, algebra);
    const auto end = descend(criterion, criterion.default_start());
    ASSERT_TRUE(end && end->converged) << seed;
    EXPECT_LT(largest(end->at.gradient), 1e-8) << seed;
  }
}

TEST_F(FitReml, OneMarginOfATensorProductGoesToInfinity) {
  model.add_te("te(x,z)", data.x, 7, data.z, 7);
  const std::vector<double> y =
      response(data, [](double x, double z, double) { return std::sin(7 * x) + 3 * z * x; });
  const RemlFit fit = fit_reml(model.working(y, data.weight, zeros(model)), model.design(), false);
  EXPECT_TRUE(fit.converged);
  EXPECT_LT(fit.log_sp[0], 5);
  EXPECT_LT(total(fit.edf), 20);
  const std::vector<double> fitted = multiply(model.matrix(), fit.coef);
  double worst = 0;
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    worst = std::max(worst, std::abs(fitted[i] - (std::sin(7 * data.x[i]) + 3 * data.z[i] * data.x[i])));
  }
  EXPECT_LT(worst, 0.3);
}

TEST_F(FitReml, WithoutPenaltiesIsLeastSquares) {
  model.add_parametric("x", as_column(data.x));
  std::vector<double> y;
  for (std::size_t i = 0; i < data.x.size(); ++i) y.push_back(3 - 2 * data.x[i] + (i % 2 == 0 ? 0.5 : -0.5));
  const WorkingModel of_line = model.working(y, std::vector<double>(rows, 1.0), {1.0, 1.0});
  const RemlFit fit = fit_reml(of_line, model.design(), false);
  EXPECT_TRUE(fit.converged);
  EXPECT_TRUE(fit.log_sp.empty());
  const std::vector<double> fitted = multiply(model.matrix(), fit.coef);
  double rss = 0;
  double along = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    rss += (y[i] - fitted[i]) * (y[i] - fitted[i]);
    along += (y[i] - fitted[i]) * data.x[i];
  }
  EXPECT_NEAR(along, 0, 1e-9);
  EXPECT_NEAR(fit.scale, rss / (rows - 2), 1e-12);
  EXPECT_NEAR(total(fit.edf), 2, 1e-12);
  EXPECT_NEAR(total(fit.edf1), 2, 1e-12);
}

TEST_F(FitReml, ALargeCommonLevelLosesNothingAboutABase) {
  model.add_ps("s(x)", data.x, 12);
  std::vector<double> y = response(data, wavy);
  const std::vector<double> ones(rows, 1.0);
  const RemlFit expected = fit_reml(model.working(y, ones, zeros(model)), model.design(), false);
  for (double& v : y) v += 1e7;
  std::vector<double> base = zeros(model);
  base[0] = 1e7;
  const RemlFit fit = fit_reml(model.working(y, ones, base), model.design(), false);
  EXPECT_NEAR(fit.log_sp[0], expected.log_sp[0], 1e-5);
  EXPECT_NEAR(fit.scale, expected.scale, 1e-7 * expected.scale);
}

TEST_F(FitReml, AResponseWithoutNoiseHasAScaleOfRounding) {
  model.add_ps("s(x)", data.x, 12);
  model.add_ps("s(z)", data.z, 12);
  const std::vector<double> ones(rows, 1.0);
  const auto expect_exact = [&](double (*f)(double x), double edf) {
    std::vector<double> y;
    for (const double x : data.x) y.push_back(f(x));
    for (const double level : {0.0, y[0]}) {
      std::vector<double> base = zeros(model);
      base[0] = level;
      const RemlFit fit = fit_reml(model.working(y, ones, base), model.design(), false);
      EXPECT_TRUE(fit.converged);
      EXPECT_NEAR(total(fit.edf), edf, 1e-3);
      EXPECT_GT(fit.scale, 0);
      EXPECT_LT(fit.scale, 1e-12);
      const std::vector<double> fitted = multiply(model.matrix(), fit.coef);
      for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(fitted[i], y[i], 1e-6);
    }
  };
  expect_exact([](double x) { return 1 + 2 * x; }, 3);
  // Any penalty of s(x) is worse than none: 1 + 11, and 1 for the linear s(z).
  expect_exact([](double x) { return 1 + 2 * x - x * x; }, 13);
  expect_exact([](double) { return 7.0; }, 3);
  expect_exact([](double) { return 0.0; }, 3);
}

std::string fault_of(const DenseModel& model, const Data& data) {
  const WorkingModel working = model.working(data.noise, data.weight, zeros(model));
  const auto fit = [&] { static_cast<void>(fit_reml(working, model.design(), false)); };
  return error_if_any(ErrorCode::input, fit).value_or("none");
}

TEST_F(FitReml, RefusesASmoothBesideItsOwnLinearTerm) {
  model.add_parametric("x", as_column(data.x));
  model.add_ps("s(x)", data.x, 10);
  EXPECT_EQ(fault_of(model, data),
            "the term s(x) is linearly dependent on (Intercept), x: remove one of them");
}

TEST_F(FitReml, RefusesNestedSmooths) {
  model.add_ps("s(x)", data.x, 10);
  model.add_te("te(x,z)", data.x, 5, data.z, 5);
  EXPECT_NE(fault_of(model, data).find("te(x,z) is linearly dependent on"), std::string::npos);
}

// After nearly dependent columns, a dependent one is rounding that exceeds the tolerance.
TEST_F(FitReml, RefusesADependentColumnBehindNearlyDependentOnes) {
  for (const double share : {1e-1, 1e-2, 1e-3}) {
    std::vector<double> near;
    std::vector<double> both;
    for (std::size_t i = 0; i < data.x.size(); ++i) {
      near.push_back(data.x[i] + share * data.z[i]);
      both.push_back(data.z[i] + data.v[i]);
    }
    DenseModel own(rows);
    own.add_intercept();
    own.add_parametric("x", as_column(data.x));
    own.add_parametric("near", as_column(near));
    own.add_parametric("v", as_column(data.v));
    EXPECT_EQ(fault_of(own, data), "none") << share;
    own.add_parametric("both", as_column(both));
    EXPECT_EQ(fault_of(own, data), "the term both is linearly dependent on x, near, v: remove one of them")
        << share;
  }
}

TEST_F(FitReml, RefusesAFactorTwiceAndALevelWithoutRows) {
  DenseModel twice(rows);
  twice.add_intercept();
  twice.add_parametric("group", testing::treatment_contrasts(data.group));
  twice.add_parametric("again", testing::treatment_contrasts(data.group));
  EXPECT_EQ(fault_of(twice, data), "the term again is linearly dependent on group: remove one of them");

  DenseModel empty(rows);
  empty.add_intercept();
  empty.add_parametric("a:b", Matrix(rows, 1));
  EXPECT_NE(fault_of(empty, data).find("the term a:b has an unpenalised column that is zero"),
            std::string::npos);
}

TEST_F(FitReml, TakesByFactorSmoothsWithAndWithoutTheMainEffect) {
  for (const bool main_effect : {false, true}) {
    DenseModel own(rows);
    own.add_intercept();
    if (main_effect) own.add_parametric("group", testing::treatment_contrasts(data.group));
    own.add_ps_by("s(x):group", data.x, 8, data.group);
    EXPECT_EQ(fault_of(own, data), "none") << main_effect;
  }
}

TEST_F(FitReml, TakesNearlyDependentColumns) {
  std::vector<double> year;
  std::vector<double> square;
  for (const double x : data.x) {
    year.push_back(1950 + 70 * x);
    square.push_back(year.back() * year.back());
  }
  model.add_parametric("year", as_column(year));
  model.add_parametric("I(year^2)", as_column(square));
  EXPECT_EQ(fault_of(model, data), "none");
}

TEST_F(FitReml, RefusesMoreUnpenalisedCoefficientsThanRows) {
  DenseModel two(2);
  two.add_intercept();
  two.add_parametric("x", as_column({1, 2}));
  const WorkingModel of_two = two.working({1, 3}, {1, 1}, {0, 0});
  EXPECT_THROW(static_cast<void>(fit_reml(of_two, two.design(), false)), Error);
}

TEST_F(FitReml, IsLeftAtWhicheverPlaceItIsGivenUp) {
  const auto bases = penalty_bases(mixed.design());
  struct GivenUp {};
  std::atomic<int> left = std::numeric_limits<int>::max();  // number of cancellation points until the end
  const HostAlgebra algebra(2, [&] {
    if (left-- == 0) throw GivenUp{};
  });
  const auto fit = [&] {
    return fit_reml(working, mixed.design(), bases, false, {}, algebra, Search::global);
  };
  const RemlFit whole = fit();
  const int places = std::numeric_limits<int>::max() - left;
  EXPECT_GT(places, 4 * whole.iterations) << "more than one for each evaluation";
  for (int place = 0; place < places; ++place) {
    left = place;
    EXPECT_THROW(static_cast<void>(fit()), GivenUp) << place << " of " << places;
  }
  left = places;
  EXPECT_EQ(fit().coef, whole.coef);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
