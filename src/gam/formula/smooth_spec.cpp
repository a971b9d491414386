// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/bases.hpp"
#include "gam/formula/from_syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/listed.hpp"

namespace tessera::gam {
namespace {

using Kind = Syntax::Kind;

// Beyond this no basis is meant, only a slip of the keyboard.
constexpr int max_k = 100000;

bool is_missing(const Syntax& value) {
  return value.is_constant("NA") || value.is_constant("NULL");
}

std::optional<bool> truth(const Syntax& value) {
  if (value.is_constant("TRUE") || value.is_name("T")) return true;
  if (value.is_constant("FALSE") || value.is_name("F")) return false;
  return std::nullopt;
}

int integer(const Syntax& value, std::string_view argument) {
  const bool negative = value.kind == Kind::unary && value.text == "-";
  const Syntax& magnitude = value.kind == Kind::unary ? value.children[0] : value;
  if (magnitude.kind != Kind::number || magnitude.number != std::floor(magnitude.number) ||
      magnitude.number > max_k)
    formula_error(value.position, fmt::format("{}: expected a whole number of at most {}, found {}", argument,
                                              max_k, deparse(value)));
  const int result = static_cast<int>(magnitude.number);
  return negative ? -result : result;
}

/// The elements of `c(…)`, or the one value that it is.
std::vector<const Syntax*> elements(const Syntax& value, std::string_view vector = "c") {
  if (!value.is_call(vector)) return {&value};
  std::vector<const Syntax*> result;
  for (const Syntax& child : value.children) result.push_back(&child);
  return result;
}

/// The arguments of a call by name; the ones without a name are its variables.
class Arguments {
 public:
  Arguments(const Syntax& call, std::initializer_list<std::string_view> known) : call_(call) {
    for (std::size_t i = 0; i < call.children.size(); ++i) {
      const Syntax& value = call.children[i];
      const std::string& name = call.argument_names[i];
      if (name.empty()) {
        variables.push_back(&value);
        continue;
      }
      if (std::find(known.begin(), known.end(), name) == known.end())
        formula_error(value.position, fmt::format("{}() has no argument '{}'", call.text, name));
      if (find(name) != nullptr)
        formula_error(value.position, fmt::format("{}() has the argument '{}' twice", call.text, name));
      named_.emplace_back(name, &value);
    }
  }

  [[nodiscard]] const Syntax* find(std::string_view name) const {
    for (const auto& [known, value] : named_) {
      if (known == name) return value;
    }
    return nullptr;
  }

  /// Refuses an argument whose effect is not available, unless it is given its default.
  void refuse(std::string_view name, std::string_view why) const {
    const Syntax* value = find(name);
    const bool is_default = value != nullptr && name != "d" && (is_missing(*value) || truth(*value) == false);
    if (value != nullptr && !is_default)
      formula_error(value->position,
                    fmt::format("{}(): the argument '{}' is not available: {}", call_.text, name, why));
  }

  std::vector<const Syntax*> variables;

