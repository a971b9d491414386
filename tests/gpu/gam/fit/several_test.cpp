// SPDX-License-Identifier: Apache-2.0
// Models with several linear predictors, of ordered classes and of censored responses on GPUs are those of
// the hosts to rounding, with the same bits for any number of ranks.

#include "gpu/job_on_gpus.hpp"
#include "support/fit_support.hpp"

#include <tessera/gam/gam.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <tessera/tessera.hpp>

namespace {

using namespace tessera::gam;

struct Case {
  std::string family, formula, weights;
};

class GpuSeveral : public tessera::testing::GpuJob {
 protected:
  void SetUp() override {
    GpuJob::SetUp();
    if (IsSkipped()) return;
    job_.reset();
    options_.policy = tessera::Policy::gpu;  // which the CPU is faster than for these rows
    job_.emplace(comm_, options_);
  }

  static FitResult fitted(tessera::Job& job, const Case& of) {
    const Table table = tessera::gam::testing::in_blocks(TESSERA_TEST_DATA "/several/data.csv", 40);
    return fit(job, parse_formula(of.formula), table, {.family = family(of.family), .weights = of.weights});
  }
};

TEST_F(GpuSeveral, ModelsAreTheHostsToRounding) {
  const Case cases[] = {
      {"gaulss", "list(normal ~ s(x, k=9) + g + offset(o), ~ te(x, z, k=4) + offset(o))", "0.5 + z"},
      {"gevlss", "list(extreme ~ s(x, by=g, k=5), ~ s(z, bs='ps', k=8), ~ 1)", ""},
      {"shash", "list(skew ~ s(x) + s(g, bs='re'), ~ z, ~ 1, ~ 1)", ""},
      {"twlss", "list(rain ~ s(x) + g + offset(o), ~ x, ~ s(z, bs='ps', k=8))", ""},
      {"multinom", "count > 1 ~ s(x)", ""},
      {"multinom(K=2)", "list(level ~ s(x) + g, ~ s(z))", ""},
      {"gaulss", "list(normal ~ g + offset(o), ~ s(z) + offset(o), 1 + 2 ~ s(x, k=9) - 1)", "0.5 + z"},
      {"multinom(K=2)", "list(level ~ g, ~ s(z), 2 + 1 ~ te(x, o, k=4) - 1)", ""},
      {"ocat(R=3)", "I(class + 1) ~ s(x) + g", "0.5 + z"},
      {"cnorm", "cbind(normal, normal + (x > 0.6)) ~ s(x) + g", "0.5 + z"}};
  tessera::JobOptions on_cpu;
  on_cpu.policy = tessera::Policy::cpu;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.family + " " + one.formula);
    const FitResult found = fitted(*job_, one);
    ASSERT_FALSE(job_->on_host());
    ASSERT_EQ(job_->last_verdict().ran, tessera::Verdict::Ran::devices) << to_string(job_->last_verdict());
    tessera::Job host(comm_, on_cpu);
    const FitResult expected = fitted(host, one);
    const auto coefficients = found.model.coefficients();
    const auto of_host = expected.model.coefficients();
    ASSERT_EQ(coefficients.size(), of_host.size());
    double largest = 1;
    for (const double coefficient : of_host) largest = std::max(largest, std::abs(coefficient));
    for (std::size_t i = 0; i < of_host.size(); ++i)
      EXPECT_NEAR(coefficients[i], of_host[i], 1e-7 * largest) << i;
    EXPECT_NEAR(found.model.aic(), expected.model.aic(), 1e-6);
    EXPECT_NEAR(found.model.deviance(), expected.model.deviance(), 1e-6);
  }
}

}  // namespace
