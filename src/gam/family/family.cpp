// SPDX-License-Identifier: Apache-2.0
#include "gam/family/family.hpp"

#include "base/errors.hpp"
#include "gam/family/own_several.hpp"
#include "gam/family/row_step.hpp"
#include "gam/family/visit.hpp"
#include "gam/formula/syntax.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/family.hpp>
#include <tessera/gam/quantiles.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "base/list_text.hpp"
#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Maximum size of a file with a custom family.
constexpr std::int64_t max_family_bytes = std::int64_t{1} << 20;

std::string in_small_letters(std::string_view name) {
  std::string small(name);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

/// A call of a family as R's users write it: "poisson", "Gamma(link = log)", "nb(theta = 3)".
struct WrittenFamily {
  struct Argument {
    std::string name;  ///< name of the argument; empty: none
    std::string text;  ///< a word, or an expression without blanks
    std::vector<double> numbers;
    std::vector<std::string> words;
  };
  std::string name;
  std::vector<Argument> arguments{};
};

std::optional<double> number_of(const Syntax& tree) {
  if (tree.kind == Syntax::Kind::number) return tree.number;
  if (tree.kind != Syntax::Kind::unary || tree.text != "-") return std::nullopt;
  const auto positive = number_of(tree.children[0]);
  return positive ? std::optional(-*positive) : std::nullopt;
}

/// The value of a number, or the values of c(a, b); empty for any other expression.
std::vector<double> numbers_of(const Syntax& tree) {
  if (const auto one = number_of(tree)) return {*one};
  std::vector<double> all;
  if (!tree.is_call("c")) return all;
  for (const Syntax& child : tree.children) {
    const auto one = number_of(child);
    if (!one) return {};
    all.push_back(*one);
  }
  return all;
}

bool is_word(const Syntax& tree) {
  return tree.kind == Syntax::Kind::name || tree.kind == Syntax::Kind::text;
}

/// A word, or the words of list(a, b) or c(a, b); empty for any other expression.
std::vector<std::string> words_of(const Syntax& tree) {
  if (is_word(tree)) return {tree.text};
  std::vector<std::string> all;
  if (!tree.is_call("list") && !tree.is_call("c")) return all;
  for (const Syntax& child : tree.children) {
    if (!is_word(child)) return {};
    all.push_back(child.text);
  }
  return all;
}

std::optional<WrittenFamily> parse_written(const std::string& text) {
  try {
    const Syntax tree = parse_syntax(text);
    if (is_word(tree)) return WrittenFamily{tree.text};
    if (tree.kind != Syntax::Kind::call) return std::nullopt;
    WrittenFamily written{tree.text};
    for (std::size_t i = 0; i < tree.children.size(); ++i) {
      const Syntax& argument = tree.children[i];
      std::string spelled = is_word(argument) ? argument.text : deparse(argument);
      std::erase(spelled, ' ');
      written.arguments.push_back(
          {tree.argument_names[i], std::move(spelled), numbers_of(argument), words_of(argument)});
    }
    return written;
  } catch (const Error&) {
    return std::nullopt;  // neither an expression nor a family
  }
}

/// The family with several predictors of a call; null for another family.
std::shared_ptr<const SeveralFamily> several_of(const WrittenFamily& written) {
  std::vector<SeveralArgument> arguments;
  for (const WrittenFamily::Argument& one : written.arguments)
    arguments.push_back({one.name, one.numbers, one.words});
  return several_family(in_small_letters(written.name), arguments);
}

template <class... F>
std::vector<std::string_view> names_of(FamilyList<F...> /*list*/) {
  return {F::name...};
}

template <class F>
F made_of(const std::vector<double>& values) {
  return family_of<F>(values.data(), static_cast<int>(values.size()));
}

/// Initial estimates of this many parameters of a family with these constants.
template <class F>
std::vector<double> first_values(std::vector<double> constants, std::size_t count) {
  std::vector<double> values(count, 1);
  values.insert(values.end(), constants.begin(), constants.end());
  if constexpr (parameter_count_of<F>() > 0) {
    for (std::size_t i = 0; i < count; ++i) {
      const int index = static_cast<int>(i);
      values[i] = made_of<F>(values).parameter_at(index, F::first_working(index));
    }
  }
  return values;
}

template <class F>
std::vector<double> first_constants() {
  std::vector<double> constants;
  for (int i = 0; i < constant_count_of<F>(); ++i) {
    if constexpr (constant_count_of<F>() > 0) constants.push_back(F::first_constant(i));
  }
  return constants;
}

template <class F>
Family to_be_estimated() {
  const std::size_t count = CountedFamily<F> ? 2 : parameter_count_of<F>();
  const std::vector<double> values = first_values<F>(first_constants<F>(), count);
  const Family family(made_of<F>(values));
  return parameter_count_of<F>() > 0 ? family.estimated(true) : family;
}

template <class... F>
std::vector<Family> all_of(FamilyList<F...> /*list*/) {
  return {to_be_estimated<F>()...};
}

/// Calls `use(type, index)` for each value (parameter or constant) of a family.
template <class T, class Use>
std::vector<T> of_each_value(const Family& family, const Use& use) {
  return visit(family, [&](const auto& one) {
    using F = std::decay_t<decltype(one)>;
    std::vector<T> all;
    if constexpr (ValuedFamily<F>) {
      for (int i = 0; i < value_count_of(one); ++i) all.push_back(use(one, i));
    }
    return all;
  });
}

/// The index of a word among the choices of a constant; empty if it is not among them.
template <class F>
std::optional<double> choice_of(const std::string& word) {
  if constexpr (requires { F::choices; }) {
    const auto* const found = std::ranges::find(F::choices, word);
    if (found != std::end(F::choices)) return static_cast<double>(found - std::begin(F::choices));
  }
  return std::nullopt;
}

/// The name of the link that R calls power(lambda).
std::string_view power_link(const std::string& text) {
  constexpr std::pair<const char*, const char*> known[] = {{"power(0)", "log"},
                                                           {"power(1)", "identity"},
                                                           {"power(0.5)", "sqrt"},
                                                           {"power(-1)", "inverse"},
                                                           {"power(-2)", "1/mu^2"}};
  const auto* const found = std::ranges::find(known, text, [](const auto& one) { return one.first; });
  return found == std::end(known) ? std::string_view(text) : std::string_view(found->second);
}

/// The arguments of a call. A family takes those that it knows; the rest are unknown arguments.
struct GivenArguments {
  std::optional<std::string> link{};
  std::vector<double> theta{};
  std::vector<std::optional<double>> constants{};
  std::optional<double> classes{};
  bool all_known = true;
};

template <class F>
bool may_be_thetas(std::size_t size) {
  constexpr std::size_t thetas = theta_count_of<F>();
  return size > 0 && (CountedFamily<F> ? size < thetas : size == thetas);
}

/// The number of parameters of a family with these arguments.
template <class F>
std::size_t parameter_count_with([[maybe_unused]] const GivenArguments& given) {
  if constexpr (CountedFamily<F>) {
    const double classes = given.classes.value_or(static_cast<double>(given.theta.size()) + 2);
    if (!given.classes && given.theta.empty())
      throw base::usage_error("{0}: the number of classes is missing: write {0}(R=4)", F::name);
    if (!(classes >= F::least_classes && classes <= F::most_classes && classes == std::floor(classes)))
      throw base::usage_error("{}: R is {:g}: give the number of classes, from {} to {}; two are binomial",
                              F::name, classes, F::least_classes, F::most_classes);
    if (!given.theta.empty() && static_cast<double>(given.theta.size()) != classes - 2)
      throw base::usage_error("{}: theta has {} numbers, but {:g} classes have {:g}: leave R or theta out",
                              F::name, given.theta.size(), classes, classes - 2);
    return static_cast<std::size_t>(classes) - 1;
  } else {
    return static_cast<std::size_t>(parameter_count_of<F>());
  }
}

template <class F>
GivenArguments given_to(const std::vector<WrittenFamily::Argument>& arguments) {
  GivenArguments given{.constants = std::vector<std::optional<double>>(constant_count_of<F>())};
  const auto constant = [&](const WrittenFamily::Argument& argument) {
    for (std::size_t i = 0; i < given.constants.size(); ++i) {
      if constexpr (constant_count_of<F>() > 0) {
        const int index = parameter_count_of<F>() + static_cast<int>(i);
        if (given.constants[i] || (!argument.name.empty() && argument.name != F::parameter_name(index)))
          continue;
        const auto choice = choice_of<F>(argument.text);
        if (!choice && argument.numbers.size() != 1) return false;
        given.constants[i] = choice ? *choice : argument.numbers[0];
        return true;
      }
    }
    return false;
  };
  for (const WrittenFamily::Argument& argument : arguments) {
    const auto may_be = [&](const char* name) { return argument.name.empty() || argument.name == name; };
    if (argument.name == "theta" && argument.text == "NULL") continue;  // R's default
    const bool is_choice = !argument.name.empty() ? false : choice_of<F>(argument.text).has_value();
    if (may_be("link") && argument.numbers.empty() && !given.link && !is_choice) {
      given.link = std::string(power_link(in_small_letters(argument.text)));
    } else if (may_be("theta") && may_be_thetas<F>(argument.numbers.size()) && given.theta.empty()) {
      given.theta = argument.numbers;
    } else if (CountedFamily<F> && argument.name == "R" && argument.numbers.size() == 1 && !given.classes) {
      given.classes = argument.numbers[0];
    } else if (!constant(argument)) {
      given.all_known = false;
    }
  }
  return given;
}

/// The family with the values in a call, and R's defaults for others. As in mgcv, a negative theta is minus
/// an initial estimate, and theta = 0 means no estimate.
template <class F>
Family with_values(const GivenArguments& given) {
  std::vector<double> constants = first_constants<F>();
  for (std::size_t i = 0; i < constants.size(); ++i) constants[i] = given.constants[i].value_or(constants[i]);
  std::vector<double> values = first_values<F>(std::move(constants), parameter_count_with<F>(given));
  if constexpr (requires { F::theta_is_working; }) {
    for (std::size_t i = 0; i < given.theta.size(); ++i)
      values[i] = made_of<F>(values).parameter_at(static_cast<int>(i), given.theta[i]);
    return Family(made_of<F>(values)).estimated(given.theta.empty());
  }
  const bool has_theta = !given.theta.empty() && std::ranges::find(given.theta, 0.0) == given.theta.end();
  if (has_theta)
    std::ranges::transform(given.theta,
                           values.end() - (CountedFamily<F> ? std::ssize(given.theta) : std::ssize(values)),
                           [](double value) { return std::abs(value); });
  if constexpr (requires { F::settle_constants(values.data()); }) {
    if (has_theta) F::settle_constants(values.data());
  }
  if constexpr (CountedFamily<F>) {
    // Its theta are distances from one value to the next.
    for (std::size_t i = 1; has_theta && i < values.size(); ++i)
      values[i] = made_of<F>(values).parameter_at(static_cast<int>(i), std::log(values[i]));
  }
  const Family family(made_of<F>(values));
  if (parameter_count_of<F>() == 0) return family;
  return family.estimated(!has_theta ||
                          std::ranges::any_of(given.theta, [](double value) { return value < 0; }));
}

/// Advice for a family of mgcv that is not available: the nearest available one.
std::optional<std::string_view> nearest_to(std::string_view name) {
  constexpr std::pair<const char*, const char*> known[] = {
      {"cox.ph", "write poisson for events in intervals, with offset(log(time))"},
      {"bcg", "write gaussian or gamma for uncensored responses"},
      {"gfam", "fit the rows of each family separately"},
      {"twlss", "write tw, with a constant p and phi"},
      {"mvn", "fit each response separately"}};
  const auto* const found =
      std::ranges::find(known, name, [](const auto& one) { return std::string_view(one.first); });
  return found == std::end(known) ? std::nullopt : std::optional<std::string_view>(found->second);
}

/// Number of values in a family's title.
template <class F>
constexpr int shown_count_of([[maybe_unused]] const F& family) {
  if constexpr (CountedFamily<F>) {
    return family.classes() - 1;
  } else {
    return F::shown_count;
  }
}

struct CalledFamily {
  GivenArguments given;
  Family family;
};

/// The family at an index of the list, with its default link.
template <class... F>
CalledFamily called(FamilyList<F...> /*list*/, int index,
                    const std::vector<WrittenFamily::Argument>& arguments) {
  CalledFamily out;
  int place = 0;
  const auto call = [&]<class One>() {
    if (place++ != index) return;
    out.given = given_to<One>(arguments);
    out.family = with_values<One>(out.given);
  };
  (call.template operator()<F>(), ...);
  return out;
}

}  // namespace