 private:
  const Syntax& call_;
  std::vector<std::pair<std::string, const Syntax*>> named_;
};

Expression variable(const Syntax& value) {
  if (value.kind == Kind::text)
    formula_error(value.position, fmt::format("expected a variable, found {}; a basis is named, bs={}",
                                              deparse(value), deparse(value)));
  if (value.kind != Kind::name && value.kind != Kind::constant && value.kind != Kind::call)
    formula_error(value.position, fmt::format("expected a variable, found {}; arithmetic is written I({})",
                                              deparse(value), deparse(value)));
  return expression_from(value);
}

/// A smooth of mgcv's that is not here: what it is, and what to write in its place.
struct AbsentBasis {
  std::string_view name;
  std::string_view what;
  std::string_view instead;
};

constexpr std::string_view one_curve = R"(bs="cr" or bs="ps")";
constexpr std::string_view curve_a_level =
    R"(s(x, by=g, bs="cr") + s(g, bs="re"), a curve and a level for each g)";

constexpr AbsentBasis absent_bases[] = {
    {"bs", "a B-spline with a penalty on derivatives", R"(bs="ps")"},
    {"ds", "a Duchon spline", one_curve},
    {"gp", "a Gaussian process smooth", one_curve},
    {"ad", "an adaptive smooth", R"(bs="ps" with a larger k)"},
    {"fs", "a random curve for each level of a factor, all with one smoothing parameter", curve_a_level},
    {"sz", "the deviation of each level's curve from a common one", curve_a_level},
    {"sos", "a spline on the sphere", R"(te(latitude, longitude, bs=c("cr","cc")))"},
    {"mrf", "a Markov random field over neighbouring regions",
     R"(s(region, bs="re"), which knows no neighbours)"},
    {"so", "a soap film smooth within a boundary", "te(x, z)"},
    {"sf", "a soap film's boundary", "te(x, z)"},
    {"sw", "a soap film without its boundary", "te(x, z)"},
};

/// Of several variables, where the basis is not one of several.
constexpr std::string_view surface = "te(x, z)";

/// Refuses a basis that there is not, by its own name. `variables` are those of the smooth.
void check_basis(const std::string& basis, std::size_t position, const std::string& smooth,
                 std::size_t variables) {
  const auto* const found = std::find_if(std::begin(absent_bases), std::end(absent_bases),
                                         [&](const AbsentBasis& absent) { return absent.name == basis; });
  if (found != std::end(absent_bases)) {
    const bool of_one = found->instead == one_curve && variables > 1;
    formula_error(position, fmt::format("{} is {} (bs=\"{}\"), which is not available; write {}", smooth,
                                        found->what, basis, of_one ? surface : found->instead));
  }
  if (find_basis(basis) != nullptr) return;
  formula_error(position, fmt::format("bs=\"{}\" is no basis; there are {}", basis,
                                      base::listed(basis_names(), "and")));
}

void set_basis(MarginSpec& margin, const Syntax* value, const Syntax& call, std::size_t variables) {
  if (value == nullptr && call.text == "te") {
    margin.basis = "cr";  // mgcv's default of te()
    return;
  }
  if (value != nullptr && value->kind != Kind::text)
    formula_error(value->position,
                  fmt::format("bs: expected a quoted name such as \"ps\", found {}", deparse(*value)));
  margin.basis = value == nullptr ? "tp" : value->text;  // mgcv's default of s()
  check_basis(margin.basis, value == nullptr ? call.position : value->position, deparse(call), variables);
  if (call.text == "te" && !basis_of(margin.basis).has_margins)
    formula_error(
        value->position,
        fmt::format("bs=\"{}\" is not available as a margin of te(); write bs=\"cr\"", margin.basis));
}

/// m of one margin: one number, or c(m1, m2); NA is the default of 2. One number stands for both.
void set_order(MarginSpec& margin, const Syntax& value) {
  const auto parts = elements(value);
  if (parts.empty() || parts.size() > 2)
    formula_error(value.position, fmt::format("m: expected one or two numbers, found {}", deparse(value)));
  std::array<int, 2> order{2, 2};
  for (std::size_t i = 0; i < 2; ++i) {
    const Syntax& part = *parts[std::min(i, parts.size() - 1)];
    if (!is_missing(part)) order[i] = integer(part, "m");
  }
  if (!basis_of(margin.basis).has_orders) {
    if (order != std::array{2, 2})
      formula_error(value.position, fmt::format("m has no effect on bs=\"{}\"; leave it out", margin.basis));
    return;
  }
  if (order[0] != 2)
    formula_error(value.position,
                  fmt::format("m[1]={}: only cubic splines, m[1]=2, are available", order[0]));
  if (order[1] < 1 || order[1] > 3)
    formula_error(value.position, fmt::format("m[2]={}: the order of the penalty is 1, 2 or 3", order[1]));
  margin.order = order;
}

/// The least k of a basis, as mgcv has it.
int least_k(const MarginSpec& margin, bool tensor) {
  const int least = basis_of(margin.basis).least_k(margin.order);
  return tensor ? std::max(least, 3) : least;
}

void set_k(MarginSpec& margin, const Syntax* value, bool tensor) {
  margin.k = tensor ? 5 : 10;
  if (value != nullptr && !is_missing(*value)) {
    const int k = integer(*value, "k");
    if (k != -1) margin.k = k;  // -1 asks for the default
    const int least = least_k(margin, tensor);
    if (margin.k < least)
      formula_error(value->position,
                    fmt::format("k={} is too small: bs=\"{}\" needs at least {}", k, margin.basis, least));
  }
  // A default never stands below what the order of the penalty needs.
  margin.k = std::max(margin.k, least_k(margin, tensor));
}

/// The value of an argument that may be one for all margins, or a vector with one for each.
const Syntax* of_margin(const Syntax* value, std::string_view argument, std::size_t margin,
                        std::size_t margins, std::string_view vector = "c") {
  if (value == nullptr) return nullptr;
  const auto parts = elements(*value, vector);
  if (parts.size() != 1 && parts.size() != margins)
    formula_error(value->position, fmt::format("{}: {} values for {} variable{}", argument, parts.size(),
                                               margins, margins == 1 ? "" : "s"));
  return parts[parts.size() == 1 ? 0 : margin];
}

const Syntax* order_of_margin(const Syntax* value, std::size_t margin, std::size_t margins, bool tensor) {
  if (value == nullptr) return nullptr;
  if (!tensor) return value;
  // mgcv: m=c(2,1) is m=2 for the first margin and m=1 for the second; a list gives each its own pair.
  return of_margin(value, "m", margin, margins, value->is_call("list") ? "list" : "c");
}

}  // namespace

namespace {

/// s() of several variables: a random effect of each combination of levels, times the numbers among them.
void check_several(const SmoothSpec& smooth, const Syntax& call) {
  const std::string& basis = smooth.margins[0].basis;
  if (smooth.tensor || smooth.margins.size() == 1 || is_random_effect(basis)) return;
  if (!basis_of(basis).has_margins)
    formula_error(call.position,
                  fmt::format("bs=\"{}\" of several variables is not available; write {}", basis, surface));
  formula_error(call.position,
                fmt::format("bs=\"{}\" is a smooth of one variable; write te(…, bs=\"{}\") for "
                            "several",
                            basis, basis));
}

void refuse_absent_arguments(const Arguments& arguments) {
  arguments.refuse("d",
                   "margins of several variables are not available; write te() with one variable a margin, "
                   "and no d");
  arguments.refuse("fx", "a smooth without a penalty is not available; leave it out, or write I() terms");
  arguments.refuse("sp", "smoothing parameters are estimated; leave it out");
  arguments.refuse("xt", "it is not available for these bases; leave it out");
  arguments.refuse("pc", "smooths sum to zero over the rows; a point constraint is not available");
}

}  // namespace

SmoothSpec smooth_from(const Syntax& call) {
  SmoothSpec smooth;
  smooth.tensor = call.text == "te";
  const Arguments arguments =
      smooth.tensor ? Arguments(call, {"k", "bs", "m", "d", "by", "fx", "np", "xt", "id", "sp", "pc"})
                    : Arguments(call, {"k", "fx", "bs", "m", "by", "xt", "id", "sp", "pc"});

  const std::size_t margins = arguments.variables.size();
  if (margins == 0) formula_error(call.position, fmt::format("{}() without a variable", call.text));

  std::vector<Expression> variables;
  for (const Syntax* given : arguments.variables) variables.push_back(variable(*given));
  for (std::size_t i = 0; i < margins; ++i) {
    MarginSpec margin;
    margin.variable = std::move(variables[i]);
    for (const MarginSpec& other : smooth.margins) {
      if (other.variable.text == margin.variable.text)
        formula_error(arguments.variables[i]->position,
                      fmt::format("{} is twice a variable of one smooth", margin.variable.text));
    }
    // With d= there are fewer margins than variables: that is refused below, by its own name.
    if (arguments.find("d") == nullptr)
      set_basis(margin, of_margin(arguments.find("bs"), "bs", i, margins), call, margins);
    smooth.label += (i == 0 ? call.text + "(" : ",") + margin.variable.text;
    smooth.margins.push_back(std::move(margin));
  }
  smooth.label += ")";
  if (arguments.find("d") == nullptr) check_several(smooth, call);
  refuse_absent_arguments(arguments);
  for (std::size_t i = 0; i < margins; ++i) {
    MarginSpec& margin = smooth.margins[i];
    if (const Syntax* order = order_of_margin(arguments.find("m"), i, margins, smooth.tensor))
      set_order(margin, *order);
    set_k(margin, of_margin(arguments.find("k"), "k", i, margins), smooth.tensor);
  }

  if (const Syntax* np = arguments.find("np")) {
    const auto value = truth(*np);
    if (!value)
      formula_error(np->position, fmt::format("np: expected TRUE or FALSE, found {}", deparse(*np)));
    smooth.normalise = *value;
  }
  if (const Syntax* id = arguments.find("id"); id != nullptr && !is_missing(*id)) {
    if (id->kind != Kind::text && id->kind != Kind::number)
      formula_error(id->position, fmt::format("id: expected a number or a text, found {}", deparse(*id)));
    smooth.id = id->kind == Kind::text ? id->text : deparse(*id);
  }
  if (const Syntax* by = arguments.find("by"); by != nullptr && !is_missing(*by)) {
    smooth.by = variable(*by);
    smooth.label += ":" + smooth.by->text;
  }
  return smooth;
}

}  // namespace tessera::gam
