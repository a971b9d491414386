// SPDX-License-Identifier: Apache-2.0
// Custom families, and the CUDA C++ generated for them: it has the meaning that the parser found, and nothing
// else.
#include "fuzz_target.hpp"
#include "gam/family/custom_family.hpp"
#include "gam/family/user_several.hpp"

#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using fuzz::refusal;
using fuzz::require;

/// Evaluates a generated expression from its text, which may contain only hexadecimal numbers, known
/// arguments, calls of known functions, and operators in parentheses.
class Generated {
 public:
  Generated(std::string_view text, const std::map<std::string, double, std::less<>>& arguments)
      : rest_(text), arguments_(arguments) {}

  double value() {
    const double out = operand();
    require(rest_.empty(), "the generated text is one expression, and goes on with:", rest_);
    return out;
  }

 private:
  bool take(std::string_view what) {
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }
  void expect(std::string_view what) { require(take(what), "the generated text goes on with:", rest_); }

  double operand() {
    if (take("(-0x")) {
      const double out = -number();
      expect(")");
      return out;
    }
    if (take("0x")) return number();
    if (take("-(")) {
      const double out = -operand();
      expect(")");
      return out;
    }
    if (take("(")) {
      const double left = operand();
      const char sign = rest_.size() > 2 && rest_[0] == ' ' && rest_[2] == ' ' ? rest_[1] : ' ';
      rest_.remove_prefix(std::min<std::size_t>(3, rest_.size()));
      const double right = operand();
      expect(")");
      switch (sign) {
        case '+': return left + right;
        case '-': return left - right;
        case '*': return left * right;
        case '/': return left / right;
        default: require(false, "the generated operator:", {&sign, 1});
      }
    }
    return named();
  }

  double number() {
    // The digits of a hexadecimal floating-point literal after its prefix.
    const std::size_t size = std::min(rest_.find_first_not_of("0123456789abcdef.p+-"), rest_.size());
    const std::string literal = "0x" + std::string(rest_.substr(0, size));
    require(literal.find('p') != std::string::npos, "a generated number:", literal);
    char* end = nullptr;
    const double out = std::strtod(literal.c_str(), &end);
    require(end == literal.c_str() + literal.size(), "a generated number:", literal);
    rest_.remove_prefix(size);
    return out;
  }

  double named() {
    const std::size_t size = std::min(rest_.find_first_of("(), "), rest_.size());
    const std::string name(rest_.substr(0, size));
    rest_.remove_prefix(size);
    if (!take("(")) {
      const auto found = arguments_.find(name);
      require(found != arguments_.end(), "a generated name:", name);
      return found->second;
    }
    const double first = operand();
    if (take(")")) return of_one(name, first);
    expect(", ");
    const double second = operand();
    expect(")");
    return of_two(name, first, second);
  }

  static double of_one(const std::string& name, double x) {
    if (name == "log") return std::log(x);
    if (name == "sqrt") return std::sqrt(x);
    if (name == "exp") return std::exp(x);
    if (name == "log1p") return std::log1p(x);
    if (name == "expm1") return std::expm1(x);
    if (name == "fabs") return std::fabs(x);
    if (name == "normcdf") return FamilyFunction("pnorm(x)", {"x"})(x);
    require(name == "custom_normal_density", "a generated call of:", name);
    return FamilyFunction("dnorm(x)", {"x"})(x);
  }
  static double of_two(const std::string& name, double a, double b) {
    if (name == "custom_power") return b == 2 ? a * a : std::pow(a, b);
    const auto least = [](double x, double y) { return x != x ? x : y < x || y != y ? y : x; };
    if (name == "custom_least") return least(a, b);
    require(name == "custom_greatest", "a generated call of:", name);
    return -least(-a, -b);
  }

  std::string_view rest_;
  const std::map<std::string, double, std::less<>>& arguments_;
};

void check_function(const FamilyFunction& function, const std::vector<std::string>& names) {
  const std::string text = function.device_expression();
  for (const double first : {0.5, -1.25, 3.0, 0.0}) {
    const double second = 2.5;
    std::map<std::string, double, std::less<>> arguments{{names[0], first}};
    if (names.size() > 1) arguments[names[1]] = second;
    const double meant = function(first, second);
    const double generated = Generated(text, arguments).value();
    require(meant == generated || (std::isnan(meant) && std::isnan(generated)),
            "the generated text means what the family does:", text);
  }
}

void check_family(std::string_view toml) {
  CustomFamily family;
  if (refusal([&] { family = parse_custom_family(toml, "f.toml"); }, {ErrorCode::usage})) return;
  const std::string kept = to_toml(family);
  const auto refused = refusal(
      [&] {
        require(parse_custom_family(kept, "model") == family, "what a model keeps is the family:", kept);
      },
      {ErrorCode::usage});
  require(!refused, "what a model keeps is read:", kept);
  check_function(family.inverse_link, {"eta"});
  check_function(family.derivative, {"eta"});
  check_function(family.variance, {"mu"});
  check_function(family.unit_deviance, {"y", "mu"});

  // Names and links are text of the user, not part of the program.
  CustomFamily other = family;
  other.name = "other";
  other.link_name = "other";
  require(family_device_source(other) == family_device_source(family),
          "the program has no text of the user's");
  static_cast<void>(predictor_of(family, 0.7));
}

/// A family of several linear predictors: rows are evaluated with derivatives and without.
void check_several(std::string_view toml) {
  const std::string text(toml);
  std::shared_ptr<const SeveralFamily> family;
  const bool refused =
      refusal([&] { family = parse_own_several(text, "f.toml"); }, {ErrorCode::usage}).has_value();
  if (refused || family == nullptr) return;
  require(family->toml() == text, "a model keeps the text:", text);
  const auto predictors = static_cast<std::size_t>(family->predictors());
  std::vector<double> derivatives(predictors + predictors * (predictors + 1) / 2);
  for (const double y : {0.5, -1.25, 0.0}) {
    const double prior = 2;
    double log_likelihood = 0;
    const std::vector<double> eta(predictors, 0.7 - y);
    for (double* const first : {static_cast<double*>(nullptr), derivatives.data()})
      family->evaluate({.count = 1,
                        .stride = 1,
                        .response = &y,
                        .prior = &prior,
                        .eta = eta.data(),
                        .log_likelihood = &log_likelihood,
                        .gradient = first,
                        .weights = derivatives.data() + predictors});
    static_cast<void>(family->level(eta));
    static_cast<void>(family->probabilities(y, eta));
  }
  static_cast<void>(family->first_predictors({1.5, 0.5}));
  require(!family->device_source().empty(), "there is a program of the family");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tessera::gam::check_family(tessera::fuzz::text_of(data, size));
  tessera::gam::check_several(tessera::fuzz::text_of(data, size));
  return 0;
}