std::string_view Family::name() const {
  return visit(*this, [](const auto& family) -> std::string_view { return family.name; });
}

bool Family::may_have(std::size_t values) const {
  return visit(*this, [&](const auto& family) {
    using F = std::decay_t<decltype(family)>;
    if constexpr (CountedFamily<F>) return values > 1 && values <= parameter_count_of<F>();
    return values == parameters_.size();
  });
}

Family Family::at(std::vector<double> parameters) const {
  if (!may_have(parameters.size()))
    throw std::invalid_argument(fmt::format("{} has {} parameters", name(), parameters_.size()));
  Family family = *this;
  family.parameters_ = std::move(parameters);
  return family;
}

std::size_t Family::parameter_count() const {
  return visit(*this,
               [](const auto& family) { return static_cast<std::size_t>(parameter_count_of(family)); });
}

bool Family::estimates(std::size_t index) const {
  return visit(*this, [&](const auto& family) {
    using F = std::decay_t<decltype(family)>;
    return index < static_cast<std::size_t>(parameter_count_of(family)) &&
           (estimated_ || index >= static_cast<std::size_t>(theta_count_of<F>())) &&
           !(CountedFamily<F> && index == 0);
  });
}

bool Family::moves(std::size_t index, bool with_intercept) const {
  return estimates(index) || (index == 0 && with_intercept && estimated_ && has_classes());
}

