// SPDX-License-Identifier: Apache-2.0
#include "gam/formula/formula.hpp"
#include "gam/formula/compile.hpp"
#include "gam/formula/polynomial_contrasts.hpp"
#include "gam/formula/syntax.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/formula.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::vector<std::string> labels(const FormulaTerms& formula) {
  std::vector<std::string> result;
  for (const ParametricTerm& term : formula.parametric) result.push_back(term.label);
  return result;
}

std::vector<std::string> labels(const std::string& right_hand_side) {
  return labels(parse_terms("y ~ " + right_hand_side));
}

SmoothSpec smooth(const std::string& call) {
  const FormulaTerms formula = parse_terms("y ~ " + call);
  EXPECT_EQ(formula.smooths.size(), 1U);
  return formula.smooths.at(0);
}

/// The message of the text's error; "" if there is none.
std::string fault(const std::string& text) {
  const auto parse = [&] { static_cast<void>(parse_terms(text)); };
  const std::string message = error_if_any(ErrorCode::usage, parse).value_or("");
  EXPECT_FALSE(contains(message, "\n"));
  return message;
}

using Names = std::vector<std::string>;

TEST(Formula, ReadsEveryFormAtOnce) {
  const FormulaTerms f = parse_terms(
      "log(y) ~ x + f + s(x, bs=\"ps\", k=20, m=c(2,2)) + s(z, bs='cr', k=10) + s(w, bs=\"cp\") +\n"
      "  s(v, bs=\"cc\") + s(g, bs=\"re\") + te(x, z, bs=\"ps\", k=c(9,8), m=list(c(2,2),c(2,1)), np=FALSE) "
      "+\n"
      "  s(x, by=f, bs=\"ps\") + a*b + a:f + offset(log(e))");
  EXPECT_EQ(f.response.text, "log(y)");
  EXPECT_TRUE(f.intercept);
  EXPECT_EQ(labels(f), (Names{"x", "f", "a", "b", "a:b", "f:a"}));
  Names smooths;
  for (const SmoothSpec& s : f.smooths) smooths.push_back(s.label);
  EXPECT_EQ(smooths, (Names{"s(x)", "s(z)", "s(w)", "s(v)", "s(g)", "te(x,z)", "s(x):f"}));
  ASSERT_EQ(f.offsets.size(), 1U);
  EXPECT_EQ(f.offsets[0].text, "log(e)");
  Names variables;
  for (const Expression& v : f.variables()) variables.push_back(v.text);
  EXPECT_EQ(variables, (Names{"log(y)", "x", "f", "a", "b", "z", "w", "v", "g", "log(e)"}));
  EXPECT_EQ(f.text.find('\n'), std::string::npos);
  EXPECT_EQ(f.text.find("  "), std::string::npos);
}

TEST(Formula, SmoothsHaveTheirArguments) {
  const SmoothSpec s = smooth("s(x, bs=\"ps\", k=20, m=c(2,1))");
  EXPECT_FALSE(s.tensor);
  ASSERT_EQ(s.margins.size(), 1U);
  EXPECT_EQ(s.margins[0].basis, "ps");
  EXPECT_EQ(s.margins[0].k, 20);
  EXPECT_EQ(s.margins[0].m, (std::vector<double>{2, 1}));
  EXPECT_FALSE(s.by.has_value());

  const SmoothSpec t = smooth("te(x, log(z), bs=c('ps','cr'), k=c(9,8), m=list(c(2,1),NA), np=F, by=w)");
  EXPECT_TRUE(t.tensor);
  EXPECT_FALSE(t.normalise);
  EXPECT_EQ(t.label, "te(x,log(z)):w");
  ASSERT_EQ(t.margins.size(), 2U);
  EXPECT_EQ(t.margins[0].basis, "ps");
  EXPECT_EQ(t.margins[1].basis, "cr");
  EXPECT_EQ(t.margins[0].k, 9);
  EXPECT_EQ(t.margins[1].k, 8);
  EXPECT_EQ(t.margins[0].m, (std::vector<double>{2, 1}));
  EXPECT_TRUE(t.margins[1].m.empty());
  ASSERT_TRUE(t.by.has_value());
  EXPECT_EQ(t.by->text, "w");
}

TEST(Formula, ProductsOfSpacesHaveTheirArguments) {
  const SmoothSpec usual = smooth("t2(x, z)");
  EXPECT_TRUE(usual.tensor && usual.by_spaces);
  EXPECT_FALSE(usual.full);
  EXPECT_TRUE(usual.orders.empty());
  EXPECT_EQ(usual.label, "t2(x,z)");
  EXPECT_EQ(usual.margins[1].basis, "cr");
  EXPECT_EQ(usual.margins[1].k, 5);
  EXPECT_FALSE(smooth("te(x, z)").by_spaces);
  const SmoothSpec all = smooth(
      "t2(v, w, u, k=c(30,5), d=c(2,1), bs=c('ds','cr'), m=list(c(1,.5),0), full=T, ord=c(0,2), by=f)");
  EXPECT_TRUE(all.full);
  EXPECT_EQ(all.orders, (std::vector<int>{0, 2}));
  EXPECT_EQ(all.label, "t2(v,w,u):f");
  ASSERT_EQ(all.margins.size(), 2U);
  EXPECT_EQ(all.margins[0].m, (std::vector<double>{1, .5}));
  EXPECT_EQ(smooth("t2(x, z, ord=1:2)").orders, (std::vector<int>{1, 2}));
  EXPECT_TRUE(smooth("t2(x, z, ord=NULL)").orders.empty());
  EXPECT_TRUE(smooth("t2(x, g, bs=c('tp','re'))").is_side_constrained());
  const FormulaTerms linked = parse_terms("y ~ t2(x, z, full=TRUE, id=1) + t2(u, v, id=1)");
  EXPECT_TRUE(linked.smooths[1].full);
}

TEST(Formula, FactorSmoothsNameTheBasisOfTheirCurves) {
  const SmoothSpec usual = smooth("s(x, g, bs='fs')");
  EXPECT_TRUE(usual.factor_smooth);
  EXPECT_EQ(usual.label, "s(x,g)");
  ASSERT_EQ(usual.margins.size(), 1U);
  EXPECT_EQ(usual.margins[0].basis, "tp");
  EXPECT_EQ(usual.margins[0].variables, 1);
  EXPECT_EQ(usual.margins[0].k, 10);
  EXPECT_EQ(smooth("s(x, g, bs='fs', xt='cr', k=7)").margins[0].basis, "cr");
  EXPECT_EQ(smooth("s(g, x, bs='fs', xt=list(bs='cc'))").margins[0].basis, "cc");
  const SmoothSpec points = smooth("s(x, z, g, bs='fs', xt=list(max.knots=50), by=w)");
  EXPECT_EQ(points.margins[0].variables, 2);
  EXPECT_EQ(points.margins[0].most_points, 50);
  EXPECT_EQ(points.label, "s(x,z,g):w");
  EXPECT_EQ(smooth("s(x, g, bs='fs', m=1)").margins[0].m, std::vector<double>{1});
  // The table determines which of them is the factor.
  EXPECT_TRUE(parse_terms("y ~ s(x, g, bs='fs')").numeric_variables().empty());
}

TEST(Formula, DeviationsOfLevelsAreSettledWithTheirTypes) {
  const SmoothSpec several = smooth("s(f1, f2, x, bs='sz', xt='cr', k=7, id=1)");
  EXPECT_TRUE(several.factor_smooth);
  EXPECT_TRUE(several.sum_to_zero);
  EXPECT_FALSE(several.is_side_constrained());
  EXPECT_EQ(several.label, "s(f1,f2,x)");
  ASSERT_EQ(several.margins.size(), 1U);
  EXPECT_EQ(several.margins[0].basis, "cr");
  EXPECT_EQ(several.margins[0].others.size(), 2U);
  EXPECT_EQ(several.margins[0].k, 7);
  // The defaults depend on the number of numeric variables.
  const SmoothSpec usual = smooth("s(x, z, g, bs='sz', xt=list(max.knots=50))");
  EXPECT_EQ(usual.margins[0].basis, "tp");
  EXPECT_EQ(usual.margins[0].most_points, 50);
  EXPECT_EQ(usual.margins[0].k, 0);
  EXPECT_TRUE(usual.margins[0].m.empty());
  EXPECT_EQ(smooth("s(x, g, bs='sz', m=c(2,0))").margins[0].m, (std::vector<double>{2, 0}));
  EXPECT_FALSE(smooth("s(x, g, bs='fs')").sum_to_zero);
}

