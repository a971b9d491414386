// SPDX-License-Identifier: Apache-2.0
// Fits that estimate parameters of their family give the maximum likelihood estimates.
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"
#include "support/table_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <tessera/error.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t count_rows = 600;
constexpr const char* count_formula = "y ~ s(x, bs=\"cr\", k=8)";

/// The notes of a fit.
struct Notes : FitObserver {
  void note(std::string_view what) override { said += std::string(what) + '\n'; }
  void now(std::string_view what) override { last = what; }
  std::string said;
  std::string last;
};

/// Counts that `draw` makes from a mean, the same on all ranks.
template <class Draw>
Table counts(const Plan& plan, Range mine, const Draw& draw) {
  std::mt19937_64 random(5);
  std::vector<double> xs;
  std::vector<double> ys;
  for (std::int64_t row = 0; row < count_rows; ++row) {
    const double x = std::fmod(static_cast<double>(row) * 0.6180339887498949, 1.0);
    const double y = draw(std::exp(1 + std::sin(6 * x)), random);
    if (row < mine.begin || row >= mine.end) continue;
    xs.push_back(x);
    ys.push_back(y);
  }
  return {plan, {{"y", ys}, {"x", xs}}};
}

/// Draws by the product of uniform numbers, as the draws of standard libraries differ.
double poisson(double mean, std::mt19937_64& random) {
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  double count = 0;
  for (double product = uniform(); product > std::exp(-mean); ++count) product *= uniform();
  return count;
}

template <class Draw>
FittedModel fit_of(const Draw& draw, const std::string& family_text, FitObserver* observer = nullptr) {
  Job job = testing::cpu_job(testing::world());
  const Plan plan = job.plan(count_rows, 32);
  FitOptions options{.family = family(family_text)};
  return fit(job, parse_formula(count_formula), counts(plan, job.local_range(plan), draw), options, observer)
      .model.fitted();
}

// Minus the log likelihood at the fitted means, computed without the derivatives.
TEST(Parameters, AreTheLikeliestAtTheFittedMeans) {
  const testing::ReferenceCase reference = testing::load_reference_case("n02_nb_offset_weights");
  Job job = testing::cpu_job(testing::world());
  const FittedModel model = fit(job, parse_formula(reference.formula),
                                testing::in_blocks(reference.data_path, 64), testing::options_of(reference))
                                .model.fitted();
  ASSERT_TRUE(model.converged);
  const auto predictions = testing::predicted_from_file(job, model, reference.data_path);
  const double theta = model.family.parameters()[0];
  const auto likelihood = [&](double at) {
    const Family family = model.family.at({at});
    double sum = 0;
    for (std::size_t i = 0; i < predictions.fit.size(); ++i)
      sum += family.minus_two_log_likelihood(reference.numbers.at("m")[i], family.mean(predictions.fit[i]),
                                             reference.numbers.at("wt")[i], 1) /
             2;
    return sum;
  };
  const double step = 1e-3;
  const double below = likelihood(theta * std::exp(-step));
  const double here = likelihood(theta);
  const double above = likelihood(theta * std::exp(step));
  const double slope = (above - below) / (2 * step);
  const double curvature = (above - 2 * here + below) / (step * step);
  EXPECT_GT(curvature, 1);
  EXPECT_LT(std::abs(slope / curvature), 1e-6);
  // AIC counts no parameter, like bam's.
  EXPECT_NEAR(model.aic, 2 * here + 2 * model.edf_total, 1e-9 * model.aic);
}

class ParametersOf : public ::testing::TestWithParam<const char*> {};

