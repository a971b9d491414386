// SPDX-License-Identifier: Apache-2.0
#include "gam/family/custom_family.hpp"

#include "base/errors.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using Op = Expression::Op;

[[noreturn]] void refuse(const std::string& origin, const toml::source_region& where, std::string_view why) {
  throw base::usage_error("{}:{}: {}", origin, where.begin.line, why);
}

const toml::value<std::string>* text_of(const toml::table& table, const char* key,
                                        const std::string& origin) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return nullptr;
  if (!node->is_string())
    refuse(origin, node->source(), fmt::format(R"({} must be text: write {} = "…")", key, key));
  return node->as_string();
}

FamilyFunction function_of(const toml::table& table, const char* key, const std::string& origin,
                           const std::vector<std::string>& arguments) {
  const auto* text = text_of(table, key, origin);
  if (text == nullptr)
    throw base::usage_error(R"({}: {} is missing: write {} = "…", an expression of {})", origin, key, key,
                            fmt::join(arguments, " and "));
  try {
    return {text->get(), arguments};
  } catch (const Error& error) {
    refuse(origin, text->source(), fmt::format("{}: {}", key, error.what()));
  }
}

/// A number that CUDA C++ reads back to the same bits.
std::string literal(double number) {
  return number < 0 ? fmt::format("(-{:a})", -number) : fmt::format("{:a}", number);
}

/// A TOML string: literal if possible, otherwise with escapes. toml++'s own writer ends
/// some multi-line texts with quotes too early.
std::string toml_string(std::string_view text) {
  const auto is_control = [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; };
  if (text.find('\'') == std::string_view::npos && std::none_of(text.begin(), text.end(), is_control))
    return fmt::format("'{}'", text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (is_control(static_cast<unsigned char>(c)))
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

/// The position after the quoted text that begins at `at`, or the end of the text.
std::size_t behind_text(std::string_view toml, std::size_t at) {
  const char quote = toml[at];
  const std::string thrice(3, quote);
  const bool long_text = toml.substr(at).starts_with(thrice);
  for (std::size_t i = at + (long_text ? 3 : 1); i < toml.size(); ++i) {
    if (quote == '"' && toml[i] == '\\') {
      ++i;
    } else if (long_text ? toml.substr(i).starts_with(thrice) : toml[i] == quote || toml[i] == '\n') {
      return i + (long_text ? 3 : 1);
    }
  }
  return toml.size();
}

/// Rejects dotted keys such as a.a.a.a, which a family does not have. A key of very many parts would make
/// nested tables, whose recursive destruction overflows the stack.
void check_dotted_keys(std::string_view toml, const std::string& origin) {
  constexpr int max_dots = 32;
  int line = 1;
  int dots = 0;
  for (std::size_t i = 0; i < toml.size();) {
    const char c = toml[i];
    if (c == '"' || c == '\'') {
      const std::size_t end = behind_text(toml, i);
      line += static_cast<int>(std::count(toml.begin() + static_cast<std::ptrdiff_t>(i),
                                          toml.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      i = end;
      continue;
    }
    if (c == '#') {
      i = std::min(toml.find('\n', i), toml.size());
      continue;
    }
    if (c == '\n') ++line;
    if (c == '\n' || c == '=' || c == ',') dots = 0;
    if (c == '.' && ++dots > max_dots)
      throw base::usage_error(
          "{}:{}: a key has more than {} parts between dots: the keys of a family have no dots", origin, line,
          max_dots);
    ++i;
  }
}

}  // namespace

FamilyFunction::FamilyFunction(std::string_view text, const std::vector<std::string>& arguments)
    : expression_(parse_expression(text)) {
  if (expression_.factor || expression_.computed())
    throw base::usage_error("{} has no numeric value: write an expression of numbers", expression_.text);
  const std::vector<std::string> columns = expression_.columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto known = std::find(arguments.begin(), arguments.end(), columns[i]);
    if (known == arguments.end())
      throw base::usage_error("'{}' is not a variable of this expression: it may use {}", columns[i],
                              fmt::join(arguments, " and "));
    indices_[i] = static_cast<std::size_t>(known - arguments.begin());
  }
  static_cast<void>(device_expression());  // throws for a function that kernels lack
}

std::string FamilyFunction::device_expression() const {
  std::vector<std::string> operands;
  const auto pop = [&] {
    std::string top = std::move(operands.back());
    operands.pop_back();
    return top;
  };
  const auto call = [&](const char* function) { operands.push_back(fmt::format("{}({})", function, pop())); };
  const auto call_two = [&](const char* function) {
    const std::string right = pop();
    operands.push_back(fmt::format("{}({}, {})", function, pop(), right));
  };
  const auto infix = [&](char sign) {
    const std::string right = pop();
    operands.push_back(fmt::format("({} {} {})", pop(), sign, right));
  };
  for (const Expression::Step& step : expression_.steps) {
    switch (step.op) {
      case Op::number:
        if (!std::isfinite(step.number))
          throw base::usage_error("{}: numbers in a family's functions must be finite", expression_.text);
        operands.push_back(literal(step.number));
        break;
      case Op::column: operands.push_back(step.column); break;
      case Op::negate: call("-"); break;
      case Op::add: infix('+'); break;
      case Op::subtract: infix('-'); break;
      case Op::multiply: infix('*'); break;
      case Op::divide: infix('/'); break;
      case Op::power: call_two("custom_power"); break;
      case Op::log: call("log"); break;
      case Op::sqrt: call("sqrt"); break;
      case Op::exp: call("exp"); break;
      case Op::log1p: call("log1p"); break;
      case Op::expm1: call("expm1"); break;
      case Op::abs: call("fabs"); break;
      case Op::pnorm: call("normcdf"); break;
      case Op::dnorm: call("custom_normal_density"); break;
      case Op::pmin: call_two("custom_least"); break;
      case Op::pmax: call_two("custom_greatest"); break;
      case Op::log2: call("log2"); break;
      case Op::log10: call("log10"); break;
      case Op::sin: call("sin"); break;
      case Op::cos: call("cos"); break;
      case Op::tan: call("tan"); break;
      case Op::floor: call("floor"); break;
      case Op::ceiling: call("ceil"); break;
      case Op::trunc: call("trunc"); break;
      default:
        throw base::usage_error(
            "{}: functions of a family cannot have logical values, rounding to digits or sign()",
            expression_.text);
    }
  }
  return pop();
}

CustomFamily parse_custom_family(std::string_view toml, const std::string& origin) {
  check_dotted_keys(toml, origin);
  toml::table table;
  try {
    table = toml::parse(toml);
  } catch (const toml::parse_error& error) {
    refuse(origin, error.source(), error.description());
  }
  constexpr std::array known{"name", "link", "scale", "inverse_link", "derivative", "variance", "deviance"};
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) == known.end())
      refuse(
          origin, key.source(),
          fmt::format("'{}' is not a key of a family: the keys are {}", key.str(), fmt::join(known, ", ")));
  }
  CustomFamily family;
  const auto* name = text_of(table, "name", origin);
  if (name == nullptr || name->get().empty())
    throw base::usage_error(R"({}: the family has no name: write name = "…")", origin);
  family.name = name->get();
  if (const auto* link = text_of(table, "link", origin)) family.link_name = link->get();
  if (const auto* scale = text_of(table, "scale", origin)) {
    if (scale->get() != "known" && scale->get() != "estimated")
      refuse(origin, scale->source(), R"(scale must be "known" (1 by definition) or "estimated")");
    family.scale_is_known = scale->get() == "known";
  }
  family.inverse_link = function_of(table, "inverse_link", origin, {"eta"});
  family.derivative = function_of(table, "derivative", origin, {"eta"});
  family.variance = function_of(table, "variance", origin, {"mu"});
  family.unit_deviance = function_of(table, "deviance", origin, {"y", "mu"});
  if (family.link_name.empty()) family.link_name = "inverse of " + family.inverse_link.text();
  return family;
}