TEST(Formula, SmoothsWithOneIdAreLikeTheFirst) {
  const FormulaTerms terms =
      parse_terms("y ~ s(x, bs='ps', k=12, m=c(2,1), id=1) + s(z, bs='cr', by=f, id='1') + s(w, id=2)");
  const SmoothSpec& linked = terms.smooths[1];
  EXPECT_EQ(linked.id, terms.smooths[0].id);
  EXPECT_EQ(linked.label, "s(z):f");
  MarginSpec expected = terms.smooths[0].margins[0];
  expected.variable = parse_expression("z");
  EXPECT_EQ(linked.margins[0], expected);
  EXPECT_EQ(terms.smooths[2].margins[0].basis, "tp");
}

TEST(Formula, SmoothsHaveDefaultsOfMgcv) {
  for (const std::string basis : {"ps", "cp", "cr", "cc"}) {
    EXPECT_EQ(smooth("s(x, bs='" + basis + "')").margins[0].k, 10) << basis;
    EXPECT_EQ(smooth("s(x, k=-1, bs='" + basis + "')").margins[0].k, 10) << basis;
  }
  // For each number of variables, the least order with continuous derivatives.
  const auto isotropic = [](const std::string& text, double order, int k) {
    const SmoothSpec s = smooth(text);
    ASSERT_EQ(s.margins.size(), 1u) << text;
    EXPECT_EQ(s.margins[0].m, std::vector<double>{order}) << text;
    EXPECT_EQ(s.margins[0].k, k) << text;
  };
  isotropic("s(x)", 2, 10);
  isotropic("s(x, m=1)", 1, 9);
  isotropic("s(x, z)", 2, 30);
  isotropic("s(x, z, bs='ts', m=NA, k=-1)", 2, 30);
  isotropic("s(x, z, m=3)", 3, 33);
  isotropic("s(x, z, w)", 3, 110);
  EXPECT_EQ(smooth("s(x, z, bs='ds')").margins[0].m, (std::vector<double>{2, 0}));
  EXPECT_EQ(smooth("s(x, z, bs='ds', m=c(1,.5))").margins[0].k, 31);
  EXPECT_EQ(smooth("s(x, bs='gp')").margins[0].m, (std::vector<double>{3, 0, 1}));
  EXPECT_EQ(smooth("s(x, bs='gp', m=c(-2,.5))").margins[0].k, 12);
  isotropic("s(x, z, w, m=2)", 2, 104);
  const MarginSpec sampled = smooth("s(x, z, xt=list(max.knots=500, seed=3))").margins[0];
  EXPECT_EQ(sampled.most_points, 500);
  EXPECT_EQ(sampled.seed, 3u);
  EXPECT_EQ(sampled.others.at(0).text, "z");
  const SmoothSpec pairs = smooth("te(x, z, w, d=c(2,1))");
  ASSERT_EQ(pairs.margins.size(), 2u);
  EXPECT_EQ(pairs.margins[0].basis, "tp");
  EXPECT_EQ(pairs.margins[0].k, 25);
  EXPECT_EQ(pairs.margins[1].basis, "cr");
  EXPECT_EQ(pairs.margins[1].variable.text, "w");
  EXPECT_EQ(pairs.label, "te(x,z,w)");
  EXPECT_EQ(smooth("s(x, bs='bs')").margins[0].m, (std::vector<double>{3, 2}));
  EXPECT_EQ(smooth("s(x, bs='bs', m=2)").margins[0].m, (std::vector<double>{2, 1}));
  EXPECT_EQ(smooth("s(x, bs='bs', m=c(NA,1,0))").margins[0].m, (std::vector<double>{2, 1, 0}));
  const SmoothSpec interaction = smooth("ti(x, g, z, bs=c('cr','re','ps'), mc=c(T,T,F))");
  EXPECT_TRUE(interaction.tensor && interaction.interaction);
  EXPECT_EQ(interaction.label, "ti(x,g,z)");
  EXPECT_TRUE(interaction.margins[0].centred);
  EXPECT_FALSE(interaction.margins[1].centred || interaction.margins[2].centred);
  const SmoothSpec t = smooth("te(x, z)");
  EXPECT_TRUE(t.normalise);
  EXPECT_EQ(t.margins[0].basis, "cr");
  EXPECT_EQ(t.margins[1].k, 5);
  EXPECT_EQ(smooth("te(x, z, k=7, bs='ps')").margins[1].k, 7);
  // One number of m sets both orders; in te's vector, each margin gets one number.
  EXPECT_EQ(smooth("te(x, z, bs='ps', m=2)").margins[1].m, (std::vector<double>{2, 2}));
  EXPECT_EQ(smooth("te(x, z, bs='ps', m=c(2,NA))").margins[1].m, (std::vector<double>{2, 2}));
  EXPECT_EQ(smooth("te(x, z, bs='ps', m=list(c(NA,3),2))").margins[0].m, (std::vector<double>{2, 3}));
  // An explicit default changes nothing.
  EXPECT_EQ(smooth("s(x, bs='ps', k=20L, fx=FALSE, xt=NULL, sp=NULL, by=NA)"), smooth("s(x,bs=\"ps\",k=20)"));
}

TEST(Formula, ReadsTheArgumentsOfSmooths) {
  EXPECT_TRUE(smooth("s(x, fx=T)").fixed);
  EXPECT_TRUE(smooth("te(x, z, fx=c(TRUE, TRUE))").fixed);
  EXPECT_FALSE(smooth("te(x, z, fx=FALSE)").fixed);
  const SmoothSpec half = smooth("te(x, z, fx=c(TRUE, FALSE), m=list(NA, 0))");
  EXPECT_FALSE(half.fixed);
  EXPECT_TRUE(half.margins[0].fixed);
  EXPECT_FALSE(half.margins[1].fixed);
  EXPECT_EQ(smooth("s(x, sp=0)").sp, (std::vector<double>{0}));
  EXPECT_EQ(smooth("te(x, z, sp=c(-1, 2*3))").sp, (std::vector<double>{-1, 6}));
  EXPECT_EQ(smooth("s(x, pc=-.5)").point, (std::vector<double>{-0.5}));
  EXPECT_EQ(smooth("s(x, z, pc=c(1, 2))").point, (std::vector<double>{1, 2}));
  EXPECT_EQ(smooth("te(x, z, pc=list(z=1, x=2))").point, (std::vector<double>{2, 1}));
  EXPECT_EQ(smooth("s(x, bs='ps', m=1)").margins[0].m, (std::vector<double>{1, 1}));
  EXPECT_EQ(smooth("s(x, bs='ps', m=c(0,2))").margins[0].m, (std::vector<double>{0, 2}));
  EXPECT_EQ(smooth("s(x, m=c(2,0))").margins[0].m, (std::vector<double>{2, 0}));
  const SmoothSpec linked = parse_terms("y ~ s(x, id=1, fx=TRUE, pc=2) + s(z, id=1)").smooths[1];
  EXPECT_TRUE(linked.fixed);
  EXPECT_EQ(linked.point, (std::vector<double>{2}));
  EXPECT_EQ(parse_terms("y ~ s(x, id=1, sp=3) + s(z, id=1)").smooths[1].sp, (std::vector<double>{3}));
  const SmoothSpec points =
      smooth("te(x, z, bs='tp', xt=list(list(max.knots=50), list(max.knots=60, seed=3)))");
  EXPECT_EQ(points.margins[0].most_points, 50);
  EXPECT_EQ(points.margins[1].most_points, 60);
  EXPECT_EQ(points.margins[1].seed, 3U);
  EXPECT_EQ(smooth("te(x, z, bs='tp', xt=list(max.knots=50))").margins[1].most_points, 50);
}

