// SPDX-License-Identifier: Apache-2.0
#include "gam/formula/formula.hpp"

#include "base/errors.hpp"
#include "base/utf8.hpp"
#include "gam/basis/bases.hpp"
#include "gam/formula/from_syntax.hpp"

#include <tessera/gam/formula.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using Kind = Syntax::Kind;

// A product of variables, as their sorted indices; and a sum of products, in order of appearance.
using ParsedTerm = std::vector<int>;
using Terms = std::vector<ParsedTerm>;

// Limit for (a + b + …)^k, whose number of terms grows exponentially with the variables.
constexpr std::size_t max_terms = 4096;

/// Expands the right-hand side to terms by R's formula algebra: a*b, a/b, (a + b)^2, -1. Source: Wilkinson
/// and Rogers, Applied Statistics 22 (1973), 392.
class TermExpansion {
 public:
  explicit TermExpansion(FormulaTerms& formula) : formula_(formula) {}

  void read(const Syntax& tree) {
    Terms terms = sum(tree);
    if (!refusals_.empty()) throw FormulaError(std::move(refusals_));
    // Order of R's terms(): by degree, and by appearance within a degree.
    std::stable_sort(terms.begin(), terms.end(),
                     [](const ParsedTerm& a, const ParsedTerm& b) { return a.size() < b.size(); });
    // mgcv writes the parametric part as a formula, and terms() parses it again. So the variables of a
    // product are in the order in which this second formula first names them.
    std::vector<int> order(variables_.size(), -1);
    int named = 0;
    for (const ParsedTerm& term : terms) {
      for (const int v : term) {
        if (int& index = order[static_cast<std::size_t>(v)]; index < 0) index = named++;
      }
    }
    for (ParsedTerm& term : terms) {
      std::sort(term.begin(), term.end(), [&](int a, int b) {
        return order[static_cast<std::size_t>(a)] < order[static_cast<std::size_t>(b)];
      });
      add_parametric(term);
    }
  }

 private:
  // A sum, in which smooths, offsets and the intercept are allowed.
  Terms sum(const Syntax& tree) {
    // A long sum is a left-leaning chain of operators. The loop avoids a recursion that could be too deep.
    std::vector<const Syntax*> signs;
    const Syntax* first = &tree;
    for (; first->is_binary("+") || first->is_binary("-"); first = first->children.data())
      signs.push_back(first);
    Terms terms = addend(*first);
    for (auto sign = signs.rbegin(); sign != signs.rend(); ++sign) {
      const Syntax& next = (*sign)->children[1];
      terms = (*sign)->is_binary("-") ? without(std::move(terms), next)
                                      : united(std::move(terms), sum(next), (*sign)->position);
    }
    return terms;
  }

  // Collects the errors of one summand, so that all errors of a formula are reported at once.
  Terms addend(const Syntax& tree) {
    try {
      return term(tree);
    } catch (const FormulaError& refused) {
      std::ranges::copy(refused.refusals(), std::back_inserter(refusals_));
      return {};
    }
  }

  Terms term(const Syntax& tree) {
    if (tree.kind == Kind::group) return sum(tree.children[0]);
    if (tree.kind == Kind::unary && tree.text != "!")
      return tree.text == "+" ? sum(tree.children[0]) : without({}, tree.children[0]);
    if (tree.kind == Kind::number) {
      set_intercept(tree, true);
      return {};
    }
    if (tree.kind == Kind::call && is_smooth(tree.text)) {
      add_smooth(tree);
      return {};
    }
    if (tree.is_call("offset")) {
      if (tree.children.size() != 1)
        formula_error(tree.position, "offset() must have one argument: write offset(x)");
      formula_.offsets.push_back(expression_from(tree.children[0]));
      return {};
    }
    return product(tree);
  }

