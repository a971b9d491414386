// SPDX-License-Identifier: Apache-2.0
#include "base/math/elementary.hpp"
#include "gam/basis/bases.hpp"
#include "gam/formula/constants.hpp"
#include "gam/formula/district_list.hpp"
#include "gam/formula/from_syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/list_text.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using Kind = Syntax::Kind;

// Maximum k: a larger value must be a typing error.
constexpr int max_k = 100000;

bool is_missing(const Syntax& value) {
  return value.is_constant("NA") || value.is_constant("NULL");
}

int integer(const Syntax& value, std::string_view argument) {
  const bool negative = value.kind == Kind::unary && value.text == "-";
  const Syntax& magnitude = value.kind == Kind::unary ? value.children[0] : value;
  if (magnitude.kind != Kind::number || magnitude.number != std::floor(magnitude.number) ||
      magnitude.number > max_k)
    formula_error(value.position, "{} is {}: give a whole number of at most {}", argument, deparse(value),
                  max_k);
  const int result = static_cast<int>(magnitude.number);
  return negative ? -result : result;
}

/// The elements of `c(…)`, or the single value.
std::vector<const Syntax*> elements(const Syntax& value, std::string_view vector = "c") {
  if (!value.is_call(vector)) return {&value};
  std::vector<const Syntax*> result;
  for (const Syntax& child : value.children) result.push_back(&child);
  return result;
}

bool is_constant(const Syntax& value) {
  return constant_numbers(value) || constant_texts(value) || value.is_call("list");
}

/// Removes parentheses, so that s((x)) is s(x), as in mgcv.
const Syntax& ungrouped(const Syntax& value) {
  return value.kind == Kind::group ? ungrouped(value.children[0]) : value;
}

/// The arguments of a call by name. Its variables are the arguments without a name and, as in mgcv, arguments
/// with an unknown name: s(x = time).
class Arguments {
 public:
  Arguments(const Syntax& call, std::initializer_list<std::string_view> known) {
    for (std::size_t i = 0; i < call.children.size(); ++i) {
      const Syntax& value = call.children[i];
      const std::string& name = call.argument_names[i];
      const bool is_known = std::find(known.begin(), known.end(), name) != known.end();
      if (name.empty() ||
          (!is_known && (value.kind == Kind::name || value.kind == Kind::call) && !is_constant(value))) {
        variables.push_back(&ungrouped(value));
        continue;
      }
      if (!is_known)
        formula_error(value.position, "{}() has no argument '{}': leave it out", call.text, name);
      if (find(name) != nullptr)
        formula_error(value.position, "{}() has the argument '{}' twice: give it once", call.text, name);
      named_.emplace_back(name, &value);
    }
  }

  [[nodiscard]] const Syntax* find(std::string_view name) const {
    for (const auto& [known, value] : named_) {
      if (known == name) return value;
    }
    return nullptr;
  }

  std::vector<const Syntax*> variables;

 private:
  std::vector<std::pair<std::string, const Syntax*>> named_;
};

Expression variable(const Syntax& value) {
  if (value.kind == Kind::text)
    formula_error(value.position, "{} is a text, not a variable: name a basis by bs={}", deparse(value),
                  deparse(value));
  if (value.kind != Kind::name && value.kind != Kind::constant && value.kind != Kind::call)
    formula_error(value.position, "{} is not a variable: write arithmetic as I({})", deparse(value),
                  deparse(value));
  Expression expression = expression_from(value);
  if (expression.columns().empty())
    formula_error(value.position, "{} is not a column: name a column here", deparse(value));
  return expression;
}

/// A smooth of mgcv that is not supported: its description, and a substitute.
struct AbsentBasis {
  std::string_view name;
  std::string_view what;
  std::string_view instead;
};

constexpr AbsentBasis absent_bases[] = {
    {"sc", "a smooth whose shape is constrained", R"(bs="bs", which has no constraint)"},
    {"scad", "an adaptive smooth whose shape is constrained",
     R"(bs="bs" with a larger k, which has no constraint)"},
    {"sos", "a spline on the sphere", R"(te(latitude, longitude, bs=c("cr","cc")))"},
    {"so", "a soap film smooth within a boundary", "te(x, z)"},
    {"sf", "a soap film's boundary", "te(x, z)"},
    {"sw", "a soap film without its boundary", "te(x, z)"},
};

