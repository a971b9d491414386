// SPDX-License-Identifier: Apache-2.0
// NVRTC, if present, compiles the device kernels. It needs no GPU.
#include "gam/rows/kernel_source.hpp"

#include "support/expect_kernels.hpp"
#include "support/rows_model.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace {

using namespace tessera::gam;
using tessera::gam::testing::expect_kernels;

TEST(RowModules, DoNotDependOnParametersOfTheFamily) {
  const tessera::ModuleSource fixed = family_module(chosen_family("nb(theta=3)"));
  const tessera::ModuleSource estimated = family_module(chosen_family("nb").at({0.1}));
  EXPECT_EQ(fixed.name, estimated.name);
  EXPECT_EQ(fixed.headers.back().text, estimated.headers.back().text);
}

TEST(RowModules, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  const std::vector<tessera::ModuleSource> modules = built_in_row_modules();
  for (const tessera::ModuleSource& module : modules) names.insert(module.name);
  EXPECT_EQ(names.size(), modules.size());
}

/// A fit of a built-in family with its default constants compiles nothing.
TEST(RowModules, AreThoseOfEveryBuiltInFamily) {
  std::set<std::string> names;
  for (const tessera::ModuleSource& module : built_in_row_modules()) names.insert(module.name);
  for (const char* family :
       {"gaussian", "binomial(cauchit)", "nb(theta=2)", "tw", "Gamma(inverse)", "scat", "betar(link=cloglog)",
        "ocat(R=5)", "quasi(logit, mu)", "gaulss", "multinom(K=3)", "shash", "ziplss", "twlss", "cnorm",
        "ziP", "gaussian(inverse)"})
    EXPECT_TRUE(names.contains(family_module(chosen_family(family)).name)) << family;
  EXPECT_FALSE(names.contains(family_module(chosen_family("ocat(R=15)")).name));
}

TEST(RowModules, CompileForTerms) {
  for (const char* target : {"sm_80", "sm_90", "sm_120"})
    expect_kernels(term_module(), target, {"evaluate_curves", "evaluate_terms", "evaluate_dense"});
}

TEST(RowModules, CompileForProducts) {
  for (const char* target : {"sm_80", "sm_90"})
    expect_kernels(product_module(), target, {"form_partials", "form_scalars", "accumulate", "predict_rows"});
}

TEST(RowModules, CompileForProductsOfSplinesWhereThereAreMatrixUnits) {
  for (int quads = 1; quads <= cross_quads_limit; quads += 3)
    expect_kernels(crossproduct_module(quads, 192, quads % 2 == 0), "sm_90", {"form_crossproduct"});
  expect_kernels(crossproduct_module(5, 64, true), "sm_100", {"form_crossproduct"});
  expect_kernels(crossproduct_module(5, 64, true), "sm_80", {});
}

class FamilyModules : public ::testing::TestWithParam<const char*> {};

TEST_P(FamilyModules, Compile) {
  expect_kernels(family_module(chosen_family(GetParam())), "sm_90",
                 {"keep_rows", "keep_parameters", "predict_means"});
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyModules,
                         ::testing::Values("gaussian", "Gamma", "binomial(probit)", "nb", "tw", "scat",
                                           "betar(link=cloglog)", "ocat(R=4)", "cpois", "quasi(logit, mu)",
                                           "gaulss", "shash", "multinom(K=2)"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name)
                             if (std::string_view("(=), ").find(c) != std::string_view::npos) c = '_';
                           return name;
                         });

TEST(RowModules, CompileEveryFunctionOfAFamilyOfTheUsersOwn) {
  const Family own(parse_custom_family(
      "name = 'all'\ninverse_link = 'exp(pnorm(eta) - dnorm(-eta))'\nderivative = 'sqrt(abs(eta))^-1.5'\n"
      "variance = 'log1p(expm1(mu))'\ndeviance = 'pmin(y, 1e-300) + pmax(mu, 2) * log(y)^2'\n",
      "test"));
  expect_kernels(family_module(own), "sm_90", {"keep_rows", "predict_means"});
  expect_kernels(family_module(rows_test::several_families().back()), "sm_90", {"keep_rows"});
}

}  // namespace