  // The operands of a product, where only variables are allowed.
  Terms product(const Syntax& tree) {
    if (tree.is_name(".")) {
      formula_.all_columns = true;
      return {};
    }
    switch (tree.kind) {
      case Kind::group: return product(tree.children[0]);
      case Kind::name:
      case Kind::constant: return {{number_of(tree)}};
      case Kind::call: return {{call(tree)}};
      case Kind::binary: return binary(tree);
      case Kind::number:
        formula_error(
            tree.position,
            "the number {} is not a variable: write only + 0, + 1 or - 1, and arithmetic inside I()",
            deparse(tree));
      case Kind::unary:
        if (tree.text == "!") return {{number_of(tree)}};
        formula_error(tree.position, "'{}' cannot stand inside a product of terms: write arithmetic as I({})",
                      tree.text, deparse(tree));
      case Kind::text: break;
    }
    formula_error(tree.position, "the text \"{}\" is not a variable: name a column without quotes",
                  tree.text);
  }

  Terms binary(const Syntax& tree) {
    const Syntax& left = tree.children[0];
    const Syntax& right = tree.children[1];
    if (tree.is_binary("^")) return to_the_power(product(left), right);
    if (tree.is_binary("~")) formula_error(tree.position, "the formula has a second '~': write only one '~'");
    if (tree.is_binary("%in%"))
      formula_error(tree.position,
                    "'%in%' does not nest terms here, unlike in R: write I({}) for a comparison",
                    deparse(tree));
    if (std::string_view("+-*/:").find(tree.text) == std::string_view::npos) return {{number_of(tree)}};
    Terms a = product(left);
    if (tree.is_binary("-")) return without(std::move(a), right);
    const Terms b = product(right);
    if (tree.is_binary("+")) return united(std::move(a), b, tree.position);
    if (tree.is_binary(":")) return crossed(a, b, tree.position);
    if (tree.is_binary("*")) {
      const Terms both = crossed(a, b, tree.position);
      return united(united(std::move(a), b, tree.position), both, tree.position);
    }
    // a / b: b nested in a.
    ParsedTerm all;
    for (const ParsedTerm& term : a) all = joined(all, term);
    return united(std::move(a), crossed({all}, b, tree.position), tree.position);
  }

  int call(const Syntax& tree) {
    if (is_smooth(tree.text))
      formula_error(tree.position,
                    "{} cannot stand inside a product: write a smooth for each level as {}(…, by=f)",
                    deparse(tree), tree.text);
    if (tree.text == "offset")
      formula_error(tree.position, "offset() cannot stand inside a product: add it as a term");
    return number_of(tree);
  }

  int number_of(const Syntax& tree) {
    std::vector<Expression> columns = expressions_from(tree);
    if (columns.front().columns().empty())
      formula_error(tree.position, "{} is not a column: name a column here", deparse(tree));
    if (is_response(columns.front()))
      formula_error(tree.position,
                    "the response {} also occurs on the right-hand side: remove it from the right-hand side",
                    columns.front().text);
    const auto known = std::find_if(variables_.begin(), variables_.end(),
                                    [&](const auto& v) { return v.front().text == columns.front().text; });
    const auto index = static_cast<int>(known - variables_.begin());
    if (known == variables_.end()) variables_.push_back(std::move(columns));
    return index;
  }

  /// In both factor(y) ~ y and y ~ factor(y), y on the right counts as the response.
  [[nodiscard]] bool is_response(const Expression& variable) const {
    const Expression& response = formula_.response;
    return variable.text == response.text ||
           (variable.is_column() && response.is_column() && variable.steps == response.steps);
  }

  void set_intercept(const Syntax& number, bool added) {
    if (number.number != 0 && number.number != 1)
      formula_error(number.position,
                    "the number {} is not a variable: write only + 0, + 1 or - 1, and arithmetic inside I()",
                    deparse(number));
    formula_.intercept = (number.number == 1) == added;
  }

  void add_smooth(const Syntax& tree) {
    SmoothSpec smooth = smooth_from(tree);
    for (const SmoothSpec& other : formula_.smooths) {
      if (other.label == smooth.label)
        formula_error(tree.position, "the smooth {} occurs twice: leave one out", smooth.label);
    }
    for (const MarginSpec& margin : smooth.margins) {
      margin.for_each_variable([&](const Expression& variable) {
        if (is_response(variable))
          formula_error(tree.position,
                        "the response {} is also a variable of a smooth: remove it from the smooth",
                        variable.text);
      });
    }
    link(smooth, tree.position);
    formula_.smooths.push_back(std::move(smooth));
  }

