// SPDX-License-Identifier: Apache-2.0
// NVRTC, if present, compiles the device kernels. It needs no GPU.
#include "gam/rows/kernel_source.hpp"

#include "support/expect_kernels.hpp"
#include "support/rows_model.hpp"

#include <tessera/device/kernel_compiler.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace tessera::gam;
using rows_test::make_model;
using rows_test::Model;
using tessera::ModuleSource;
using tessera::gam::testing::expect_kernels;

ModuleSource source_of(const tessera::gam::Rows& rows, const Model& model) {
  const RowLayout layout(model.design, 0, nullptr, nullptr, rows.family.several() != nullptr);
  return kernel_source(rows, layout, CrossPlan(layout));
}

ModuleSource source_of(const Model& model) {
  return source_of(model.rows_of(model.frame), model);
}

const std::string& constants_of(const ModuleSource& source) {
  return std::ranges::find(source.headers, "rows_constants.hpp", &tessera::NamedHeader::name)->text;
}

TEST(RowsSource, DoesNotDependOnTheData) {
  const Model first = make_model({.seed = 1});
  const Model second = make_model({.seed = 2});
  ASSERT_NE(first.frame.variables[0].numbers, second.frame.variables[0].numbers);
  EXPECT_EQ(constants_of(source_of(first)), constants_of(source_of(second)));
  EXPECT_EQ(source_of(first).name, source_of(second).name);
}

/// Nothing is recompiled if theta changes, nor for a prediction with another theta.
TEST(RowsSource, DoesNotDependOnParametersOfTheFamily) {
  const Model first = make_model({.family = chosen_family("nb(theta=3)")});
  const Model second = make_model({.family = chosen_family("nb").at({0.1})});
  const RowLayout layout(first.design);
  const auto same = [](const ModuleSource& a, const ModuleSource& b) {
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.text, b.text);
    EXPECT_EQ(constants_of(a), constants_of(b));
  };
  same(source_of(first), source_of(second));
  same(prediction_source(first.rows_of(first.frame), layout, true, true),
       prediction_source(second.rows_of(second.frame), layout, true, true));
}

TEST(RowsSource, TellsModelsApart) {
  const ModuleSource all = source_of(make_model({}));
  EXPECT_NE(source_of(make_model({.family = Gamma{}})).name, all.name);
  EXPECT_NE(source_of(make_model({.family = chosen_family("gaussian(log)")})).name, all.name);
  EXPECT_NE(source_of(make_model({.weights = false})).name, all.name);
  EXPECT_NE(source_of(make_model({.offsets = false})).name, all.name);
  EXPECT_NE(source_of(make_model({.terms = 5})).name, all.name);
}

/// A cached kernel of a thin plate spline can be used for other data.
TEST(RowsSource, DoesNotDependOnHowManyPointsDenseComponentsHave) {
  Model model = make_model({.terms = 5, .curves = true});
  const std::string before = constants_of(source_of(model));
  Component& component = model.design.terms[5].components[0];
  ASSERT_EQ(component.kind, ComponentKind::dense);
  component.margin.breaks.push_back(2 * component.margin.breaks.back());
  component.margin.cells.push_back(component.margin.cells.back());
  component.combinations = Matrix(component.margin.raw_size(), component.combinations.cols());
  Component& surface = model.design.terms[8].components[0];
  ASSERT_TRUE(surface.isotropic);
  surface.isotropic->points = Matrix(20, 2);
  surface.combinations = Matrix(24, surface.combinations.cols());
  surface.isotropic->function = {RadialKind::power, 5, 1};
  EXPECT_EQ(constants_of(source_of(model)), before);
}

TEST(RowsSource, CompilesEveryFunctionOfAFamilyOfTheUsersOwn) {
  const Model model = make_model({.family = Gamma{}});
  tessera::gam::Rows rows = model.rows_of(model.frame);
  rows.family = tessera::gam::Family(tessera::gam::parse_custom_family(
      "name = 'all'\ninverse_link = 'exp(pnorm(eta) - dnorm(-eta))'\nderivative = 'sqrt(abs(eta))^-1.5'\n"
      "variance = 'log1p(expm1(mu))'\ndeviance = 'pmin(y, 1e-300) + pmax(mu, 2) * log(y)^2'\n",
      "test"));
  const ModuleSource source = source_of(rows, model);
  EXPECT_NE(source.name, source_of(model).name);
  expect_kernels(source, "sm_90", {"evaluate_step"});
}

