// SPDX-License-Identifier: Apache-2.0
#include "gam/formula/constants.hpp"

#include "base/math/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using Kind = Syntax::Kind;
using Numbers = std::optional<std::vector<double>>;

// Maximum number of values: more than any useful argument has.
constexpr double most_values = 10'000;

/// Applies a binary operator with R's recycling; empty if the lengths do not match.
Numbers joined(const Syntax& tree) {
  const Numbers left = constant_numbers(tree.children[0]);
  const Numbers right = constant_numbers(tree.children[1]);
  if (!left || !right || left->empty() || right->empty()) return std::nullopt;
  if (tree.text == ":") {
    const double from = left->front();
    const double to = right->front();
    if (!(std::abs(to - from) < most_values)) return std::nullopt;
    std::vector<double> out;
    const double step = from <= to ? 1 : -1;
    for (double i = 0; i <= std::abs(to - from) + 1e-10; ++i) out.push_back(from + i * step);
    return out;
  }
  const std::size_t size = std::max(left->size(), right->size());
  if (size % left->size() != 0 || size % right->size() != 0) return std::nullopt;
  std::vector<double> out(size);
  for (std::size_t i = 0; i < size; ++i) {
    const double a = (*left)[i % left->size()];
    const double b = (*right)[i % right->size()];
    if (tree.text == "+")
      out[i] = a + b;
    else if (tree.text == "-")
      out[i] = a - b;
    else if (tree.text == "*")
      out[i] = a * b;
    else if (tree.text == "/")
      out[i] = a / b;
    else if (tree.text == "^")
      out[i] = b == 2 ? a * a : base::pow(a, b);
    else
      return std::nullopt;
  }
  return out;
}

/// The argument with this exact name, or else at this position among the unnamed arguments; null if absent.
const Syntax* argument(const Syntax& call, std::string_view name, std::size_t place) {
  std::size_t unnamed = 0;
  const Syntax* placed = nullptr;
  for (std::size_t i = 0; i < call.children.size(); ++i) {
    const std::string& given = call.argument_names[i];
    if (given == name) return &call.children[i];
    if (given.empty() && unnamed++ == place) placed = &call.children[i];
  }
  return placed;
}

std::optional<double> one_number(const Syntax* value) {
  if (value == nullptr) return std::nullopt;
  const Numbers numbers = constant_numbers(*value);
  return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
}

/// rep(x, times) and rep(x, each = n).
template <class Value>
std::optional<std::vector<Value>> repeated(const Syntax& call,
                                           const std::optional<std::vector<Value>>& values) {
  if (!values || call.children.size() != 2) return std::nullopt;
  const bool each = call.argument_names[1] == "each";
  const auto count = one_number(&call.children[1]);
  if (!count || !(*count >= 0 && *count * static_cast<double>(values->size()) <= most_values))
    return std::nullopt;
  const auto times = static_cast<std::size_t>(*count);
  std::vector<Value> out;
  for (std::size_t i = 0; i < times * values->size(); ++i)
    out.push_back((*values)[each ? i / times : i % values->size()]);
  return out;
}

/// seq(from, to, by) and seq(from, to, length = n).
Numbers sequence_of(const Syntax& call) {
  const auto from = one_number(argument(call, "from", 0));
  const auto to = one_number(argument(call, "to", 1));
  if (!from || !to) return std::nullopt;
  const Syntax* length = argument(call, "length.out", 4);
  if (length == nullptr) length = argument(call, "length", 4);
  double step = *from <= *to ? 1 : -1;
  double count = 0;
  if (length != nullptr) {
    const auto wanted = one_number(length);
    if (!wanted || !(*wanted >= 1 && *wanted <= most_values)) return std::nullopt;
    count = std::ceil(*wanted);
    step = count > 1 ? (*to - *from) / (count - 1) : 0;
  } else {
    if (const Syntax* by = argument(call, "by", 2)) {
      const auto given = one_number(by);
      if (!given) return std::nullopt;
      step = *given;
    }
    count = std::floor((*to - *from) / step + 1e-10) + 1;
    if (!(count >= 1 && count <= most_values)) return std::nullopt;
  }
  std::vector<double> out;
  for (double i = 0; i < count; ++i) out.push_back(*from + i * step);
  return out;
}