  /// Gives a smooth the basis of the first smooth with its id.
  void link(SmoothSpec& smooth, std::size_t position) const {
    const auto first = std::ranges::find(formula_.smooths, smooth.id, &SmoothSpec::id);
    if (smooth.id.empty() || first == formula_.smooths.end()) return;
    const auto are_alike = [](const MarginSpec& a, const MarginSpec& b) {
      return a.others.size() == b.others.size();
    };
    if (first->factor_smooth || smooth.factor_smooth)
      formula_error(position, "id={}: a smooth with bs=\"{}\" cannot share its id: leave id out", smooth.id,
                    first->sum_to_zero || smooth.sum_to_zero ? "sz" : "fs");
    if (first->tensor != smooth.tensor || first->interaction != smooth.interaction ||
        first->by_spaces != smooth.by_spaces ||
        !std::ranges::equal(first->margins, smooth.margins, are_alike))
      formula_error(
          position,
          "{} cannot have the id of {}: smooths with the same id need the same kind and number of variables",
          smooth.label, first->label);
    for (std::size_t i = 0; i < smooth.margins.size(); ++i) {
      MarginSpec linked = first->margins[i];
      linked.variable = std::move(smooth.margins[i].variable);
      linked.others = std::move(smooth.margins[i].others);
      linked.ignored.clear();
      smooth.margins[i] = std::move(linked);
    }
    smooth.normalise = first->normalise;
    smooth.full = first->full;
    smooth.orders = first->orders;
    smooth.fixed = first->fixed;
    smooth.sp = first->sp;
    smooth.point = first->point;
  }

  Terms without(Terms terms, const Syntax& removed) {
    if (removed.kind == Kind::number) {
      set_intercept(removed, false);
      return terms;
    }
    for (const ParsedTerm& term : product(removed)) std::erase(terms, term);
    return terms;
  }

  Terms to_the_power(const Terms& base, const Syntax& exponent) {
    if (exponent.kind != Kind::number || exponent.number < 1 ||
        exponent.number != std::floor(exponent.number))
      formula_error(exponent.position,
                    "the power {} of terms must be a whole number of at least 1: write arithmetic inside I()",
                    deparse(exponent));
    // (a + b)^2 = (a + b) * (a + b). Once all products exist, further multiplications add no terms.
    Terms result = base;
    const double times = std::min(exponent.number, static_cast<double>(max_terms));
    for (std::size_t power = 1; power < static_cast<std::size_t>(times); ++power) {
      const std::size_t before = result.size();
      const Terms both = crossed(result, base, exponent.position);
      result = united(std::move(result), both, exponent.position);
      if (result.size() == before) break;
    }
    return result;
  }

  static ParsedTerm joined(const ParsedTerm& a, const ParsedTerm& b) {
    ParsedTerm result;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
    return result;
  }

  static Terms united(Terms a, const Terms& b, std::size_t position) {
    if (b.size() == 1) {  // the usual case: a long sum adds one term at a time
      if (std::find(a.begin(), a.end(), b[0]) == a.end()) a.push_back(b[0]);
      return a;
    }
    std::set<ParsedTerm> known(a.begin(), a.end());
    for (const ParsedTerm& term : b) {
      if (known.insert(term).second) a.push_back(term);
    }
    if (a.size() > max_terms)
      formula_error(position, "the formula has more than {} terms: write fewer", max_terms);
    return a;
  }

  static Terms crossed(const Terms& a, const Terms& b, std::size_t position) {
    Terms result;
    std::set<ParsedTerm> known;
    for (const ParsedTerm& left : a) {
      for (const ParsedTerm& right : b) {
        ParsedTerm both = joined(left, right);
        if (known.insert(both).second) result.push_back(std::move(both));
      }
      if (result.size() > max_terms)
        formula_error(position, "the formula has more than {} terms: write fewer", max_terms);
    }
    return result;
  }

