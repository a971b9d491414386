// SPDX-License-Identifier: Apache-2.0
// How the fit of a response ends: at a minimum, at a limit, or as what it is.
#include "gam/many/response_fit.hpp"

#include "gam/many/host_likelihood_sums.hpp"
#include "gam/many/laplace_criterion.hpp"
#include "support/errors.hpp"
#include "support/many_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr int cell_count = 400;
constexpr const char* lineages =
    "s(t1, by = l1, bs = \"cr\", k = 5, id = 1) + s(t2, by = l2, bs = \"cr\", k = 5, id = 1) - 1";

/// Two lineages: the cell_count of even and of odd numbers, in order of their times.
template <class Noise>
std::vector<Table::Column> cells(const Noise& noise) {
  std::vector<double> t;
  std::vector<double> l1;
  std::vector<double> l2;
  for (int i = 0; i < cell_count; ++i) {
    t.push_back(static_cast<double>(i) / cell_count * (1 + noise()));
    l1.push_back(i % 2 == 0 ? 1 : 0);
    l2.push_back(i % 2 == 0 ? 0 : 1);
  }
  return {{"t1", t}, {"t2", t}, {"l1", l1}, {"l2", l2}};
}
std::vector<Table::Column> cells() {
  return cells([] { return 0.0; });
}

class Lineages : public ::testing::Test {
 protected:
  [[nodiscard]] ResponseFit fit(const std::vector<double>& y, ManyFamily family = ManyFamily::nb) const {
    return ResponseFitter(model_.design(), {.family = family}).fit(y);
  }
  /// Poisson counts of this mean in the cell_count that are chosen.
  template <class Chosen>
  static std::vector<double> counts(double mean, const Chosen& chosen) {
    std::mt19937_64 random(7);
    std::poisson_distribution<int> poisson(mean);
    std::vector<double> y;
    for (int i = 0; i < cell_count; ++i) y.push_back(chosen(i) ? poisson(random) : 0);
    return y;
  }
  ManyModel model_{cells(), cell_count, lineages};
};

TEST_F(Lineages, WithoutACountAreAllZero) {
  const ResponseFit none = fit(std::vector<double>(cell_count));
  EXPECT_EQ(none.status, ManyStatus::all_zero);
  EXPECT_FALSE(none.is_fitted());
  // One at the end of a line: the predictor of all others is minus infinity.
  std::vector<double> last(cell_count);
  last.back() = 3;
  EXPECT_EQ(fit(last).status, ManyStatus::all_zero);
}

TEST_F(Lineages, OfOneLineageAreFittedWithoutTheOther) {
  const std::vector<double> y = counts(3, [](int i) { return i % 2 == 0; });
  const ResponseFit found = fit(y);
  EXPECT_EQ(found.status, ManyStatus::converged);
  ASSERT_EQ(found.absent.size(), 1U);
  // As if the other lineage were not in the table.
  std::vector<double> missing = y;
  for (int i = 1; i < cell_count; i += 2)
    missing[static_cast<std::size_t>(i)] = std::numeric_limits<double>::quiet_NaN();
  const ResponseFit alone = fit(missing);
  EXPECT_EQ(alone.status, ManyStatus::converged);
  EXPECT_NEAR(found.criterion, alone.criterion, 1e-9);
  EXPECT_NEAR(found.deviance, alone.deviance, 1e-9 * alone.deviance);
}

/// A lineage whose counts are all at its end: they say nothing about theta.
TEST_F(Lineages, WithAllCountsAtTheirEndAreLeftOut) {
  std::vector<double> y = counts(3, [](int i) { return i % 2 == 0; });
  y.back() = 50;
  std::vector<double> missing = y;
  for (int i = 1; i < cell_count; i += 2)
    missing[static_cast<std::size_t>(i)] = std::numeric_limits<double>::quiet_NaN();
  const ResponseFit found = fit(y);
  const ResponseFit alone = fit(missing);
  ASSERT_EQ(found.absent.size(), 1U);
  EXPECT_NEAR(found.criterion, alone.criterion, 1e-9);
  EXPECT_NEAR(found.theta, alone.theta, 1e-6 * alone.theta);
}