TEST(Formula, TermsComeInTheOrderOfR) {
  // Each checked with names(coef(gam(…))) of mgcv 1.8-41.
  EXPECT_EQ(labels("a:b + b"), (Names{"b", "b:a"}));
  EXPECT_EQ(labels("b + a:b"), (Names{"b", "b:a"}));
  EXPECT_EQ(labels("z:x + x"), (Names{"x", "x:z"}));
  EXPECT_EQ(labels("s(x, bs='ps') + z:x + x + a*b"), (Names{"x", "a", "b", "x:z", "a:b"}));
  EXPECT_EQ(labels("(a + b)*x"), (Names{"a", "b", "x", "a:x", "b:x"}));
  EXPECT_EQ(labels("(a + b + x)^2"), (Names{"a", "b", "x", "a:b", "a:x", "b:x"}));
  EXPECT_EQ(labels("(a + b)**2"), (Names{"a", "b", "a:b"}));
  EXPECT_EQ(labels("a*b*x"), (Names{"a", "b", "x", "a:b", "a:x", "b:x", "a:b:x"}));
  EXPECT_EQ(labels("a/b"), (Names{"a", "a:b"}));
  EXPECT_EQ(labels("a*b - a"), (Names{"b", "b:a"}));
  EXPECT_EQ(labels("a:b + b:a"), (Names{"a:b"}));
  EXPECT_EQ(labels("x:x"), (Names{"x"}));
  EXPECT_EQ(labels("x*x + x"), (Names{"x"}));
  EXPECT_EQ(labels("x - (x + z)"), Names{});
  EXPECT_EQ(labels("x + (z - x)"), (Names{"x", "z"}));
  EXPECT_EQ(labels("x^2"), (Names{"x"}));
}

TEST(Formula, InterceptFollowsTheLastWord) {
  const std::vector<std::pair<std::string, bool>> cases{{"1", true},
                                                        {"0", false},
                                                        {"-1", false},
                                                        {"x", true},
                                                        {"x - 1", false},
                                                        {"x + 0", false},
                                                        {"0 + x + a", false},
                                                        {"x - 1 + 1", true},
                                                        {"(x - 1)", false},
                                                        {"x - 0", true},
                                                        {"+x", true},
                                                        {"x + 0 + z", false},
                                                        {"-1 + s(x, bs='cr')", false}};
  for (const auto& [text, intercept] : cases)
    EXPECT_EQ(parse_terms("y ~ " + text).intercept, intercept) << text;
}

TEST(Formula, ExpressionsAreSpelledAsRDeparsesThem) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"I( x/2*3-1 )", "I(x/2 * 3 - 1)"},
      {"log( x+1 )", "log(x + 1)"},
      {"sqrt((x))", "sqrt((x))"},
      {"exp(-x)", "exp(-x)"},
      {"I((a+b)*c/d^2 - -3)", "I((a + b) * c/d^2 - -3)"},
      {"I(x^-1)", "I(x^-1)"},
      {"I(-x**2)", "I(-x^2)"},
      {"I(100000*x)", "I(1e+05 * x)"},
      {"I(20L*x)", "I(20 * x)"},
      {"I(0.0001*x)", "I(1e-04 * x)"},
      {"I(.001*x)", "I(0.001 * x)"},
      {"I(1.2e-4*x)", "I(0.00012 * x)"},
      {"I(123456789*x)", "I(123456789 * x)"},
      {"I(1234567.5*x)", "I(1234567.5 * x)"},
      // R stops at 15 digits, which give another number: here a model is read back from the text.
      {"I(0.333333333333333333*x)", "I(0.3333333333333333 * x)"},
      {"I(1e-120*x)", "I(1e-120 * x)"},
      {"`x`", "x"},
      {"`my col`", "`my col`"},
      {"log(`1st`)", "log(`1st`)"},
      {".x.y_1", ".x.y_1"},
      {"T", "T"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(labels(text), Names{expected}) << text;
  EXPECT_EQ(parse_terms("y/ n ~ x").response.text, "y/n");
  EXPECT_EQ(parse_terms("`my y` ~ x").response.columns(), Names{"my y"});
}

TEST(Formula, KeepsNamesInQuotesAsTheyAre) {
  const FormulaTerms formula = parse_terms("  y ~  `a\\`  b` +\t`c \\\\` + s(`d  e`,  bs = 'cr')");
  EXPECT_EQ(formula.text, "y ~ `a\\`  b` + `c \\\\` + s(`d  e`, bs = 'cr')");
  const FormulaTerms again = parse_terms(formula.text);
  EXPECT_EQ(again.parametric, formula.parametric);
  EXPECT_EQ(again.smooths, formula.smooths);
  EXPECT_EQ(formula.parametric[0].variables[0].columns(), std::vector<std::string>{"a`  b"});
  EXPECT_EQ(formula.parametric[1].variables[0].columns(), std::vector<std::string>{"c \\"});
}

TEST(Syntax, IsSpelledSoThatItIsReadAgain) {
  for (const char* text : {"`f g`(x, z)", "`if`(`a b` = 1, x)", "-(-2)^-`x y`",
                           "!(a & !b | c) == d%%e%/%f %in% g", "a::b(x) >= -1", "f(`a\\`b`, \"c\\\"\")"})
    EXPECT_EQ(deparse(parse_syntax(deparse(parse_syntax(text)))), deparse(parse_syntax(text))) << text;
  EXPECT_EQ(deparse(parse_syntax("`f g`(x)")), "`f g`(x)");
}

TEST(Expression, ItsTextReadsAsTheSameExpression) {
  const auto text_of = [](const Expression& expression) { return parse_expression(expression.text).text; };
  std::mt19937_64 random(20261122);
  for (int i = 0; i < 2000; ++i) {
    const double value = std::abs(std::bit_cast<double>(random()));
    if (!std::isfinite(value)) continue;
    const Expression first = parse_expression(fmt::format("x * {:.17e}", value));
    const Expression again = parse_expression(first.text);
    EXPECT_EQ(again.steps[1].number, value) << first.text;
  }
  for (const std::string name : {"a\\", "\\", "a`b", "`", "\\`", "a b\\`\\", "if"}) {
    const Expression column = column_expression(name);
    EXPECT_EQ(parse_expression(column.text).columns(), std::vector<std::string>{name}) << column.text;
    EXPECT_EQ(text_of(column), column.text);
  }
}

TEST(Expression, EvaluatesWithThePrecedenceOfR) {
  const auto value = [](const std::string& text, std::vector<double> columns) {
    return parse_expression(text).evaluate(columns);
  };
  EXPECT_EQ(value("a - b - c", {7, 2, 1}), 4);
  EXPECT_EQ(value("a / b / c", {8, 2, 2}), 2);
  EXPECT_EQ(value("a + b * c", {1, 2, 3}), 7);
  EXPECT_EQ(value("-a^2", {3}), -9);
  EXPECT_EQ(value("2^3^b", {2}), 512);
  EXPECT_EQ(value("a^-1", {4}), 0.25);
  EXPECT_EQ(value("(a + b) * a", {2, 3}), 10);
  EXPECT_EQ(value("I(b - a) + b", {1, 5}), -3);
  EXPECT_EQ(value("log(exp(sqrt(a)))", {9}), 3);
  EXPECT_TRUE(std::isnan(value("log(a)", {-1})));
  EXPECT_TRUE(std::isnan(value("a + 1", {std::numeric_limits<double>::quiet_NaN()})));
  EXPECT_EQ(value("log(a)", {0}), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(parse_expression("b + a * b").columns(), (Names{"b", "a"}));
}

/// Columns of given types; records the requests about their rows.
struct Known final : Knowledge {
  std::map<std::string, ValueType> types;
  std::vector<double> answer;
  std::vector<Statistic> asked;
  ValueType type_of(const std::string& column) override {
    const auto found = types.find(column);
    return found == types.end() ? ValueType{} : found->second;
  }
  std::vector<double> measured(const Statistic& statistic) override {
    asked.push_back(statistic);
    return answer;
  }
};

const ValueType three_levels{.kind = ValueType::Kind::factor, .levels = {"a", "b", "c"}};
const ValueType truth_column{.kind = ValueType::Kind::logical, .levels = {"FALSE", "TRUE"}};
constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// Evaluates an expression of one column at each of its values.
std::vector<double> values_of(const std::string& text, const ValueType& type,
                              const std::vector<double>& column, Known known = {},
                              CompiledExpression* compiled = nullptr, int part = 1) {
  Expression expression = expressions_from(parse_syntax(text)).at(static_cast<std::size_t>(part) - 1);
  known.types["x"] = type;
  const CompiledExpression code = expression.computed()
                                      ? compile(expression, known)
                                      : CompiledExpression{expression.steps, expression.columns(), {}};
  if (compiled != nullptr) *compiled = code;
  std::vector<double> out(column.size());
  const double* const begin = column.data();
  evaluate_steps(code.steps, {&begin, 1}, out);
  return out;
}

void expect_same(const std::string& text, const std::vector<double>& found,
                 const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size()) << text;
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i])))
        << text << " at " << i << ": " << found[i] << ", not " << expected[i];
}