bool Family::estimates_parameters() const {
  const std::size_t count = parameter_count();
  return count > 0 && estimates(count - 1);
}

Family Family::estimated(bool estimated) const {
  if (parameter_count() == 0) throw std::invalid_argument(std::string(name()) + " has no parameter");
  Family family = *this;
  family.estimated_ = estimated;
  return family;
}

std::vector<std::string> Family::parameter_names() const {
  return of_each_value<std::string>(*this, [](const auto& family, int i) {
    std::string name = family.parameter_name(i);
    if constexpr (CountedFamily<std::decay_t<decltype(family)>>) name += std::to_string(i + 1);
    return name;
  });
}

bool Family::has_such_parameters() const {
  return std::ranges::all_of(working_parameters(), [](double value) { return std::isfinite(value); });
}

std::vector<double> Family::working_parameters() const {
  return of_each_value<double>(
      *this, [](const auto& family, int i) { return family.working(i, family.parameter(i)); });
}

Family Family::at_working(std::span<const double> working) const {
  Family out = *this;
  for (std::size_t i = 0; i < parameter_count(); ++i) {
    if (!moves(i, true)) continue;
    // A parameter may be relative to those before it.
    out.parameters_[i] = visit(out, [&](const auto& family) {
      double value = 0;
      if constexpr (ParametricFamily<std::decay_t<decltype(family)>>) {
        const int index = static_cast<int>(i);
        double inside = working[i];
        value = family.parameter_at(index, inside);
        // Rounding may have put the mean at an end of its interval, where there is no predictor: approach
        // the last one inside.
        while (std::isfinite(inside) && !std::isfinite(family.working(index, value)))
          value = family.parameter_at(index, inside *= 0.95);
      }
      return value;
    });
  }
  return out;
}

