// SPDX-License-Identifier: Apache-2.0
#include "gam/formula/compile.hpp"

#include "base/math/elementary.hpp"
#include "gam/formula/call_arguments.hpp"
#include "gam/formula/constants.hpp"
#include "gam/formula/polynomial_contrasts.hpp"
#include "gam/formula/spline_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "base/list_text.hpp"
#include "base/number.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using Op = Expression::Op;
using Step = Expression::Step;
using ValueKind = ValueType::Kind;

constexpr double na_value = std::numeric_limits<double>::quiet_NaN();
// The level code of a value that is not a level.
constexpr double unseen = -2;

struct NumericFunction {
  std::string_view name;
  Op op;
};
constexpr NumericFunction numeric_functions[] = {
    {"sqrt", Op::sqrt},   {"exp", Op::exp},     {"log10", Op::log10}, {"log2", Op::log2},
    {"log1p", Op::log1p}, {"expm1", Op::expm1}, {"sin", Op::sin},     {"cos", Op::cos},
    {"tan", Op::tan},     {"abs", Op::abs},     {"floor", Op::floor}, {"ceiling", Op::ceiling},
    {"trunc", Op::trunc}, {"sign", Op::sign},   {"pnorm", Op::pnorm}, {"dnorm", Op::dnorm}};

constexpr std::string_view other_functions[] = {
    "log",          "round",      "pmin",      "pmax",   "I",         "ifelse",  "is.na",
    "as.numeric",   "as.integer", "as.double", "factor", "as.factor", "ordered", "as.ordered",
    "as.character", "relevel",    "cut",       "scale",  "poly",      "ns",      "bs"};

struct Operator {
  std::string_view text;
  Op op;
  bool swapped = false;  ///< whether the operands are exchanged: a > b becomes b < a
};
constexpr Operator arithmetic[] = {
    {"+", Op::add},   {"-", Op::subtract}, {"*", Op::multiply},        {"/", Op::divide},
    {"^", Op::power}, {"%%", Op::modulo},  {"%/%", Op::whole_quotient}};
constexpr Operator comparisons[] = {{"<", Op::less},       {"<=", Op::less_equal},
                                    {">", Op::less, true}, {">=", Op::less_equal, true},
                                    {"==", Op::equal},     {"!=", Op::unequal}};
constexpr Operator logic[] = {{"&", Op::both}, {"|", Op::either}};

const Operator* find(std::span<const Operator> operators, const Syntax& syntax) {
  if (syntax.kind != Syntax::Kind::binary) return nullptr;
  const auto found = std::ranges::find(operators, syntax.text, &Operator::text);
  return found == operators.end() ? nullptr : &*found;
}

/// A function's name without its package.
std::string_view called_name(const Syntax& call) {
  std::string_view name = call.text;
  for (const std::string_view package : {"base::", "stats::", "splines::"}) {
    if (name.starts_with(package)) name.remove_prefix(package.size());
  }
  return name;
}

/// R's formatC(x, digits = digits, width = 1).
std::string short_number(double x, int digits) {
  return fmt::format("{:.{}g}", x, digits);
}

/// The type of a value on the stack, as far as it is known without rows.
struct Value {
  ValueKind kind = ValueKind::number;
  bool ordered = false;
  /// Whether the value is a character value, that is, a factor whose levels are not sorted yet.
  bool character = false;
  std::vector<std::string> levels{};
};

/// Translates a syntax tree to steps. Without `Knowledge`, finds the columns that the expression reads;
/// `steps` is then valid if these columns are numeric and `needs_knowledge` is not set.
class Compiler {
 public:
  Compiler(Knowledge* knowledge, int part) : knowledge_(knowledge), part_(part) {}

  Value whole(const Syntax& syntax) {
    const Syntax* root = &syntax;
    while (root->kind == Syntax::Kind::group) root = root->children.data();
    if (root->kind == Syntax::Kind::call) {
      const std::string_view name = called_name(*root);
      if (name == "poly") return poly(*root);
      if (name == "ns" || name == "bs") return splines(*root, name == "ns");
    }
    Value value = compile(syntax, 0);
    if (value.character) sort_levels(value);
    return value;
  }

  std::vector<Step> steps;
  std::vector<std::string> names;
  std::vector<std::string> numeric;  // columns that must be numeric
  int columns = 1;
  bool needs_knowledge = false;

 private:
  Value compile(const Syntax& syntax, std::size_t stack) {
    if (stack >= max_stack)
      formula_error(syntax.position, "the expression is nested too deeply: make a column of a part of it");
    switch (syntax.kind) {
      case Syntax::Kind::number: push_number(syntax.number); return {};
      case Syntax::Kind::name: return column(syntax);
      case Syntax::Kind::constant: return constant(syntax);
      case Syntax::Kind::group: return compile(syntax.children[0], stack);
      case Syntax::Kind::unary: return unary(syntax, stack);
      case Syntax::Kind::binary: return binary(syntax, stack);
      case Syntax::Kind::call: return call(syntax, stack);
      case Syntax::Kind::text: break;
    }
    needs_knowledge = true;
    push_number(0);
    return {.kind = ValueKind::factor, .character = true, .levels = {syntax.text}};
  }

