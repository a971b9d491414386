// SPDX-License-Identifier: Apache-2.0
// Links whose mean may leave the family's range agree with glm and gam of R 4.2 and mgcv 1.8-41. In R the
// columns are
//   i <- 1:200; x <- (i*0.6180339887498949) %% 1; u <- (i*0.7548776662466927) %% 1; v <-
//   (i*0.5698402909980532) %% 1
// and counts are qpois(u, mean).
#include "support/fit_support.hpp"
#include "support/table_support.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t link_rows = 200;

/// The notes of a fit.
struct LinkNotes : FitObserver {
  void note(std::string_view what) override { said += std::string(what) + '\n'; }
  void now(std::string_view /*what*/) override {}
  std::string said;
};

std::vector<double> multiples(double step) {
  std::vector<double> values;
  for (std::int64_t i = 1; i <= link_rows; ++i)
    values.push_back(std::fmod(static_cast<double>(i) * step, 1.0));
  return values;
}
const std::vector<double>& x() {
  static const std::vector<double> values = multiples(0.6180339887498949);
  return values;
}
const std::vector<double>& u() {
  static const std::vector<double> values = multiples(0.7548776662466927);
  return values;
}
const std::vector<double>& v() {
  static const std::vector<double> values = multiples(0.5698402909980532);
  return values;
}

template <class Of>
std::vector<double> each(const Of& of) {
  std::vector<double> values;
  for (std::size_t i = 0; i < x().size(); ++i) values.push_back(of(i));
  return values;
}
/// R's qpois(u, mean(x)).
template <class Mean>
std::vector<double> counts_of(const Mean& mean) {
  return each([&](std::size_t i) {
    double count = 0;
    double term = std::exp(-mean(i));
    for (double sum = term; sum < u()[i]; sum += term) term *= mean(i) / ++count;
    return count;
  });
}

struct LinkFit {
  FittedModel model;
  std::string said;
};

LinkFit link_fit(const std::vector<double>& y, const std::string& family_text,
                 const std::string& formula = "y ~ x", const std::vector<double>& offset = {},
                 const std::vector<double>& sp = {}) {
  Job job = testing::cpu_job(testing::world());
  const Plan plan = job.plan(link_rows, 64);
  FitOptions options{.family = family(family_text), .sp = sp};
  std::vector<double> centred = x();
  for (double& one : centred) one -= 0.5;
  const Table table{plan, {{"y", y}, {"x", x()}, {"o", offset.empty() ? x() : offset}, {"centred", centred}}};
  LinkNotes notes;
  FitResult result = fit(job, parse_formula(formula), table, options, &notes);
  return {result.model.fitted(), notes.said};
}

void expect_line(const LinkFit& found, double intercept, double slope, double near = 1e-7) {
  EXPECT_TRUE(found.model.converged) << found.model.why_not_converged;
  ASSERT_EQ(found.model.coef.size(), 2U);
  EXPECT_NEAR(found.model.coef[0], intercept, near);
  EXPECT_NEAR(found.model.coef[1], slope, near);
}

std::vector<double> hyperbola(double noise) {
  return each([&](std::size_t i) { return 1 / (0.3 + 2 * x()[i]) + noise * (u()[i] - 0.5); });
}
std::vector<double> events(const std::function<double(double)>& mean) {
  return each([&](std::size_t i) { return u()[i] < mean(x()[i]) ? 1.0 : 0.0; });
}

TEST(LinkRange, StartsOfAnInverseLinkAreOnTheSideOfTheResponses) {
  const std::vector<double> y = hyperbola(0.4);
  expect_line(link_fit(y, "gaussian(inverse)"), 0.299059577776, 2.00396148018);
  expect_line(link_fit(y, "quasi(inverse, constant)"), 0.299059577776, 2.00396148018);
  std::vector<double> below = y;
  for (double& one : below) one = -one;
  expect_line(link_fit(below, "gaussian(inverse)"), -0.299059577776, -2.00396148018);
  expect_line(link_fit(y, "scat(theta=c(5, 0.1), link=inverse)"), 0.299724270167, 2.0015255473);
}