TEST_P(ParametersOf, GoOnWithTheSameBitsFromAnyIteration) {
  const mpi::Communicator world = testing::world();
  const testing::SharedFile file(world, "theta.ckpt");
  const testing::ReferenceCase reference = testing::load_reference_case(GetParam());
  FitOptions options = testing::options_of(reference);
  const auto fit_on = [&](Job& job, FitObserver* observer = nullptr) {
    return fit(job, parse_formula(reference.formula), testing::in_blocks(reference.data_path, 64), options,
               observer);
  };
  Job job = testing::cpu_job(world);
  const FittedModel whole = fit_on(job).model.fitted();
  ASSERT_TRUE(whole.converged);
  options.checkpoint = file.path();
  for (const int iteration : {2, 4, whole.iterations - 1}) {
    testing::interrupted_after(world, iteration, [&](Job& other, FitObserver* observer) {
      static_cast<void>(fit_on(other, observer));
    });
    const FitResult result = fit_on(job);
    result.checkpoint->remove();
    const FittedModel& resumed = result.model.fitted();
    EXPECT_EQ(resumed.iterations, whole.iterations) << "stopped at " << iteration;
    EXPECT_TRUE(std::ranges::equal(resumed.family.parameters(), whole.family.parameters()))
        << "stopped at " << iteration;
    EXPECT_EQ(resumed.coef, whole.coef) << "stopped at " << iteration;
    EXPECT_EQ(resumed.log_sp, whole.log_sp) << "stopped at " << iteration;
    EXPECT_EQ(resumed.scale, whole.scale) << "stopped at " << iteration;
    EXPECT_EQ(resumed.aic, whole.aic) << "stopped at " << iteration;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ParametersOf,
                         ::testing::Values("n01_nb", "f06_tw", "f10_scat", "f12_betar",
                                           "o02_ocat_offset_weights", "v02_cnorm_offset_weights", "z01_zip"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(Parameters, DoNotDependOnWhereTheyBegin) {
  const auto spread = [](double mean, std::mt19937_64& random) {
    const double wide = poisson(3, random);  // of mean 3: a mixture of Poisson counts
    return poisson(mean * wide / 3, random);
  };
  Notes log;
  const FittedModel model = fit_of(spread, "nb", &log);
  EXPECT_TRUE(model.converged);
  const double theta = model.family.parameters()[0];
  EXPECT_GT(theta, 1);
  EXPECT_LT(theta, 10);
  EXPECT_NE(log.last.find(", theta "), std::string::npos) << log.last;
  EXPECT_EQ(log.said.find("no finite estimate"), std::string::npos) << log.said;
  for (const char* from : {"nb(theta=-1e-3)", "nb(theta=-500)"}) {
    const FittedModel other = fit_of(spread, from);
    EXPECT_TRUE(other.converged) << from;
    EXPECT_NEAR(other.family.parameters()[0] / theta, 1, 1e-8) << from;
  }
  const FittedModel fixed = fit_of(spread, "nb(theta=3)");
  EXPECT_TRUE(fixed.converged);
  EXPECT_EQ(fixed.family.parameters()[0], 3);
}

// The first threshold is held, and class 1 is rare: bam needs hundreds of iterations, since only the rows of
// that class place the intercept.
TEST(Parameters, OfOrderedClassesConvergeWhereTheFirstIsRare) {
  const auto classes = [](double mean, std::mt19937_64& random) {
    const double u = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
    return std::clamp(std::ceil(6 + 1.5 * (std::log(mean) + std::log(u / (1 - u)))), 1.0, 12.0);
  };
  const FittedModel model = fit_of(classes, "ocat(R=12)");
  EXPECT_TRUE(model.converged) << model.why_not_converged;
  EXPECT_LE(model.iterations, 30);
  ASSERT_EQ(model.family.parameters().size(), 11U);
  EXPECT_EQ(model.family.parameters()[0], -1);
  EXPECT_TRUE(std::ranges::is_sorted(model.family.parameters()));
}

// All levels of a factor give the constant too.
TEST(Parameters, OfOrderedClassesConvergeWithoutAnIntercept) {
  Job job = testing::cpu_job(testing::world());
  const testing::ReferenceCase reference = testing::load_reference_case("o01_ocat");
  const auto fitted = [&](const std::string& terms) {
    return fit(job, parse_formula("y ~ " + terms), testing::in_blocks(reference.data_path, 512),
               testing::options_of(reference))
        .model.fitted();
  };
  const FittedModel without = fitted("f + s(x) - 1");
  const FittedModel with = fitted("f + s(x)");
  EXPECT_LE(without.iterations, with.iterations + 2);
  EXPECT_NEAR(without.deviance / with.deviance, 1, 1e-8);
}

// mgcv stops at a theta of some millions, where rounding ends its iteration, with a warning.
TEST(Parameters, WithoutAFiniteEstimateLeaveAPoissonModel) {
  const auto few = [](double mean, std::mt19937_64& random) {
    return std::nearbyint(mean + 0.3 * (poisson(1, random) - 1));
  };
  for (const bool no_spread : {false, true}) {
    Notes log;
    const auto draw = [&](double mean, std::mt19937_64& random) {
      return no_spread ? std::nearbyint(mean) : few(mean, random);
    };
    const FittedModel model = fit_of(draw, "nb", &log);
    EXPECT_TRUE(model.converged) << model.why_not_converged;
    EXPECT_LT(model.iterations, 40);
    EXPECT_GT(model.family.parameters()[0], 1e6);
    EXPECT_NE(log.said.find("theta has no finite estimate, so the fit uses "), std::string::npos) << log.said;
    const FittedModel limit = fit_of(draw, "poisson");
    for (std::size_t i = 0; i < limit.coef.size(); ++i) EXPECT_NEAR(model.coef[i], limit.coef[i], 1e-6);
    EXPECT_NEAR(model.aic, limit.aic, 1e-6 * limit.aic);
  }
}

// Nine counts of ten are 0, and the others are hundreds: a theta far below 1.
TEST(Parameters, OfCountsThatAreMostlyZeros) {
  const FittedModel model =
      fit_of([](double mean,
                std::mt19937_64& random) { return random() % 10 == 0 ? 100 * poisson(mean, random) : 0; },
             "nb");
  EXPECT_TRUE(model.converged) << model.why_not_converged;
  EXPECT_GT(model.family.parameters()[0], 0.001);
  EXPECT_LT(model.family.parameters()[0], 0.2);
}

/// A sum of uniform numbers: close to normal.
double normal(std::mt19937_64& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53;
  return sum;
}

// With ever more degrees of freedom a t distribution becomes normal.
TEST(Parameters, OfAScaledTWithoutHeavyTailsLeaveAGaussianModel) {
  const auto draw = [](double mean, std::mt19937_64& random) { return mean + normal(random); };
  Notes log;
  const FittedModel model = fit_of(draw, "scat", &log);
  EXPECT_TRUE(model.converged) << model.why_not_converged;
  EXPECT_GT(model.family.parameters()[0], 1e4);
  EXPECT_NE(log.said.find("nu has no finite estimate, so the fit uses "), std::string::npos) << log.said;
  const FittedModel limit = fit_of(draw, "gaussian");
  for (std::size_t i = 0; i < limit.coef.size(); ++i) EXPECT_NEAR(model.coef[i], limit.coef[i], 1e-2);
}

// Here bam uses (p - a)/(b - p) as phi.
TEST(Parameters, HaveTheLikeliestScaleOfAGivenPower) {
  const testing::ReferenceCase reference = testing::load_reference_case("f06_tw");
  Job job = testing::cpu_job(testing::world());
  FitOptions options = testing::options_of(reference);
  options.family = family("tw(theta = 1.5)");
  const FittedModel model =
      fit(job, parse_formula(reference.formula), testing::in_blocks(reference.data_path, 64), options)
          .model.fitted();
  ASSERT_TRUE(model.converged);
  EXPECT_EQ(model.family.parameters()[0], 1.5);
  EXPECT_EQ(model.family.parameters()[1], model.scale);
  const auto predictions = testing::predicted_from_file(job, model, reference.data_path);
  const auto likelihood = [&](double phi) {
    double sum = 0;
    for (std::size_t i = 0; i < predictions.fit.size(); ++i)
      sum += model.family.minus_two_log_likelihood(reference.numbers.at("rain")[i],
                                                   model.family.mean(predictions.fit[i]), 1, phi) /
             2;
    return sum;
  };
  const double step = 1e-3;
  const double below = likelihood(model.scale * std::exp(-step));
  const double here = likelihood(model.scale);
  const double above = likelihood(model.scale * std::exp(step));
  EXPECT_LT(std::abs((above - below) / (2 * step) / ((above - 2 * here + below) / (step * step))), 1e-6);
}

// The unit of the response changes only phi and the intercept.
TEST(Parameters, OfATweedieModelFollowTheUnitOfTheResponse) {
  const auto rain = [](double unit) {
    return [unit](double mean, std::mt19937_64& random) {
      const double showers = poisson(mean / 3, random);
      double sum = 0;
      for (int i = 0; i < showers; ++i)
        sum -= std::log((static_cast<double>(random() >> 11) + 0.5) * 0x1p-53);
      return unit * sum;
    };
  };
  const FittedModel model = fit_of(rain(1), "tw");
  EXPECT_TRUE(model.converged);
  for (const double unit : {1e-6, 1e6}) {
    const FittedModel other = fit_of(rain(unit), "tw");
    EXPECT_TRUE(other.converged) << unit;
    const double p = model.family.parameters()[0];
    EXPECT_NEAR(other.family.parameters()[0], p, 1e-7) << unit;
    EXPECT_NEAR(other.family.parameters()[1] / model.family.parameters()[1] / std::pow(unit, 2 - p), 1, 1e-5)
        << unit;
    EXPECT_NEAR(other.coef[0] - model.coef[0], std::log(unit), 1e-6) << unit;
    for (std::size_t i = 1; i < model.coef.size(); ++i)
      EXPECT_NEAR(other.coef[i], model.coef[i], 1e-6) << unit;
  }
}

TEST(Parameters, AreReadBackWithTheModel) {
  const mpi::Communicator world = testing::world();
  const testing::SharedFile file(world, "model.json");
  FittedModel model = fit_of(poisson, "nb(theta=0.7)");
  if (world.rank() != 0) return;
  for (const bool estimated : {false, true}) {
    model.family = model.family.at({1.0 / 3}).estimated(estimated);
    save_model(model, file.path());
    const Family read = read_model(file.path()).family;
    EXPECT_EQ(read.parameters()[0], 1.0 / 3);
    EXPECT_EQ(read.estimates_parameters(), estimated);
    EXPECT_EQ(read.title(), "Negative Binomial(0.333)");
  }
  model.family = model.family.at({-1});
  save_model(model, file.path());
  EXPECT_THROW((void)read_model(file.path()), Error);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