  void push_number(double number) { steps.push_back({.op = Op::number, .number = number}); }
  void push(Op op) { steps.push_back({.op = op}); }
  void look_up(std::vector<double> table, double otherwise) {
    steps.push_back({.op = Op::lookup, .number = otherwise, .table = std::move(table)});
  }

  Value constant(const Syntax& syntax) {
    if (syntax.text == "TRUE" || syntax.text == "FALSE") {
      push_number(syntax.text == "TRUE" ? 1 : 0);
      return {.kind = ValueKind::logical};
    }
    if (syntax.text == "NULL")
      formula_error(syntax.position, "{} is not a column: name a column here", syntax.text);
    push_number(syntax.text == "Inf" ? std::numeric_limits<double>::infinity() : na_value);
    return {};
  }

  Value column(const Syntax& syntax) {
    if (syntax.text == ".")
      formula_error(syntax.position, "'.' cannot stand inside an expression: name the columns");
    const auto known = std::find(names.begin(), names.end(), syntax.text);
    const auto index = static_cast<int>(known - names.begin());
    if (known == names.end()) names.push_back(syntax.text);
    steps.push_back({.op = Op::column, .column = syntax.text, .index = index});
    if (knowledge_ == nullptr) return {.kind = ValueKind::unknown};
    ValueType type = knowledge_->type_of(syntax.text);
    if (type.kind == ValueKind::logical) look_up(truths_of(type.levels), na_value);
    return {.kind = type.kind, .ordered = type.ordered, .levels = std::move(type.levels)};
  }

  /// The truth value of each level code of a logical column, which may lack FALSE or TRUE.
  static std::vector<double> truths_of(std::span<const std::string> levels) {
    std::vector<double> truths;
    for (const std::string& level : levels) truths.push_back(level == "TRUE" ? 1 : 0);
    return truths;
  }

  /// Compiles a value that must be a number, TRUE or FALSE.
  Value number(const Syntax& syntax, std::size_t stack, std::string_view user) {
    Value value = compile(syntax, stack);
    if (value.kind == ValueKind::factor)
      formula_error(syntax.position, "{} has levels, but {} needs numbers: give a number", deparse(syntax),
                    user);
    if (value.kind == ValueKind::unknown && syntax.kind == Syntax::Kind::name) numeric.push_back(syntax.text);
    return value;
  }
  /// Compiles a condition; the type of a bare column may be unknown.
  Value condition(const Syntax& syntax, std::size_t stack, std::string_view user) {
    if (syntax.kind != Syntax::Kind::name) return number(syntax, stack, user);
    needs_knowledge = true;
    const Value value = compile(syntax, stack);
    if (value.kind == ValueKind::factor)
      formula_error(syntax.position,
                    "{} has levels, but {} needs a condition, TRUE or FALSE: compare the factor with a level",
                    deparse(syntax), user);
    return value;
  }
  /// Compiles a value of any type; the type of a bare column may be unknown.
  Value any(const Syntax& syntax, std::size_t stack) {
    if (syntax.kind == Syntax::Kind::name) needs_knowledge = true;
    return compile(syntax, stack);
  }

  Value unary(const Syntax& syntax, std::size_t stack) {
    if (syntax.text == "!") {
      condition(syntax.children[0], stack, "'!'");
      push(Op::negation);
      return {.kind = ValueKind::logical};
    }
    number(syntax.children[0], stack, "'" + syntax.text + "'");
    if (syntax.text == "-") push(Op::negate);
    return {};
  }

  Value binary(const Syntax& syntax, std::size_t stack) {
    const Syntax& left = syntax.children[0];
    const Syntax& right = syntax.children[1];
    const std::string user = "'" + syntax.text + "'";
    if (const Operator* found = find(arithmetic, syntax)) {
      number(left, stack, user);
      number(right, stack + 1, user);
      push(found->op);
      return {};
    }
    if (const Operator* found = find(logic, syntax)) {
      condition(left, stack, user);
      condition(right, stack + 1, user);
      push(found->op);
      return {.kind = ValueKind::logical};
    }
    if (const Operator* found = find(comparisons, syntax)) return comparison(syntax, *found, stack);
    if (syntax.text == "%in%") return membership(syntax, stack);
    formula_error(syntax.position,
                  "'{}' cannot stand inside an arithmetic expression: use this operator only between terms",
                  syntax.text);
  }