TEST(Expression, OfNumbersIsWhatRComputes) {
  // Each made by R 4.2.2 with x <- c(-2.5, -1, 0, 0.5, 1.5, 2.5, NA).
  const std::vector<double> x{-2.5, -1, 0, 0.5, 1.5, 2.5, none};
  const std::vector<std::pair<std::string, std::vector<double>>> cases{
      {"round(x)", {-2, -1, 0, 0, 2, 2, none}},
      {"floor(x)", {-3, -1, 0, 0, 1, 2, none}},
      {"ceiling(x)", {-2, -1, 0, 1, 2, 3, none}},
      {"trunc(x)", {-2, -1, 0, 0, 1, 2, none}},
      {"x %% 2", {1.5, 1, 0, 0.5, 1.5, 0.5, none}},
      {"x %/% 2", {-2, -1, 0, 0, 0, 1, none}},
      {"x > 0", {0, 0, 0, 1, 1, 1, none}},
      {"x >= 0.5", {0, 0, 0, 1, 1, 1, none}},
      {"x <= 0.5 & x != 0", {1, 1, 0, 1, 0, 0, none}},
      {"x < 0 | x == 1.5", {1, 1, 0, 0, 1, 0, none}},
      {"!x > 0", {1, 1, 1, 0, 0, 0, none}},
      {"is.na(x) | x > 2", {0, 0, 0, 0, 0, 1, 1}},
      {"x %in% c(0, 2.5)", {0, 0, 1, 0, 0, 1, 0}},
      {"ifelse(x > 1, 10, -x)", {2.5, 1, 0, -0.5, 10, 10, none}},
      {"pmin(x, 1, 0.5)", {-2.5, -1, 0, 0.5, 0.5, 0.5, none}},
      {"log(x^2, 2)", {std::log2(6.25), 0, -INFINITY, -2, std::log2(2.25), std::log2(6.25), none}},
      {"round(x * 1.11, 1)", {-2.8, -1.1, 0, 0.6, 1.7, 2.8, none}},
      {"round(x * 1000, -2)", {-2500, -1000, 0, 500, 1500, 2500, none}},
      {"as.integer(x)", {-2, -1, 0, 0, 1, 2, none}},
      {"sign(x)", {-1, -1, 0, 1, 1, 1, none}},
      {"cut(x, c(-1, 0, 1, 3), labels = FALSE)", {none, none, 1, 2, 3, 3, none}},
      {"cut(x, c(-1, 0, 1, 3), labels = F, right = F)", {none, 1, 2, 2, 3, 3, none}},
      {"cut(x, c(-1, 0, 1, 2.5), labels = F, include.lowest = T)", {none, 1, 1, 2, 3, 3, none}}};
  for (const auto& [text, expected] : cases) expect_same(text, values_of(text, {}, x), expected);
}

TEST(Expression, OfLevelsIsWhatRComputes) {
  // Codes of a, b, c; an unseen level, and a missing value.
  const std::vector<double> codes{0, 1, 2, -2, none};
  const std::vector<std::pair<std::string, std::vector<double>>> cases{
      {"x == 'b'", {0, 1, 0, 0, none}},
      {"'b' != x", {1, 0, 1, 1, none}},
      {"x == 'zz'", {0, 0, 0, 0, none}},
      {"as.numeric(x == \"a\")", {1, 0, 0, 0, none}},
      {"x %in% c('a', 'c')", {1, 0, 1, 0, 0}},
      {"as.numeric(x)", {1, 2, 3, none, none}},
      {"ifelse(x == 'a', 1, 0) + 1", {2, 1, 1, 1, none}},
      {"is.na(x)", {0, 0, 0, 0, 1}}};
  for (const auto& [text, expected] : cases)
    expect_same(text, values_of(text, three_levels, codes), expected);
  const ValueType numbers{.kind = ValueType::Kind::factor, .levels = {"1", "10", "2"}};
  expect_same("x == 10", values_of("x == 10", numbers, codes), {0, 1, 0, 0, none});
  expect_same("as.numeric(as.character(x))", values_of("as.numeric(as.character(x))", numbers, codes),
              {1, 10, 2, none, none});
  ValueType ordered = three_levels;
  ordered.ordered = true;
  ordered.levels = {"low", "mid", "high"};
  expect_same("x >= 'mid'", values_of("x >= 'mid'", ordered, codes), {0, 1, 1, none, none});
  // In a column with only TRUE, the code is 0.
  expect_same("x & TRUE",
              values_of("x & TRUE", {.kind = ValueType::Kind::logical, .levels = {"TRUE"}}, {0, none}),
              {1, none});
}

TEST(Expression, MakesFactorsWithTheLevelsOfR) {
  struct Case {
    std::string text;
    ValueType column;
    Names levels;
    std::vector<double> codes;
    bool ordered = false;
  };
  const std::vector<Case> cases{
      {"relevel(x, ref = 'b')", three_levels, {"b", "a", "c"}, {1, 0, 2, -2, none}},
      {"relevel(x, 3)", three_levels, {"c", "a", "b"}, {1, 2, 0, -2, none}},
      {"factor(x, levels = c('c', 'a'))", three_levels, {"c", "a"}, {1, none, 0, none, none}},
      {"factor(x, levels = c('c', 'a'), labels = c('C', 'A'))",
       three_levels,
       {"C", "A"},
       {1, none, 0, none, none}},
      {"ordered(x)", three_levels, {"a", "b", "c"}, {0, 1, 2, -2, none}, true},
      {"ifelse(x == 'b', 'yes', 'no')", three_levels, {"no", "yes"}, {0, 1, 0, 0, none}},
      {"factor(x == 'b')", three_levels, {"FALSE", "TRUE"}, {0, 1, 0, 0, none}},
      {"factor(x, levels = c(2, 0))", {}, {"2", "0"}, {1, none, 0, none, none}},
      {"cut(x, c(-3, 0, 1, 2))", {}, {"(-3,0]", "(0,1]", "(1,2]"}, {0, 1, 2, 0, none}},
      {"cut(x, c(-1, 0.333333, 2.5), right = FALSE)",
       {},
       {"[-1,0.333)", "[0.333,2.5)"},
       {0, 1, 1, none, none}},
      {"cut(x, c(0, 1, 1.0001, 2), include.lowest = TRUE)",
       {},
       {"[0,1]", "(1,1.0001]", "(1.0001,2]"},
       {0, 0, 2, none, none}}};
  for (const Case& one : cases) {
    CompiledExpression compiled;
    const std::vector<double> found = values_of(one.text, one.column, {0, 1, 2, -2, none}, {}, &compiled);
    expect_same(one.text, found, one.codes);
    EXPECT_EQ(compiled.type.levels, one.levels) << one.text;
    EXPECT_EQ(compiled.type.ordered, one.ordered) << one.text;
  }
  // Levels of numbers are those of all rows; another value is not a level.
  Known known;
  known.answer = {0.5, 2};
  CompiledExpression compiled;
  expect_same("factor(round(x))", values_of("factor(x * 1)", {}, {2, 0.5, 7, none}, known, &compiled),
              {1, 0, -2, none});
  EXPECT_EQ(compiled.type.levels, (Names{"0.5", "2"}));
}

