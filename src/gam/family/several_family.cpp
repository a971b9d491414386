// SPDX-License-Identifier: Apache-2.0
#include "gam/family/several_family.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/list_text.hpp"
#include "base/math/normal.hpp"
#include "base/math_policy.hpp"
#include "gam/family/location_scale.hpp"
#include "gam/family/packet_families.hpp"
#include "gam/family/response_distribution.hpp"
#include "gam/family/tweedie.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/poisson.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

namespace bm = boost::math;
using base::MathPolicy;
using WholeQuantiles =
    bm::policies::normalise<MathPolicy,
                            bm::policies::discrete_quantile<bm::policies::integer_round_up>>::type;

/// `ResponseDistribution` with the p and phi of a row; its member functions take the mean.
ResponseDistribution tweedie_of(const Twlss& family, const double* eta) {
  const double values[] = {family.power(eta[1]), base::exp(eta[2]), family.a, family.b};
  return {Family(Tw(values)), values[1]};
}

double normal_quantile_of(double p) {
  return bm::quantile(bm::normal_distribution<double, MathPolicy>(), p);
}

double quantile_of(const Gaulss& family, double p, const double* eta) {
  return family.mean(eta[0]) + normal_quantile_of(p) / family.inverse_deviation(eta[1]);
}
double quantile_of(const Gammals& family, double p, const double* eta) {
  const double scale = base::exp(family.log_scale(eta[1]));
  return bm::quantile(bm::gamma_distribution<double, MathPolicy>(1 / scale, scale * base::exp(eta[0])), p);
}
double quantile_of(const Gumbls& family, double p, const double* eta) {
  return eta[0] - base::exp(family.log_scale(eta[1])) * base::log(-base::log(p));
}
double quantile_of(const Gevlss& family, double p, const double* eta) {
  const double q = -base::log(-base::log(p));
  const double xi = family.shape(eta[2]);
  return family.location(eta[0]) + base::exp(eta[1]) * (xi == 0 ? q : base::expm1(xi * q) / xi);
}
double quantile_of(const Shash& family, double p, const double* eta) {
  const double bent = (base::asinh(normal_quantile_of(p)) + eta[2]) * base::exp(-eta[3]);
  return eta[0] + base::exp(family.log_deviation(eta[1]) + eta[3]) * base::sinh(bent);
}
double quantile_of(const Twlss& family, double p, const double* eta) {
  return tweedie_of(family, eta).quantile(p, family.log_mean(eta[0]), 0);
}
double quantile_of(const Ziplss& /*family*/, double p, const double* eta) {
  const double zero = base::exp(-base::exp(eta[1]));
  if (p <= zero) return 0;
  const double rate = base::exp(eta[0]);
  // `q` is the quantile level in the untruncated Poisson distribution.
  const double above = (p - zero) / (1 - zero);
  const double q = base::exp(-rate) - above * base::expm1(-rate);
  return std::max(
      1.0, bm::quantile(bm::poisson_distribution<double, WholeQuantiles>(rate), std::min(q, 1 - 1e-16)));
}

double normal_cumulative(double z) {
  return base::erfc(-z / std::sqrt(2.0)) / 2;
}

double cumulative_of(const Gaulss& family, double y, const double* eta) {
  return normal_cumulative((y - family.mean(eta[0])) * family.inverse_deviation(eta[1]));
}
double cumulative_of(const Gammals& family, double y, const double* eta) {
  const double scale = base::exp(family.log_scale(eta[1]));
  return bm::gamma_p(1 / scale, y * base::exp(-eta[0]) / scale, MathPolicy());
}
double cumulative_of(const Gumbls& family, double y, const double* eta) {
  return base::exp(-base::exp((eta[0] - y) * base::exp(-family.log_scale(eta[1]))));
}
double cumulative_of(const Gevlss& family, double y, const double* eta) {
  const double xi = family.shape(eta[2]);
  const double q = family.reduced(y, eta, xi);
  if (std::isnan(q)) return xi > 0 ? 0 : 1;  // outside the support
  return base::exp(-base::exp(-q));
}
double cumulative_of(const Shash& family, double y, const double* eta) {
  const double z = (y - eta[0]) * base::exp(-family.log_deviation(eta[1]) - eta[3]);
  return normal_cumulative(base::sinh(base::exp(eta[3]) * base::asinh(z) - eta[2]));
}
double cumulative_of(const Twlss& family, double y, const double* eta) {
  return tweedie_of(family, eta).cumulative(y, family.mean(eta[0]));
}
double cumulative_of(const Ziplss& /*family*/, double y, const double* eta) {
  if (y < 0) return 0;
  const double rate = base::exp(eta[0]);
  const double above = bm::gamma_p(y + 1, rate, MathPolicy()) / -base::expm1(-rate);
  return 1 + base::expm1(-base::exp(eta[1])) * above;
}

