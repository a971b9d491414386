// SPDX-License-Identifier: Apache-2.0
// Checks have the same bits for any number of ranks and threads.
#include "gam/model/model.hpp"
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"
#include "support/shared_world.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tessera/gam/check.hpp>
#include <tessera/gam/report.hpp>
#include <tessera/tessera.hpp>

namespace TESSERA_NAMESPACE::gam {
namespace {

void expect_the_same_bits(const Table& file, const std::string& formula, const FitOptions& of_fit) {
  CheckOptions options{.largest_sample = 150, .permutations = 50, .lags = 3};
  std::string expected;
  testing::for_each_division([&](const mpi::Communicator& some, int threads) {
    Job job = testing::cpu_job(some, threads);
    // The model as the fit returns it: complete on rank 0 only.
    const FitResult fitted = fit(job, parse_formula(formula), file, of_fit);
    const Check found = check(job, fitted.model, file, options);
    if (testing::shared_world().rank() != 0) {
      EXPECT_TRUE(found.bases.empty());
      return;
    }
    // Numbers in JSON read back to the same bits.
    const std::string text = check_json(found, options);
    if (expected.empty()) expected = text;
    EXPECT_EQ(text, expected) << some.size() << " ranks, " << threads << " threads";
    EXPECT_FALSE(found.concurvity.labels.empty());
    EXPECT_EQ(found.autocorrelation.size(), 3U);
  });
}

class CheckBits : public ::testing::TestWithParam<const char*> {};

TEST_P(CheckBits, DoNotDependOnRanksOrThreads) {
  const testing::ReferenceCase reference = testing::load_reference_case(GetParam());
  // Many blocks, and a short last one.
  expect_the_same_bits(testing::in_blocks(reference.data_path, 64), reference.formula,
                       testing::options_of(reference));
}

TEST(CheckBitsOfSeveral, DoNotDependOnRanksOrThreads) {
  const Table file = testing::in_blocks(TESSERA_TEST_DATA "/several/data.csv", 32);
  expect_the_same_bits(file, "list(skew ~ s(x) + g, ~ te(x, z, k=4), ~ 1, ~ 1)", {.family = family("shash")});
  expect_the_same_bits(file, "list(level ~ s(x), ~ s(z) + g)", {.family = family("multinom(K=2)")});
  expect_the_same_bits(file, "list(rain ~ s(x) + g, ~ 1, ~ s(z))", {.family = family("twlss")});
}

INSTANTIATE_TEST_SUITE_P(Cases, CheckBits,
                         ::testing::Values("c06_gs4_by_factor", "c04_gs1_binary", "c08b_gs2_te_default",
                                           "e04_ordered", "e07_offset_weights_subset",
                                           "n02_nb_offset_weights", "f01_fs_cr", "f02_cbind_quasi_weights"),
                         [](const auto& tested) { return std::string(tested.param); });

/// A check reads and evaluates the same data as the fit: weights, offsets, subsets, expressions, ordered
/// factors, columns far from zero, trials, factors by name.
TEST(Check, HasTheDevianceOfTheFit) {
  for (const char* const folder :
       {"c01_mcycle_gauss", "c05_gs1_gamma", "c07_gs6_re", "c12_bundesliga_poisson", "a02_select_poisson",
        "a08_point", "e01_in_smooths", "e02_terms", "e03_no_intercept", "e04_ordered", "e05_ordered_poisson",
        "e06_of_all_rows", "e07_offset_weights_subset", "f01_cbind", "f02_cbind_quasi_weights",
        "n02_nb_offset_weights", "s04_sz_of_two_factors", "t03_t2_random"}) {
    SCOPED_TRACE(folder);
    const testing::ReferenceCase reference = testing::load_reference_case(folder);
    Job job = testing::cpu_job(testing::shared_world());
    const Table file = testing::in_blocks(reference.data_path, 64);
    const FitResult fitted = fit(job, parse_formula(reference.formula), file, testing::options_of(reference));
    const Check found = check(job, fitted.model, file, {.permutations = 1, .largest_concurvity = 0});
    if (testing::shared_world().rank() != 0) continue;
    const FittedModel& model = fitted.model.fitted();
    EXPECT_NEAR(found.deviance_dispersion * model.residual_df() / model.deviance, 1, 1e-9);
    EXPECT_TRUE(found.concurvity.labels.empty());
  }
}

TEST(Check, RefusesOptionsThatAreNone) {
  const testing::ReferenceCase reference = testing::load_reference_case("c01_mcycle_gauss");
  Job job = testing::cpu_job(testing::shared_world());
  const Table file = testing::in_blocks(reference.data_path, 64);
  const FitResult fitted = fit(job, parse_formula(reference.formula), file);
  EXPECT_THROW(static_cast<void>(check(job, fitted.model, file, {.largest_sample = 3})), Error);
  EXPECT_THROW(static_cast<void>(check(job, fitted.model, file, {.permutations = 0})), Error);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