TEST(Expression, HasThePolynomialContrastsOfR) {
  // contr.poly(4) and contr.poly(5)[, 4] of R 4.2.2.
  const std::vector<double> codes{0, 1, 2, 3};
  ValueType dose{.kind = ValueType::Kind::factor, .ordered = true, .levels = {"a", "b", "c", "d"}};
  const double l = std::sqrt(0.05);
  const std::vector<std::vector<double>> expected{
      {-3 * l, -l, l, 3 * l}, {0.5, -0.5, -0.5, 0.5}, {-l, 3 * l, -3 * l, l}};
  for (std::size_t j = 0; j < expected.size(); ++j) {
    const std::vector<double> found = values_of(fmt::format("contr.poly(x, {})", j + 1), dose, codes);
    for (std::size_t i = 0; i < codes.size(); ++i) EXPECT_NEAR(found[i], expected[j][i], 1e-15);
  }
  const std::vector<double> fourth = polynomial_contrast(5, 4);
  const std::vector<double> of_r{0.119522860933439, -0.478091443733757, 0.717137165600636, -0.478091443733757,
                                 0.119522860933439};
  for (std::size_t i = 0; i < of_r.size(); ++i) EXPECT_NEAR(fourth[i], of_r[i], 1e-14);
  EXPECT_EQ(polynomial_suffix(3) + polynomial_suffix(4), ".C^4");
}

TEST(Expression, AsksWhatDependsOnAllRows) {
  Known known;
  known.types["x"] = {};
  known.answer = {3, 2, 4};
  const Expression scaled = parse_expression("log(z) + scale(x + 1)");
  EXPECT_TRUE(scaled.computed());
  EXPECT_EQ(scaled.columns(), (Names{"z", "x"}));
  const CompiledExpression code = compile(scaled, known);
  ASSERT_EQ(known.asked.size(), 1U);
  EXPECT_EQ(known.asked[0].call, "scale(x + 1)");
  EXPECT_EQ(known.asked[0].kind, Statistic::Kind::moments);
  // The statistic has only the operand's steps, over the same columns.
  EXPECT_EQ(known.asked[0].steps.size(), 3U);
  EXPECT_EQ(known.asked[0].columns, (Names{"z", "x"}));
  const std::vector<double> z{1};
  const std::vector<double> x{8};
  const double* const columns[] = {z.data(), x.data()};
  double value = 0;
  evaluate_steps(code.steps, columns, {&value, 1});
  EXPECT_EQ(value, 3);
  // The values that a damaged model file has for it.
  known.answer = {3};
  EXPECT_THROW(static_cast<void>(compile(scaled, known)), Error);
}

TEST(Expression, NamesTheColumnsOfAMatrix) {
  const FormulaTerms f = parse_terms("y ~ f + poly(x, 2):f + splines::ns(z, df = 2) + poly(w, 1)");
  EXPECT_EQ(labels(f), (Names{"f", "splines::ns(z, df = 2)1", "splines::ns(z, df = 2)2", "poly(w, 1)",
                              "f:poly(x, 2)1", "f:poly(x, 2)2"}));
  EXPECT_EQ(f.parametric[2].variables[0].part, 2);
  EXPECT_EQ(f.parametric[2].variables[0].source, "splines::ns(z, df = 2)");
}

TEST(Formula, ReadsLogicalTermsAsR) {
  EXPECT_EQ(labels("x > 3"), Names{"x > 3"});
  EXPECT_EQ(labels("!f == 1"), Names{"!f == 1"});
  EXPECT_EQ(labels("z + !x > 3"), (Names{"z", "!x > 3"}));
  EXPECT_EQ(labels("I(x>3 & z<1)*f"), (Names{"I(x > 3 & z < 1)", "f", "I(x > 3 & z < 1):f"}));
  EXPECT_TRUE(parse_terms("y ~ x > 3").parametric.at(0).variables.at(0).computed());
  // In by= and as a response a condition is 0 or 1.
  const SmoothSpec by = smooth("s(x, by = I(z > 3), bs='cr')");
  EXPECT_EQ(by.label, "s(x):I(z > 3)");
  EXPECT_FALSE(by.by->computed());
  EXPECT_EQ(smooth("s(log( x ), by=as.numeric(f=='a'), bs='cr')").label, "s(log(x)):as.numeric(f == \"a\")");
}

TEST(Formula, NamesTheColumnsOfAPoint) {
  const std::vector<std::string> columns{"a", "y", "", "my b", "w"};
  EXPECT_TRUE(parse_terms("y ~ .").all_columns);
  EXPECT_EQ(with_columns("y ~ .", columns), "y ~ a + `my b` + w");
  EXPECT_EQ(with_columns("y ~ .", Names{"y", ".weights", "x"}), "y ~ x");
  EXPECT_EQ(with_columns("y ~ s(x)", Names{"y"}), "y ~ s(x)");
  EXPECT_THROW((void)with_columns("y ~ .", Names{"y", ".weights"}), Error);
  EXPECT_EQ(with_columns("log(y + w) ~ (.)^2 - a + s(a)", columns),
            "log(y + w) ~ ((a + `my b`))^2 - a + s(a)");
  const FormulaTerms product = parse_terms(with_columns("y ~ .:a", columns));
  EXPECT_FALSE(product.all_columns);
  EXPECT_EQ(labels(product), (Names{"a", "a:`my b`", "a:w"}));
}

TEST(Formula, ComputesArgumentsAsR) {
  EXPECT_EQ(smooth("s(x, bs='ps', k=7*4)").margins[0].k, 28);
  const SmoothSpec t = smooth("te(x, z, w, k=c(rep(5,2), 10), bs=rep('cr', 3), np=T)");
  EXPECT_EQ(t.margins[0].k, 5);
  EXPECT_EQ(t.margins[1].k, 5);
  EXPECT_EQ(t.margins[2].k, 10);
  EXPECT_EQ(t.margins[2].basis, "cr");
  EXPECT_EQ(smooth("te(x, z, k=4:5)").margins[1].k, 5);
  EXPECT_EQ(smooth("te(x, z, k=seq(4, 6, by=2))").margins[1].k, 6);
  EXPECT_EQ(smooth("s(x, bs='ps', m=c(1+1, 3-2))").margins[0].m, (std::vector<double>{2, 1}));
  EXPECT_EQ(smooth("s(x, bs='ps', k=-(1))").margins[0].k, 10);
  EXPECT_NE(fault("y ~ s(x, k=7*z)").find("k is 7 * z: give a whole number"), std::string::npos);
}

TEST(Formula, ReadsSuccessesAndFailures) {
  const FormulaTerms formula = parse_terms("cbind(s, n - s) ~ x");
  EXPECT_EQ(formula.response.text, "cbind(s, n - s)");
  EXPECT_EQ(formula.response.columns(), (Names{"s", "n"}));
  EXPECT_EQ(formula.trials.value().text, "s + (n - s)");
  const std::vector<double> three_of_four{3, 4};
  const std::vector<double> none{0, 0};
  EXPECT_EQ(formula.response.evaluate(three_of_four), 0.75);
  EXPECT_EQ(formula.trials->evaluate(three_of_four), 4);
  EXPECT_EQ(formula.response.evaluate(none), 0);
  EXPECT_FALSE(parse_terms("s/n ~ x").trials);
  EXPECT_EQ(with_columns("cbind(s, f) ~ .", Names{"s", "x", "f"}), "cbind(s, f) ~ x");
}

TEST(Expression, KnowsAColumnThatStandsAlone) {
  EXPECT_TRUE(parse_expression("x").is_column());
  EXPECT_FALSE(parse_expression("x + 1").is_column());
  EXPECT_EQ(column_expression("my col"), parse_expression("`my col`"));
  EXPECT_EQ(column_expression("x"), parse_expression("x"));
  // A constant's name is a column if in backquotes.
  EXPECT_EQ(column_expression("TRUE"), parse_expression("`TRUE`"));
  EXPECT_TRUE(parse_expression("`TRUE`").is_column());
}

TEST(Expression, IsTheFactorOfAColumn) {
  for (const char* text : {"factor(x)", "as.factor(x)", "factor(`my col`)"}) {
    const Expression factor = parse_expression(text);
    EXPECT_EQ(factor.text, text);
    EXPECT_TRUE(factor.factor);
    EXPECT_TRUE(factor.is_column());
    EXPECT_EQ(parse_expression(factor.text), factor);
  }
  EXPECT_EQ(parse_expression("factor(x)").columns(), Names{"x"});
  const FormulaTerms formula = parse_terms("factor(y) ~ factor(g):x + s(x, by=factor(g), bs='cr')");
  EXPECT_TRUE(formula.response.factor);
  EXPECT_EQ(formula.parametric.at(0).label, "factor(g):x");
  EXPECT_EQ(formula.smooths.at(0).label, "s(x):factor(g)");
}