  Value comparison(const Syntax& syntax, const Operator& op, std::size_t stack) {
    const Syntax& left = syntax.children[op.swapped ? 1 : 0];
    const Syntax& right = syntax.children[op.swapped ? 0 : 1];
    const bool ordering = op.op == Op::less || op.op == Op::less_equal;
    const auto is_name = [](const Syntax& one) { return one.kind == Syntax::Kind::name; };
    // In f == 1, f may be a factor, and 1 the name of a level: the type of f decides.
    if (!ordering && (is_name(left) || is_name(right))) needs_knowledge = true;
    const std::size_t begin = steps.size();
    Value a = compile(left, stack);
    const std::size_t middle = steps.size();
    Value b = compile(right, stack + 1);
    // A number compared with a factor is the text of a level.
    if (a.kind == ValueKind::factor && b.kind == ValueKind::number) make_text(right, b, middle, steps.size());
    if (b.kind == ValueKind::factor && a.kind == ValueKind::number) make_text(left, a, begin, middle);
    if (a.kind == ValueKind::factor || b.kind == ValueKind::factor) {
      if (knowledge_ != nullptr) compare_levels(syntax, a, b, operand_begin(begin), op.op);
    } else {
      if (ordering && is_name(left)) numeric.push_back(left.text);
      if (ordering && is_name(right)) numeric.push_back(right.text);
    }
    push(op.op);
    return {.kind = ValueKind::logical};
  }