ResponseLevel response_level(const Gaulss& family, const double* eta) {
  return {family.mean(eta[0]), 1 / family.inverse_deviation(eta[1])};
}
ResponseLevel response_level(const Gammals& family, const double* eta) {
  const double mean = base::exp(eta[0]);
  return {mean, mean * base::exp(family.log_scale(eta[1]) / 2)};
}
ResponseLevel response_level(const Gumbls& family, const double* eta) {
  const double scale = base::exp(family.log_scale(eta[1]));
  return {eta[0] + euler_gamma * scale, gumbel_deviation * scale};
}
ResponseLevel response_level(const Gevlss& family, const double* eta) {
  const double scale = base::exp(eta[1]);
  const double xi = family.shape(eta[2]);
  const double location = family.location(eta[0]);
  constexpr double gumbel = 1e-7;  // below this shape the variance formula cancels
  if (std::abs(xi) < gumbel) return {location + euler_gamma * scale, gumbel_deviation * scale};
  // With the identity link the shape is unbounded; the mean or the deviation may not exist.
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (xi >= 1) return {infinity, infinity};
  const double first = bm::tgamma1pm1(-xi, MathPolicy());
  const double second = bm::tgamma1pm1(-2 * xi, MathPolicy());
  return {location + scale * first / xi,
          xi >= 0.5 ? infinity : scale * std::sqrt(second - 2 * first - first * first) / std::abs(xi)};
}
/// Moments from Jones and Pewsey (2009), sec. 2.3.
ResponseLevel response_level(const Shash& family, const double* eta) {
  const double inverse = base::exp(-eta[3]);
  const auto moment = [&](double order) {
    constexpr double quarter = 0.25;
    const double sum = bm::cyl_bessel_k((order + 1) / 2, quarter, MathPolicy()) +
                       bm::cyl_bessel_k(std::abs(order - 1) / 2, quarter, MathPolicy());
    return base::exp(quarter) / std::sqrt(8 * M_PI) * sum;
  };
  const double unit = base::exp(family.log_deviation(eta[1]) + eta[3]);
  const double first = base::sinh(eta[2] * inverse) * moment(inverse);
  const double square = (base::cosh(2 * eta[2] * inverse) * moment(2 * inverse) - 1) / 2;
  return {eta[0] + unit * first, unit * std::sqrt(square - first * first)};
}
ResponseLevel response_level(const Twlss& family, const double* eta) {
  return {family.mean(eta[0]), base::exp((eta[2] + family.power(eta[1]) * family.log_mean(eta[0])) / 2)};
}
ResponseLevel response_level(const Ziplss& family, const double* eta) {
  double mean = 0;
  family.respond(eta, &mean);
  return {mean, std::sqrt(mean * (1 + base::exp(eta[0]) - mean))};
}

std::string device_object(std::string_view type, std::string_view constants, std::string_view links = "") {
  return fmt::format("constexpr auto family_of(const double*) {{ {} family{{{}}}; {}return family; }}\n",
                     type, constants, links);
}

/// Adapter from a type of location_scale.hpp to `SeveralFamily`.
template <class F>
class FormulaFamily final : public SeveralFamily {
 public:
  explicit FormulaFamily(F family) : SeveralFamily(F::name, text_of(family)), family_(family) {}

  [[nodiscard]] int predictors() const override { return F::predictors; }
  [[nodiscard]] std::string meaning() const override { return F::meaning; }
  [[nodiscard]] std::vector<std::string> links() const override { return links_of(family_); }
  [[nodiscard]] const char* response_fault(double y) const override { return F::response_fault(y); }
  [[nodiscard]] std::vector<double> first_predictors(const ResponseLevel& level) const override {
    std::vector<double> eta(F::predictors);
    family_.first(level, eta.data());
    return eta;
  }

  [[nodiscard]] int late_predictor() const override {
    if constexpr (requires { F::late_predictor; })
      return F::late_predictor;
    else
      return -1;
  }