struct Case {
  const char* name;
  rows_test::ModelOptions options;
  const char* target;
};

class RowsKernels : public ::testing::TestWithParam<Case> {};

TEST_P(RowsKernels, Compile) {
  expect_kernels(source_of(make_model(GetParam().options)), GetParam().target,
                 {"evaluate_moments", "evaluate_start", "evaluate_step", "evaluate_deviance", "form_partials",
                  "evaluate_parameters", "form_scalars", "accumulate"});
}

/// By all families in one test, since the kernels differ in little else.
TEST(RowsSource, HasKernelsOfSeveralLinearPredictors) {
  for (const Family& family : rows_test::several_families())
    expect_kernels(source_of(rows_test::make_several({.family = family, .terms = 3})), "sm_90",
                   {"evaluate_step", "evaluate_deviance", "form_partials"});
}

TEST(RowsSource, HasKernelsOfTermsThatLinearPredictorsShare) {
  for (const char* family : {"gaulss", "multinom(K=2)"}) {
    Model model = rows_test::make_several({.family = chosen_family(family), .terms = 3});
    model.design.terms.back().predictor = 2;
    model.design.readers = {{0}, {1}, {0, 1}};
    expect_kernels(source_of(model), "sm_90", {"evaluate_step", "evaluate_deviance", "form_partials"});
  }
}

TEST(RowsSource, FormsProductsOfSplinesWhereThereAreMatrixUnits) {
  expect_kernels(source_of(rows_test::make_splines({}, 10)), "sm_90", {"form_crossproduct", "form_partials"});
  expect_kernels(source_of(rows_test::make_splines({}, 2)), "sm_100", {"form_crossproduct", "form_partials"});
  expect_kernels(source_of(rows_test::make_splines({}, 2)), "sm_80", {"form_partials"});
}

TEST_P(RowsKernels, ThatPredictCompile) {
  const Model model = make_model(GetParam().options);
  Rows rows = model.rows_of(model.frame);
  rows.response = -1;
  const RowLayout layout(model.design);
  expect_kernels(prediction_source(rows, layout, true, true), GetParam().target, {"predict"});
  EXPECT_NE(prediction_source(rows, layout, true, false).name,
            prediction_source(rows, layout, true, true).name);
  EXPECT_NE(prediction_source(rows, layout, false, true).name,
            prediction_source(rows, layout, true, true).name);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, RowsKernels,
    ::testing::Values(
        Case{"every_term_gaussian_90", {.family = Gaussian{}}, "sm_90"},
        Case{"every_term_gamma_80", {.family = Gamma{}}, "sm_80"},
        Case{"dense_components_gaussian_90", {.family = Gaussian{}, .terms = 5, .curves = true}, "sm_90"},
        Case{"intercept_binomial_90",
             {.family = Binomial{}, .offsets = false, .weights = false, .terms = 1},
             "sm_90"},
        Case{"some_terms_poisson_80", {.family = Poisson{}, .terms = 5}, "sm_80"},
        Case{"some_terms_probit_90", {.family = chosen_family("binomial(probit)"), .terms = 5}, "sm_90"},
        Case{"intercept_gaussian_log_80", {.family = chosen_family("gaussian(log)"), .terms = 1}, "sm_80"},
        Case{"some_terms_nb_90", {.family = chosen_family("nb"), .terms = 5}, "sm_90"},
        Case{"some_terms_tw_90", {.family = chosen_family("tw"), .terms = 5}, "sm_90"},
        Case{"some_terms_tweedie_80", {.family = chosen_family("Tweedie(1.5)"), .terms = 5}, "sm_80"},
        Case{"some_terms_scat_90", {.family = chosen_family("scat"), .terms = 5}, "sm_90"},
        Case{"some_terms_betar_90", {.family = chosen_family("betar(link=cloglog)"), .terms = 5}, "sm_90"},
        Case{"some_terms_ocat_90", {.family = chosen_family("ocat(R=4)"), .terms = 5}, "sm_90"},
        Case{"some_terms_cnorm_90", {.family = chosen_family("cnorm"), .terms = 5, .limits = true}, "sm_90"},
        Case{"some_terms_cpois_80", {.family = chosen_family("cpois"), .terms = 5, .limits = true}, "sm_80"},
        Case{"some_terms_quasi_80", {.family = chosen_family("quasi(logit, mu)"), .terms = 5}, "sm_80"}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