/// Three levels of a factor under one curve.
class Levels : public ::testing::Test {
 protected:
  static std::vector<Table::Column> covariates() {
    std::vector<double> t;
    Factor level{.codes = {}, .levels = {"a", "b", "c"}};
    for (int i = 0; i < cell_count; ++i) {
      t.push_back(static_cast<double>(i) / cell_count);
      level.codes.push_back(i % 3);
    }
    return {{"t", t}, {"level", level}};
  }
  template <class Value>
  static std::vector<double> by_level(const Value& value) {
    std::vector<double> y;
    for (int i = 0; i < cell_count; ++i) y.push_back(value(i, i % 3));
    return y;
  }
  ManyModel model_{covariates(), cell_count, "level + s(t, bs = \"cr\", k = 6)", "", false};
};

TEST_F(Levels, WithoutACountAreAbsent) {
  std::mt19937_64 random(19);
  const auto y = by_level([&](int i, int level) {
    const double mean = std::exp(1 + std::sin(0.02 * i) + 0.5 * level);
    return level == 1 ? 0.0 : static_cast<double>(std::poisson_distribution<int>(mean)(random));
  });
  const auto missing = by_level([&](int i, int level) {
    return level == 1 ? std::numeric_limits<double>::quiet_NaN() : y[static_cast<std::size_t>(i)];
  });
  for (const ManyFamily family : {ManyFamily::poisson, ManyFamily::nb}) {
    const ResponseFit found = ResponseFitter(model_.design(), {.family = family}).fit(y);
    EXPECT_EQ(found.status, ManyStatus::converged);
    ASSERT_EQ(found.absent.size(), 1U);
    const ResponseFit alone = ResponseFitter(model_.design(), {.family = family}).fit(missing);
    EXPECT_EQ(alone.absent.size(), 1U);
    EXPECT_NEAR(found.criterion, alone.criterion, 1e-9);
    for (std::size_t i = 0; i < found.coef.size(); ++i) EXPECT_NEAR(found.coef[i], alone.coef[i], 1e-7);
  }
}

TEST_F(Lineages, WithoutOverdispersionArePoisson) {
  const std::vector<double> y = counts(4, [](int) { return true; });
  const ResponseFit nb = fit(y);
  const ResponseFit poisson = fit(y, ManyFamily::poisson);
  EXPECT_EQ(nb.status, ManyStatus::converged);
  EXPECT_EQ(nb.theta, std::numeric_limits<double>::infinity());
  EXPECT_NEAR(nb.criterion, poisson.criterion, 1e-9);
  EXPECT_EQ(nb.coef.size(), poisson.coef.size());
  for (std::size_t i = 0; i < nb.coef.size(); ++i) EXPECT_NEAR(nb.coef[i], poisson.coef[i], 1e-7);
}

TEST_F(Lineages, WithOneCountInTheMiddleAreUnbounded) {
  std::vector<double> y(cell_count);
  y[cell_count / 2] = 1;
  EXPECT_EQ(fit(y).status, ManyStatus::unbounded);
}

TEST_F(Lineages, EndWithinTheBoundOfIterations) {
  std::vector<std::vector<double>> hard;
  std::vector<double> few(cell_count);
  few[0] = 500, few[1] = 3, few[2] = 70, few[3] = 1000, few[4] = 2;
  hard.push_back(few);
  std::vector<double> outlier = counts(0.05, [](int) { return true; });
  outlier[cell_count / 2] = 1e5;
  hard.push_back(outlier);
  hard.push_back(counts(20, [](int i) { return i > cell_count / 2; }));
  hard.push_back(counts(30000, [](int) { return true; }));
  hard.emplace_back(cell_count, 1.0);
  for (const std::vector<double>& y : hard) {
    const ResponseFit found = fit(y);
    EXPECT_EQ(found.status, ManyStatus::converged);
    EXPECT_LE(found.iterations, 25);
  }
}

TEST_F(Lineages, AreTheSameWhateverWasFittedBefore) {
  const std::vector<double> y = counts(2, [](int i) { return i < 300; });
  ResponseFitter used(model_.design(), {.family = ManyFamily::nb});
  static_cast<void>(used.fit(counts(9, [](int i) { return i % 2 == 0; })));
  const ResponseFit again = used.fit(y);
  const ResponseFit fresh = fit(y);
  EXPECT_EQ(again.coef, fresh.coef);
  EXPECT_EQ(again.inverse, fresh.inverse);
}