std::string_view Family::at_limit() const {
  return visit(*this, [](const auto& family) -> std::string_view {
    if constexpr (ParametricFamily<std::decay_t<decltype(family)>>) {
      return family.at_limit;
    } else {
      return {};
    }
  });
}

std::string Family::text() const {
  if (several_) return several_->text;
  std::vector<std::string> arguments = visit(*this, [&](const auto& family) {
    using F = std::decay_t<decltype(family)>;
    std::vector<std::string> all;
    if constexpr (ValuedFamily<F>) {
      std::vector<double> theta(
          parameters_.begin(),
          parameters_.begin() + std::min(theta_count_of<F>(), parameter_count_of(family)));
      if constexpr (CountedFamily<F>) {
        theta.pop_back();
        for (std::size_t i = 0; i < theta.size(); ++i) theta[i] = family.theta(static_cast<int>(i) + 1);
      }
      if constexpr (requires { F::theta_is_working; }) {
        if (estimated_) theta.clear();
        for (std::size_t i = 0; i < theta.size(); ++i)
          theta[i] = family.working(static_cast<int>(i), theta[i]);
      } else if (estimated_) {
        std::ranges::transform(theta, theta.begin(), std::negate());
      }
      if (theta.size() == 1) all.push_back(fmt::format("theta={}", theta[0]));
      if (theta.size() > 1) all.push_back(fmt::format("theta=c({})", fmt::join(theta, ", ")));
      for (int i = parameter_count_of(family); i < value_count_of(family); ++i) {
        const double value = family.parameter(i);
        if (std::isnan(value)) continue;  // the fit chooses it
        if constexpr (requires { F::choices; }) {
          all.push_back(fmt::format("{}=\"{}\"", F::parameter_name(i), F::choices[static_cast<int>(value)]));
        } else {
          all.push_back(fmt::format("{}={}", F::parameter_name(i), value));
        }
      }
    }
    return all;
  });
  if (link_ > 0) arguments.push_back(fmt::format("{}", link_name()));
  return arguments.empty() ? std::string(name()) : fmt::format("{}({})", name(), fmt::join(arguments, ", "));
}