  void evaluate(const SeveralRows& rows) const override {
    if constexpr (PacketFormula<F>) {
      evaluate_in_packets(family_, rows);
    } else {
      evaluate_rows(F::predictors, rows,
                    [&](double y, const double* eta, double* scores, double* curvatures) {
                      return row_log_likelihood(family_, y, eta, scores, curvatures);
                    });
    }
  }
  [[nodiscard]] std::string device_source() const override {
    // Hexadecimal literals are exact.
    std::vector<std::string> constants;
    if constexpr (requires { F::constants; }) {
      for (const auto& one : F::constants) constants.push_back(fmt::format("{:a}", family_.*one.value));
    }
    std::string links;
    if constexpr (requires { F::choices; }) {
      for (std::size_t c = 0; c < std::size(F::choices); ++c)
        links += fmt::format("family.chosen[{}] = Link({}); ", c, static_cast<int>(family_.chosen[c]));
    }
    return device_object(F::type, fmt::format("{}", fmt::join(constants, ", ")), links);
  }

  [[nodiscard]] NullPredictors null_predictors() const override { return F::null; }
  [[nodiscard]] double predictor_of_mean(double mean) const override {
    return family_.predictor_of_mean(mean);
  }
  [[nodiscard]] double squared_residual(double y, std::span<const double> eta) const override {
    return family_.squared_residual(y, eta.data());
  }
  [[nodiscard]] double residual_side(double y, std::span<const double> eta) const override {
    if constexpr (requires { F::side_of_location; })
      return y - eta[0];
    else
      return y - level(eta).mean;
  }
  [[nodiscard]] ResponseLevel level(std::span<const double> eta) const override {
    return response_level(family_, eta.data());
  }
  [[nodiscard]] ResponseProbabilities probabilities(double y, std::span<const double> eta) const override {
    const double up_to = cumulative_of(family_, y, eta.data());
    if constexpr (requires { F::whole_numbers; })
      return {cumulative_of(family_, y - 1, eta.data()), up_to};
    else if constexpr (requires { F::has_zeros; })
      return {y > 0 ? up_to : 0, up_to};
    else
      return {up_to, up_to};
  }
  [[nodiscard]] double quantile(double p, std::span<const double> eta) const override {
    return quantile_of(family_, p, eta.data());
  }
  [[nodiscard]] double draw(std::span<const double> eta, base::RandomPlace& random) const override {
    if constexpr (requires { tweedie_of(family_, eta.data()); })
      return tweedie_of(family_, eta.data()).draw(family_.mean(eta[0]), 1, random);
    else
      return SeveralFamily::draw(eta, random);
  }

  [[nodiscard]] std::vector<std::string> outputs(std::span<const std::string> /*levels*/) const override {
    std::vector<std::string> suffixes{""};
    for (int c = 1; c < response_columns; ++c) suffixes.push_back(fmt::format(".{}", c));
    return suffixes;
  }
  void respond(std::span<const double> eta, std::span<double> values,
               std::span<double> jacobian) const override {
    std::array<Jet<F::predictors>, F::predictors> x;
    std::array<Jet<F::predictors>, F::predictors> y;
    for (int p = 0; p < F::predictors; ++p) x[at(p)] = Jet<F::predictors>::variable(eta[at(p)], p);
    family_.respond(x.data(), y.data());
    for (int c = 0; c < response_columns; ++c) {
      values[at(c)] = y[at(c)].value;
      if (!jacobian.empty()) std::copy_n(y[at(c)].first, F::predictors, jacobian.begin() + c * F::predictors);
    }
  }

 private:
  static constexpr int response_columns = [] {
    if constexpr (requires { F::response_columns; })
      return F::response_columns;
    else
      return F::predictors;
  }();
  static std::vector<std::string> links_of([[maybe_unused]] const F& family) {
    std::vector<std::string> links(std::begin(F::links), std::end(F::links));
    if constexpr (requires { F::choices; }) {
      for (std::size_t c = 0; c < std::size(F::choices); ++c)
        links[at(F::choices[c].predictor)] = link_names[static_cast<int>(family.chosen[c])];
    }
    return links;
  }
  static std::string text_of([[maybe_unused]] const F& family) {
    std::vector<std::string> arguments;
    if (const auto links = links_of(family); !std::ranges::equal(links, F::links))
      arguments.push_back(fmt::format("link=list(\"{}\")", fmt::join(links, "\", \"")));
    if constexpr (requires { F::constants; }) {
      for (const auto& one : F::constants)
        if (family.*one.value != one.usual)
          arguments.push_back(fmt::format("{}={}", one.name, family.*one.value));
    }
    return arguments.empty() ? F::name : fmt::format("{}({})", F::name, fmt::join(arguments, ", "));
  }

  F family_;
};

