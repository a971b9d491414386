// SPDX-License-Identifier: Apache-2.0
// Fits of several linear predictors end at the highest penalised log likelihood that Newton's method, written
// anew here, reaches from other starts at their smoothing parameters. Random models: TESSERA_RANDOM_MODELS,
// by default 10, beginning with the seed TESSERA_RANDOM_SEED.
#include "base/at.hpp"
#include "gam/design/coefficient_sums.hpp"
#include "gam/fit/model_rows.hpp"
#include "gam/fit/pirls/working_solver.hpp"
#include "gam/linalg/linalg.hpp"
#include "support/on_cpu.hpp"

#include <tessera/gam/gam.hpp>
#include <tessera/mpi/communicator.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

struct RandomModel {
  std::string family;
  std::string formula;
  Table table;
};

class ModelMaker {
 public:
  ModelMaker(Job& job, unsigned seed) : job_(job), random_(seed), seed_(seed) {}

  RandomModel model() {
    const int rows = 150 + static_cast<int>(random_() % 250);
    std::vector<double> x, z, w, normal, skew, positive, extreme, count, kind;
    Factor g{{}, {"a", "b", "c"}};
    std::normal_distribution<double> draw;
    for (int i = 0; i < rows; ++i) {
      x.push_back(uniform());
      z.push_back(uniform());
      w.push_back(draw(random_));
      g.codes.push_back(static_cast<int>(random_() % 3));
      const double mean = std::sin(6 * x.back()) + (g.codes.back() == 1 ? 0.5 : 0);
      const double spread = std::exp(-0.8 + 0.6 * std::cos(4 * z.back()) + 0.1 * w.back());
      const double e = draw(random_);
      normal.push_back(mean + spread * e);
      skew.push_back(mean + spread * std::sinh(1.1 * std::asinh(e) + 0.2));
      positive.push_back(
          std::gamma_distribution<double>(1 / (spread * spread), std::exp(mean) * spread * spread)(random_));
      extreme.push_back(mean - spread * std::log(-std::log(uniform())));
      count.push_back(uniform() < 0.7 ? std::poisson_distribution<int>(std::exp(0.8 + mean / 2))(random_)
                                      : 0);
      const double odds[] = {1, std::exp(mean), std::exp(1 - 2 * z.back())};
      double left = uniform() * (odds[0] + odds[1] + odds[2]);
      kind.push_back(left < odds[0] ? 0 : left < odds[0] + odds[1] ? 1 : 2);
    }
    struct OfFamily {
      const char* call;
      const char* response;
      int predictors;
    };
    constexpr OfFamily families[] = {
        {"gaulss", "normal", 2}, {"gammals", "positive", 2},   {"gumbls", "extreme", 2}, {"shash", "skew", 4},
        {"ziplss", "count", 2},  {"multinom(K=2)", "kind", 2}, {"gevlss", "extreme", 3}};
    const OfFamily& family = families[seed_ % std::size(families)];
    std::string formula =
        fmt::format("list({} ~ {}, ~ {}", family.response, one_of(location), one_of(spread));
    for (int p = 2; p < family.predictors; ++p) formula += ", ~ 1";
    const bool shares = random_() % 3 == 0;
    if (shares) formula += ", 1 + 2 ~ s(w, k=6) - 1";
    const auto column = [](const char* name, auto values) { return Table::Column{name, std::move(values)}; };
    return {family.call, formula + ")",
            Table{job_.plan(rows, 64),
                  {column("x", x), column("z", z), column("w", w), column("g", g), column("normal", normal),
                   column("skew", skew), column("positive", positive), column("extreme", extreme),
                   column("count", count), column("kind", kind)}}};
  }
  std::mt19937_64& random() { return random_; }

 private:
  static constexpr const char* location[] = {"s(x)", "s(x, bs='cr', k=8) + g", "s(x, k=6) + s(z, k=5) + g",
                                             "te(x, z, k=4)", "s(x, by=g, k=5) + g"};
  static constexpr const char* spread[] = {"1", "z", "s(z)", "s(z, bs='ps', k=8)", "s(z, k=5) + g"};
  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; }
  template <std::size_t N>
  const char* one_of(const char* const (&texts)[N]) {
    return texts[random_() % N];
  }

  Job& job_;
  std::mt19937_64 random_;
  unsigned seed_;
};