std::string Family::title() const {
  return visit(*this, [&](const auto& family) -> std::string {
    using F = std::decay_t<decltype(family)>;
    if constexpr (requires { F::title[0]; }) {
      std::vector<std::string> values;
      for (int i = 0; i < shown_count_of(family); ++i) {
        double value = family.parameter(i);
        if constexpr (requires { family.shown(0); }) value = family.shown(i);
        // A title shows three decimals, like R's paste() of round(theta, 3).
        if (i < parameter_count_of(family) && std::abs(value) < 1e12) value = std::round(value * 1000) / 1000;
        values.push_back(std::isinf(value) ? "Inf" : fmt::format("{:.15g}", value));
      }
      return fmt::format("{}{})", F::title, fmt::join(values, ","));
    } else {
      return std::string(family.name);
    }
  });
}

std::string Family::link_name() const {
  if (several_) return fmt::format("{}", fmt::join(several_->links(), " "));
  return custom() != nullptr ? custom()->link_name
                             : std::string(link_names().at(static_cast<std::size_t>(link_)));
}

std::vector<std::string_view> Family::link_names() const {
  return visit(*this, [](const auto& family) {
    std::vector<std::string_view> names;
    if constexpr (BuiltInFamily<std::decay_t<decltype(family)>>) {
      for (const Link link : family.links) names.emplace_back(gam::link_names[static_cast<int>(link)]);
    }
    return names;
  });
}

std::optional<Family> Family::linked(std::string_view name) const {
  const std::vector<std::string_view> names = link_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  Family family = *this;
  family.link_ = static_cast<int>(found - names.begin());
  return family;
}

bool Family::has_two_sides() const {
  return custom() == nullptr && !several_ && link_name() == "inverse" && !response_fault(-1);
}

int Family::classes() const {
  return visit(*this, [](const auto& family) {
    if constexpr (requires { family.classes(); }) return family.classes();
    return family.two_levels ? 2 : 0;
  });
}

int Family::first_class() const {
  return visit(*this, [](const auto& family) {
    if constexpr (requires { family.first_class; }) return family.first_class;
    return 0;
  });
}

std::vector<std::string> Family::outputs(std::span<const std::string> levels) const {
  if (several_) return several_->outputs(levels);
  return has_classes() ? class_suffixes(first_class(), classes(), levels) : std::vector<std::string>{""};
}

bool Family::has_outputs() const {
  return several_ || has_classes() || visit(*this, [](const auto& family) {
           return requires {
             family.respond(0.0);
           };
         });
}

void Family::respond(std::span<const double> eta, std::span<double> values,
                     std::span<double> jacobian) const {
  if (several_) return several_->respond(eta, values, jacobian);
  visit(*this, [&](const auto& family) {
    if constexpr (requires { family.probability(1, 0.0); }) {
      for (std::size_t c = 0; c < values.size(); ++c) {
        const auto [value, slope] = family.probability(family.first_class + static_cast<int>(c), eta[0]);
        values[c] = value;
        if (!jacobian.empty()) jacobian[c] = slope;
      }
    } else if constexpr (requires { family.respond(0.0); }) {
      const auto [value, slope] = family.respond(eta[0]);
      values[0] = value;
      if (!jacobian.empty()) jacobian[0] = slope;
    }
  });
}