/// Multinomial logit for classes 0 to K: each predictor is the log odds of a class against class 0.
class Multinom final : public SeveralFamily {
 public:
  explicit Multinom(int predictors)
      : SeveralFamily(own_name, predictors == 1 ? own_name : fmt::format("{}(K={})", own_name, predictors)),
        predictors_(predictors),
        fault_(fmt::format("must be a whole number from 0 to {}", predictors)) {}
  static constexpr char own_name[] = "multinom";

  [[nodiscard]] int predictors() const override { return predictors_; }
  [[nodiscard]] std::string meaning() const override {
    return fmt::format("the classes 1 to {}", predictors_);
  }
  [[nodiscard]] std::vector<std::string> links() const override {
    return std::vector<std::string>(at(predictors_), "identity");
  }
  [[nodiscard]] int classes() const override { return predictors_ + 1; }
  [[nodiscard]] const char* response_fault(double y) const override {
    return y >= 0 && y <= predictors_ && y == std::floor(y) ? nullptr : fault_.c_str();
  }
  [[nodiscard]] std::vector<double> first_predictors(const ResponseLevel& /*level*/) const override {
    return std::vector<double>(at(predictors_));
  }

  void evaluate(const SeveralRows& rows) const override { evaluate_classes(predictors_, rows); }
  [[nodiscard]] std::string device_source() const override {
    return device_object(fmt::format("FixedClasses<{}>", predictors_), {});
  }

  [[nodiscard]] NullPredictors null_predictors() const override { return NullPredictors::constants; }
  [[nodiscard]] double predictor_of_mean(double /*mean*/) const override { return 0; }
  [[nodiscard]] double squared_residual(double y, std::span<const double> eta) const override {
    return class_squared_residual(predictors_, y, eta.data());
  }

  /// Positive if y is the most probable class.
  [[nodiscard]] double residual_side(double y, std::span<const double> eta) const override {
    const double own = y == 0 ? 0 : eta[static_cast<std::size_t>(y) - 1];
    return own >= std::max(0.0, *std::ranges::max_element(eta)) ? 1 : -1;
  }
  [[nodiscard]] ResponseLevel level(std::span<const double> /*eta*/) const override {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }
  [[nodiscard]] ResponseProbabilities probabilities(double y, std::span<const double> eta) const override {
    std::vector<double> shares(at(classes()));
    respond(eta, shares, {});
    const auto own = shares.begin() + static_cast<std::ptrdiff_t>(y);
    const double below = std::accumulate(shares.begin(), own, 0.0);
    return {below, below + *own};
  }
  [[nodiscard]] double quantile(double p, std::span<const double> eta) const override {
    std::vector<double> shares(at(classes()));
    respond(eta, shares, {});
    int own = 0;
    while (own < predictors_ && p > shares[at(own)]) p -= shares[at(own++)];
    return own;
  }

  [[nodiscard]] std::vector<std::string> outputs(std::span<const std::string> levels) const override {
    return class_suffixes(0, classes(), levels);
  }
  void respond(std::span<const double> eta, std::span<double> values,
               std::span<double> jacobian) const override {
    set_shares(predictors_, eta.data(), values.data());
    for (int c = 0; c <= predictors_ && !jacobian.empty(); ++c) {
      for (int p = 0; p < predictors_; ++p)
        jacobian[at(c * predictors_ + p)] = values[at(c)] * ((c == p + 1 ? 1 : 0) - values[at(p + 1)]);
    }
  }

 private:
  int predictors_;
  std::string fault_;
};

using Made = std::shared_ptr<const SeveralFamily>;

struct NamedNumber {
  std::string name;
  double usual;
};

/// Numeric arguments of a call, by name or position; `usual` if absent.
std::vector<double> numbers_of_call(const std::string& family, std::span<const NamedNumber> known,
                                    std::span<const SeveralArgument> arguments) {
  std::vector<std::optional<double>> given(known.size());
  for (const SeveralArgument& one : arguments) {
    std::size_t i = 0;
    while (i < known.size() && (given[i] || !(one.name.empty() || one.name == known[i].name))) ++i;
    if (i < known.size() && one.numbers.size() == 1) {
      given[i] = one.numbers[0];
      continue;
    }
    if (known.empty())
      throw base::usage_error("the family {} takes no argument: leave the argument out", family);
    std::vector<std::string> names;
    std::vector<std::string> calls;
    for (const NamedNumber& number : known) {
      names.push_back(number.name);
      calls.push_back(fmt::format("{}={}", number.name, number.usual));
    }
    throw base::usage_error("the family {} takes {}: write {}({})", family,
                            known.size() == 1
                                ? fmt::format("one numeric argument, {}", names[0])
                                : fmt::format("the numeric arguments {}", base::list_text(names, "and")),
                            family, fmt::join(calls, ", "));
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < known.size(); ++i) values.push_back(given[i].value_or(known[i].usual));
  return values;
}