std::string to_toml(const CustomFamily& family) {
  return fmt::format(
      "name = {}\nlink = {}\nscale = {}\ninverse_link = {}\nderivative = {}\nvariance = {}\ndeviance = {}\n",
      toml_string(family.name), toml_string(family.link_name),
      toml_string(family.scale_is_known ? "known" : "estimated"), toml_string(family.inverse_link.text()),
      toml_string(family.derivative.text()), toml_string(family.variance.text()),
      toml_string(family.unit_deviance.text()));
}

std::optional<double> predictor_of(const CustomFamily& family, double mean) {
  const auto miss = [&](double eta) { return family.inverse_link(eta) - mean; };
  // A grid with values from 1e-6 to 1e6 on each side of 0: two neighbours enclose a pole of the link.
  std::vector<double> grid{0};
  for (int quarter = -24; quarter <= 24; ++quarter) {
    const double eta = std::pow(10.0, quarter / 4.0);
    grid.push_back(eta);
    grid.insert(grid.begin(), -eta);
  }
  for (std::size_t i = 0; i < grid.size(); ++i) {
    double low = grid[i];
    const double miss_low = miss(low);
    if (miss_low == 0) return low;
    if (i + 1 == grid.size() || !std::isfinite(miss_low)) continue;
    double high = grid[i + 1];
    const double miss_high = miss(high);
    // A monotone link that changes its sign at a pole (as 1/eta does at 0) has no mean there.
    const bool rises = family.derivative(low) > 0;
    if (!std::isfinite(miss_high) || !(rises ? miss_low < 0 && miss_high > 0 : miss_low > 0 && miss_high < 0))
      continue;
    for (double middle = low + (high - low) / 2; low < middle && middle < high;
         middle = low + (high - low) / 2) {
      const double at_middle = miss(middle);
      if (at_middle == 0) return middle;
      ((at_middle < 0) == rises ? low : high) = middle;
    }
    return std::abs(miss(low)) <= std::abs(miss(high)) ? low : high;
  }
  return std::nullopt;
}

std::string family_device_source(const CustomFamily& family) {
  constexpr std::string_view functions = R"(
inline double custom_power(double base, double exponent) {
  return exponent == 2 ? base * base : pow(base, exponent);
}
inline double custom_normal_density(double x) {
  return exp(-x * x / 2) * 0x1.9884533d43651p-2;
}
inline double custom_least(double a, double b) {
  return a != a ? a : b < a || b != b ? b : a;
}
inline double custom_greatest(double a, double b) {
  return -custom_least(-a, -b);
}
)";
  return std::string(functions) +
         fmt::format(R"(struct OwnFamily {{
  static constexpr bool linear = {};
  static constexpr Start start = Start({});
  double mean(double eta) const {{ return {}; }}
  double derivative(double eta) const {{ return {}; }}
  double variance(double mu) const {{ return {}; }}
  double weight(double prior, double mu, double slope) const {{ return prior * slope * slope / variance(mu); }}
  double deviance(double y, double mu, double prior) const {{ return prior * {}; }}
}};
)",
                     CustomFamily::linear, static_cast<int>(CustomFamily::start),
                     family.inverse_link.device_expression(), family.derivative.device_expression(),
                     family.variance.device_expression(), family.unit_deviance.device_expression());
}

}  // namespace TESSERA_NAMESPACE::gam