double Family::fitted(double eta) const {
  return visit(*this, [&](const auto& family) {
    if constexpr (requires { family.respond(eta); }) {
      return family.respond(eta).value;
    } else {
      return family.mean(eta);
    }
  });
}

Family Family::on_side(int side) const {
  Family family = *this;
  family.side_ = side;
  return family;
}

PredictorRange Family::predictors() const {
  // The ends can only be -1, 0 or 1: links map the ends 0 and 1 of ranges of means to these.
  const auto valid = [&](double eta) {
    const double y = side_ < 0 ? -0.5 : 0.5;
    return std::isfinite(deviance(y, mean(eta), 1));
  };
  PredictorRange range;
  if (custom() != nullptr || several_) return range;
  for (const double end : {1.0, 0.0, -1.0}) {
    if (!valid(-2) && valid(end + 0.5)) range.lower = end;
  }
  for (const double end : {-1.0, 0.0, 1.0}) {
    if (!valid(2) && valid(end - 0.5)) range.upper = end;
  }
  return range;
}

std::string_view Family::residuals() const {
  return visit(*this, [](const auto& family) -> std::string_view { return family.residuals; });
}

bool Family::may_be_correlated() const {
  return visit(*this,
               [&](const auto& family) { return !several_ && !StepFamily<std::decay_t<decltype(family)>>; });
}

bool Family::scale_is_known() const {
  return visit(*this, [](const auto& family) { return family.scale_is_known; });
}

std::optional<double> Family::scale() const {
  return visit(*this, [](const auto& family) -> std::optional<double> {
    if constexpr (requires { family.scale(); }) {
      return family.scale();
    } else {
      return family.scale_is_known ? std::optional(1.0) : std::nullopt;
    }
  });
}

bool Family::linear() const {
  return visit(*this, [](const auto& family) { return family.linear; });
}

Start Family::start() const {
  return visit(*this, [](const auto& family) { return family.start; });
}

Limits Family::limits() const {
  return visit(*this, [](const auto& family) { return family.limits; });
}

bool Family::is_censored() const {
  return visit(*this, [](const auto& family) { return is_censored_family<std::decay_t<decltype(family)>>; });
}

bool Family::two_levels() const {
  return visit(*this, [](const auto& family) { return family.two_levels; });
}

double Family::mean(double eta) const {
  return visit(*this, [&](const auto& family) { return family.mean(eta); });
}

double Family::derivative(double eta) const {
  return visit(*this, [&](const auto& family) { return family.derivative(eta); });
}

double Family::working_weight(Response y, double eta, double prior) const {
  return visit(*this, [&](const auto& family) {
    if constexpr (StepFamily<std::decay_t<decltype(family)>>) {
      return row_step(family, y, eta, prior).weight;
    } else {
      return family.weight(prior, family.mean(eta), family.derivative(eta));
    }
  });
}

double Family::working_residual(Response y, double eta) const {
  return visit(*this, [&](const auto& family) {
    if constexpr (StepFamily<std::decay_t<decltype(family)>>) {
      return row_step(family, y, eta, 1).residual;
    } else {
      return (y - family.mean(eta)) / family.derivative(eta);
    }
  });
}

double Family::response_residual(Response y, double mu) const {
  return visit(*this, [&](const auto& family) -> double {
    if constexpr (requires { family.class_at(mu); }) {
      return y - family.class_at(mu);
    } else if constexpr (requires { family.respond(mu); }) {
      return y - family.respond(mu).value;
    } else {
      return y - mu;
    }
  });
}

double Family::least_maximum() const {
  return visit(*this, [](const auto& family) {
    if constexpr (requires { family.least_maximum; }) {
      return family.least_maximum;
    } else {
      return -std::numeric_limits<double>::infinity();
    }
  });
}

double Family::residual_side(Response y, double mu) const {
  return visit(*this, [&](const auto& family) {
    if constexpr (requires { family.residual_side(y, mu); }) {
      return family.residual_side(y, mu);
    } else {
      return y - mu;
    }
  });
}