/// Sets the links named in a call.
template <class F>
void choose_links([[maybe_unused]] F& family, const std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> known;
  for (const char* const one : F::links) known.push_back({one});
  if constexpr (requires { F::choices; }) {
    for (const LinkChoice& choice : F::choices) {
      known[at(choice.predictor)].clear();
      for (const Link link : std::span(choice.links, at(choice.count)))
        known[at(choice.predictor)].emplace_back(link_names[static_cast<int>(link)]);
    }
  }
  for (std::size_t p = 0; p < known.size(); ++p) {
    if (names.size() == known.size() && std::ranges::find(known[p], names[p]) != known[p].end()) continue;
    std::vector<std::string> each;
    for (const std::vector<std::string>& one : known) each.push_back(base::list_text(one, "or"));
    throw base::usage_error("{0}: the links of its linear predictors are {1}: write {0}(link=list(\"{2}\"))",
                            F::name, fmt::join(each, ", then "), fmt::join(F::links, "\", \""));
  }
  if constexpr (requires { F::choices; }) {
    for (std::size_t c = 0; c < std::size(F::choices); ++c) {
      const LinkChoice& choice = F::choices[c];
      const auto place = std::ranges::find(known[at(choice.predictor)], names[at(choice.predictor)]);
      family.chosen[c] = choice.links[place - known[at(choice.predictor)].begin()];
    }
  }
}

template <class F>
Made made(std::span<const SeveralArgument> arguments) {
  F family{};
  std::vector<SeveralArgument> others;
  for (const SeveralArgument& one : arguments) {
    if (!one.words.empty() && (one.name.empty() || one.name == "link"))
      choose_links(family, one.words);
    else
      others.push_back(one);
  }
  std::vector<NamedNumber> known;
  if constexpr (requires { F::constants; }) {
    for (const auto& one : F::constants) known.push_back({one.name, one.usual});
  }
  const std::vector<double> values = numbers_of_call(F::name, known, others);
  if constexpr (requires { F::constants; }) {
    for (std::size_t i = 0; i < values.size(); ++i) family.*F::constants[i].value = values[i];
  }
  auto whole = std::make_shared<FormulaFamily<F>>(family);
  if constexpr (requires { family.fault(); }) {
    if (family.fault() != nullptr) throw base::usage_error("{}: give {}", whole->text, family.fault());
  }
  return whole;
}

Made made_multinom(std::span<const SeveralArgument> arguments) {
  constexpr int most_predictors = 100;
  const NamedNumber number{"K", 1};
  const double count = numbers_of_call(Multinom::own_name, {&number, 1}, arguments)[0];
  if (!(count >= 1 && count <= most_predictors && count == std::floor(count)))
    throw base::usage_error("multinom: K is {}: give the number of classes less 1, from 1 to {}", count,
                            most_predictors);
  return std::make_shared<Multinom>(static_cast<int>(count));
}

constexpr std::pair<const char*, Made (*)(std::span<const SeveralArgument>)> all_several[] = {
    {Gaulss::name, made<Gaulss>}, {Gammals::name, made<Gammals>},     {Gumbls::name, made<Gumbls>},
    {Gevlss::name, made<Gevlss>}, {Shash::name, made<Shash>},         {Twlss::name, made<Twlss>},
    {Ziplss::name, made<Ziplss>}, {Multinom::own_name, made_multinom}};

}  // namespace

double SeveralFamily::draw(std::span<const double> eta, base::RandomPlace& random) const {
  return quantile(random.uniform(), eta);
}

std::vector<std::string> class_suffixes(int first, int classes, std::span<const std::string> levels) {
  std::vector<std::string> suffixes;
  for (int c = 0; c < classes; ++c)
    suffixes.push_back("." + (levels.empty() ? std::to_string(first + c) : levels[at(c)]));
  return suffixes;
}

std::vector<std::string_view> several_family_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, make] : all_several) names.emplace_back(name);
  return names;
}

std::shared_ptr<const SeveralFamily> several_family(const std::string& name,
                                                    std::span<const SeveralArgument> arguments) {
  for (const auto& [known, make] : all_several) {
    if (name == known) return make(arguments);
  }
  return nullptr;
}

}  // namespace TESSERA_NAMESPACE::gam