constexpr std::string_view adaptive = "ad";
constexpr std::string_view curve_a_level = "fs";
constexpr std::string_view deviation_a_level = "sz";

/// Rejects a basis that is not available. `may_have_factor`: the call is s(), which also allows fs and sz.
void check_basis(const std::string& basis, std::size_t position, const std::string& smooth,
                 bool may_have_factor) {
  const auto* const found = std::find_if(std::begin(absent_bases), std::end(absent_bases),
                                         [&](const AbsentBasis& absent) { return absent.name == basis; });
  if (found != std::end(absent_bases))
    formula_error(position, "{} is {} (bs=\"{}\"), which is not available: write {}", smooth, found->what,
                  basis, found->instead);
  if (find_basis(basis) != nullptr) return;
  std::vector<std::string> names = basis_names();
  if (may_have_factor)
    names.insert(names.end(), {std::string(curve_a_level), std::string(deviation_a_level)});
  formula_error(position, "bs=\"{}\" is not a basis: the bases are {}", basis, base::list_text(names, "and"));
}

bool is_curve_a_level(std::string_view basis) {
  return basis == curve_a_level || basis == deviation_a_level;
}

/// The basis of the curves of a factor smooth, given by xt=, directly or in a list.
std::string basis_of_curves(const Syntax* xt, const Syntax& call) {
  const Syntax* value = xt != nullptr && !is_missing(*xt) ? xt : nullptr;
  if (value != nullptr && value->is_call("list")) {
    const auto named = std::ranges::find(value->argument_names, "bs");
    value = named == value->argument_names.end()
                ? nullptr
                : &value->children[static_cast<std::size_t>(named - value->argument_names.begin())];
  }
  if (value != nullptr && value->kind != Kind::text)
    formula_error(value->position, "xt is {}: give the basis of the curves in quotes, such as \"cr\"",
                  deparse(*value));
  const std::string basis = value == nullptr ? "tp" : value->text;
  const std::size_t position = value == nullptr ? call.position : value->position;
  check_basis(basis, position, deparse(call), false);
  if (is_random_effect(basis) || basis_of(basis).of_districts)
    formula_error(position, "xt: bs=\"{}\" is not a basis of curves: write one such as \"cr\"", basis);
  return basis;
}

/// The basis given by bs=, or mgcv's default: tp for s(), cr for a margin of te().
std::string basis_from(const Syntax* value, const Syntax& call) {
  if (value == nullptr && call.text != "s") return "cr";
  if (value != nullptr && value->kind != Kind::text)
    formula_error(value->position, "bs is {}: give a name in quotes, such as \"ps\"", deparse(*value));
  const std::string basis = value == nullptr ? "tp" : value->text;
  if (is_curve_a_level(basis))
    formula_error(value->position, "bs=\"{}\" cannot be a margin of {}(): use it in s()", basis, call.text);
  check_basis(basis, value == nullptr ? call.position : value->position, deparse(call), call.text == "s");
  return basis;
}

bool is_factor_smooth(const Syntax* basis, const Syntax& call) {
  return call.text == "s" && basis != nullptr && basis->kind == Kind::text && is_curve_a_level(basis->text);
}

double order(const Syntax& value) {
  if (is_missing(value)) return std::numeric_limits<double>::quiet_NaN();
  const bool negative = value.kind == Kind::unary && value.text == "-";
  const Syntax& magnitude = negative ? value.children[0] : value;
  if (magnitude.kind != Kind::number) formula_error(value.position, "m is {}: give numbers", deparse(value));
  return negative ? -magnitude.number : magnitude.number;
}

bool is_given_k(const Syntax* k) {
  return k != nullptr && !is_missing(*k) && integer(*k, "k") != -1;  // -1 means the default
}

/// For a margin of d variables in te(), the default of k is 5^d, and the minimum 3.
void take_orders(MarginSpec& margin, const Syntax* m, const Syntax* k, const Syntax& call) {
  const bool tensor = call.text != "s";
  if (m != nullptr) {
    for (const Syntax* part : elements(*m)) margin.m.push_back(order(*part));
  }
  if (is_given_k(k)) {
    const int least = tensor ? 3 : 1;
    margin.k = integer(*k, "k");
    if (margin.k < least)
      formula_error(k->position, "k={} is too small: bs=\"{}\" needs at least {}", margin.k, margin.basis,
                    least);
  } else if (tensor) {
    margin.k = static_cast<int>(std::min(base::pow(5.0, margin.variables), static_cast<double>(max_k)));
  }
}

