// SPDX-License-Identifier: Apache-2.0
#include "gam/family/user_several.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/family/family_file.hpp"
#include "gam/family/user_functions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;
using Op = Expression::Op;
/// Value of a function that the file omits.
constexpr double not_told = std::numeric_limits<double>::quiet_NaN();

/// Evaluates the expression of a function with `Jet` arguments.
template <int P>
Jet<P> with_derivatives(const FamilyFunction& function, std::span<const Jet<P>> arguments) {
  std::array<Jet<P>, max_stack> stack;
  std::size_t size = 0;
  const auto top = [&]() -> Jet<P>& { return stack[size - 1]; };
  const auto replace = [&](const auto& of) { top() = of(top()); };
  const auto combine = [&](const auto& of) {
    --size;
    top() = of(top(), stack[size]);
  };
  for (const Expression::Step& step : function.expression().steps) {
    switch (step.op) {
      case Op::number: stack[size++] = Jet<P>(step.number); break;
      case Op::column: stack[size++] = arguments[function.indices()[at(step.index)]]; break;
      case Op::negate: replace([](const auto& x) { return -x; }); break;
      case Op::add: combine([](const auto& x, const auto& y) { return x + y; }); break;
      case Op::subtract: combine([](const auto& x, const auto& y) { return x - y; }); break;
      case Op::multiply: combine([](const auto& x, const auto& y) { return x * y; }); break;
      case Op::divide: combine([](const auto& x, const auto& y) { return x / y; }); break;
      case Op::power: combine([](const auto& x, const auto& y) { return custom_power(x, y); }); break;
      case Op::log: replace([](const auto& x) { return log(x); }); break;
      case Op::sqrt: replace([](const auto& x) { return sqrt(x); }); break;
      case Op::exp: replace([](const auto& x) { return exp(x); }); break;
      case Op::log1p: replace([](const auto& x) { return log1p(x); }); break;
      case Op::expm1: replace([](const auto& x) { return expm1(x); }); break;
      case Op::abs: replace([](const auto& x) { return fabs(x); }); break;
      case Op::pnorm: replace([](const auto& x) { return normcdf(x); }); break;
      case Op::dnorm: replace([](const auto& x) { return custom_normal_density(x); }); break;
      case Op::pmin: combine([](const auto& x, const auto& y) { return custom_least(x, y); }); break;
      case Op::pmax: combine([](const auto& x, const auto& y) { return custom_greatest(x, y); }); break;
      case Op::log2: replace([](const auto& x) { return log2(x); }); break;
      case Op::log10: replace([](const auto& x) { return log10(x); }); break;
      case Op::sin: replace([](const auto& x) { return sin(x); }); break;
      case Op::cos: replace([](const auto& x) { return cos(x); }); break;
      case Op::tan: replace([](const auto& x) { return tan(x); }); break;
      case Op::floor: replace([](const auto& x) { return floor(x); }); break;
      case Op::ceiling: replace([](const auto& x) { return ceil(x); }); break;
      default: replace([](const auto& x) { return trunc(x); }); break;  // `FamilyFunction` rejects the rest
    }
  }
  return top();
}

/// The contents of a family's file. Omitted optional functions are empty.
struct OwnParts {
  std::string name;
  std::string toml;
  FamilyFunction log_likelihood;         ///< function of y and the predictors
  std::vector<FamilyFunction> start;     ///< functions of the mean and standard deviation of all responses
  std::vector<FamilyFunction> response;  ///< columns of predictions, functions of the predictors
  FamilyFunction mean, deviation;        ///< functions of the predictors
  FamilyFunction cumulative;             ///< P(Y <= y), of y and the predictors
  FamilyFunction quantile;               ///< function of p and the predictors
  FamilyFunction support;                ///< 1 if y is a valid response
  std::string support_fault{};           ///< error message for an invalid response
};

template <int P>
class OwnSeveral final : public SeveralFamily {
 public:
  explicit OwnSeveral(OwnParts parts) : SeveralFamily(parts.name, parts.name), parts_(std::move(parts)) {}

  [[nodiscard]] std::string toml() const override { return parts_.toml; }
  [[nodiscard]] int predictors() const override { return P; }
  [[nodiscard]] std::string meaning() const override { return fmt::format("eta1 to eta{}", P); }
  [[nodiscard]] std::vector<std::string> links() const override {
    return std::vector<std::string>(at(P), "identity");
  }
  [[nodiscard]] const char* response_fault(double y) const override {
    return parts_.support.empty() || parts_.support(y) == 1 ? nullptr : parts_.support_fault.c_str();
  }
  [[nodiscard]] std::vector<double> first_predictors(const ResponseLevel& level) const override {
    std::vector<double> eta(at(P));
    for (std::size_t p = 0; p < parts_.start.size(); ++p)
      eta[p] = parts_.start[p](level.mean, level.deviation);
    return eta;
  }