TEST(Formula, LeavesOutCommentsAndNull) {
  EXPECT_EQ(deparse(parse_syntax("y ~ f + # a comment (with \"\n  # + s(w)\n I(g == '#') # the end")),
            "y ~ f + I(g == \"#\")");
  EXPECT_EQ(parse_terms("y ~ f + # don't\n  # + s(w)\n I(g == '#') # the end").text, "y ~ f + I(g == '#')");
  EXPECT_EQ(smooth("te(x, z, k=c(NULL, 5))"), smooth("te(x, z, k=5)"));
  EXPECT_EQ(smooth("te(x, z, k=c(NULL, NULL))"), smooth("te(x, z)"));
}

TEST(Formula, TakesVariablesOfSmoothsByOtherNamesAndInParentheses) {
  EXPECT_EQ(smooth("s(x = time, bs='ps')"), smooth("s(time, bs='ps')"));
  EXPECT_EQ(smooth("s(z, x = log(time))"), smooth("s(z, log(time))"));
  EXPECT_EQ(smooth("te(x, ((z)))"), smooth("te(x, z)"));
  EXPECT_NE(fault("y ~ s(x, basis='ps')").find("s() has no argument 'basis'"), std::string::npos);
  EXPECT_NE(fault("y ~ s(x, K=20)").find("s() has no argument 'K'"), std::string::npos);
  EXPECT_NE(fault("y ~ s((x + 1))").find("write arithmetic as I(x + 1)"), std::string::npos);
}

TEST(Formula, RefusesWhatItCannotMeanWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "character 1: the end of the formula is not valid here: write a variable"},
      {"y", "character 2: the formula has no '~' after a response"},
      {"~ x", "character 1: the response before '~' is missing"},
      {"y ~", "character 4: the end of the formula is not valid here: write a variable"},
      {"y ~ x ~ z", "the formula has a second '~'"},
      {"y ~ x +", "the end of the formula is not valid here"},
      {"y ~ (x", "character 5: the parenthesis '(' is not closed"},
      {"y ~ x)", "character 6: ')' is not valid here: write an operator"},
      {"y ~ x z", "character 7: 'z' is not valid here: write an operator"},
      {"y ~ 2x", "character 6: 'x' follows a number"},
      {"y ~ x @ z", "character 7: '@' has no meaning"},
      {"y ~ d$x", "character 6: '$' takes a column of a table in R: write a column by its name only"},
      {"y ~ s(x, bs=\"ps)", "character 13: the quote \" is not closed"},
      {"y ~ log(.)", "'.' cannot stand inside an expression: name the columns"},
      {"y ~ x + 2", "the number 2 is not a variable"},
      {"y ~ x*2", "the number 2 is not a variable"},
      {"y ~ x^0", "power 0"},
      {"y ~ x^z", "power z"},
      {"y ~ \"x\"", "the text \"x\""},
      {"y ~ gamma(x)", "gamma() is unknown: the functions are "},
      {"y ~ log(x, b)", "log(): base is b: give numbers without variables"},
      {"y ~ log(x, 2, 3)", "log() has too many arguments: it takes x and base"},
      {"y ~ log(factor(g))", "factor(g) has levels, but log() needs numbers"},
      {"y ~ I(g == 'a' + 1)", "\"a\" has levels, but '+' needs numbers"},
      {"y ~ x<-1", "'<-' assigns in R: write a comparison as x < -1"},
      {"y ~ x %in% z", "'%in%' does not nest terms here, unlike in R: write I(x %in% z)"},
      {"y ~ I(x %in% z)", "%in%: z is not a set: write c() with numbers or texts"},
      {"y ~ I(poly(x, 2))", "poly(x, 2) has several columns: write this function as a separate term"},
      {"y ~ s(poly(x, 2))", "poly(x, 2) has 2 columns, but one column is needed here"},
      {"y ~ poly(x, 2.5)", "poly(): degree is 2.5: give a whole number from 1 to 100"},
      {"y ~ scale(x, centre=TRUE)", "scale() has no argument 'centre'; it has x, center and scale"},
      {"y ~ I(x - mean(x))", "mean() of a column depends on all rows"},
      {"y ~ ifelse(x > 1, 2)", "ifelse() needs a condition and two values"},
      {"y ~ cut(x)", "cut() has no breaks"},
      {"y ~ cut(x, c(1, 1, 2))", "cut(): two breaks are equal"},
      {"y ~ cut(x, 1:3, labels = 'a')", "cut(): 1 labels are given for 2 intervals"},
      {"y ~ s(x, by=2)", "2 is not a variable"},
      {"y ~ TRUE", "character 5: TRUE is not a column"},
      {"y ~ s(x, bs='cr', k=TRUE)", "k is TRUE"},
      {"y ~ s(x, k=5, \"cr\")", "name a basis by bs=\"cr\""},
      {"cbind(a, b, c) ~ x", "character 1: cbind() of a response needs two columns"},
      {"y ~ cbind(a, b)", "cbind() can only be the response: write cbind(successes, failures) ~ terms"},
      {"1 ~ x", "contains no column"},
      {"y ~ y", "the response y also occurs on the right-hand side"},
      {"y ~ s(y, bs='cr')", "the response y is also a variable of a smooth"},
      {"y ~ factor(y)", "the response factor(y) also occurs on the right-hand side"},
      {"factor(y) ~ s(y, bs='re')", "the response y is also a variable of a smooth"},
      {"y ~ a:s(x, bs='cr')", "inside a product"},
      {"y ~ a*offset(e)", "offset() cannot stand inside a product"},
      {"y ~ s(x, k=2)", "k=2 is too small: bs=\"tp\" needs at least 3"},
      {"y ~ s(x, m=1.5)", "m=1.5: bs=\"tp\" of 1 variable takes a whole number above 1/2"},
      {"y ~ s(x, z, k=3)", "k=3 is too small: bs=\"tp\" needs at least 4"},
      {"y ~ s(g, bs='re', xt=list(S=1))", "xt: S is not available for bs=\"re\""},
      {"y ~ te(x, z, xt=list(dropu=TRUE))", "xt: dropu is not available for bs=\"cr\""},
      {"y ~ s(x, xt=9)", "xt is 9: write xt=list(max.knots=…)"},
      {"y ~ s(x, xt=list(max.knots=0))", "max.knots is 0: give a positive number"},
      {"y ~ s(x, bs='gp', m=6)", "m: bs=\"gp\" takes up to three numbers"},
      {"y ~ s(x, bs='gp', m=c(2,1,3))", "a power above 0 and at most 2"},
      {"y ~ s(x, bs='zz')",
       "bs=\"zz\" is not a basis: the bases are ps, cp, bs, cr, cs, cc, tp, ts, ds, gp, ad, mrf, re, fs and "
       "sz"},
      {"y ~ s(x, z, bs='ds', m=c(1,0))", "their sum must be above 1"},
      {"y ~ s(x, z, bs='ds', m=c(2,.3))", "m[2], a multiple of 1/2 between -1 and 1"},
      {"y ~ s(x, bs='fs')", "needs a numeric variable and a factor: write s(x, g, bs=\"fs\")"},
      {"y ~ s(x, g, bs='fs', k=2)", "k=2 is too small: bs=\"tp\" needs at least 3"},
      {"y ~ s(x, g, bs='fs', xt='zz')", "bs=\"zz\" is not a basis"},
      {"y ~ s(x, g, bs='fs', xt=list(bs='re'))", "xt: bs=\"re\" is not a basis of curves"},
      {"y ~ s(x, g, bs='fs', xt='fs')", "bs=\"fs\" is not a basis"},
      {"y ~ s(x, g, bs='fs', xt=5)", "xt is 5: give the basis of the curves"},
      {"y ~ s(x, z, g, bs='fs', xt='cr')", "xt: bs=\"cr\" is a basis of one variable"},
      {"y ~ s(x, g, bs='fs', xt='bs', m=c(3,2,1))", "a margin of bs=\"fs\" can have only one penalty"},
      {"y ~ te(x, g, bs=c('cr','fs'))", "bs=\"fs\" cannot be a margin of te()"},
      {"y ~ te(x, g, bs='sz')", "bs=\"sz\" cannot be a margin of te()"},
      {"y ~ s(x, bs='sz')", "needs a numeric variable and a factor: write s(x, g, bs=\"sz\")"},
      {"y ~ s(x, g, bs='sz', k=2)", "k=2 is too small: bs=\"tp\" needs at least 3"},
      {"y ~ s(x, g, bs='sz', pc=0)", "no sum-to-zero constraint that pc can replace"},
      {"y ~ s(x, g, bs='sz', xt='bs', m=c(3,2,1))", "a margin of bs=\"sz\" can have only one penalty"},
      {"y ~ s(x, g, bs='sz', id=1) + s(z, g, bs='sz', id=1)", "a smooth with bs=\"sz\" cannot share its id"},
      {"y ~ s(x, g, bs='fs', id=1) + s(z, g, bs='fs', id=1)", "a smooth with bs=\"fs\" cannot share its id"},
      {"y ~ s(a, b, bs='sos')", "is a spline on the sphere"},
      {"y ~ s(r, bs='mrf', xt=list(nb=nb))", "xt: nb is not a list with the names of the districts"},
      {"y ~ s(r, bs='mrf')", "bs=\"mrf\" needs neighbours: write xt=\"FILE\""},
      {"y ~ s(r, bs='mrf', k=5, xt=list(polys=p))",
       "character 28: xt: the neighbours or the penalty are missing"},
      {"y ~ s(r, bs='mrf', xt=list(nb=list(a='b', b=c())))",
       "xt: the boundary between 'a' and 'b' differs in the two directions"},
      {"y ~ s(r, bs='mrf', xt=list(nb=list(a=3, b=1)))",
       "xt: nb has 3: give names of districts, or their indices"},
      {"y ~ s(r, bs='mrf', xt=list(nb=list(a='b', a='b')))", "xt: 'a' appears twice"},
      {"y ~ s(r, bs='mrf', xt=list(penalty=list(a=list(a=NA))))", "xt: an element of the penalty is NA"},
      {"y ~ s(r, bs='mrf', xt='f.json', pc=1)", "pc: this smooth has no sum-to-zero constraint"},
      {"y ~ t2(r, x, bs=c('mrf', 'cr'), xt='f.json')", "bs=\"mrf\" cannot be a margin of t2(): write te()"},
      {"y ~ s(x, r, bs='fs', xt='mrf')", "xt: bs=\"mrf\" is not a basis of curves"},
      {"y ~ s(a, b, bs='so', xt=list(bnd=bnd))", "is a soap film smooth within a boundary"},
      {"y ~ s(x, bs='ad', m=11)",
       "m=11: give the number of penalties of bs=\"ad\", a whole number from 1 to 10"},
      {"y ~ s(x, bs='ad', m=5, k=7)", "k=7 is too small: bs=\"ad\" needs at least 8"},
      {"y ~ s(x, z, bs='ad')", "bs=\"ad\" is a smooth of one variable: write te(…, bs=\"ps\")"},
      {"y ~ te(x, z, bs='ad')", "bs=\"ad\" cannot be a margin of te(): use it in s()"},
      {"y ~ s(x, g, bs='fs', xt='ad')", "bs=\"ad\" cannot be a margin of bs=\"fs\": use it in s()"},
      {"y ~ s(x, bs='ad', xt=list(bs='tp'))", "xt: bs=\"tp\" is not a basis that bs=\"ad\" penalises"},
      {"y ~ s(x, bs=ps)", "bs is ps: give a name in quotes"},
      {"y ~ s(bs='ps')", "s() has no variable"},
      {"y ~ s(x, z, bs='ps')", "write te("},
      {"y ~ s(x + 1, bs='ps')", "write arithmetic as I(x + 1)"},
      {"y ~ te(x, x)", "x occurs twice"},
      {"y ~ ti(x, z, mc='a')", "mc"},
      {"y ~ s(x, bs='bs', m=4)", "m[1]=4: give the degree of bs=\"bs\", which is 1, 2 or 3"},
      {"y ~ s(x, bs='bs', m=c(3,2,2))", "distinct orders of derivatives"},
      {"y ~ s(x, bs='bs', m=c(2,3))", "orders of derivatives from 0 to the degree"},
      {"y ~ s(x, bs='bs', k=3)", "k=3 is too small: bs=\"bs\" needs at least 4"},
      {"y ~ te(x, z, bs='bs', m=list(c(3,2,1), 3))", "a margin of te() can have only one penalty"},
      {"y ~ a:ti(x, z)", "inside a product"},
      {"y ~ te(x, z, mc=c(1,0))", "no argument 'mc'"},
      {"y ~ t2(x, z, np=FALSE)", "t2() has no argument 'np'"},
      {"y ~ t2(x, z, fx=TRUE)", "t2() has no argument 'fx'"},
      {"y ~ t2(x, z, full=2)", "full is 2: give TRUE or FALSE"},
      {"y ~ t2(x, z, ord=3)", "ord is 3: give whole numbers from 0 to 2"},
      {"y ~ t2(x, z, ord='a')", "ord is \"a\": give whole numbers from 0 to 2"},
      {"y ~ t2(x, z, ord=0)", "ord: the product of order 0 has no penalty"},
      {"y ~ te(x, z, full=TRUE)", "te() has no argument 'full'"},
      {"y ~ a:t2(x, z)", "inside a product"},
      {"y ~ te(x, z, id=1) + t2(u, v, id=1)", "t2(u,v) cannot have the id of te(x,z)"},
      {"y ~ te(x, z, id=1) + ti(u, v, id=1)", "ti(u,v) cannot have the id of te(x,z)"},
      {"y ~ s(x, bs='ps', K=5)", "no argument 'K'"},
      {"y ~ s(x, bs='ps', np=TRUE)", "no argument 'np'"},
      {"y ~ s(x, bs='ps', k=5, k=6)", "'k' twice"},
      {"y ~ s(x, fx='a')", "fx is \"a\": give TRUE or FALSE"},
      {"y ~ t2(x, z, fx=c(TRUE, FALSE))", "t2() has no argument 'fx'"},
      {"y ~ s(g, bs='re', fx=TRUE)", "fx: a random effect always has a penalty"},
      {"y ~ s(x, sp='a')", "sp is \"a\": give finite numbers"},
      {"y ~ s(x, sp=1, fx=TRUE)", "sp: a smooth with fx=TRUE has no penalty"},
      {"y ~ s(x, pc=c(1, 2))", "pc has 2 values for 1 variable"},
      {"y ~ s(x, z, pc=list(x=1, v=2))", "give one number for each of x and z"},
      {"y ~ s(log(x), pc=1)", "pc: log(x) is an expression, but pc needs a column"},
      {"y ~ ti(x, z, pc=c(1, 2))", "pc: this smooth has no sum-to-zero constraint"},
      {"y ~ s(x, bs='ts', m=c(2,0))", "takes one number, the order of its derivatives"},
      {"y ~ te(x, z, bs='tp', m=list(c(2,0), 2))", "a margin of te() cannot have a basis without null space"},
      {"y ~ te(x, z, bs='tp', xt=list(list(max.knots=50), 1, 2))", "xt has 3 values for 2 variables"},
      {"y ~ s(x, id=f(1))", "id is f(1): give a number or a text"},
      {"y ~ s(x, id=1) + te(x, z, id=1)", "te(x,z) cannot have the id of s(x)"},
      {"y ~ te(x, z, id=1) + te(x, z, w, id=1)", "te(x,z,w) cannot have the id of te(x,z)"},
      {"y ~ te(x, z, d=c(2,1))", "d: the margins have 3 variables in total, but te() has 2"},
      {"y ~ te(x, z, d=c(0,2))", "d: each margin needs at least one variable"},
      {"y ~ te(x, z, v, d=c(2,1), bs='cc')", "bs=\"cc\" is a basis of one variable"},
      {"y ~ s(x, z, id=1) + s(x, id=1)", "s(x) cannot have the id of s(x,z)"},
      {"y ~ te(x, z, np=1)", "np is 1: give TRUE or FALSE"},
      {"y ~ s(x, bs='ps', k=3)", "k=3 is too small: bs=\"ps\" needs at least 4"},
      {"y ~ s(x, bs='cp', k=2)", "needs at least 3"},
      {"y ~ s(x, bs='cr', k=2)", "needs at least 3"},
      {"y ~ s(x, bs='cc', k=3)", "needs at least 4"},
      {"y ~ s(x, bs='ps', k=10.5)", "k is 10.5: give a whole number"},
      {"y ~ s(x, bs='ps', k=1e9)", "give a whole number of at most"},
      {"y ~ s(x, bs='ps', k=c(5,6))", "k has 2 values for 1 variable"},
      {"y ~ te(x, z, k=c(5,6,7))", "k has 3 values for 2 variables"},
      {"y ~ te(x, z, w, m=c(2,2))", "m has 2 values for 3 variables"},
      {"y ~ s(x, bs='ps', m=c(3,2))", "m[1]=3"},
      {"y ~ s(x, bs='ps', m=c(2,4))", "m[2]=4: give the order of the penalty, a whole number from 0 to 3"},
      {"y ~ s(x, bs='cp', m=c(2,0))", "m[2]=0: give the order of the penalty, a whole number from 1 to 3"},
      {"y ~ s(x, bs='cr') + s(x, bs='ps')", "s(x) occurs twice"}};
  for (const auto& [text, expected] : cases) {
    const std::string message = fault(text);
    EXPECT_NE(message.find(expected), std::string::npos) << text << "\n  gave: " << message;
    EXPECT_EQ(message.rfind("formula, character ", 0), 0U) << message;
  }
}