/// Checks m and k by the rules of the basis, and sets the defaults of the basis.
void settle(MarginSpec& margin, const Syntax* m, const Syntax* k, const Syntax& call) {
  if (const auto fault = basis_of(margin.basis).settle(margin)) {
    const Syntax* at = fault->argument == "m" ? m : fault->argument == "k" && is_given_k(k) ? k : &call;
    formula_error(at->position, "{}", fault->text);
  }
}

/// The value for one margin, of an argument with a single value for all margins or with one value for each.
const Syntax* of_margin(const Syntax* value, std::string_view argument, std::size_t margin,
                        std::size_t margins, std::string_view vector = "c") {
  if (value == nullptr) return nullptr;
  const auto parts = elements(*value, vector);
  if (parts.size() != 1 && parts.size() != margins)
    formula_error(value->position,
                  "{} has {} values for {} variable{}: give one value, or one value per variable", argument,
                  parts.size(), margins, margins == 1 ? "" : "s");
  return parts[parts.size() == 1 ? 0 : margin];
}

const Syntax* order_of_margin(const Syntax* value, std::size_t margin, std::size_t margins, bool tensor) {
  if (value == nullptr) return nullptr;
  if (!tensor) return value;
  // In mgcv, m=c(2,1) is m=2 for the first margin and m=1 for the second; list() has a pair for each margin.
  return of_margin(value, "m", margin, margins, value->is_call("list") ? "list" : "c");
}

}  // namespace

