// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of many responses on real devices agree with the host's up to rounding, and do not
// depend on the responses that are fitted at the same time.
#include "gam/many/device_likelihood.hpp"

#include "gam/many/host_likelihood_sums.hpp"
#include "gam/many/response_fit.hpp"
#include "gpu/job_on_gpus.hpp"
#include "support/many_model.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <tessera/tessera.hpp>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr int row_count = 5000;
constexpr int response_count = 60;
/// Groups of few columns, whose sums are formed in registers; and one of many, in tiles.
constexpr const char* lineages = "lineage + s(t, by = lineage, k = 6)";
constexpr const char* dense = "s(t, k = 12) + s(x, k = 6) + lineage + offset(x)";

std::vector<Table::Column> cells() {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform;
  std::vector<double> t(row_count);
  std::vector<double> x(row_count);
  Factor lineage{.codes = {}, .levels = {"a", "b", "c"}};
  for (int i = 0; i < row_count; ++i) {
    t[static_cast<std::size_t>(i)] = uniform(random);
    x[static_cast<std::size_t>(i)] = uniform(random);
    lineage.codes.push_back(static_cast<std::int32_t>(random() % 3));
  }
  return {{"t", t}, {"x", x}, {"lineage", lineage}};
}

struct Case {
  const char* name;
  ManyFamily family;
  const char* terms;
};

class GpuManyModels : public tessera::testing::GpuJob, public ::testing::WithParamInterface<Case> {
 protected:
  using Values = std::vector<double>;

  /// Responses of means and shapes of their own; some values are missing, and some lineages have no count.
  [[nodiscard]] std::vector<Values> responses() const {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    const auto columns = cells();
    const auto& t = std::get<std::vector<double>>(columns[0].values);
    const auto& lineage = std::get<Factor>(columns[2].values);
    std::vector<Values> all;
    for (int g = 0; g < response_count; ++g) {
      const double level = normal(random);
      const double slope = normal(random);
      Values y(row_count);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double eta = level + slope * std::sin(5 * t[i]);
        switch (GetParam().family) {
          case ManyFamily::binomial:
            y[i] = std::bernoulli_distribution(1 / (1 + std::exp(-eta)))(random);
            break;
          case ManyFamily::gamma: y[i] = std::gamma_distribution<double>(2, std::exp(eta))(random); break;
          case ManyFamily::gaussian: y[i] = eta + normal(random); break;
          default:
            y[i] = std::poisson_distribution<int>(std::exp(eta) *
                                                  std::gamma_distribution<double>(2, 0.5)(random))(random);
            if (g % 7 == 3 && lineage.codes[i] == 1) y[i] = 0;
        }
        if (g % 5 == 2 && i % 11 == 3) y[i] = std::numeric_limits<double>::quiet_NaN();
      }
      all.push_back(std::move(y));
    }
    return all;
  }

  /// Calls `fit` with sums of this rank's first device.
  void on_device(DeviceLikelihood& device, std::size_t at_once,
                 const std::function<void(std::unique_ptr<LikelihoodSums>)>& fit) {
    const Plan plan = job_->plan(job_->inventory().gpus());
    const std::vector<int> units(static_cast<std::size_t>(job_->local_range(plan).size()));
    (void)job_->map<int>(
        plan, units, [&](Tile& tile, auto, auto) { device.run(tile, 3, at_once, fit); },
        [](const HostTile&, auto, auto) { FAIL() << "fell back to the host"; });
    ASSERT_FALSE(job_->on_host()) << to_string(job_->last_verdict());
  }
  std::vector<ResponseFit> fits_on_device(const SharedDesign& design, const std::vector<Values>& all,
                                          std::size_t at_once) {
    DeviceLikelihood device(design, GetParam().family, false);
    (void)job_->compile(device.source());
    std::vector<ResponseFit> fits(all.size());
    std::atomic<std::size_t> next = 0;
    on_device(device, at_once, [&](std::unique_ptr<LikelihoodSums> sums) {
      ResponseFitter fitter(design, {.family = GetParam().family}, std::move(sums));
      for (std::size_t i = next++; i < all.size(); i = next++) fits[i] = fitter.fit(all[i]);
    });
    return fits;
  }

  ManyModel model_{cells(), row_count, GetParam().terms};
};