/// The penalised log likelihood of a model's coefficients at its smoothing parameters.
class Penalised {
 public:
  Penalised(Job& job, const ModelRows& rows, std::span<const double> log_sp)
      : rows_(rows.rows()),
        design_(*rows_.design),
        pass_(job, rows.plan(), rows_),
        penalty_(with_penalties(Matrix(design_.coef_size, design_.coef_size), design_, log_sp)) {}

  /// Minus infinity outside of the support.
  double at(const std::vector<double>& coef) {
    sums_ = pass_.step(design_.raw_coefficients(coef));
    const double value = -(sums_.deviance + dot(coef, multiply(penalty_, coef))) / 2;
    return sums_.bad_rows == 0 && std::isfinite(value) ? value : -std::numeric_limits<double>::infinity();
  }

  /// The end of Newton's method from these coefficients, in the support, and the value there.
  double climb(std::vector<double>& coef) {
    constexpr int most_steps = 500;
    double value = at(coef);
    for (int step = 0; step < most_steps; ++step) {
      std::vector<double> gradient = to_coefficients(sums_.gradient, design_);
      add_multiple(gradient, -1, multiply(penalty_, coef));
      Matrix hessian = gram_in_coefficients(sums_.gram, design_, HostAlgebra(1)).core;
      add_multiple(hessian.values(), 1, penalty_.values());
      const std::vector<double> direction = uphill(std::move(hessian), gradient);
      double share = 1;
      std::vector<double> next;
      double there = value;
      for (int halving = 0; halving < 50; ++halving, share /= 2) {
        next = coef;
        add_multiple(next, share, direction);
        there = at(next);
        if (there > value) break;
      }
      if (!(there > value)) return value;
      const double gain = there - value;
      coef = std::move(next);
      value = there;
      if (share == 1 && gain < 1e-12 * (1 + std::abs(value))) return value;
    }
    return value;
  }

  /// Standard errors, from the Hessian at these coefficients.
  std::vector<double> errors(const std::vector<double>& coef) {
    static_cast<void>(at(coef));
    Matrix hessian = gram_in_coefficients(sums_.gram, design_, HostAlgebra(1)).core;
    add_multiple(hessian.values(), 1, penalty_.values());
    std::vector<double> out(coef.size());
    const auto lower = cholesky(hessian);
    if (!lower) return out;
    const Matrix inverse = cholesky_inverse(*lower);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = std::sqrt(inverse(static_cast<int>(i), static_cast<int>(i)));
    return out;
  }

 private:
  /// Solves with the Hessian plus the least multiple of its absolute diagonal that makes it definite.
  static std::vector<double> uphill(Matrix hessian, const std::vector<double>& gradient) {
    std::vector<double> diagonal;
    for (int i = 0; i < hessian.rows(); ++i) diagonal.push_back(std::max(std::abs(hessian(i, i)), 1e-8));
    for (double ridge = 0;; ridge = ridge == 0 ? 1e-8 : 10 * ridge) {
      Matrix a = hessian;
      for (int i = 0; i < a.rows(); ++i) a(i, i) += ridge * diagonal[base::at(i)];
      const auto lower = cholesky(a);
      if (!lower) continue;
      return cholesky_solve(*lower, gradient);
    }
  }

  const Rows& rows_;
  const Design& design_;
  RowPass pass_;
  Matrix penalty_;
  RawSums sums_;
};

