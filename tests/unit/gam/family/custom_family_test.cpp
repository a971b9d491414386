// SPDX-License-Identifier: Apache-2.0
#include "gam/family/custom_family.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr const char* inverse_gaussian = R"toml(name = "inverse.gaussian"
link = "1/mu^2"
inverse_link = "1/sqrt(eta)"
derivative = "-0.5 * eta^-1.5"
variance = "mu^3"
deviance = "(y - mu)^2 / (y * mu^2)"
)toml";

CustomFamily family_with(const std::string& inverse_link, const std::string& derivative) {
  return parse_custom_family("name = \"f\"\ninverse_link = \"" + inverse_link + "\"\nderivative = \"" +
                                 derivative + "\"\nvariance = \"1\"\ndeviance = \"(y - mu)^2\"\n",
                             "f.toml");
}

TEST(CustomFamily, EvaluatesItsFunctions) {
  const CustomFamily family = parse_custom_family(inverse_gaussian, "f.toml");
  EXPECT_EQ(family.name, "inverse.gaussian");
  EXPECT_EQ(family.link_name, "1/mu^2");
  EXPECT_FALSE(family.scale_is_known);
  EXPECT_EQ(family.inverse_link(4), 0.5);
  EXPECT_EQ(family.derivative(4), -0.0625);
  EXPECT_EQ(family.variance(2), 8);
  EXPECT_EQ(family.deviance(1, 2, 1), 0.25);
  EXPECT_EQ(family.deviance(2, 1, 1), 0.5);
}

TEST(CustomFamily, ArgumentsKeepTheirPlacesInWhateverOrderTheyAppear) {
  const FamilyFunction forward("y - 3 * mu", {"y", "mu"});
  const FamilyFunction backward("mu - 3 * y", {"y", "mu"});
  EXPECT_EQ(forward(1, 10), -29);
  EXPECT_EQ(backward(1, 10), 7);
  EXPECT_EQ(FamilyFunction("mu", {"y", "mu"})(1, 10), 10);
  EXPECT_EQ(FamilyFunction("7", {"eta"})(1), 7);
}

TEST(CustomFamily, HasTheFunctionsOfRThatFamiliesNeed) {
  const auto at = [](const std::string& text, double x) { return FamilyFunction(text, {"x"})(x); };
  // R 4.2.2: pnorm(-8), pnorm(0.3), dnorm(1.5), log1p(1e-12), expm1(1e-12)
  EXPECT_NEAR(at("pnorm(x)", -8), 6.22096057427178e-16, 1e-29);
  EXPECT_NEAR(at("pnorm(x)", 0.3), 0.617911422188953, 1e-15);
  EXPECT_NEAR(at("dnorm(x)", 1.5), 0.129517595665892, 1e-15);
  EXPECT_NEAR(at("log1p(x)", 1e-12), 9.999999999995e-13, 1e-27);
  EXPECT_NEAR(at("expm1(x)", 1e-12), 1.0000000000005e-12, 1e-27);
  EXPECT_EQ(at("abs(x)", -2), 2);
  EXPECT_EQ(at("pmin(x, 3)", 5), 3);
  EXPECT_EQ(at("pmax(x, 3)", 5), 5);
  EXPECT_EQ(at("pmax(3, x)", -5), 3);
  const double missing = std::numeric_limits<double>::quiet_NaN();
  for (const char* text : {"pmin(x, 3)", "pmin(3, x)", "pmax(x, 3)", "pmax(3, x)"})
    EXPECT_TRUE(std::isnan(at(text, missing))) << text;
}

TEST(CustomFamily, IsReadBackFromWhatAModelKeeps) {
  const CustomFamily family = parse_custom_family(inverse_gaussian, "f.toml");
  EXPECT_EQ(parse_custom_family(to_toml(family), "model"), family);
  CustomFamily odd = family;
  odd.name = "quotes \" and \\ and '";
  odd.scale_is_known = true;
  EXPECT_EQ(parse_custom_family(to_toml(odd), "model"), odd);
  odd.name = "a line\nand ''quotes'' behind it\x01";
  EXPECT_EQ(parse_custom_family(to_toml(odd), "model"), odd);
}