  [[noreturn]] static void refuse_terms() {
    formula_error(0, "the formula has more than {} terms: write fewer", max_terms);
  }

  /// Adds one term per combination of its variables' columns; the first variable varies fastest, as in R.
  void add_parametric(const ParsedTerm& term) {
    std::vector<ParametricTerm> products(1);
    for (auto v = term.rbegin(); v != term.rend(); ++v) {
      std::vector<ParametricTerm> longer;
      if (products.size() * variables_[static_cast<std::size_t>(*v)].size() > max_terms) refuse_terms();
      for (const ParametricTerm& product : products) {
        for (const Expression& column : variables_[static_cast<std::size_t>(*v)]) {
          ParametricTerm& next = longer.emplace_back(product);
          next.variables.insert(next.variables.begin(), column);
          next.label = product.label.empty() ? column.text : column.text + ":" + product.label;
        }
      }
      products = std::move(longer);
    }
    if (formula_.parametric.size() + products.size() > max_terms) refuse_terms();
    std::ranges::move(products, std::back_inserter(formula_.parametric));
  }

  FormulaTerms& formula_;
  std::vector<std::vector<Expression>> variables_;  ///< the columns of each variable
  std::vector<FormulaError::Refusal> refusals_;
};

/// The text with every run of blanks and comments outside quotes replaced by one blank.
std::string normalised(std::string_view text) {
  std::string result;
  char quote = 0;
  bool escaped = false;  // whether the character follows a backslash within quotes
  bool comment = false;
  for (const char c : text) {
    comment = c != '\n' && (comment || (quote == 0 && c == '#'));
    const bool blank = quote == 0 && (comment || c == ' ' || (c >= '\t' && c <= '\r'));
    if (blank && (result.empty() || result.back() == ' ')) continue;
    result += blank ? ' ' : c;
    if (blank) continue;
    if (quote == 0 && (c == '"' || c == '\'' || c == '`'))
      quote = c;
    else if (c == quote && !escaped)
      quote = 0;
    escaped = quote != 0 && c == '\\' && !escaped;
  }
  if (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

}  // namespace

std::vector<Expression> FormulaTerms::all_offsets() const {
  std::vector<Expression> all = offsets;
  for (const FormulaTerms& one : further) all.insert(all.end(), one.offsets.begin(), one.offsets.end());
  return all;
}

int FormulaTerms::shared() const noexcept {
  return static_cast<int>(
      std::ranges::count_if(further, [](const FormulaTerms& one) { return !one.readers.empty(); }));
}

std::vector<std::vector<int>> FormulaTerms::all_readers() const {
  std::vector<std::vector<int>> all;
  for (int p = 0; shared() > 0 && p < predictors(); ++p) {
    const std::vector<int>& own = of_predictor(p).readers;
    all.push_back(own.empty() ? std::vector{p} : own);
  }
  return all;
}

std::vector<Expression> FormulaTerms::variables() const {
  std::vector<Expression> all;
  const auto add = [&all](const Expression& expression) {
    for (const Expression& known : all) {
      if (known.text == expression.text) return;
    }
    all.push_back(expression);
  };
  if (model_frame.empty()) {
    add(response);
    if (limit) add(*limit);
    for (const ParametricTerm& term : parametric) {
      for (const Expression& variable : term.variables) add(variable);
    }
    for (const SmoothSpec& smooth : smooths) {
      for (const MarginSpec& margin : smooth.margins) margin.for_each_variable(add);
      if (smooth.by) add(*smooth.by);
    }
  }
  for (const Expression& variable : model_frame) add(variable);
  for (const Expression& offset : offsets) add(offset);
  for (const FormulaTerms& one : further) std::ranges::for_each(one.variables(), add);
  return all;
}

namespace {

/// Parses the left-hand side. cbind() gives the proportion of successes, which is 0 without trials.
void read_response(const Syntax& tree, FormulaTerms& formula) {
  if (!tree.is_call("cbind")) {
    formula.response = expression_from(tree);
    return;
  }
  if (tree.children.size() != 2)
    formula_error(
        tree.position,
        "cbind() of a response needs two columns: write cbind(successes, failures), or cbind(y, limit) "
        "for a censored family");
  const auto column = [&](std::size_t i) {
    const Syntax& one = tree.children[i];
    return one.kind == Kind::binary ? "(" + deparse(one) + ")" : deparse(one);
  };
  for (const Syntax& one : tree.children) formula.columns.push_back(expression_from(one));
  const std::string trials = column(0) + " + " + column(1);
  formula.trials = parse_expression(trials);
  formula.response = parse_expression(fmt::format("{}/pmax({}, 1e-300)", column(0), trials));
  formula.response.text = deparse(tree);
}

}  // namespace

namespace {

FormulaTerms with_response(const Syntax& tree) {
  if (tree.children[0].is_binary("~"))
    formula_error(tree.position, "the formula has a second '~': write only one '~'");
  FormulaTerms formula;
  read_response(tree.children[0], formula);
  if (formula.response.columns().empty())
    formula_error(tree.children[0].position, "the response {} contains no column: name a column",
                  formula.response.text);
  TermExpansion(formula).read(tree.children[1]);
  return formula;
}

/// Reads the numbers of linear predictors in a sum, 1 + 2; false if it is another expression.
bool read_numbers(const Syntax& tree, std::vector<double>& numbers) {
  if (tree.is_binary("+"))
    return read_numbers(tree.children[0], numbers) && read_numbers(tree.children[1], numbers);
  if (tree.kind == Kind::number) numbers.push_back(tree.number);
  return tree.kind == Kind::number;
}

/// The linear predictors, from 0, on the left-hand side of 1 + 2 ~ terms. `own`: number of predictors.
std::vector<int> readers_of(const Syntax& tree, int own) {
  std::vector<double> numbers;
  if (!read_numbers(tree, numbers))
    formula_error(tree.position,
                  "the formula of a second or later linear predictor has a response: remove the response and "
                  "write ~ terms");
  std::vector<int> readers;
  for (const double number : numbers) {
    if (!(number >= 1 && number <= own && number == std::floor(number)))
      formula_error(tree.position,
                    "the shared terms {1} ~ …: {0:g} is not the number of a linear predictor: write numbers "
                    "from 1 to {2}",
                    number, deparse(tree), own);
    readers.push_back(static_cast<int>(number) - 1);
  }
  std::ranges::sort(readers);
  if (readers.size() == 1)
    formula_error(tree.position,
                  "shared terms, {0} ~ …, name only one linear predictor: add these terms to formula {0}",
                  deparse(tree));
  if (std::ranges::adjacent_find(readers) != readers.end())
    formula_error(tree.position, "a linear predictor occurs twice in {} ~ …: write each number once",
                  deparse(tree));
  return readers;
}

/// Parses the formula of a further predictor, ~ terms, or of shared terms, 1 + 2 ~ terms.
FormulaTerms further_formula(const Syntax& tree, const FormulaTerms& first) {
  const bool shared = tree.is_binary("~");
  if (!shared && (tree.kind != Kind::unary || tree.text != "~"))
    formula_error(tree.position, "this text is not the formula of a linear predictor: write ~ terms");
  FormulaTerms formula;
  if (shared) formula.readers = readers_of(tree.children[0], first.predictors() - first.shared());
  if (!shared && first.shared() > 0)
    formula_error(tree.position,
                  "a linear predictor follows shared terms: write formulas such as 1 + 2 ~ s(x) - 1 last");
  formula.response = first.response;
  TermExpansion(formula).read(tree.children.back());
  if (shared && !formula.offsets.empty())
    formula_error(tree.position,
                  "shared terms have an offset: write the offset in the formula of each linear predictor");
  if (shared && !formula.intercept && formula.parametric.empty() && formula.smooths.empty())
    formula_error(tree.position, "{} ~ … has no terms: leave it out", deparse(tree.children[0]));
  if (formula.all_columns)
    formula_error(tree.position, "'.' is not available in a list of formulas: name the terms");
  return formula;
}

}  // namespace

FormulaTerms with_limits(FormulaTerms formula) {
  if (formula.columns.empty()) return formula;
  formula.trials.reset();
  formula.response = formula.columns[0];
  formula.limit = formula.columns[1];
  return formula;
}

FormulaTerms parse_terms(std::string_view text) {
  if (!base::is_utf8(text))
    throw base::usage_error("the formula is not UTF-8, the encoding of column names: convert it to UTF-8");
  const Syntax tree = parse_syntax(text);
  const bool is_list = tree.is_call("list") && !tree.children.empty();
  const Syntax& first = is_list ? tree.children[0] : tree;
  if (!first.is_binary("~"))
    formula_error(is_list ? first.position : text.size(),
                  "the {}formula has no '~' after a response: write response ~ terms",
                  is_list ? "first " : "");
  FormulaTerms formula = with_response(first);
  if (is_list && formula.all_columns)
    formula_error(first.position, "'.' is not available in a list of formulas: name the terms");
  for (std::size_t i = 1; is_list && i < tree.children.size(); ++i)
    formula.further.push_back(further_formula(tree.children[i], formula));
  formula.text = normalised(text);
  return formula;
}

namespace {

/// Positions of '.' among the terms of the tree, from left to right.
void find_points(const Syntax& tree, std::vector<std::size_t>& places) {
  if (tree.is_name(".")) places.push_back(tree.position);
  if (tree.kind != Kind::call) {
    for (const Syntax& child : tree.children) find_points(child, places);
  }
}

}  // namespace

std::string with_columns(std::string_view text, std::span<const std::string> columns) {
  const Syntax tree = parse_syntax(text);
  FormulaTerms left;
  read_response(tree.children[0], left);
  const std::vector<std::string> read = left.response.columns();
  std::string sum;
  for (const std::string& column : columns) {
    if (column.empty() || column[0] == '.' || std::ranges::find(read, column) != read.end()) continue;
    sum += (sum.empty() ? "" : " + ") + column_expression(column).text;
  }
  std::vector<std::size_t> places;
  find_points(tree.children[1], places);
  if (sum.empty() && !places.empty())
    formula_error(places.front(),
                  "'.' stands for the columns that the formula does not name, but the formula names every "
                  "column: name the terms");
  std::string out(text);
  for (auto place = places.rbegin(); place != places.rend(); ++place)
    out.replace(*place, 1, places.size() == 1 && tree.children[1].is_name(".") ? sum : "(" + sum + ")");
  return out;
}

bool SmoothSpec::is_side_constrained() const {
  return !factor_smooth && (tensor || !is_random_effect(margins.front().basis));
}

std::vector<std::string> FormulaTerms::numeric_variables() const {
  std::vector<std::string> numeric;
  for (const SmoothSpec& smooth : smooths) {
    if (smooth.factor_smooth) continue;
    for (const MarginSpec& margin : smooth.margins) {
      if (is_random_effect(margin.basis) || basis_of(margin.basis).of_districts) continue;
      margin.for_each_variable([&](const Expression& variable) { numeric.push_back(variable.text); });
    }
  }
  for (const Expression& offset : offsets) numeric.push_back(offset.text);
  for (const FormulaTerms& one : further) {
    for (std::string& variable : one.numeric_variables()) numeric.push_back(std::move(variable));
  }
  return numeric;
}

const std::string& Formula::text() const noexcept {
  return terms_->text;
}

std::vector<std::string> Formula::columns() const {
  std::vector<std::string> all;
  for (const Expression& variable : terms_->variables()) {
    for (std::string& column : variable.columns()) {
      if (std::find(all.begin(), all.end(), column) == all.end()) all.push_back(std::move(column));
    }
  }
  return all;
}

Formula parse_formula(std::string_view text) {
  return Formula(std::make_shared<const FormulaTerms>(parse_terms(text)));
}

}  // namespace TESSERA_NAMESPACE::gam
