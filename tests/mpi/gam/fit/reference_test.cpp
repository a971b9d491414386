// SPDX-License-Identifier: Apache-2.0
// tessera-fit agrees with fits of mgcv's bam, from file to prediction.
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"
#include "support/shared_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tessera/gam/predict.hpp>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

class Reference : public ::testing::TestWithParam<const char*> {};

/// mgcv's predictions for the rows of another table, some beyond the range of the fit; or none.
void expect_same_predictions(const testing::AllPredictions& found, const nlohmann::json& bam) {
  std::vector<double> fit;
  std::vector<double> expected;
  const nlohmann::json& link = bam.at("new_link");
  ASSERT_EQ(found.fit.size(), link.size());
  for (std::size_t i = 0; i < link.size(); ++i) {
    EXPECT_EQ(std::isnan(found.fit[i]), link[i].is_null()) << "new row " << i;
    if (link[i].is_null()) continue;
    fit.push_back(found.fit[i]);
    expected.push_back(link[i].get<double>());
    EXPECT_NEAR(found.se[i] / bam.at("new_se")[i].get<double>(), 1, 5e-5) << "new row " << i;
  }
  EXPECT_LE(testing::relative_to_range(fit, expected), 1e-6);
}

void expect_same_parametric(const FittedModel& model, const nlohmann::json& coefficients) {
  const std::vector<std::string> names = model.design.coef_names();
  for (const auto& [name, value] : coefficients.items()) {
    const auto found = std::ranges::find(names, name);
    ASSERT_NE(found, names.end()) << name;
    EXPECT_NEAR(model.coef[static_cast<std::size_t>(found - names.begin())], value.get<double>(),
                1e-5 * (1 + std::abs(value.get<double>())))
        << name;
  }
}

/// For each smooth: its degrees of freedom, those of its test, the statistic (not compared, since it depends
/// on the signs of eigenvectors), and the p-value.
void expect_same_tests(const FittedModel& model, const nlohmann::json& tests) {
  ASSERT_EQ(model.smooth_tests.size(), tests.size());
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const SmoothTest& own = model.smooth_tests[i];
    const auto near = [&](double value, double expected) {
      EXPECT_NEAR(value, expected, 1e-4 * std::max(1.0, expected)) << own.label;
    };
    near(own.edf, tests[i][0].get<double>());
    near(own.reference_df, tests[i][1].get<double>());
    EXPECT_NEAR(own.p_value, tests[i][3].get<double>(), 1e-5) << own.label;
  }
}