namespace {

/// Number of variables of each margin. In s() one margin has all variables, except that each margin of a
/// random effect has one. In te() each margin has one variable unless `d` says otherwise.
std::vector<int> margins_of(const Arguments& arguments, const Syntax& call) {
  const std::size_t count = arguments.variables.size();
  if (call.text == "s") {
    const Syntax* value = arguments.find("bs");
    if (is_factor_smooth(value, call)) {
      const std::string basis = basis_of_curves(arguments.find("xt"), call);
      if (count < 2)
        formula_error(call.position, "{} needs a numeric variable and a factor: write s(x, g, bs=\"{}\")",
                      deparse(call), value->text);
      if (value->text == curve_a_level && count > 2 && !basis_of(basis).several)
        formula_error(call.position, "xt: bs=\"{}\" is a basis of one variable: write \"tp\" for several",
                      basis);
      return {static_cast<int>(count)};
    }
    const std::string basis = basis_from(value, call);
    if (count == 1 || is_random_effect(basis)) return std::vector<int>(count, 1);
    if (basis_of(basis).several) return {static_cast<int>(count)};
    formula_error(call.position, "bs=\"{}\" is a smooth of one variable: write te(…, bs=\"{}\") for several",
                  basis, basis == adaptive ? "ps" : basis);
  }
  const Syntax* value = arguments.find("d");
  if (value == nullptr || is_missing(*value)) return std::vector<int>(count, 1);
  std::vector<int> sizes;
  std::size_t sum = 0;
  for (const Syntax* part : elements(*value)) {
    sizes.push_back(integer(*part, "d"));
    if (sizes.back() < 1) formula_error(part->position, "d: each margin needs at least one variable");
    sum += static_cast<std::size_t>(sizes.back());
  }
  if (sum != count)
    formula_error(value->position,
                  "d: the margins have {} variables in total, but {}() has {}: give numbers that sum to the "
                  "number of variables",
                  sum, call.text, count);
  return sizes;
}

/// Reads max.knots and seed of a basis of points, or bs of bs="ad", from xt=list(…). `known`: an element that
/// is read elsewhere. Any other element is rejected if it would change the basis; otherwise it has no effect,
/// as in mgcv.
void set_points(MarginSpec& margin, const Syntax& value, std::string_view known = {}) {
  const bool has_points = basis_of(margin.basis).several;
  const auto ignore = [&](const std::string& what) {
    margin.ignored.push_back(fmt::format("{} has no effect on bs=\"{}\"", what, margin.basis));
  };
  if (!value.is_call("list") && !has_points && !is_random_effect(margin.basis)) return ignore("xt");
  if (!value.is_call("list"))
    formula_error(value.position, "xt is {}: write xt=list(max.knots=…)", deparse(value));
  for (std::size_t i = 0; i < value.children.size(); ++i) {
    const std::string& name = value.argument_names[i];
    const Syntax& child = value.children[i];
    if (!name.empty() && name == known) continue;
    if (name == "bs" && margin.basis == adaptive) {
      constexpr std::array curves{"ps", "cp", "cr", "cc"};
      if (std::ranges::find(curves, child.text) == curves.end())
        formula_error(child.position, "xt: bs={} is not a basis that bs=\"ad\" penalises: write {}",
                      deparse(child), base::list_text({curves.begin(), curves.end()}, "or"));
      margin.curve = child.text;
      continue;
    }
    if ((name == "S" && is_random_effect(margin.basis)) || name == "dropu")
      formula_error(child.position, "xt: {} is not available for bs=\"{}\": leave it out", name,
                    margin.basis);
    if (!has_points || (name != "max.knots" && name != "seed")) {
      ignore(name.empty() ? "xt" : "xt: " + name);
      continue;
    }
    const int number = integer(child, name);
    if (number < 1) formula_error(child.position, "{} is {}: give a positive number", name, number);
    if (name == "seed")
      margin.seed = static_cast<std::uint32_t>(number);
    else
      margin.most_points = number;
  }
}

bool truth_of(const Syntax& value, std::string_view name) {
  const auto truth = constant_truth(value);
  if (!truth) formula_error(value.position, "{} is {}: give TRUE or FALSE", name, deparse(value));
  return *truth;
}

/// TRUE, FALSE or a number: `with_constants` converts c(TRUE, FALSE) to c(1, 0).
bool truth_or_number(const Syntax& value, std::string_view name) {
  return value.kind == Kind::number ? value.number != 0 : truth_of(value, name);
}

bool is_centred(const Syntax* value) {
  return value == nullptr || is_missing(*value) || truth_or_number(*value, "mc");
}

void set_fixed(const Arguments& arguments, SmoothSpec& smooth) {
  const Syntax* value = arguments.find("fx");
  if (value == nullptr || is_missing(*value)) return;
  for (std::size_t i = 0; i < smooth.margins.size(); ++i) {
    MarginSpec& margin = smooth.margins[i];
    margin.fixed = truth_or_number(*of_margin(value, "fx", i, smooth.margins.size()), "fx");
    if (margin.fixed && is_random_effect(margin.basis))
      formula_error(value->position,
                    "fx: a random effect always has a penalty: write the factor as a parametric term");
  }
  smooth.fixed = std::ranges::all_of(smooth.margins, &MarginSpec::fixed);
  if (smooth.fixed) {
    for (MarginSpec& margin : smooth.margins) margin.fixed = false;
  }
}

std::vector<double> given_sp(const Arguments& arguments) {
  const Syntax* value = arguments.find("sp");
  if (value == nullptr || is_missing(*value)) return {};
  const auto numbers = constant_numbers(*value);
  if (!numbers || !std::ranges::all_of(*numbers, [](double one) { return std::isfinite(one); }))
    formula_error(value->position, "sp is {}: give finite numbers", deparse(*value));
  return *numbers;
}

/// Reads ord= of t2(). Orders above the number of margins have no effect.
void set_orders(const Arguments& arguments, SmoothSpec& smooth) {
  const Syntax* value = arguments.find("ord");
  if (value == nullptr || is_missing(*value)) return;
  const auto margins = static_cast<double>(smooth.margins.size());
  const auto given = constant_numbers(*value).value_or(std::vector<double>{-1});
  const auto refuse = [&] {
    formula_error(value->position, "ord is {}: give whole numbers from 0 to {}", deparse(*value), margins);
  };
  for (const double one : given) {
    if (one != std::floor(one) || one < 0) refuse();
    if (one <= margins) smooth.orders.push_back(static_cast<int>(one));
  }
  if (smooth.orders.empty()) refuse();
  if (smooth.orders.size() < given.size())
    smooth.margins.front().ignored.push_back(fmt::format("ord has no effect above {}", margins));
  if (std::ranges::all_of(smooth.orders, [](int order) { return order == 0; }))
    formula_error(value->position, "ord: the product of order 0 has no penalty: add another order");
}

/// Reads pc=: a number for each variable, in c() or list(), with or without the variables' names.
std::vector<double> given_point(const Arguments& arguments, std::span<const MarginSpec> margins,
                                const Syntax& call) {
  const Syntax* value = arguments.find("pc");
  if (value == nullptr || is_missing(*value)) return {};
  std::vector<std::string> names;
  for (const MarginSpec& margin : margins) {
    margin.for_each_variable([&](const Expression& one) {
      if (one.columns() != std::vector{one.text})
        formula_error(value->position,
                      "pc: {} is an expression, but pc needs a column: store the expression as a column of "
                      "the table, or leave pc out",
                      one.text);
      names.push_back(one.text);
    });
    if (call.text == "ti" || is_random_effect(margin.basis) || basis_of(margin.basis).of_districts ||
        is_factor_smooth(arguments.find("bs"), call))
      formula_error(value->position,
                    "pc: this smooth has no sum-to-zero constraint that pc can replace: leave pc out");
  }
  const auto parts = elements(*value, value->is_call("list") ? "list" : "c");
  if (parts.size() != names.size())
    formula_error(value->position, "pc has {} value{} for {} variable{}: give one value per variable",
                  parts.size(), parts.size() == 1 ? "" : "s", names.size(), names.size() == 1 ? "" : "s");
  std::vector<double> point(names.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string own = parts[i] == value ? "" : value->argument_names[i];
    const auto place =
        own.empty() ? names.begin() + static_cast<std::ptrdiff_t>(i) : std::ranges::find(names, own);
    const auto number = constant_numbers(*parts[i]);
    if (place == names.end() || !number || number->size() != 1 || !std::isfinite(number->front()))
      formula_error(parts[i]->position,
                    "pc: a value is not a finite number, or its name is not a variable of the smooth: give "
                    "one number for each of {}",
                    base::list_text(names, "and"));
    point[static_cast<std::size_t>(place - names.begin())] = number->front();
  }
  return point;
}

}  // namespace