TEST_F(Lineages, AreWithoutTheRowsOfWeightZero) {
  std::vector<double> y = counts(3, [](int) { return true; });
  std::vector<double> weights(cell_count, 1.0);
  std::vector<double> missing = y;
  for (std::size_t i = 0; i < y.size(); i += 3) {
    weights[i] = 0;
    y[i] = 40;
    missing[i] = std::numeric_limits<double>::quiet_NaN();
  }
  ResponseFitter fitter(model_.design(), {.family = ManyFamily::nb});
  const ResponseFit found = fitter.fit(y, {.weights = weights});
  const ResponseFit expected = fit(missing);
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.coef, expected.coef);
  EXPECT_EQ(found.log_likelihood, expected.log_likelihood);
  weights[1] = -1;
  expect_error(ErrorCode::input, "row 2: the weight -1 is not a number of at least 0",
               [&] { static_cast<void>(fitter.fit(y, {.weights = weights})); });
  const std::vector<double> offsets(cell_count, std::numeric_limits<double>::infinity());
  expect_error(ErrorCode::input, "row 1: the offset inf is not a finite number",
               [&] { static_cast<void>(fitter.fit(y, {.offsets = offsets})); });
}

TEST_F(Lineages, OfAQuasiFamilyHaveTheScaleOfTheLineagesThatAreThere) {
  const std::vector<double> y = counts(3, [](int i) { return i % 2 == 0; });
  std::vector<double> missing = y;
  for (int i = 1; i < cell_count; i += 2)
    missing[static_cast<std::size_t>(i)] = std::numeric_limits<double>::quiet_NaN();
  ResponseFitter fitter(model_.design(), {.family = ManyFamily::poisson, .quasi = true});
  const ResponseFit found = fitter.fit(y);
  const ResponseFit alone = fitter.fit(missing);
  EXPECT_EQ(found.status, ManyStatus::converged);
  EXPECT_EQ(found.rows, cell_count / 2);
  EXPECT_EQ(found.scale, alone.scale);
  EXPECT_EQ(found.coef, alone.coef);
  EXPECT_EQ(found.criterion, alone.criterion);
  // As without the other lineage in the model, whose knots are a little different.
  std::vector<Table::Column> half = cells();
  for (Table::Column& column : half) {
    auto& values = std::get<std::vector<double>>(column.values);
    for (std::size_t i = 0; 2 * i < values.size(); ++i) values[i] = values[2 * i];
    values.resize(cell_count / 2);
  }
  std::vector<double> own;
  for (std::size_t i = 0; i < y.size(); i += 2) own.push_back(y[i]);
  const ManyModel model(half, cell_count / 2, "s(t1, bs = \"cr\", k = 5)");
  const ResponseFit expected =
      ResponseFitter(model.design(), {.family = ManyFamily::poisson, .quasi = true}).fit(own);
  EXPECT_NEAR(found.scale, expected.scale, 1e-4);
  EXPECT_NEAR(found.deviance, expected.deviance, 1e-2);
}

TEST_F(Lineages, RefuseWhatIsNoCount) {
  std::vector<double> y(cell_count, 1.0);
  y[4] = 1.5;
  expect_error(ErrorCode::input, "row 5: the value 1.5 is not a count", [&] { static_cast<void>(fit(y)); });
  y[4] = -1;
  expect_error(ErrorCode::input, "row 5: the value -1 is not a count", [&] { static_cast<void>(fit(y)); });
}

/// Responses with counts in one to five rows.
class RareCounts {
 public:
  explicit RareCounts(unsigned seed) : random_(seed) {}
  std::vector<double> next() {
    std::vector<double> y(cell_count);
    for (int i = 0; i <= response_ % 5; ++i)
      y[any_(random_)] = response_ % 3 == 0 ? 2 : std::pow(10, response_ % 4);
    ++response_;
    return y;
  }

 private:
  std::mt19937_64 random_;
  std::uniform_int_distribution<std::size_t> any_{0, cell_count - 1};
  int response_ = 0;
};

/// Without a minimum, or with one where curves fall steeply.
TEST_F(Lineages, OfRareCountsNeverFail) {
  for (const unsigned seed : {13U, 51U}) {
    RareCounts counts(seed);
    for (int response = 0; response < 600; ++response) {
      const std::vector<double> y = counts.next();
      const ResponseFit found = fit(y);
      EXPECT_NE(found.status, ManyStatus::failed) << seed << ' ' << response;
      EXPECT_LE(found.iterations, 40) << seed << ' ' << response;
    }
  }
}