double Family::deviance(Response y, double mu, double prior) const {
  return visit(*this, [&](const auto& family) {
    double deviance = family.deviance(y, mu, prior);
    if constexpr (requires { family.saturated_mean(y); })
      deviance -= family.deviance(y, family.saturated_mean(y), prior);
    return deviance;
  });
}

double Family::variance(double mu) const {
  return visit(*this, [&](const auto& family) {
    if constexpr (requires { family.mean_step(mu, mu); } || StepFamily<std::decay_t<decltype(family)>>) {
      return std::numeric_limits<double>::quiet_NaN();
    } else if constexpr (requires { family.variance(mu); }) {
      return family.variance(mu);
    } else {
      const double slope = family.derivative(family.link(mu));
      return slope * slope / family.weight(1, mu, slope);
    }
  });
}

bool Family::deviance_lacks_saturated() const {
  return visit(*this, [](const auto& family) {
    return requires {
      family.saturated_mean(0.0);
    };
  });
}

bool Family::null_is_likeliest() const {
  return visit(*this, [](const auto& family) {
    return requires {
      family.null_is_likeliest;
    };
  });
}

std::optional<double> Family::predictor(double mean) const {
  return visit(*this, [&](const auto& family) -> std::optional<double> {
    if constexpr (BuiltInFamily<std::decay_t<decltype(family)>>) {
      const double eta = family.link(mean);
      return std::isnan(eta) ? std::nullopt : std::optional(eta);
    } else {
      return predictor_of(family, mean);
    }
  });
}

std::optional<std::string_view> Family::response_fault(Response y) const {
  if (!std::isfinite(y)) return "must be finite";
  const char* fault = visit(*this, [&](const auto& family) { return family.response_fault(y); });
  return fault == nullptr ? std::nullopt : std::optional<std::string_view>(fault);
}

double Family::minus_two_log_likelihood(Response y, double mu, double weight, double scale) const {
  if (!(weight > 0)) return 0;
  return visit(*this,
               [&](const auto& family) { return family.minus_two_log_likelihood(y, mu, weight, scale); });
}

bool Family::likelihood_rounds(double y, double weight) const {
  return visit(*this, [&](const auto& family) { return family.likelihood_rounds(y, weight); });
}

std::size_t Family::first_fault(std::span<const double> responses) const {
  return visit(*this, [&](const auto& family) {
    const auto fault = std::ranges::find_if(
        responses, [&](double y) { return !std::isfinite(y) || family.response_fault(y) != nullptr; });
    return static_cast<std::size_t>(fault - responses.begin());
  });
}

std::optional<double> Family::constant_saturated(double scale) const {
  return visit(*this, [&](const auto& family) -> std::optional<double> {
    if constexpr (requires { family.deviance_is_whole; })
      return 0;
    else if constexpr (requires { family.saturated_is_constant; })
      return family.minus_two_log_likelihood(0, saturated_mean(family, 0), 1, scale);
    else
      return std::nullopt;
  });
}

double Family::aic_scale(double deviance, double rows, double scale) const {
  return visit(*this, [&](const auto& family) { return family.aic_scale(deviance, rows, scale); });
}

double Family::aic_misfit(double deviance, [[maybe_unused]] double weights, double scale) const {
  return visit(*this, [&](const auto& family) {
    if constexpr (requires { family.aic_misfit(weights); }) {
      return family.aic_misfit(weights);
    } else {
      return deviance / scale;
    }
  });
}

std::string Family::device_source() const {
  if (const CustomFamily* family = custom())
    return family_device_source(*family) + "constexpr OwnFamily family_of(const double*) { return {}; }\n";
  if (several_) return several_->device_source();
  return fmt::format(
      "constexpr auto family_of(const double* parameters) {{\n"
      "  return family_at<{}, {}, {}>(BuiltInFamilies{{}}, parameters, {});\n}}\n",
      index_, link_, side_, parameters_.size());
}

int Family::index_of(std::string_view name) {
  const auto names = names_of(BuiltInFamilies{});
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw std::invalid_argument(std::string(name) + " is not in the list of families");
  return static_cast<int>(found - names.begin());
}

std::vector<Family> built_in_families() {
  return all_of(BuiltInFamilies{});
}