bool is_smooth(std::string_view function) {
  return function == "s" || function == "te" || function == "ti" || function == "t2";
}

SmoothSpec smooth_from(const Syntax& given) {
  const Syntax call = with_constants(given);
  SmoothSpec smooth;
  smooth.tensor = call.text != "s";
  smooth.interaction = call.text == "ti";
  smooth.by_spaces = call.text == "t2";
  const Arguments arguments =
      smooth.interaction
          ? Arguments(call, {"k", "bs", "m", "d", "by", "fx", "np", "xt", "id", "sp", "mc", "pc"})
      : smooth.by_spaces ? Arguments(call, {"k", "bs", "m", "d", "by", "xt", "id", "sp", "full", "ord", "pc"})
      : smooth.tensor    ? Arguments(call, {"k", "bs", "m", "d", "by", "fx", "np", "xt", "id", "sp", "pc"})
                         : Arguments(call, {"k", "fx", "bs", "m", "by", "xt", "id", "sp", "pc"});

  const std::size_t count = arguments.variables.size();
  if (count == 0) formula_error(call.position, "{}() has no variable: name one", call.text);

  std::vector<Expression> variables;
  for (const Syntax* term : arguments.variables) {
    Expression one = variable(*term);
    for (const Expression& other : variables) {
      if (other.text == one.text)
        formula_error(term->position, "{} occurs twice in one smooth: leave one out", one.text);
    }
    smooth.label += (variables.empty() ? call.text + "(" : ",") + deparse(*term);
    variables.push_back(std::move(one));
  }
  smooth.label += ")";
  smooth.factor_smooth = is_factor_smooth(arguments.find("bs"), call);
  smooth.sum_to_zero = smooth.factor_smooth && arguments.find("bs")->text == deviation_a_level;
  const std::vector<int> sizes = margins_of(arguments, call);
  const std::size_t margins = sizes.size();
  auto next = variables.begin();
  for (std::size_t i = 0; i < margins; ++i) {
    MarginSpec margin;
    // Number of numeric variables: at least one for bs="sz", all but one for bs="fs".
    margin.variables = smooth.sum_to_zero ? 1 : smooth.factor_smooth ? sizes[i] - 1 : sizes[i];
    const Syntax* xt = arguments.find("xt");
    margin.basis = smooth.factor_smooth ? basis_of_curves(xt, call)
                                        : basis_from(of_margin(arguments.find("bs"), "bs", i, margins), call);
    // As in mgcv, a margin of several variables has tp instead of these bases, which have one variable.
    constexpr std::array of_one{"cr", "cs", "ps", "cp"};
    if (margin.variables > 1 && std::ranges::find(of_one, margin.basis) != of_one.end()) margin.basis = "tp";
    if (margin.variables > 1 && !basis_of(margin.basis).several)
      formula_error(call.position, "bs=\"{}\" is a basis of one variable: write \"tp\" for several",
                    margin.basis);
    margin.variable = std::move(*next++);
    while (std::ssize(margin.others) + 1 < sizes[i]) margin.others.push_back(std::move(*next++));
    if (xt != nullptr && !is_missing(*xt) && !(smooth.factor_smooth && xt->kind == Kind::text)) {
      const bool of_each =
          smooth.tensor && xt->is_call("list") && !xt->children.empty() && xt->argument_names.front().empty();
      const Syntax* own = of_each ? of_margin(xt, "xt", i, margins, "list") : xt;
      if (is_missing(*own)) own = nullptr;
      if (own != nullptr && basis_of(margin.basis).of_districts)
        set_districts(margin, *own);
      else if (own != nullptr)
        set_points(margin, *own, smooth.factor_smooth ? "bs" : "");
    }
    const Syntax* m = order_of_margin(arguments.find("m"), i, margins, smooth.tensor);
    const Syntax* k = of_margin(arguments.find("k"), "k", i, margins);
    take_orders(margin, m, k, call);
    if (smooth.by_spaces && basis_of(margin.basis).of_districts)
      formula_error(call.position, "bs=\"{}\" cannot be a margin of t2(): write te()", margin.basis);
    if ((smooth.tensor || smooth.factor_smooth) && margin.basis == adaptive)
      formula_error(call.position, "bs=\"{}\" cannot be a margin of {}: use it in s()", margin.basis,
                    smooth.factor_smooth ? "bs=" + deparse(*arguments.find("bs")) : call.text + "()");
    const MarginSpec as_written = margin;
    settle(margin, m, k, call);
    if ((smooth.tensor || smooth.factor_smooth) && basis_of(margin.basis).size(margin).penalties > 1)
      formula_error(
          call.position,
          "a margin of {} can have only one penalty: give one order of derivatives, such as m=c(3,2)",
          smooth.factor_smooth ? "bs=" + deparse(*arguments.find("bs")) : call.text + "()");
    if ((smooth.tensor || (smooth.factor_smooth && !smooth.sum_to_zero)) &&
        basis_of(margin.basis).size(margin).centred)
      formula_error(call.position, "a margin of {} cannot have a basis without null space: write m=2",
                    smooth.factor_smooth ? "bs=\"fs\"" : call.text + "()");
    margin.centred = smooth.interaction && !is_random_effect(margin.basis) &&
                     is_centred(of_margin(arguments.find("mc"), "mc", i, margins));
    // bs="sz": the defaults need the number of numeric variables, which is not known yet.
    smooth.margins.push_back(smooth.sum_to_zero ? as_written : std::move(margin));
  }

  set_fixed(arguments, smooth);
  if (const Syntax* full = arguments.find("full")) smooth.full = truth_of(*full, "full");
  set_orders(arguments, smooth);
  smooth.sp = given_sp(arguments);
  smooth.point = given_point(arguments, smooth.margins, call);
  if (smooth.fixed && !smooth.sp.empty())
    formula_error(arguments.find("sp")->position,
                  "sp: a smooth with fx=TRUE has no penalty: leave sp or fx out");
  if (const Syntax* np = arguments.find("np")) smooth.normalise = truth_of(*np, "np");
  if (const Syntax* id = arguments.find("id"); id != nullptr && !is_missing(*id)) {
    if (id->kind != Kind::text && id->kind != Kind::number)
      formula_error(id->position, "id is {}: give a number or a text", deparse(*id));
    smooth.id = id->kind == Kind::text ? id->text : deparse(*id);
  }
  if (const Syntax* by = arguments.find("by"); by != nullptr && !is_missing(*by)) {
    smooth.by = variable(*by);
    smooth.label += ":" + deparse(*by);
  }
  return smooth;
}

}  // namespace TESSERA_NAMESPACE::gam
