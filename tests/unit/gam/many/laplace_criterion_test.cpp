// SPDX-License-Identifier: Apache-2.0
// The derivatives of the criterion and the coefficients are those of their differences.
#include "gam/many/laplace_criterion.hpp"

#include "gam/many/host_likelihood_sums.hpp"
#include "support/many_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <tuple>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr int case_rows = 150;
constexpr unsigned seed_of_cases = 61;

std::vector<Table::Column> covariates_of_cases() {
  std::mt19937_64 random(seed_of_cases);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> x;
  std::vector<double> z;
  std::vector<double> offset;
  Factor f{.codes = {}, .levels = {"a", "b"}};
  for (int i = 0; i < case_rows; ++i) {
    x.push_back(uniform(random));
    z.push_back(uniform(random));
    offset.push_back(0.4 * uniform(random));
    f.codes.push_back(i % 3 == 0 ? 0 : 1);
  }
  return {{"x", x}, {"z", z}, {"o", offset}, {"f", f}};
}

/// A response that the family may have.
std::vector<double> response_of(ManyFamily family) {
  std::mt19937_64 random(seed_of_cases + 1);
  std::vector<double> y;
  for (int i = 0; i < case_rows; ++i) {
    const double mean = std::exp(1 + std::sin(0.1 * i));
    switch (family) {
      case ManyFamily::nb:
      case ManyFamily::poisson:
        y.push_back(static_cast<double>(std::poisson_distribution<int>(mean)(random)));
        break;
      case ManyFamily::binomial: y.push_back(std::bernoulli_distribution(0.4)(random) ? 1 : 0); break;
      case ManyFamily::gaussian: y.push_back(std::normal_distribution<double>(mean, 1)(random)); break;
      case ManyFamily::gamma: y.push_back(0.01 + std::gamma_distribution<double>(2, mean)(random)); break;
    }
  }
  return y;
}

/// Of penalties that share coefficients, a lambda that is e^40 times the other costs no digits.
TEST(PenaltiesOfATensorProduct, MayHaveAnyLambdas) {
  for (const char* const terms : {"te(x, z, k = 4)", "s(x, k = 5) + te(x, z, k = 5)"}) {
    const ManyModel model(covariates_of_cases(), case_rows, terms);
    LaplaceCriterion criterion(model.design(), {.family = ManyFamily::poisson},
                               std::make_unique<HostLikelihoodSums>(model.design()));
    ResponseFit ignored;
    ASSERT_EQ(criterion.set_response(response_of(ManyFamily::poisson), {}, ignored), ManyStatus::converged);
    const ManyPoint start = criterion.start();
    const std::size_t last = start.log_sp.size() - 1;
    std::vector<double> values;
    for (const double above : {30.0, 30.1, 30.2, 31.0}) {
      ManyPoint point = start;
      point.log_sp[last] += above;
      point.log_sp[last - 1] -= 10;
      ASSERT_TRUE(criterion.settle(point, 1e-20)) << terms;
      values.push_back(point.value);
    }
    for (const double value : values) EXPECT_NEAR(value, values.front(), 1e-10) << terms;
  }
}

class Criterion : public ::testing::TestWithParam<std::tuple<ManyFamily, std::string>> {};

TEST_P(Criterion, HasTheDerivativesOfItsDifferences) {
  const auto& [family, terms] = GetParam();
  const ManyModel model(covariates_of_cases(), case_rows, terms);
  LaplaceCriterion criterion(model.design(), {.family = family},
                             std::make_unique<HostLikelihoodSums>(model.design()));
  ResponseFit ignored;
  ASSERT_EQ(criterion.set_response(response_of(family), {}, ignored), ManyStatus::converged);
  ManyPoint point = criterion.start();
  constexpr double exact = 1e-22;
  for (std::size_t j = 0; j < point.log_sp.size(); ++j) point.log_sp[j] += 0.7 - 0.9 * static_cast<double>(j);
  if (family == ManyFamily::nb) point.tau = 0.4;
  ASSERT_TRUE(criterion.settle(point, exact));
  ManyDerivatives at_point;
  criterion.differentiate(point, at_point);
  const double step = 3e-4;
  for (std::size_t j = 0; j < at_point.parameters.size(); ++j) {
    const auto moved = [&](double by) {
      ManyPoint other = point;
      const int parameter = at_point.parameters[j];
      (parameter < 0 ? other.tau : other.log_sp[static_cast<std::size_t>(parameter)]) += by;
      EXPECT_TRUE(criterion.settle(other, exact));
      return other;
    };
    const ManyPoint before = moved(-step);
    ManyDerivatives at_before;
    criterion.differentiate(before, at_before);
    const ManyPoint after = moved(step);
    ManyDerivatives at_after;
    criterion.differentiate(after, at_after);
    const double scale = 1 + std::abs(at_point.gradient[j]);
    EXPECT_NEAR(at_point.gradient[j], (after.value - before.value) / (2 * step), 2e-6 * scale) << j;
    for (std::size_t k = 0; k < at_point.parameters.size(); ++k) {
      const double difference = (at_after.gradient[k] - at_before.gradient[k]) / (2 * step);
      EXPECT_NEAR(at_point.hessian(static_cast<int>(j), static_cast<int>(k)), difference,
                  2e-6 * (1 + std::abs(difference)))
          << j << ", " << k;
    }
    for (const ComponentDerivatives& component : at_point.components) {
      const auto found = std::ranges::find(component.parameters, at_point.parameters[j]);
      for (std::size_t i = 0; i < component.columns.size(); ++i) {
        const auto column = static_cast<std::size_t>(component.columns[i]);
        const double difference = (after.b[column] - before.b[column]) / (2 * step);
        const double first =
            found == component.parameters.end()
                ? 0
                : component.first[static_cast<std::size_t>(found - component.parameters.begin())][i];
        EXPECT_NEAR(first, difference, 2e-6 * (1 + std::abs(difference)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, Criterion,
    ::testing::Combine(
        ::testing::Values(ManyFamily::nb, ManyFamily::poisson, ManyFamily::binomial, ManyFamily::gaussian,
                          ManyFamily::gamma),
        ::testing::Values("s(x, k = 6) + f", "f + s(x, by = f, bs = \"cr\", k = 5) + offset(o)",
                          "te(x, z, k = 4) + s(f, bs = \"re\")",
                          "s(x, bs = \"cr\", k = 5, id = 1) + s(z, bs = \"cr\", k = 5, id = 1)")));

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