  /// Replaces a constant number by a character value with the same text.
  void make_text(const Syntax& syntax, Value& value, std::size_t begin, std::size_t end) {
    const auto numbers = constant_numbers(syntax);
    if (!numbers || numbers->size() != 1) return;
    value = {.kind = ValueKind::factor, .character = true, .levels = {level_of(numbers->front())}};
    steps[begin] = {.op = Op::number};
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                steps.begin() + static_cast<std::ptrdiff_t>(end));
  }

  /// Maps the level codes of both operands to a common list of levels; `middle` is the first step of b.
  void compare_levels(const Syntax& syntax, const Value& a, const Value& b, std::size_t middle, Op op) {
    const bool ordering = op == Op::less || op == Op::less_equal;
    if (a.kind != ValueKind::factor || b.kind != ValueKind::factor)
      formula_error(syntax.position,
                    "{}: a factor is compared with a number: compare it with a text in quotes",
                    deparse(syntax));
    const Value& scale = a.ordered ? a : b;
    if (ordering && !scale.ordered)
      formula_error(syntax.position,
                    "{}: an unordered factor cannot be compared by order: convert the factor by ordered()",
                    deparse(syntax));
    std::vector<std::string> all = scale.levels;
    for (const std::vector<std::string>* levels : {&a.levels, &b.levels}) {
      for (const std::string& level : *levels) {
        if (std::ranges::find(all, level) != all.end()) continue;
        if (ordering)
          formula_error(
              syntax.position,
              "{}: '{}' is not a level of the ordered factor: compare the factor with one of its levels",
              deparse(syntax), level);
        all.push_back(level);
      }
    }
    const auto codes = [&](const Value& value, double otherwise) {
      std::vector<double> table;
      for (const std::string& level : value.levels)
        table.push_back(static_cast<double>(std::ranges::find(all, level) - all.begin()));
      return Step{.op = Op::lookup, .number = ordering ? na_value : otherwise, .table = std::move(table)};
    };
    steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(middle), codes(a, unseen));
    steps.push_back(codes(b, unseen - 1));
  }

  /// x %in% c(...), which is FALSE for a missing x.
  Value membership(const Syntax& syntax, std::size_t stack) {
    const Syntax& set = syntax.children[1];
    const Value value = any(syntax.children[0], stack);
    const auto texts = constant_texts(set);
    const auto numbers = texts ? std::nullopt : constant_numbers(set);
    if (!texts && !numbers)
      formula_error(set.position, "%in%: {} is not a set: write c() with numbers or texts", deparse(set));
    if (value.kind == ValueKind::factor) {
      std::vector<std::string> levels = texts.value_or(std::vector<std::string>());
      for (const double number : numbers.value_or(std::vector<double>())) levels.push_back(level_of(number));
      std::vector<double> table;
      for (const std::string& level : value.levels)
        table.push_back(std::ranges::find(levels, level) != levels.end() ? 1 : 0);
      look_up(std::move(table), 0);
      steps.push_back({.op = Op::in_set, .table = {1}});
    } else {
      if (texts && value.kind == ValueKind::number)
        formula_error(set.position, "{} is a number, but {} are texts: remove the quotes from the texts",
                      deparse(syntax.children[0]), deparse(set));
      steps.push_back({.op = Op::in_set, .table = numbers.value_or(std::vector<double>())});
    }
    return {.kind = ValueKind::logical};
  }

  Value call(const Syntax& syntax, std::size_t stack) {
    const std::string_view name = called_name(syntax);
    for (const NumericFunction& function : numeric_functions) {
      if (name != function.name) continue;
      number(CallArguments(syntax, {"x"}).first(), stack, fmt::format("{}()", name));
      push(function.op);
      return {};
    }
    if (name == "I") return compile(CallArguments(syntax, {"x"}).first(), stack);
    if (name == "log") return logarithm(syntax, stack);
    if (name == "round") return round(syntax, stack);
    if (name == "pmin" || name == "pmax") return extreme(syntax, name == "pmin" ? Op::pmin : Op::pmax, stack);
    if (name == "ifelse") return choice(syntax, stack);
    if (name == "is.na") {
      any(CallArguments(syntax, {"x"}).first(), stack);
      push(Op::is_missing);
      return {.kind = ValueKind::logical};
    }
    if (name == "as.numeric" || name == "as.double" || name == "as.integer")
      return converted(syntax, name == "as.integer", stack);
    if (name == "as.character") {
      Value value =
          factor_of(CallArguments(syntax, {"x"}), any(CallArguments(syntax, {"x"}).first(), stack), syntax);
      value.character = true;
      value.ordered = false;
      return value;
    }
    if (name == "factor" || name == "as.factor" || name == "ordered" || name == "as.ordered") {
      const CallArguments given(syntax, {"x", "levels", "labels", "exclude", "ordered"});
      Value value = factor_of(given, any(given.first(), stack), syntax);
      const bool orders = name == "ordered" || name == "as.ordered";
      value.ordered = given.truth("ordered", orders || value.ordered);
      return value;
    }
    if (name == "relevel") return releveled(syntax, stack);
    if (name == "cut") return intervals(syntax, stack);
    if (name == "scale") return scaled(syntax, stack);
    if (name == "contr.poly") return polynomial_of_levels(syntax, stack);
    refuse_call(syntax, name);
  }

  [[noreturn]] static void refuse_call(const Syntax& syntax, std::string_view name) {
    if (name == "poly" || name == "ns" || name == "bs")
      formula_error(
          syntax.position,
          "{} has several columns: write this function as a separate term, or in a product of terms",
          deparse(syntax));
    if (name == "cbind")
      formula_error(syntax.position,
                    "cbind() can only be the response: write cbind(successes, failures) ~ terms");
    for (const std::string_view of_all : {"mean", "sd", "min", "max", "median", "sum", "quantile"}) {
      if (name == of_all)
        formula_error(syntax.position,
                      "{}() of a column depends on all rows of the fit, but a prediction has other rows: "
                      "write scale(x), or the number itself",
                      name);
    }
    std::vector<std::string> known;
    for (const std::string_view one : other_functions) known.emplace_back(one);
    for (const NumericFunction& function : numeric_functions) known.emplace_back(function.name);
    std::ranges::sort(known);
    formula_error(syntax.position,
                  "{}() is unknown: the functions are {}, and in a formula the smooths s, te, ti and t2",
                  syntax.text, base::list_text(known, "and"));
  }

  Value logarithm(const Syntax& syntax, std::size_t stack) {
    const CallArguments given(syntax, {"x", "base"});
    number(given.first(), stack, "log()");
    const auto base = given.numbers("base");
    if (base && base->front() == 10) {
      push(Op::log10);
    } else if (base && base->front() == 2) {
      push(Op::log2);
    } else {
      push(Op::log);
      if (base) push_number(base::log(base->front()));
      if (base) push(Op::divide);
    }
    return {};
  }

  Value round(const Syntax& syntax, std::size_t stack) {
    const CallArguments given(syntax, {"x", "digits"});
    number(given.first(), stack, "round()");
    push_number(given.whole("digits", 0, -300, 300));
    push(Op::round);
    return {};
  }

  Value extreme(const Syntax& syntax, Op op, std::size_t stack) {
    const bool named =
        std::ranges::any_of(syntax.argument_names, [](const std::string& one) { return !one.empty(); });
    if (syntax.children.size() < 2 || named)
      formula_error(syntax.position, "{0}() takes two arguments or more, without names: write {0}(x, y)",
                    syntax.text);
    for (std::size_t i = 0; i < syntax.children.size(); ++i) {
      number(syntax.children[i], stack + (i > 0 ? 1 : 0), syntax.text + "()");
      if (i > 0) push(op);
    }
    return {};
  }

  Value choice(const Syntax& syntax, std::size_t stack) {
    const CallArguments given(syntax, {"test", "yes", "no"});
    const Syntax* yes = given.find("yes");
    const Syntax* no = given.find("no");
    if (yes == nullptr || no == nullptr)
      formula_error(syntax.position,
                    "ifelse() needs a condition and two values: write ifelse(test, yes, no)");
    condition(given.first(), stack, "ifelse()");
    const Value a = compile(*yes, stack + 1);
    const Value b = compile(*no, stack + 2);
    for (const auto& [value, tree] : {std::pair(&a, yes), std::pair(&b, no)}) {
      if (value->kind == ValueKind::factor && !value->character)
        formula_error(tree->position,
                      "ifelse() returns the integer codes of the factor {}, as in R: write as.character({})",
                      deparse(*tree), deparse(*tree));
      const Value& other = value == &a ? b : a;
      if (value->kind == ValueKind::unknown && tree->kind == Syntax::Kind::name &&
          other.kind != ValueKind::factor)
        numeric.push_back(tree->text);
    }
    const auto is_text_or_missing = [](const Value& value, const Syntax& tree) {
      return value.kind == ValueKind::factor || tree.is_constant("NA");
    };
    Value result{.kind = a.kind == ValueKind::logical && b.kind == ValueKind::logical ? ValueKind::logical
                                                                                      : ValueKind::number};
    if (a.kind == ValueKind::factor || b.kind == ValueKind::factor) {
      if (knowledge_ != nullptr && !(is_text_or_missing(a, *yes) && is_text_or_missing(b, *no)))
        formula_error(
            syntax.position,
            "{}: one value is a text and the other value is a number: give two texts or two numbers",
            deparse(syntax));
      result = {.kind = ValueKind::factor, .character = true, .levels = a.levels};
      std::vector<double> places;
      for (const std::string& level : b.levels) {
        const auto found = std::ranges::find(result.levels, level);
        places.push_back(static_cast<double>(found - result.levels.begin()));
        if (found == result.levels.end()) result.levels.push_back(level);
      }
      if (b.kind == ValueKind::factor) look_up(std::move(places), unseen);
    }
    push(Op::choose);
    return result;
  }

  Value converted(const Syntax& syntax, bool whole, std::size_t stack) {
    const Value value = any(CallArguments(syntax, {"x"}).first(), stack);
    if (value.kind == ValueKind::factor) {
      std::vector<double> table;
      for (const std::string& level : value.levels)
        table.push_back(value.character ? base::parse_number<double>(level).value_or(na_value)
                                        : static_cast<double>(table.size() + 1));
      look_up(std::move(table), na_value);
    }
    if (whole && !(value.kind == ValueKind::factor && !value.character)) push(Op::trunc);
    return {};
  }

  /// R's factor() of a value that is already compiled.
  Value factor_of(const CallArguments& given, Value value, const Syntax& syntax) {
    needs_knowledge = true;
    const bool may_choose = syntax.children.size() > 1;
    const auto labels = may_choose ? given.texts("labels") : std::nullopt;
    if (value.kind == ValueKind::logical) value = {.kind = ValueKind::factor, .levels = {"FALSE", "TRUE"}};
    if (value.kind == ValueKind::factor) {
      if (value.character) sort_levels(value);
      const auto wanted = may_choose ? given.texts("levels") : std::nullopt;
      if (wanted) choose_levels(value, *wanted);
    } else {
      const auto wanted = may_choose ? numbers_of_levels(given) : std::nullopt;
      const bool measures = !wanted;
      const std::vector<double> table = wanted ? *wanted : measured(Statistic::Kind::levels, syntax, {}, 0);
      for (const double level : table) value.levels.push_back(level_of(level));
      steps.push_back({.op = Op::match,
                       .number = measures ? unseen : na_value,
                       .index = measures ? 1 : 0,
                       .table = table});
      value.kind = ValueKind::factor;
    }
    if (labels && knowledge_ != nullptr) {
      if (labels->size() != value.levels.size())
        formula_error(syntax.position, "{}: {} labels are given for {} levels: give one label per level",
                      deparse(syntax), labels->size(), value.levels.size());
      value.levels = *labels;
    }
    // Until the column's type is known, "1" and "01" may be two levels or one number.
    if (knowledge_ != nullptr) check_distinct(value.levels, syntax);
    value.character = false;
    return value;
  }

  /// The argument `levels` for a numeric x; texts are parsed as numbers.
  static std::optional<std::vector<double>> numbers_of_levels(const CallArguments& given) {
    const auto texts = given.texts("levels");
    if (!texts) return std::nullopt;
    std::vector<double> numbers;
    for (const std::string& text : *texts) {
      const auto number = base::parse_number<double>(text);
      if (number) numbers.push_back(*number);
    }
    return numbers;
  }

  static void check_distinct(const std::vector<std::string>& levels, const Syntax& syntax) {
    std::set<std::string> before;
    for (const std::string& level : levels)
      if (!before.insert(level).second)
        formula_error(syntax.position, "{}: the level '{}' is given twice: give it once", deparse(syntax),
                      level);
  }

  /// Selects and orders the levels; a value with another level becomes missing.
  void choose_levels(Value& value, const std::vector<std::string>& wanted) {
    std::vector<double> table;
    for (const std::string& level : value.levels) {
      const auto found = std::ranges::find(wanted, level);
      table.push_back(found == wanted.end() ? na_value : static_cast<double>(found - wanted.begin()));
    }
    look_up(std::move(table), na_value);
    value.levels = wanted;
  }

  /// Sorts the levels of a character value; unlike R, in byte order.
  void sort_levels(Value& value) {
    std::vector<std::string> sorted = value.levels;
    std::ranges::sort(sorted);
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    std::vector<double> table;
    for (const std::string& level : value.levels)
      table.push_back(static_cast<double>(std::ranges::lower_bound(sorted, level) - sorted.begin()));
    look_up(std::move(table), unseen);
    value.levels = std::move(sorted);
    value.character = false;
  }

  Value releveled(const Syntax& syntax, std::size_t stack) {
    const CallArguments given(syntax, {"x", "ref"});
    Value value = any(given.first(), stack);
    const auto ref = given.texts("ref");
    if (!ref || ref->size() != 1)
      formula_error(syntax.position,
                    "relevel() takes a factor and a level: write relevel(f, ref = \"level\")");
    if (knowledge_ == nullptr) return {.kind = ValueKind::factor};
    if (value.kind != ValueKind::factor || value.ordered)
      formula_error(given.first().position,
                    "relevel(): {} is not an unordered factor: give an unordered factor",
                    deparse(given.first()));
    auto found = std::ranges::find(value.levels, ref->front());
    const auto place =
        given.find("ref")->kind == Syntax::Kind::number ? constant_numbers(*given.find("ref")) : std::nullopt;
    if (place && place->front() >= 1 && place->front() <= static_cast<double>(value.levels.size()))
      found = value.levels.begin() + static_cast<std::ptrdiff_t>(place->front()) - 1;
    if (found == value.levels.end())
      formula_error(given.find("ref")->position, "relevel(): '{}' is not a level of {}; its levels are {}",
                    ref->front(), deparse(given.first()), base::list_text(value.levels, "and"));
    const auto first = static_cast<std::size_t>(found - value.levels.begin());
    std::vector<double> table;
    for (std::size_t i = 0; i < value.levels.size(); ++i)
      table.push_back(i == first ? 0 : static_cast<double>(i < first ? i + 1 : i));
    look_up(std::move(table), unseen);
    std::rotate(value.levels.begin(), found, found + 1);
    return value;
  }

  /// A statistic, over all rows, of the operand on top of the stack.
  std::vector<double> measured(Statistic::Kind kind, const Syntax& syntax, std::vector<double> arguments,
                               std::size_t size) {
    needs_knowledge = true;
    if (knowledge_ == nullptr) return {};
    const std::size_t begin = operand_begin(0);
    std::string call = deparse(syntax);
    std::vector<double> found =
        knowledge_->measured({.kind = kind,
                              .call = std::move(call),
                              .steps = {steps.begin() + static_cast<std::ptrdiff_t>(begin), steps.end()},
                              .columns = names,
                              .arguments = std::move(arguments)});
    // Checks the count, because a model file may contain any numbers.
    if (size > 0 && found.size() != size)
      formula_error(
          syntax.position,
          "{}: the model stores {} numbers for this function, but the function needs {}: fit the model again",
          deparse(syntax), found.size(), size);
    return found;
  }
  /// Index of the first step of the operand on top of the stack; at least `least`.
  [[nodiscard]] std::size_t operand_begin(std::size_t least) const {
    int wanted = 1;
    std::size_t at = steps.size();
    while (at > least && wanted > 0) wanted += operands_of(steps[--at].op) - 1;
    return at;
  }
  static int operands_of(Op op) {
    switch (op) {
      case Op::number:
      case Op::column: return 0;
      case Op::add:
      case Op::subtract:
      case Op::multiply:
      case Op::divide:
      case Op::power:
      case Op::modulo:
      case Op::whole_quotient:
      case Op::pmin:
      case Op::pmax:
      case Op::round:
      case Op::less:
      case Op::less_equal:
      case Op::equal:
      case Op::unequal:
      case Op::both:
      case Op::either: return 2;
      case Op::choose: return 3;
      default: return 1;
    }
  }

  Value intervals(const Syntax& syntax, std::size_t stack) {
    const CallArguments given(
        syntax, {"x", "breaks", "labels", "include.lowest", "right", "dig.lab", "ordered_result"});
    number(given.first(), stack, "cut()");
    auto breaks = given.numbers("breaks");
    if (!breaks) formula_error(syntax.position, "cut() has no breaks: write cut(x, breaks)");
    needs_knowledge = true;
    if (breaks->size() == 1) {
      const int count = given.whole("breaks", 0, 2, 10'000);
      const std::vector<double> range = measured(Statistic::Kind::range, syntax, {}, 2);
      if (knowledge_ == nullptr) return {.kind = ValueKind::factor};
      *breaks = equal_intervals(range[0], range[1], count);
    }
    std::ranges::sort(*breaks);
    for (std::size_t i = 1; i < breaks->size(); ++i) {
      if (!((*breaks)[i - 1] < (*breaks)[i]))
        formula_error(given.find("breaks")->position, "cut(): two breaks are equal: give distinct ones");
    }
    const bool right = given.truth("right", true);
    const bool lowest = given.truth("include.lowest", false);
    steps.push_back({.op = Op::interval, .index = (right ? 1 : 0) + (lowest ? 2 : 0), .table = *breaks});
    const Syntax* labels = given.find("labels");
    if (labels != nullptr && constant_truth(*labels) == false) {
      push_number(1);
      push(Op::add);
      return {};
    }
    Value value{.kind = ValueKind::factor, .ordered = given.truth("ordered_result", false)};
    value.levels = labels != nullptr
                       ? *given.texts("labels")
                       : interval_labels(*breaks, right, lowest, given.whole("dig.lab", 3, 1, 15));
    if (value.levels.size() + 1 != breaks->size())
      formula_error(syntax.position,
                    "cut(): {} labels are given for {} intervals: give one label per interval",
                    value.levels.size(), breaks->size() - 1);
    check_distinct(value.levels, syntax);
    return value;
  }

  /// As in R's cut.default: equal intervals, with both ends extended by a thousandth of the range.
  static std::vector<double> equal_intervals(double least, double largest, int count) {
    double width = largest - least;
    double from = least;
    double to = largest;
    double margin = width / 1000;
    if (width == 0) {
      width = std::abs(least);
      from = least - width / 1000;
      to = largest + width / 1000;
      margin = 0;
    }
    std::vector<double> breaks;
    for (int i = 0; i <= count; ++i) breaks.push_back(from + i * ((to - from) / count));
    breaks.front() = from - margin;
    breaks.back() = to + margin;
    return breaks;
  }

  static std::vector<std::string> interval_labels(std::span<const double> breaks, bool right, bool lowest,
                                                  int digits) {
    std::vector<std::string> ends;
    for (int more = digits; more <= std::max(12, digits); ++more) {
      ends.clear();
      for (const double one : breaks) ends.push_back(short_number(one, more));
      if (std::ranges::adjacent_find(ends) == ends.end()) break;
    }
    std::vector<std::string> labels;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      const bool closed_left = !right || (lowest && i == 0);
      const bool closed_right = right || (lowest && i + 2 == ends.size());
      labels.push_back(
          fmt::format("{}{},{}{}", closed_left ? "[" : "(", ends[i], ends[i + 1], closed_right ? "]" : ")"));
    }
    return labels;
  }

  Value scaled(const Syntax& syntax, std::size_t stack) {
    const CallArguments given(syntax, {"x", "center", "scale"});
    number(given.first(), stack, "scale()");
    // `center` or `scale` of scale(): TRUE, FALSE or a number.
    const auto wanted = [&](std::string_view name) -> std::pair<bool, std::optional<double>> {
      const Syntax* value = given.find(name);
      if (value == nullptr) return {true, std::nullopt};
      if (const auto truth = constant_truth(*value)) return {*truth, std::nullopt};
      return {true, given.numbers(name)->front()};
    };
    const auto [centres, centre] = wanted("center");
    const auto [divides, divisor] = wanted("scale");
    needs_knowledge = true;
    std::vector<double> moments{0, 1, 1};
    if ((centres && !centre) || (divides && !divisor)) {
      const std::vector<double> found = measured(Statistic::Kind::moments, syntax, {}, 3);
      if (!found.empty()) moments = found;
    }
    if (centre && divides && !divisor)
      formula_error(syntax.position, "scale(): center is a number: give a number or FALSE as scale too");
    if (centres) {
      push_number(centre.value_or(moments[0]));
      push(Op::subtract);
    }
    if (divides) {
      push_number(divisor.value_or(moments[centres ? 1 : 2]));
      push(Op::divide);
    }
    return {};
  }

  /// contr.poly(f, degree): one polynomial contrast of an ordered factor.
  Value polynomial_of_levels(const Syntax& syntax, std::size_t stack) {
    const CallArguments given(syntax, {"x", "degree"});
    const Value value = any(given.first(), stack);
    const int degree = given.whole("degree", 1, 1, static_cast<int>(most_polynomial_levels) - 1);
    if (knowledge_ == nullptr) return {};
    if (value.kind != ValueKind::factor || value.levels.size() > most_polynomial_levels ||
        value.levels.size() <= static_cast<std::size_t>(degree))
      formula_error(syntax.position,
                    "{}: polynomials of a factor need more than {} levels: give a lower degree, or a factor "
                    "with more levels",
                    deparse(syntax), degree);
    look_up(polynomial_contrast(value.levels.size(), static_cast<std::size_t>(degree)), na_value);
    return {};
  }

  Value poly(const Syntax& syntax) {
    const CallArguments given(syntax, {"x", "degree", "raw", "simple"});
    number(given.first(), 0, "poly()");
    columns = given.whole("degree", 1, 1, 100);
    needs_knowledge = true;
    if (given.truth("raw", false)) {
      push_number(part_);
      push(Op::power);
      return {};
    }
    std::vector<double> table = measured(Statistic::Kind::polynomial, syntax, {static_cast<double>(columns)},
                                         static_cast<std::size_t>(2 * columns + 1));
    steps.push_back({.op = Op::polynomial, .index = part_, .table = std::move(table)});
    return {};
  }

  Value splines(const Syntax& syntax, bool natural) {
    const CallArguments given =
        natural ? CallArguments(syntax, {"x", "df", "knots", "intercept", "Boundary.knots"})
                : CallArguments(syntax, {"x", "df", "knots", "degree", "intercept", "Boundary.knots"});
    number(given.first(), 0, natural ? "ns()" : "bs()");
    SplineColumns spline;
    spline.natural = natural;
    spline.degree = natural ? 3 : given.whole("degree", 3, 1, 10);
    spline.intercept = given.truth("intercept", false);
    const auto knots = given.numbers("knots");
    const int least = spline.least_columns();
    const int df = given.whole("df", least, 1, 1000);
    const int inner = knots ? static_cast<int>(knots->size()) : std::max(0, df - least);
    columns = least + inner;
    needs_knowledge = true;
    std::vector<double> limits{-std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::infinity()};
    const auto ends = given.numbers("Boundary.knots");
    if (ends && ends->size() != 2)
      given.refuse(*given.find("Boundary.knots"), "Boundary.knots", "two numbers");
    if (ends) limits = {std::min((*ends)[0], (*ends)[1]), std::max((*ends)[0], (*ends)[1])};
    // Arguments of the statistic: both limits, then the probabilities 0, 1 and those of the inner knots.
    std::vector<double> wanted = limits;
    wanted.insert(wanted.end(), {0.0, 1.0});
    for (int i = 1; !knots && i <= inner; ++i) wanted.push_back(i * (1.0 / (inner + 1)));
    const std::size_t size = wanted.size() - 2;
    std::vector<double> found = measured(Statistic::Kind::quantiles, syntax, std::move(wanted), size);
    if (knowledge_ == nullptr) return {};
    if (ends) std::ranges::copy(limits, found.begin());
    spline.lower = found[0];
    spline.upper = found[1];
    spline.inner_knots = knots ? *knots : std::vector<double>(found.begin() + 2, found.end());
    std::ranges::sort(spline.inner_knots);
    if (!(spline.lower < spline.upper) || std::ranges::any_of(spline.inner_knots, [&](double knot) {
          return !(knot > spline.lower && knot < spline.upper);
        }))
      formula_error(syntax.position,
                    "{}: a knot is not between the boundary knots {:g} and {:g}: give knots between them",
                    deparse(syntax), spline.lower, spline.upper);
    steps.push_back({.op = Op::spline, .index = natural ? 1 : 0, .table = spline.table(part_)});
    return {};
  }

  Knowledge* knowledge_;
  int part_;
};

}  // namespace