TEST_P(Reference, AgreesWithMgcv) {
  const testing::ReferenceCase reference = testing::load_reference_case(GetParam());
  const std::string& data = reference.data_path;
  const nlohmann::json& bam = reference.reference;
  Job job = testing::cpu_job(testing::shared_world(), 2);
  const FitResult result = fit(job, parse_formula(reference.formula), testing::in_blocks(data, 512),
                               testing::options_of(reference));
  const FittedModel& model = result.model.fitted();
  EXPECT_TRUE(model.converged);
  const auto predictions = testing::predicted_from_file(job, model, data);
  testing::AllPredictions of_new;
  if (bam.contains("new_link"))
    of_new = testing::predicted_from_file(job, model, TESSERA_TEST_DATA "/reference/mixed/new.csv.gz");
  if (testing::shared_world().rank() != 0) return;

  ASSERT_EQ(predictions.fit.size(), reference.linear_predictor.size());
  EXPECT_LE(testing::relative_to_range(predictions.fit, reference.linear_predictor), 1e-6);
  EXPECT_NEAR(model.edf_total / bam.at("edf_total").get<double>(), 1, 1e-4);
  EXPECT_NEAR(model.scale / bam.at("scale").get<double>(), 1, 1e-6);
  EXPECT_NEAR(model.null_deviance / bam.at("null_deviance").get<double>(), 1,
              bam.value("null_deviance_error", 1e-9));
  EXPECT_NEAR(model.deviance / bam.at("deviance").get<double>(), 1, 1e-5);
  const auto errors = bam.at("se_link50").get<std::vector<double>>();
  for (std::size_t i = 0; i < errors.size(); ++i) {
    EXPECT_NEAR(predictions.se[i] / errors[i], 1, 5e-5) << "row " << i;
  }
  if (bam.contains("r_squared_adjusted")) {
    EXPECT_NEAR(model.r_squared_adjusted, bam.at("r_squared_adjusted").get<double>(), 1e-6);
  }
  if (const auto intercept = bam.find("gam_intercept"); intercept != bam.end()) {
    EXPECT_NEAR(model.coef[0] / intercept->get<double>(), 1, 1e-4);
  }
  if (bam.contains("tests")) expect_same_tests(model, bam.at("tests"));
  if (bam.contains("new_link")) {
    expect_same_predictions(of_new, bam);
    expect_same_parametric(model, bam.at("gam_parametric"));
  }
  if (bam.contains("theta") && !bam.at("theta").is_null()) {
    const nlohmann::json& theta = bam.at("theta");
    const auto expected =
        theta.is_array() ? theta.get<std::vector<double>>() : std::vector{theta.get<double>()};
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(model.family.parameters()[i] / expected[i], 1, 1e-5);
  }
  if (bam.contains("residuals50")) {
    EXPECT_EQ(model.family.title(), bam.at("title").get<std::string>());
    // All rows are sampled; the model stores six digits.
    const auto residuals = bam.at("residuals50").get<std::vector<double>>();
    ASSERT_EQ(model.outline.deviance_residual.size(), reference.fitted.size());
    for (std::size_t i = 0; i < residuals.size(); ++i)
      EXPECT_NEAR(model.outline.deviance_residual[i], residuals[i], 1e-5) << "row " << i;
  }
  if (const auto shares = bam.find("probabilities20"); shares != bam.end()) {
    Job alone = testing::cpu_job(mpi::Communicator::serial());
    const Predictions found =
        predict(alone, result.model, testing::in_blocks(data, 512), {.type = PredictionType::response});
    ASSERT_EQ(found.columns.size(), shares->at(0).size());
    for (std::size_t i = 0; i < shares->size(); ++i) {
      for (std::size_t c = 0; c < found.columns.size(); ++c)
        EXPECT_NEAR(found.columns[c].values[i], shares->at(i)[c].get<double>(), 1e-6) << "row " << i;
    }
  }
  if (bam.contains("aic") && bam.at("aic").is_number()) {
    EXPECT_NEAR(model.aic / bam.at("aic").get<double>(), 1, 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Reference,
    ::testing::Values(
        "c01_mcycle_gauss", "c02_gs1_gauss", "c03_gs1_poisson", "c04_gs1_binary", "c05_gs1_gamma",
        "c06_gs4_by_factor", "c07_gs6_re", "c08b_gs2_te_default", "c09a_co2_cp_cr", "c10_diamonds_gauss",
        "c12_bundesliga_poisson", "m01_factors_cr_cc", "m02_weights_re", "m03_poisson_offset_cp",
        "m04_te_raw_margins", "m05_te_cr_cc", "m06_binomial_trials_by", "m07_gamma_weights", "m08_numeric_by",
        "m10_binary_no_intercept_te", "m12_te_by_factor", "m13_poisson_te_re", "m14_cr_supplied_knots",
        "m15_probit", "m16_inverse_gaussian", "n01_nb", "n02_nb_offset_weights", "n03_nb_fixed",
        "n04_nb_fixed_offset_weights", "i01_id", "i02_id_by_factor", "i03_ids_poisson", "i04_id_te",
        "i05_id_by_numbers", "l01_probit_weights", "l02_cloglog", "l03_cauchit", "l04_gamma_inverse",
        "l05_gamma_identity", "l06_poisson_sqrt", "l07_poisson_identity", "l08_gaussian_log_offset",
        "l09_gaussian_inverse", "l10_inverse_gaussian", "l11_inverse_gaussian_log", "l12_quasipoisson",
        "l13_quasibinomial", "l14_quasipoisson_sqrt", "l15_binomial_log", "n05_nb_sqrt", "n06_nb_identity",
        "f01_cbind", "f02_cbind_quasi_weights", "f03_quasi_log_mu_2", "f04_quasi_cauchit",
        "f05_quasi_log_constant", "f06_tw", "f07_tw_offset_weights", "f08_tw_sqrt_bounds", "f09_tweedie",
        "f10_scat", "f11_scat_log_fixed", "f12_betar", "f13_betar_weights", "e01_in_smooths", "e02_terms",
        "e03_no_intercept", "e04_ordered", "e05_ordered_poisson", "e06_of_all_rows",
        "e07_offset_weights_subset", "f01_fs_cr", "f02_fs_tp", "f03_fs_poisson", "f04_fs_by_number",
        "f05_fs_of_two", "f06_fs_by_factor", "t01_t2", "t02_t2_full", "t03_t2_random", "t04_t2_of_two",
        "t05_t2_orders", "t06_t2_select", "t07_t2_by_factor", "t08_t2_no_null_space", "s01_sz_cr",
        "s02_sz_tp", "s03_sz_poisson", "s04_sz_of_two_factors", "s05_sz_of_two_numbers", "s06_sz_by_number",
        "s07_sz_by_factor", "s08_sz_select", "s09_sz_of_many_levels", "s10_sz_no_null_space", "a01_select",
        "a02_select_poisson", "a03_fx", "a04_gamma", "a05_sp", "a06_sp_of_all", "a07_given_sp", "a08_point",
        "a09_spline_orders", "a10_no_null_space", "a11_points", "a12_select_point", "a13_min_sp",
        "a14_margin_without_penalty", "a15_sp_0", "a16_shared_columns", "r01_mrf", "r02_mrf_of_two",
        "r03_mrf_truncated", "r04_mrf_te", "r05_mrf_and_re", "r06_mrf_by_factor", "r07_mrf_select", "r08_ad",
        "r09_ad_cyclic", "r10_ad_by_factor", "p01_penalised_terms", "p02_penalised_poisson",
        "p03_penalised_differences", "o01_ocat", "o02_ocat_offset_weights", "o03_ocat_fixed",
        "v01_cnorm_tobit", "v02_cnorm_offset_weights", "v03_cnorm_log_fixed", "v04_clog", "v05_clog_weights",
        "v06_cpois", "v07_cpois_offset", "q01_elf", "q02_elf_offset_weights", "q03_elf_high", "z01_zip",
        "z02_zip_offset", "z03_zip_fixed"),
    [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