Numbers called(const Syntax& call) {
  if (call.text == "c") {
    std::vector<double> out;
    for (const Syntax& child : call.children) {
      if (child.is_constant("NULL")) continue;  // c(NULL, 5) is 5
      const Numbers part = constant_numbers(child);
      if (!part) return std::nullopt;
      out.insert(out.end(), part->begin(), part->end());
      if (static_cast<double>(out.size()) > most_values) return std::nullopt;
    }
    return out.empty() ? Numbers() : Numbers(out);
  }
  if (call.text == "rep" && !call.children.empty()) return repeated(call, constant_numbers(call.children[0]));
  if (call.text == "seq") return sequence_of(call);
  return std::nullopt;
}

Syntax number_node(double value, std::size_t position) {
  Syntax number;
  number.position = position;
  number.number = std::abs(value);
  if (!std::signbit(value)) return number;
  Syntax negative;
  negative.kind = Kind::unary;
  negative.text = "-";
  negative.position = position;
  negative.children.push_back(std::move(number));
  return negative;
}

/// A node for a value; for several values, a call of c().
template <class Values, class MakeNode>
Syntax node_of(const Values& values, const Syntax& from, const MakeNode& make) {
  if (values.size() == 1) return make(values.front());
  Syntax call;
  call.kind = Kind::call;
  call.text = "c";
  call.position = from.position;
  for (const auto& value : values) {
    call.children.push_back(make(value));
    call.argument_names.emplace_back();
  }
  return call;
}

Syntax computed(Syntax value) {
  if (value.is_call("list")) {
    for (Syntax& child : value.children) child = computed(std::move(child));
    return value;
  }
  if (value.kind != Kind::binary && value.kind != Kind::call && value.kind != Kind::group &&
      value.kind != Kind::unary)
    return value;
  if (const auto numbers = constant_numbers(value)) {
    if (std::ranges::any_of(*numbers, [](double number) { return std::isnan(number); })) return value;
    return node_of(*numbers, value, [&](double number) { return number_node(number, value.position); });
  }
  if (const auto texts = constant_texts(value)) {
    return node_of(*texts, value, [&](const std::string& text) {
      Syntax node;
      node.kind = Kind::text;
      node.text = text;
      node.position = value.position;
      return node;
    });
  }
  return value;
}

}  // namespace

std::optional<bool> constant_truth(const Syntax& value) {
  if (value.is_constant("TRUE") || value.is_name("T")) return true;
  if (value.is_constant("FALSE") || value.is_name("F")) return false;
  return std::nullopt;
}

std::optional<std::vector<double>> constant_numbers(const Syntax& syntax) {
  if (const auto truth = constant_truth(syntax)) return std::vector{*truth ? 1.0 : 0.0};
  switch (syntax.kind) {
    case Kind::number: return std::vector{syntax.number};
    case Kind::name: return syntax.text == "pi" ? Numbers(std::vector{std::numbers::pi}) : std::nullopt;
    case Kind::constant:
      if (syntax.text == "Inf") return std::vector{std::numeric_limits<double>::infinity()};
      if (syntax.text == "NULL") return std::nullopt;
      return std::vector{std::numeric_limits<double>::quiet_NaN()};
    case Kind::group: return constant_numbers(syntax.children[0]);
    case Kind::unary: {
      Numbers numbers = syntax.text == "!" ? std::nullopt : constant_numbers(syntax.children[0]);
      if (numbers && syntax.text == "-") {
        for (double& number : *numbers) number = -number;
      }
      return numbers;
    }
    case Kind::binary: return joined(syntax);
    case Kind::call: return called(syntax);
    case Kind::text: break;
  }
  return std::nullopt;
}

std::optional<std::vector<std::string>> constant_texts(const Syntax& syntax) {
  if (syntax.kind == Kind::text) return std::vector{syntax.text};
  if (syntax.kind == Kind::group) return constant_texts(syntax.children[0]);
  if (syntax.is_call("rep") && !syntax.children.empty())
    return repeated(syntax, constant_texts(syntax.children[0]));
  if (!syntax.is_call("c")) return std::nullopt;
  std::vector<std::string> out;
  for (const Syntax& child : syntax.children) {
    const auto part = constant_texts(child);
    if (!part) return std::nullopt;
    out.insert(out.end(), part->begin(), part->end());
    if (static_cast<double>(out.size()) > most_values) return std::nullopt;
  }
  return out;
}

Syntax with_constants(Syntax call) {
  for (std::size_t i = 0; i < call.children.size(); ++i) {
    if (!call.argument_names[i].empty() && call.argument_names[i] != "by")
      call.children[i] = computed(std::move(call.children[i]));
  }
  return call;
}

}  // namespace TESSERA_NAMESPACE::gam