CompiledExpression compile(const Expression& expression, Knowledge& knowledge) {
  Compiler compiler(&knowledge, expression.part);
  Value value = compiler.whole(parse_syntax(expression.source));
  return {.steps = std::move(compiler.steps),
          .columns = std::move(compiler.names),
          .type = {.kind = value.kind, .ordered = value.ordered, .levels = std::move(value.levels)}};
}

std::vector<Expression> expressions_from(const Syntax& syntax) {
  const std::string text = deparse(syntax);
  // factor(x) of a column: the texts of the column are the levels, even if they are numbers.
  if ((syntax.is_call("factor") || syntax.is_call("as.factor")) && syntax.children.size() == 1 &&
      syntax.children[0].kind == Syntax::Kind::name && syntax.argument_names[0].empty()) {
    Expression of_column = column_expression(syntax.children[0].text);
    of_column.text = text;
    of_column.factor = true;
    return {of_column};
  }
  Compiler compiler(nullptr, 1);
  const Value value = compiler.whole(syntax);
  Expression expression{.text = text, .steps = {}};
  expression.logical = value.kind == ValueKind::logical;
  if (compiler.needs_knowledge || expression.logical) {
    expression.source = text;
    expression.reads = std::move(compiler.names);
    expression.numeric = std::move(compiler.numeric);
  }
  if (!compiler.needs_knowledge) expression.steps = std::move(compiler.steps);
  std::vector<Expression> out(static_cast<std::size_t>(compiler.columns), expression);
  for (std::size_t i = 0; out.size() > 1 && i < out.size(); ++i) {
    out[i].part = static_cast<int>(i) + 1;
    out[i].text += std::to_string(i + 1);
  }
  return out;
}

Expression expression_from(const Syntax& syntax) {
  std::vector<Expression> all = expressions_from(syntax);
  if (all.size() > 1)
    formula_error(syntax.position,
                  "{} has {} columns, but one column is needed here: write this function as a separate term",
                  deparse(syntax), all.size());
  return as_number(std::move(all.front()));
}

}  // namespace TESSERA_NAMESPACE::gam