/// Expects that Newton's method leads from the fit to nothing higher, nor from the first `starts` of these:
/// the zeros, and coefficients that are standard errors away, by more and more. Returns how many lead to the
/// same.
int starts_to_the_fit(Job& job, const FittedModel& fitted, const Table& table, int starts,
                      std::mt19937_64& random) {
  FitObserver silent;
  const ModelRows rows(job, fitted, source_of(table), {}, silent);
  // Beyond this, the penalty times a smoothing parameter is rounding of the penalty.
  constexpr double most_log_sp = 15;
  std::vector<double> log_sp = fitted.log_sp;
  for (double& parameter : log_sp) parameter = std::min(parameter, most_log_sp);
  Penalised likelihood(job, rows, log_sp);
  std::vector<double> found(rows.coef().begin(), rows.coef().end());
  const double at_fit = likelihood.at(found);
  const double value = likelihood.climb(found);
  if (log_sp == fitted.log_sp) {
    EXPECT_LE(value, at_fit + 1e-6);
  }
  const std::vector<double> errors = likelihood.errors(found);
  int same = 0;
  for (int start = 0; start < starts; ++start) {
    std::vector<double> coef(found.size());
    for (std::size_t i = 0; start > 0 && i < coef.size(); ++i)
      coef[i] = found[i] + start * errors[i] * std::normal_distribution<double>()(random);
    for (int i = 0; i < 60 && !std::isfinite(likelihood.at(coef)); ++i) {
      for (std::size_t j = 0; j < coef.size(); ++j) coef[j] = (coef[j] + found[j]) / 2;
    }
    const double end = likelihood.climb(coef);
    EXPECT_LE(end, value + 1e-6) << "from start " << start;
    same += end > value - 1e-6 ? 1 : 0;
  }
  return same;
}

TEST(Starts, NoneEndsHigherThanTheFit) {
  Job job(mpi::Communicator::serial(), on_cpu(1));
  const int models = number_from("TESSERA_RANDOM_MODELS", 10);
  const auto first = static_cast<unsigned>(number_from("TESSERA_RANDOM_SEED", 1));
  constexpr int starts = 5;
  int settled = 0;
  int ends = 0;
  for (unsigned seed = first; seed < first + static_cast<unsigned>(models); ++seed) {
    ModelMaker maker(job, seed);
    const RandomModel one = maker.model();
    SCOPED_TRACE(fmt::format("{}: {} {}", seed, one.family, one.formula));
    const FittedModel fitted =
        fit(job, parse_formula(one.formula), one.table, {.family = family(one.family)}).model.fitted();
    if (!fitted.converged) continue;  // and says so
    ++settled;
    ends += starts_to_the_fit(job, fitted, one.table, starts, maker.random());
  }
  // Most fits settle, and most starts lead to the same end: nothing is compared otherwise.
  EXPECT_GE(10 * settled, 9 * models);
  EXPECT_GE(10 * ends, 9 * starts * settled);
}

/// Tweedie responses of some 230 rows, of power 1.5, hardly any of which is 0.
Table tweedie_table(Job& job, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  const auto rows = static_cast<std::int64_t>(200 + random() % 60);
  std::vector<double> x, z, y;
  for (std::int64_t i = 0; i < rows; ++i) {
    x.push_back(uniform(random));
    z.push_back(uniform(random));
    const double mean = std::exp(1 + 0.6 * std::sin(6 * x.back()));
    const double phi = std::exp(-2.2 + 0.7 * z.back());
    const int parts = std::poisson_distribution<int>(2 * std::sqrt(mean) / phi)(random);
    y.push_back(parts == 0 ? 0 : std::gamma_distribution<double>(parts, phi * std::sqrt(mean) / 2)(random));
  }
  return {job.plan(rows, 64), {{"x", x}, {"z", z}, {"y", y}}};
}

TEST(Starts, OfTweedieLeadToTheMaximumAlsoOfFewRowsWithoutZeros) {
  Job job(mpi::Communicator::serial(), on_cpu(1));
  constexpr const char* formulas[] = {"list(y ~ s(x), ~ 1, ~ s(z))", "list(y ~ s(x, k=6), ~ x, ~ s(z, k=6))",
                                      "list(y ~ s(x) + z, ~ 1, ~ z)", "list(y ~ s(x), ~ s(x), ~ s(z))"};
  constexpr unsigned sets = 20;
  for (unsigned seed = 1; seed <= sets; ++seed) {
    SCOPED_TRACE(seed);
    const Table table = tweedie_table(job, seed);
    const FittedModel fitted =
        fit(job, parse_formula(formulas[seed % std::size(formulas)]), table, {.family = family("twlss")})
            .model.fitted();
    ASSERT_TRUE(fitted.converged) << fitted.why_not_converged;
    std::mt19937_64 random(seed);
    // From further away one in ten of these likelihoods has a higher maximum.
    static_cast<void>(starts_to_the_fit(job, fitted, table, 1, random));
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