void expect_near(const std::vector<double>& found, const std::vector<double>& right, double tolerance,
                 const char* what) {
  ASSERT_EQ(found.size(), right.size()) << what;
  double largest = 1e-300;
  for (const double value : right) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < right.size(); ++i)
    ASSERT_NEAR(found[i], right[i], tolerance * largest) << what << " " << i;
}

/// What each implementation of the sums finds.
struct Found {
  std::vector<double> score, gram, by_tau, expected, numbers;
  WeightSums weights;
};

void expect_near(const Found& found, const Found& right, bool with_tau) {
  constexpr double tolerance = 1e-11;
  expect_near(found.score, right.score, tolerance, "score");
  expect_near(found.gram, right.gram, tolerance, "gram");
  if (with_tau) expect_near(found.by_tau, right.by_tau, tolerance, "by tau");
  expect_near(found.expected, right.expected, tolerance, "expected gram");
  for (std::size_t i = 0; i < right.numbers.size(); ++i)
    EXPECT_NEAR(found.numbers[i], right.numbers[i], tolerance * std::abs(right.numbers[i])) << i;
  for (std::size_t j = 0; j < right.weights.grams.size(); ++j)
    expect_near(found.weights.grams[j], right.weights.grams[j], tolerance, "gram of a derivative");
  expect_near(found.weights.leverage_slope, right.weights.leverage_slope, tolerance, "leverage");
  expect_near(found.weights.score_by_tau_twice, right.weights.score_by_tau_twice, tolerance, "by tau twice");
  const Matrix& sums = right.weights.leverage_sums;
  for (int j = 0; j < sums.rows(); ++j) {
    for (int k = j; k < sums.cols(); ++k)
      EXPECT_NEAR(found.weights.leverage_sums(j, k), sums(j, k),
                  tolerance * row_count * (1 + std::abs(sums(j, k))));
  }
}

TEST_P(GpuManyModels, SumAsTheHostDoes) {
  const SharedDesign& design = model_.design();
  const ManyFamily family = GetParam().family;
  const bool has_scale = family == ManyFamily::gamma;
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0, 0.3);
  const auto random_vector = [&](std::size_t size) {
    std::vector<double> values(size);
    for (double& value : values) value = normal(random);
    return values;
  };
  DeviceLikelihood device(design, family, true);
  (void)job_->compile(device.source());
  on_device(device, 1, [&](std::unique_ptr<LikelihoodSums> sums) {
    HostLikelihoodSums host(design);
    const std::array<LikelihoodSums*, 2> both = {sums.get(), &host};
    // Round 1: a group is absent. 2: a term is at its limit. 3: weights and offsets of its own, large counts.
    for (int round = 0; round < 4; ++round) {
      std::vector<bool> absent(design.groups.size());
      std::vector<double> log_sp(static_cast<std::size_t>(design.parameters));
      if (round == 1 && absent.size() > 1) absent[1] = true;
      if (round == 2 && !design.penalised[0].empty()) log_sp[0] = infinite;
      std::vector<double> y(design.slots());
      std::vector<double> weights = design.weight;
      std::vector<double> offset = design.offset;
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (weights[i] == 0) continue;
        y[i] = static_cast<double>(random() % (family == ManyFamily::binomial ? 2
                                               : round == 3                   ? 200'000
                                                                              : 9)) +
               (family == ManyFamily::gamma ? 0.1 : 0);
        if (random() % 13 == 0) weights[i] = y[i] = 0;
        if (round == 3) weights[i] *= 0.5 + static_cast<double>(random() % 3);
        if (round == 3) offset[i] += normal(random);
      }
      for (LikelihoodSums* const each : both) each->set_response(y, weights, offset);
      for (const DesignComponent& component : design.components) {
        ActiveColumns active(design, component);
        active.set(absent, log_sp);
        const auto n = static_cast<std::size_t>(active.size());
        const std::vector<double> b = random_vector(n);
        const std::vector<double> inverse = random_vector(n * (n + 1) / 2);
        std::vector<std::vector<double>> first;
        for (std::size_t j = 0; j <= component.parameters.size(); ++j) first.push_back(random_vector(n));
        for (const bool poisson : {false, true}) {
          if (poisson && family != ManyFamily::nb) continue;
          const LikelihoodPoint point{poisson ? ManyFamily::poisson : family, 1.7, active};
          const bool with_tau = point.family == ManyFamily::nb;
          std::array<Found, 2> found;
          for (std::size_t i = 0; i < both.size(); ++i) {
            Found& to = found[i];
            both[i]->score_and_gram(point, b, to.score, to.gram);
            const LossDerivatives loss = both[i]->loss(point, to.by_tau);
            both[i]->weight_derivatives(point, inverse, first, with_tau, to.weights);
            const double pearson = both[i]->expected_gram(point, to.expected).squares;
            to.numbers = {loss.value, has_scale ? pearson : 0, both[i]->null_loss(point.family, 1.7, 0.1)};
            if (with_tau) to.numbers.insert(to.numbers.end(), {loss.by_tau, loss.by_tau_twice});
          }
          expect_near(found[0], found[1], with_tau);
        }
      }
    }
  });
}