TEST(CustomFamily, FindsThePredictorOfAMean) {
  struct Case {
    const char* inverse_link;
    const char* derivative;
    double mean;
    double eta;
  };
  const std::vector<Case> cases{{"eta", "1", 3.25, 3.25},
                                {"eta", "1", 0, 0},
                                {"exp(eta)", "exp(eta)", 1e-8, std::log(1e-8)},
                                {"exp(eta)", "exp(eta)", 12, std::log(12)},
                                {"1/sqrt(eta)", "-0.5 * eta^-1.5", 0.5, 4},
                                {"1/eta", "-1/eta^2", 8, 0.125},
                                {"1/eta", "-1/eta^2", -8, -0.125},
                                {"pnorm(eta)", "dnorm(eta)", 0.975, 1.959963984540054}};
  for (const Case& one : cases) {
    const auto eta = predictor_of(family_with(one.inverse_link, one.derivative), one.mean);
    ASSERT_TRUE(eta.has_value()) << one.inverse_link << " = " << one.mean;
    EXPECT_NEAR(*eta, one.eta, 4e-16 * std::abs(one.eta) / std::min(1.0, one.mean > 0 ? one.mean : 1.0))
        << one.inverse_link << " = " << one.mean;
  }
  EXPECT_FALSE(predictor_of(family_with("exp(eta)", "exp(eta)"), -1));
  EXPECT_FALSE(predictor_of(family_with("pnorm(eta)", "dnorm(eta)"), 1.5));
}

TEST(CustomFamily, RefusesWithFileAndLineAndWhatToDo) {
  const std::string valid = inverse_gaussian;
  const auto without = [&](const std::string& key) {
    const std::size_t begin = valid.find(key + " =");
    return valid.substr(0, begin) + valid.substr(valid.find('\n', begin) + 1);
  };
  const auto with = [&](const std::string& key, const std::string& value) {
    return without(key) + key + " = " + value + "\n";
  };
  // Nested tables, one for each part.
  std::string chain = "a";
  for (int i = 0; i < 100'000; ++i) chain += i % 2 == 0 ? ".a" : " . \"=\\\"\"";
  const std::vector<std::pair<std::string, std::string>> cases{
      {without("name"), "f.toml: the family has no name: write name = "},
      {without("variance"), "f.toml: variance is missing: write variance = \"…\", an expression of mu"},
      {without("deviance"), "an expression of y and mu"},
      {with("variance", "\"mu * NA\""),
       "f.toml:6: variance: mu * NA: the functions of a family have a number that is not finite: write "
       "finite numbers"},
      {with("variance", "\"mu * k\""),
       "f.toml:6: variance: 'k' is not a variable of this expression: it may use mu"},
      {with("variance", "3"), "f.toml:6: variance must be text"},
      {with("variance", "\"mu *\""), "f.toml:6: variance: "},
      {with("variance", "\"gamma(mu)\""), "gamma() is unknown: the functions are "},
      {with("variance", "\"pmax(mu)\""), "pmax() takes two arguments"},
      {valid + "vraiance = \"mu\"\n",
       "f.toml:7: 'vraiance' is not a key of a family: the keys are name, link"},
      {valid + "scale = \"one\"\n", "f.toml:7: scale must be \"known\""},
      {"name = ", "f.toml:1: "},
      {valid + "# \"\"\" ...\n[" + chain + "]\n", "f.toml:8: a key has more than 32 parts"},
      {valid + chain + " = 1\n", "f.toml:7: a key has more than 32 parts"},
      {valid + "x = \"\"\"\n.\\\"\"\"\"\ny = {" + chain + " = 1}\n",
       "f.toml:9: a key has more than 32 parts"}};
  for (const auto& [toml, expected] : cases) {
    const std::string said = error_of(
        ErrorCode::usage, [&] { static_cast<void>(parse_custom_family(toml, "f.toml")); }, toml);
    EXPECT_TRUE(contains(said, expected));
    EXPECT_FALSE(contains(said, "\n"));
  }
}

TEST(CustomFamily, SpellsItsFunctionsForTheDevice) {
  const auto spelled = [](const std::string& text) {
    return FamilyFunction(text, {"y", "mu"}).device_expression();
  };
  EXPECT_EQ(spelled("y - mu - 1"), "((y - mu) - 0x1p+0)");
  EXPECT_EQ(spelled("y - (mu - 1)"), "(y - (mu - 0x1p+0))");
  EXPECT_EQ(spelled("-y^2"), "-(custom_power(y, 0x1p+1))");
  EXPECT_EQ(spelled("pmax(y, 0.5) / abs(mu)"), "(custom_greatest(y, 0x1p-1) / fabs(mu))");
  EXPECT_EQ(spelled("pnorm(log1p(mu))"), "normcdf(log1p(mu))");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
