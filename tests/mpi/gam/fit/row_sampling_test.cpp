// SPDX-License-Identifier: Apache-2.0
// The first steps of a large fit are taken on a sample of its rows. Which rows these are changes the way to
// the solution, but not the solution.
#include "support/fit_support.hpp"
#include "support/shared_world.hpp"
#include "support/table_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <tessera/tessera.hpp>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t rows = 90'000;

struct Row {
  double x = 0;
  double z = 0;
  int level = 0;
  double noise = 0;
};

/// Whether the first steps read this row: one of every 17th run of 256.
bool is_sampled(std::int64_t row) {
  return row / 256 % 17 == 0;
}

/// Random rows. Those for which `first` is true come before the others in the sample.
std::vector<Row> drawn(const std::function<bool(const Row&)>& first) {
  std::mt19937_64 bits(20261201);
  const auto uniform = [&] { return static_cast<double>(bits() >> 11U) * 0x1p-53; };
  std::vector<Row> all;
  for (std::int64_t i = 0; i < rows; ++i) {
    const double x = uniform();
    const double z = uniform();
    all.push_back({x, z, static_cast<int>(5 * uniform()), uniform()});
  }
  std::stable_partition(all.begin(), all.end(), first);
  std::vector<Row> ordered(all.size());
  auto next = all.begin();
  for (const bool sampled : {true, false}) {
    for (std::int64_t row = 0; row < rows; ++row)
      if (is_sampled(row) == sampled) ordered[static_cast<std::size_t>(row)] = *next++;
  }
  return ordered;
}

double response(const std::string& family, const Row& row) {
  const double eta = std::sin(6 * row.x) + row.z + 0.3 * row.level - 1;
  if (family == "twlss") return row.noise < 0.3 ? 0 : std::exp(eta) * -std::log(1 - row.noise);
  if (family == "gaulss") return eta + std::exp(row.z - 1) * std::sqrt(12.0) * (row.noise - 0.5);
  if (family == "nb" || family == "poisson") return std::floor(std::exp(eta) - 2 * std::log(1 - row.noise));
  return row.noise < 1 / (1 + std::exp(-eta)) ? 1 : 0;
}

struct Starts : FitObserver {
  void now(std::string_view what) override { count += what.starts_with("starting") ? 1 : 0; }
  int count = 0;
};

struct SampledFit {
  Model model;
  int starts;
};

FitResult sampled_fit(Job& job, const std::string& name, const std::vector<Row>& all, FitObserver* observer,
                      const std::string& checkpoint = {}) {
  const Plan plan = job.plan(rows, 1024);
  const Range mine = job.local_range(plan);
  std::vector<double> x;
  std::vector<double> z;
  std::vector<double> y;
  Factor f{.codes = {}, .levels = {"a", "b", "c", "d", "e"}};
  for (std::int64_t row = mine.begin; row < mine.end; ++row) {
    const Row& one = all[static_cast<std::size_t>(row)];
    x.push_back(one.x);
    z.push_back(one.z);
    f.codes.push_back(one.level);
    y.push_back(response(name, one));
  }
  const Table table{plan, {{"x", x}, {"z", z}, {"f", f}, {"y", y}}};
  std::string formula = "y ~ f + s(x, bs=\"ps\", k=8) + s(z, bs=\"ps\", k=8)";
  if (name == "gaulss") formula = "list(" + formula + ", ~ s(z, bs=\"ps\", k=8))";
  if (name == "twlss") formula = "list(" + formula + ", ~ 1, ~ 1)";
  FitOptions options{.family = family(name)};
  options.checkpoint = checkpoint;
  return fit(job, parse_formula(formula), table, options, observer);
}

SampledFit sampled_fit(const mpi::Communicator& comm, int threads, const std::string& name,
                       const std::vector<Row>& all) {
  Job job = testing::cpu_job(comm, threads);
  Starts starts;
  FitResult result = sampled_fit(job, name, all, &starts);
  return {std::move(result.model), starts.count};
}

class RowSampling : public ::testing::TestWithParam<const char*> {
 protected:
  const mpi::Communicator& comm = testing::shared_world();
};

TEST_P(RowSampling, DoesNotChangeTheSolution) {
  const SampledFit usual = sampled_fit(comm, 1, GetParam(), drawn([](const Row&) { return false; }));
  ASSERT_EQ(usual.starts, 1);
  const FittedModel& expected = usual.model.fitted();
  EXPECT_TRUE(expected.converged) << expected.why_not_converged;
  struct Order {
    const char* name;
    std::function<bool(const Row&)> first;
    int starts;
  };
  const std::string name = GetParam();
  for (const Order& order :
       {Order{"one level only", [](const Row& row) { return row.level == 1; }, 2},
        Order{"a level is missing", [](const Row& row) { return row.level != 3; }, 2},
        Order{"a tenth of the range", [](const Row& row) { return row.x < 0.1; }, 2},
        Order{"the largest responses", [&](const Row& row) { return response(name, row) > 0.9; }, 2}}) {
    SCOPED_TRACE(order.name);
    const SampledFit other = sampled_fit(comm, 1, GetParam(), drawn(order.first));
    EXPECT_EQ(other.starts, order.starts);
    const FittedModel& model = other.model.fitted();
    EXPECT_TRUE(model.converged) << model.why_not_converged;
    EXPECT_NEAR(model.reml, expected.reml, 1e-6 * std::abs(expected.reml));
    EXPECT_NEAR(model.edf_total, expected.edf_total, 1e-5);
    ASSERT_EQ(model.coef.size(), expected.coef.size());
    for (std::size_t i = 0; i < model.coef.size(); ++i) EXPECT_NEAR(model.coef[i], expected.coef[i], 1e-6);
  }
}

TEST_P(RowSampling, HasTheSameBitsForAnyRanksAndThreads) {
  const std::vector<Row> all = drawn([](const Row&) { return false; });
  std::string expected;
  testing::for_each_division([&](const mpi::Communicator& some, int threads) {
    const std::string text = testing::text_of(some, sampled_fit(some, threads, GetParam(), all).model);
    if (comm.rank() != 0) return;
    if (expected.empty()) expected = text;
    EXPECT_EQ(text, expected) << some.size() << " ranks, " << threads << " threads";
  });
}

TEST_P(RowSampling, IsNotRepeatedByAResumedFit) {
  const std::vector<Row> all = drawn([](const Row&) { return false; });
  const SampledFit whole = sampled_fit(comm, 1, GetParam(), all);
  ASSERT_EQ(whole.starts, 1);
  const testing::SharedFile state(comm, "sampled.ckpt");
  testing::interrupted_after(comm, 1, [&](Job& job, FitObserver* observer) {
    static_cast<void>(sampled_fit(job, GetParam(), all, observer, state.path()));
  });
  Job job = testing::cpu_job(comm);
  Starts starts;
  const FitResult resumed = sampled_fit(job, GetParam(), all, &starts, state.path());
  EXPECT_EQ(starts.count, 0);
  EXPECT_EQ(resumed.model.fitted().iterations, whole.model.fitted().iterations);
  EXPECT_EQ(resumed.model.fitted().coef, whole.model.fitted().coef);
}

INSTANTIATE_TEST_SUITE_P(Families, RowSampling, ::testing::Values("binomial", "nb", "gaulss", "twlss"));

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