std::optional<Family> parse_family(std::string_view text) {
  if (const auto written = parse_written(std::string(text))) {
    if (auto several = several_of(*written)) return Family(std::move(several));
  }
  const auto families = built_in_families();
  const auto found = std::find_if(families.begin(), families.end(), [&](const Family& family) {
    return text == family.name() || text == in_small_letters(family.name());
  });
  return found == families.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family& family : built_in_families()) names.push_back(in_small_letters(family.name()));
  for (const std::string_view name : several_family_names()) names.emplace_back(name);
  return names;
}

std::string Family::toml() const {
  if (custom_) return to_toml(*custom_);
  return several_ ? several_->toml() : std::string();
}

Family own_family(const std::string& toml, const std::string& origin) {
  if (is_own_several(toml, origin)) return Family(parse_own_several(toml, origin));
  return Family(parse_custom_family(toml, origin));
}

std::vector<QuantileFamily> quantile_families(const std::string& text) {
  const auto written = parse_written(text);
  if (!written || in_small_letters(written->name) != Elf::name) return {};
  const auto qu = std::ranges::find_if(written->arguments, [](const WrittenFamily::Argument& one) {
    return one.name == Elf::parameter_name(Elf::at_qu) || (one.name.empty() && !one.numbers.empty());
  });
  if (qu == written->arguments.end() || qu->numbers.size() < 2) return {};
  std::vector<QuantileFamily> families;
  for (std::size_t i = 0; i < qu->numbers.size(); ++i) {
    std::vector<std::string> arguments;
    for (const WrittenFamily::Argument& one : written->arguments) {
      const bool is_listed = one.numbers.size() == qu->numbers.size();
      arguments.push_back((one.name.empty() ? "" : one.name + "=") +
                          (is_listed ? fmt::format("{}", one.numbers[i]) : one.text));
    }
    families.push_back({qu->numbers[i], fmt::format("{}({})", Elf::name, fmt::join(arguments, ", "))});
  }
  std::ranges::sort(families, {}, &QuantileFamily::qu);
  return families;
}

Family chosen_family(const std::string& text) {
  if (text.starts_with('@')) {
    const std::string path = text.substr(1);
    const std::string toml = files::read_text(path, max_family_bytes);
    try {
      return own_family(toml, path);
    } catch (const Error& fault) {
      throw Error(ErrorCode::input, fault.what());  // the fault is in a file, not in an option
    }
  }
  const auto refuse = [&](const std::string& why) {
    throw base::usage_error("the family '{}'{}", text, why);
  };
  auto written = parse_written(text);
  const bool is_negbin = written && in_small_letters(written->name) == "negbin";
  if (is_negbin) written->name = "nb";
  if (written) {
    if (auto several = several_of(*written)) return Family(std::move(several));
  }
  const auto known = written ? parse_family(in_small_letters(written->name)) : std::nullopt;
  const auto no_family = [&] {
    refuse(fmt::format(" is not {}: write @FILE for a custom family", base::list_text(family_names(), "or")));
  };
  if (!quantile_families(text).empty()) refuse(": a fit has one quantile: fit each of them by itself");
  if (written && !known) {
    if (const auto near = nearest_to(in_small_letters(written->name)))
      refuse(fmt::format(" is not available: {}", *near));
  }
  if (!known) no_family();
  auto [given, family] = called(BuiltInFamilies{}, known->index(), written->arguments);
  if (!given.all_known) no_family();
  if (is_negbin && (given.theta.empty() || !(given.theta[0] > 0)))
    refuse(": negbin needs a theta above 0: write negbin(3), or nb to have it estimated");
  if (given.link) {
    const auto linked = family.linked(*given.link);
    const auto names = family.link_names();
    const std::string name = in_small_letters(family.name());
    if (!linked)
      refuse(fmt::format(": the link of {} is {}: write {}, or @FILE for a custom family", name,
                         base::list_text({names.begin(), names.end()}, "or"), name));
    family = *linked;
  }
  const std::vector<double> working = family.working_parameters();
  const auto invalid = std::ranges::find_if(working, [](double value) { return !std::isfinite(value); });
  if (invalid != working.end()) {
    const auto index = static_cast<std::size_t>(invalid - working.begin());
    refuse(fmt::format(": {} cannot be {:g}", family.parameter_names()[index], family.parameters()[index]));
  }
  return family;
}

}  // namespace TESSERA_NAMESPACE::gam