/// With a curve that falls for ever the criterion has a rounding of 1e-6, by which the last step of theta may
/// seem to rise. Other roundings, as of another CPU: times that differ by 1e-15.
TEST_F(Lineages, OfRareCountsSettleWhateverTheRounding) {
  RareCounts counts(13);
  for (int i = 0; i < 20; ++i) static_cast<void>(counts.next());
  const std::vector<double> y = counts.next();
  for (const unsigned seed : {94U, 95U, 96U, 173U}) {
    std::mt19937_64 random(seed);
    const auto noise = [&random] { return 1e-15 * (static_cast<double>(random() % 2001) - 1000) / 500; };
    const ManyModel model(cells(noise), cell_count, lineages);
    const ResponseFit found = ResponseFitter(model.design(), {.family = ManyFamily::nb}).fit(y);
    EXPECT_EQ(found.status, ManyStatus::unbounded) << seed;
  }
}

/// Components only save work: the same design as one component has the same fits.
TEST(Components, HaveTheFitsOfTheWholeMatrix) {
  std::mt19937_64 random(5);
  std::vector<double> t;
  Factor lineage{.codes = {}, .levels = {"a", "b", "c"}};
  for (int i = 0; i < cell_count; ++i) {
    t.push_back(std::uniform_real_distribution<double>(0, 1)(random));
    lineage.codes.push_back(i % 3);
  }
  for (const char* const terms : {"lineage + s(t, by = lineage, bs = \"cr\", k = 6)",
                                  "lineage + s(t, by = lineage, bs = \"cr\", k = 6, id = 1)",
                                  "lineage + te(t, t2, by = lineage, bs = \"cr\", k = 3)"}) {
    std::vector<double> t2(t.rbegin(), t.rend());
    const ManyModel model({{"t", t}, {"t2", t2}, {"lineage", lineage}}, cell_count, terms);
    const SharedDesign& blocks = model.design();
    ASSERT_EQ(blocks.components.size(), 3U);
    SharedDesign whole = blocks;
    for (std::size_t i = 1; i < whole.components.size(); ++i) {
      DesignComponent& first = whole.components[0];
      const DesignComponent& next = whole.components[i];
      first.end = next.end;
      first.last_group = next.last_group;
      first.penalties.insert(first.penalties.end(), next.penalties.begin(), next.penalties.end());
      first.bases.insert(first.bases.end(), next.bases.begin(), next.bases.end());
      for (const int parameter : next.parameters) {
        if (std::ranges::find(first.parameters, parameter) == first.parameters.end())
          first.parameters.push_back(parameter);
      }
    }
    std::ranges::sort(whole.components[0].parameters);
    whole.components.resize(1);
    for (const ManyFamily family : {ManyFamily::nb, ManyFamily::gaussian, ManyFamily::gamma}) {
      std::vector<double> y;
      for (int i = 0; i < cell_count; ++i) {
        const double mean = std::exp(1 + std::sin((3 + i % 3) * t[static_cast<std::size_t>(i)]) -
                                     (i % 3 == 1 ? t.front() : 0));
        const double level = mean * std::gamma_distribution<double>(2, 0.5)(random);
        y.push_back(family == ManyFamily::nb ? std::poisson_distribution<int>(level)(random) : level);
      }
      const ResponseFit one = ResponseFitter(blocks, {.family = family}).fit(y);
      const ResponseFit other = ResponseFitter(whole, {.family = family}).fit(y);
      ASSERT_EQ(one.status, ManyStatus::converged);
      ASSERT_EQ(other.status, ManyStatus::converged);
      EXPECT_NEAR(one.criterion, other.criterion, 1e-8 * std::abs(other.criterion));
      EXPECT_NEAR(one.scale, other.scale, 1e-6 * other.scale);
      for (std::size_t i = 0; i < one.coef.size(); ++i) EXPECT_NEAR(one.coef[i], other.coef[i], 1e-5);
      for (std::size_t i = 0; i < one.inverse.size(); ++i)
        EXPECT_NEAR(one.inverse[i], other.inverse[i], 1e-5 * other.inverse[0]);
    }
  }
}