TEST_P(GpuManyModels, EndWhereTheHostDoes) {
  const std::vector<Values> all = responses();
  const std::vector<ResponseFit> fits = fits_on_device(model_.design(), all, 64);
  if (job_->devices().empty()) GTEST_SKIP() << "this rank has no device";
  ResponseFitter host(model_.design(), {.family = GetParam().family});
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ResponseFit right = host.fit(all[i]);
    ASSERT_EQ(fits[i].status, right.status) << i;
    EXPECT_EQ(fits[i].absent, right.absent) << i;
    EXPECT_NEAR(fits[i].criterion, right.criterion, 1e-8 * (1 + std::abs(right.criterion))) << i;
    EXPECT_NEAR(fits[i].deviance, right.deviance, 1e-5 * (1 + right.deviance)) << i;
    expect_near(fits[i].coef, right.coef, 1e-4, "coefficient");
  }
}

TEST_P(GpuManyModels, HaveTheSameBitsAloneAndTogether) {
  std::vector<Values> all = responses();
  all.resize(12);
  const std::vector<ResponseFit> together = fits_on_device(model_.design(), all, 12);
  const std::vector<ResponseFit> alone = fits_on_device(model_.design(), all, 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(together[i].coef, alone[i].coef) << i;
    EXPECT_EQ(together[i].criterion, alone[i].criterion) << i;
    EXPECT_EQ(together[i].inverse, alone[i].inverse) << i;
  }
}

/// What a fit throws reaches the caller, and the other threads end.
TEST_P(GpuManyModels, PassOnWhatAFitThrows) {
  DeviceLikelihood device(model_.design(), GetParam().family, false);
  (void)job_->compile(device.source());
  const Plan plan = job_->plan(job_->inventory().gpus());
  const std::vector<int> units(static_cast<std::size_t>(job_->local_range(plan).size()));
  std::atomic<int> begun = 0;
  (void)job_->map<int>(
      plan, units,
      [&](Tile& tile, auto, auto) {
        device.run(tile, 3, 8, [&](std::unique_ptr<LikelihoodSums> sums) {
          if (begun++ == 3) throw std::runtime_error("on purpose");
          ResponseFitter fitter(model_.design(), {.family = GetParam().family}, std::move(sums));
          for (const Values& values : responses()) (void)fitter.fit(values);
        });
      },
      [](const HostTile&, auto, auto) {});
  EXPECT_TRUE(job_->on_host());
  EXPECT_NE(to_string(job_->last_verdict()).find("on purpose"), std::string::npos)
      << to_string(job_->last_verdict());
}

INSTANTIATE_TEST_SUITE_P(, GpuManyModels,
                         ::testing::Values(Case{"NbInRegisters", ManyFamily::nb, lineages},
                                           Case{"NbInTiles", ManyFamily::nb, dense},
                                           Case{"Poisson", ManyFamily::poisson, lineages},
                                           Case{"Binomial", ManyFamily::binomial, dense},
                                           Case{"Gamma", ManyFamily::gamma, lineages}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