TEST(LinkRange, AnInverseLinkTakesResponsesOfBothSignsAndZeros) {
  std::vector<double> y = hyperbola(1.2);
  expect_line(link_fit(y, "gaussian(inverse)"), 0.29719831051, 2.01178289932);
  for (double& one : y) one = std::max(one, 0.0);
  expect_line(link_fit(y, "gaussian(inverse)"), 0.297572451219, 2.00571964353);
}

TEST(LinkRange, FirstStepsAreHalvedIntoTheRange) {
  expect_line(link_fit(events([](double at) { return std::exp(-2 + 1.9 * at); }), "binomial(log)"),
              -2.22684550331, 2.20207663883);
  const std::vector<double> counts = counts_of([](std::size_t i) { return 0.1 + 2.5 * x()[i]; });
  expect_line(link_fit(counts, "poisson(identity)"), 0.13165326906, 2.45483235333);
  expect_line(link_fit(counts, "quasipoisson(identity)"), 0.13165326906, 2.45483235333);
  expect_line(link_fit(counts, "nb(theta=2, link=identity)"), 0.11712342493, 2.50228012888);
  const std::vector<double> sums = each([&](std::size_t i) { return counts[i] * (0.5 + v()[i]); });
  expect_line(link_fit(sums, "Tweedie(p=1.5, link=identity)"), 0.045375487469, 2.6880720077);
}

TEST(LinkRange, AnOffsetIsPartOfThePredictorThatStepsAreHalvedTo) {
  const std::vector<double> offset = each([](std::size_t i) { return 0.5 * (v()[i] - 1); });
  const std::vector<double> counts = counts_of([&](std::size_t i) { return 0.7 + 2 * x()[i] + offset[i]; });
  expect_line(link_fit(counts, "poisson(identity)", "y ~ x + offset(o)", offset), 0.813346499977,
              1.75170360194);
}

// The one row at the edge leaves the slope, for which uniroot() solves the score of the other rows: glm stops
// before it.
TEST(LinkRange, AMaximumAtTheEdgeIsASolutionAndSaid) {
  const LinkFit events_at = link_fit(events([](double at) { return 1.6 * at * at; }), "binomial(log)");
  expect_line(events_at, -1.9265905729, 1.93259247076, 1e-6);
  EXPECT_NE(events_at.said.find("binomial(log) needs a linear predictor below 0, but 1 row is at this limit"),
            std::string::npos)
      << events_at.said;
  const LinkFit counts_at =
      link_fit(counts_of([](std::size_t i) { return 5 * std::max(x()[i] - 0.2, 0.0); }), "poisson(identity)");
  expect_line(counts_at, -0.0161138321282, 3.20673356549, 1e-6);
  EXPECT_NE(
      counts_at.said.find("poisson(identity) needs a linear predictor above 0, but 1 row is at this limit"),
      std::string::npos)
      << counts_at.said;
}

TEST(LinkRange, SmoothsStayInTheRange) {
  const std::string formula = "y ~ s(x, bs=\"cr\", k=6)";
  const LinkFit log_events = link_fit(events([](double at) { return std::exp(-2 + 1.5 * at * at); }),
                                      "binomial(log)", formula, {}, {1});
  EXPECT_TRUE(log_events.model.converged);
  EXPECT_NEAR(log_events.model.deviance, 199.06874148, 1e-6);
  const LinkFit counts = link_fit(counts_of([](std::size_t i) { return 0.3 + 2.5 * x()[i] * x()[i]; }),
                                  "poisson(identity)", formula, {}, {1});
  EXPECT_TRUE(counts.model.converged);
  EXPECT_NEAR(counts.model.deviance, 221.899357561, 1e-6);
}

TEST(LinkRange, AFitWithoutAValidStartNamesTheLink) {
  try {
    static_cast<void>(link_fit(counts_of([](std::size_t i) { return 0.1 + 2.5 * x()[i]; }),
                               "poisson(identity)", "y ~ centred - 1"));
    FAIL() << "fitted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_converged);
    const std::string why = error.what();
    EXPECT_NE(why.find("poisson(identity) needs a linear predictor above 0, but in data row "),
              std::string::npos)
        << why;
    EXPECT_NE(why.find("; add an intercept to the formula, or use the link log"), std::string::npos) << why;
    EXPECT_EQ(why.find("extreme values"), std::string::npos) << why;
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