// As mgcv fits them: it does not read these arguments.
TEST(Formula, TellsWhatHasNoEffect) {
  const auto ignored = [](std::string_view text) {
    const FormulaTerms terms = parse_terms(text);
    std::string told;
    for (const MarginSpec& margin : terms.smooths.at(0).margins) {
      for (const std::string& one : margin.ignored) told += one + ";";
    }
    return told;
  };
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"y ~ s(x, g, bs='fs', m=1, xt='cr')", "m has no effect on bs=\"cr\";"},
      {"y ~ s(x, g, bs='fs', xt=list(bs='cr', max.knots=9))", "xt: max.knots has no effect on bs=\"cr\";"},
      {"y ~ te(x, z, bs=c('cc','tp'), m=list(1, 2))", "m has no effect on bs=\"cc\";"},
      {"y ~ te(x, z, bs=c('cc','tp'), m=2)", ""},
      {"y ~ s(x, bs='cs', m=c(2,1))", "m has no effect on bs=\"cs\";"},
      {"y ~ s(g, bs='re', m=1, xt=list(rank=1))",
       "xt: rank has no effect on bs=\"re\";m has no effect on bs=\"re\";"},
      {"y ~ s(x, m=c(2,1))", "m has no effect on bs=\"tp\" beyond its first number;"},
      {"y ~ s(x, m=c(2,0,1))", "m has no effect on bs=\"tp\" beyond its first 2 numbers;"},
      {"y ~ s(x, bs='ts', m=c(2,1))", "m has no effect on bs=\"ts\" beyond its first number;"},
      {"y ~ s(x, z, m=1)",
       "m=1 has no effect: bs=\"tp\" of 2 variables needs an order above 2/2, and uses the order 2;"},
      {"y ~ s(x, m=-1)",
       "m=-1 has no effect: bs=\"tp\" of 1 variable needs an order above 1/2, and uses the order 2;"},
      {"y ~ s(x, m=0)", ""},
      {"y ~ s(x, bs='ps', m=c(2,1,3))", "m has no effect on bs=\"ps\" beyond its first 2 numbers;"},
      {"y ~ s(x, bs='cp', m=c(2,1,3))", "m has no effect on bs=\"cp\" beyond its first 2 numbers;"},
      {"y ~ s(x, z, bs='ds', m=c(1,.5,3))", "m has no effect on bs=\"ds\" beyond its first 2 numbers;"},
      {"y ~ s(x, bs='gp', m=c(3,1,1,4))", "m has no effect on bs=\"gp\" beyond its first 3 numbers;"},
      {"y ~ s(x, bs='ps', xt=list(max.knots=9))", "xt: max.knots has no effect on bs=\"ps\";"},
      {"y ~ s(x, bs='cr', xt=3)", "xt has no effect on bs=\"cr\";"},
      {"y ~ s(x, xt=list(a=3, max.knots=50))", "xt: a has no effect on bs=\"tp\";"},
      {"y ~ t2(x, z, ord=c(1, 3))", "ord has no effect above 2;"},
  };
  for (const auto& [text, told] : cases) EXPECT_EQ(ignored(text), told) << text;
  const auto margin = [](std::string_view text) {
    MarginSpec one = parse_terms(text).smooths.at(0).margins.at(0);
    one.ignored.clear();
    return one;
  };
  EXPECT_EQ(margin("y ~ s(x, z, m=1)"), margin("y ~ s(x, z)"));
  EXPECT_EQ(margin("y ~ s(x, m=c(2,1))"), margin("y ~ s(x)"));
  EXPECT_EQ(margin("y ~ s(x, m=c(2,0,1))"), margin("y ~ s(x, m=c(2,0))"));
  EXPECT_EQ(parse_terms("y ~ t2(x, z, ord=c(1, 3))").smooths.at(0).orders, std::vector{1});
}

TEST(Formula, TellsAllRefusalsAtOnceWithCarets) {
  const std::string text = "y ~ s(\xC3\xA4, bs=\"so\") +\n (x + mean(z)) + s(x, k=1)";
  try {
    static_cast<void>(parse_formula(text));
    FAIL() << "accepted";
  } catch (const FormulaError& refused) {
    ASSERT_EQ(refused.refusals().size(), 3U);
    EXPECT_EQ(std::string(refused.what()).find('\n'), std::string::npos);
    const std::string lines = refused.in_lines(text);
    EXPECT_EQ(std::ranges::count(lines, '\n'), 4);
    EXPECT_EQ(lines.substr(lines.find("  y ~ ")),
              "  y ~ s(\xC3\xA4, bs=\"so\") +  (x + mean(z)) + s(x, k=1)\n"
              "              ^             ^                 ^");
  }
}

TEST(Formula, BoundsWhatAnyTextCanCost) {
  const std::string deep(5000, '(');
  EXPECT_NE(fault("y ~ " + deep + "x").find("nested more than"), std::string::npos);
  EXPECT_NE(fault("y ~ " + std::string(5000, '-') + "x").find("nested more than"), std::string::npos);
  std::string sum = "x0";
  for (int i = 1; i < 40; ++i) sum += " + x" + std::to_string(i);
  EXPECT_NE(fault("y ~ (" + sum + ")^40").find("more than 4096 terms"), std::string::npos);
  EXPECT_EQ(fault("y ~ (a + b)^1000000"), "");
  std::string wide = "x0";
  for (int i = 1; i < 4000; ++i) wide += " + x" + std::to_string(i);
  EXPECT_EQ(parse_terms("y ~ " + wide).parametric.size(), 4000U);
  EXPECT_NE(fault("y ~ " + wide + " + " + wide).find("more than 4096 operators"), std::string::npos);
  std::string nested = "x";
  for (int i = 0; i < 50; ++i) nested = "x + (" + nested + ")";
  EXPECT_NE(fault("y ~ I(" + nested + ")").find("nested too deeply"), std::string::npos);
}

TEST(Formula, EndsOnAnyTextWithAFormulaOrAnError) {
  const std::vector<std::string> pieces{"y",    "~",  "x",   "+",  "-", "*", ":",   "^",      "(",
                                        ")",    "s(", "te(", "k=", "3", ",", "bs=", "\"ps\"", "c(",
                                        "log(", " ",  "0",   "1",  "`", "'", "/",   ".5e"};
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text = "y ~ ";
    const auto count = random() % 12;
    for (std::uint64_t i = 0; i < count; ++i) text += pieces[random() % pieces.size()];
    const std::string message = fault(text);
    EXPECT_TRUE(message.empty() || message.rfind("formula, character ", 0) == 0U) << message;
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