/// The log likelihood of large counts keeps its digits.
TEST(LargeCounts, HaveTheLikelihoodOfTheirMean) {
  constexpr int rows = 500;
  constexpr double mean = 1e6;
  std::mt19937_64 random(29);
  std::vector<double> y;
  double sum = 0;
  for (int i = 0; i < rows; ++i) {
    y.push_back(static_cast<double>(std::poisson_distribution<int>(mean)(random)));
    sum += y.back();
  }
  const ManyModel model({{"t", std::vector<double>(rows, 0.5)}}, rows, "1");
  const long double mu = sum / rows;
  for (const double theta : {2.0, 1e4}) {
    const ResponseFit found =
        ResponseFitter(model.design(), {.family = ManyFamily::nb, .theta = theta}).fit(y);
    long double log_likelihood = 0;
    for (const long double count : y)
      log_likelihood += std::lgamma(count + theta) - std::lgamma(static_cast<long double>(theta)) -
                        std::lgamma(count + 1) - theta * std::log1p(mu / theta) -
                        count * std::log1p(theta / mu);
    EXPECT_NEAR(found.log_likelihood, static_cast<double>(log_likelihood), 1e-8) << theta;
  }
  const ResponseFit found = ResponseFitter(model.design(), {.family = ManyFamily::poisson}).fit(y);
  long double log_likelihood = 0;
  for (const long double count : y) log_likelihood += count * std::log(mu) - mu - std::lgamma(count + 1);
  EXPECT_NEAR(found.log_likelihood, static_cast<double>(log_likelihood), 1e-8);
}

/// The smoothing parameter of a clear signal is far below the start of its search.
TEST(ClearSignals, Converge) {
  constexpr int rows = 1000;
  constexpr double noise = 0.001;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal(0, noise);
  std::vector<double> t;
  std::vector<double> x;
  std::vector<double> y;
  for (int i = 0; i < rows; ++i) {
    t.push_back(uniform(random));
    x.push_back(uniform(random));
    y.push_back(2 * std::sin(12 * t.back()) + normal(random));
  }
  for (const char* const terms : {"s(t, k = 40)", "s(t, k = 40) + s(x, k = 6)"}) {
    const ManyModel model({{"t", t}, {"x", x}}, rows, terms);
    const ResponseFit found = ResponseFitter(model.design(), {.family = ManyFamily::gaussian}).fit(y);
    EXPECT_EQ(found.status, ManyStatus::converged) << terms;
    EXPECT_NEAR(found.scale, noise * noise, 0.2 * noise * noise) << terms;
  }
}

/// The claim of the search: no smoothing parameters and theta of a wide grid have a lower criterion.
TEST_F(Lineages, HaveNoLowerCriterionOnAGrid) {
  std::mt19937_64 random(11);
  for (int response = 0; response < 12; ++response) {
    std::vector<double> y;
    const double slope = std::normal_distribution<double>(0, 2)(random);
    const double wave = std::normal_distribution<double>(0, 1)(random);
    for (int i = 0; i < cell_count; ++i) {
      const double t = static_cast<double>(i) / cell_count;
      const double mean = std::exp(0.5 + slope * t + wave * std::sin(7 * t)) *
                          std::gamma_distribution<double>(0.8, 1 / 0.8)(random);
      y.push_back(std::poisson_distribution<int>(mean)(random));
    }
    const ResponseFit found = fit(y);
    ASSERT_EQ(found.status, ManyStatus::converged);
    LaplaceCriterion criterion(model_.design(), {.family = ManyFamily::nb},
                               std::make_unique<HostLikelihoodSums>(model_.design()));
    ResponseFit ignored;
    ASSERT_EQ(criterion.set_response(y, {}, ignored), ManyStatus::converged);
    const ManyPoint start = criterion.start();
    ASSERT_TRUE([&] {
      ManyPoint point = start;
      return criterion.settle(point, 1e-12);
    }());
    for (double log_sp = -12; log_sp <= 20; log_sp += 1) {
      for (double tau = -4; tau <= 6; tau += 0.5) {
        ManyPoint point = start;
        point.log_sp[0] = start.log_sp[0] + log_sp;
        point.tau = tau;
        if (!criterion.settle(point, 1e-12)) continue;
        ResponseFit at_point;
        criterion.describe(point, at_point);
        EXPECT_GE(at_point.criterion, found.criterion - 1e-7) << response << ": " << log_sp << ", " << tau;
      }
    }
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