  void evaluate(const SeveralRows& rows) const override {
    evaluate_rows(P, rows, [&](double y, const double* eta, double* scores, double* curvatures) {
      if (scores == nullptr) return of_response(parts_.log_likelihood, y, {eta, at(P)});
      std::array<Jet<P>, P + 1> arguments;
      arguments[0] = Jet<P>(y);
      for (int p = 0; p < P; ++p) arguments[at(p + 1)] = Jet<P>::variable(eta[p], p);
      const Jet<P> row = with_derivatives<P>(parts_.log_likelihood, arguments);
      for (int p = 0; p < P; ++p) scores[p] = row.first[p];
      for (int k = 0; k < row.pairs; ++k) curvatures[k] = -row.second[k];
      return row.value;
    });
  }
  [[nodiscard]] std::string device_source() const override {
    std::string names;
    for (int p = 0; p < P; ++p) names += fmt::format("    const T& eta{} = eta[{}];\n", p + 1, p);
    return fmt::format(R"(struct OwnFamily {{
  static constexpr int predictors = {};
  template <class T>
  static T log_likelihood([[maybe_unused]] double y, [[maybe_unused]] const T* eta) {{
{}    return T({});
  }}
  static double squared_residual(double y, const double* eta) {{ return fmax(0.0, -2 * log_likelihood(y, eta)); }}
}};
constexpr OwnFamily family_of(const double*) {{ return {{}}; }}
)",
                       P, names, parts_.log_likelihood.device_expression());
  }

  [[nodiscard]] NullPredictors null_predictors() const override { return NullPredictors::none; }
  [[nodiscard]] double predictor_of_mean(double /*mean*/) const override { return not_told; }
  [[nodiscard]] double squared_residual(double y, std::span<const double> eta) const override {
    return std::fmax(0.0, -2 * of_response(parts_.log_likelihood, y, eta));
  }
  [[nodiscard]] double residual_side(double y, std::span<const double> eta) const override {
    return parts_.mean.empty() ? 1 : y - parts_.mean(eta);
  }
  [[nodiscard]] bool has_level() const override { return !parts_.mean.empty() && !parts_.deviation.empty(); }
  [[nodiscard]] ResponseLevel level(std::span<const double> eta) const override {
    return {parts_.mean.empty() ? not_told : parts_.mean(eta),
            parts_.deviation.empty() ? not_told : parts_.deviation(eta)};
  }
  [[nodiscard]] ResponseProbabilities probabilities(double y, std::span<const double> eta) const override {
    const double up_to = parts_.cumulative.empty() ? not_told : of_response(parts_.cumulative, y, eta);
    return {up_to, up_to};
  }
  [[nodiscard]] double quantile(double p, std::span<const double> eta) const override {
    if (parts_.quantile.empty())
      throw base::usage_error(
          "the file of the family {} has no quantile, but draws and prediction intervals need a quantile "
          "function: add quantile = \"…\", an expression of p and the predictors",
          name);
    return of_response(parts_.quantile, p, eta);
  }

  [[nodiscard]] std::vector<std::string> outputs(std::span<const std::string> /*levels*/) const override {
    std::vector<std::string> suffixes{""};
    for (int p = 1; p < P; ++p) suffixes.push_back(fmt::format(".{}", p));
    return suffixes;
  }
  void respond(std::span<const double> eta, std::span<double> values,
               std::span<double> jacobian) const override {
    std::array<Jet<P>, P> x;
    for (int p = 0; p < P; ++p) x[at(p)] = Jet<P>::variable(eta[at(p)], p);
    for (int c = 0; c < P; ++c) {
      const Jet<P> y = parts_.response.empty() ? x[at(c)] : with_derivatives<P>(parts_.response[at(c)], x);
      values[at(c)] = y.value;
      for (int p = 0; p < P && !jacobian.empty(); ++p) jacobian[at(c * P + p)] = y.first[p];
    }
  }

 private:
  static double of_response(const FamilyFunction& function, double y, std::span<const double> eta) {
    std::array<double, P + 1> arguments{y};
    for (int p = 0; p < P; ++p) arguments[at(p + 1)] = eta[at(p)];
    return function(arguments);
  }

  OwnParts parts_;
};

}  // namespace

std::shared_ptr<const SeveralFamily> parse_own_several(const std::string& toml, const std::string& origin) {
  const FamilyFile file(toml, origin);
  if (!file.has("predictors")) return nullptr;
  constexpr std::array known{"name", "predictors", "log_likelihood", "start",    "response",
                             "mean", "deviation",  "cumulative",     "quantile", "support"};
  file.require_known(known);
  const int predictors = file.number("predictors", 1, most_own_predictors);
  std::vector<std::string> etas;
  for (int p = 1; p <= predictors; ++p) etas.push_back(fmt::format("eta{}", p));
  const auto with = [&](const char* first) {
    std::vector<std::string> names{first};
    names.insert(names.end(), etas.begin(), etas.end());
    return names;
  };
  const auto optional = [&](const char* key, const std::vector<std::string>& arguments) {
    return file.has(key) ? file.function(key, arguments) : FamilyFunction();
  };
  OwnParts parts{.name = file.name(),
                 .toml = toml,
                 .log_likelihood = file.function("log_likelihood", with("y")),
                 .start = file.functions("start", etas.size(), {"mean", "deviation"}),
                 .response = file.functions("response", etas.size(), etas),
                 .mean = optional("mean", etas),
                 .deviation = optional("deviation", etas),
                 .cumulative = optional("cumulative", with("y")),
                 .quantile = optional("quantile", with("p")),
                 .support = file.condition("support")};
  if (!parts.support.empty()) parts.support_fault = fmt::format("must have {}", file.text("support")->get());
  switch (predictors) {
    case 1: return std::make_shared<OwnSeveral<1>>(std::move(parts));
    case 2: return std::make_shared<OwnSeveral<2>>(std::move(parts));
    case 3: return std::make_shared<OwnSeveral<3>>(std::move(parts));
    default: return std::make_shared<OwnSeveral<4>>(std::move(parts));
  }
}

}  // namespace TESSERA_NAMESPACE::gam
