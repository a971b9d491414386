// SPDX-License-Identifier: Apache-2.0
#include "gam/family/family.hpp"

#include "gam/family/visit.hpp"
#include "gam/formula/syntax.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/family.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/listed.hpp"
#include "files/input_file.hpp"

namespace tessera::gam {
namespace {

/// A file of a few expressions is much smaller.
constexpr std::int64_t max_family_bytes = std::int64_t{1} << 20;

std::string in_small_letters(std::string_view name) {
  std::string small(name);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

/// A family as R's users write it: "poisson", "poisson()", "Gamma(link = log)", "binomial('logit')",
/// "nb(theta = 3)".
struct WrittenFamily {
  std::string name;
  std::optional<std::string> link{};
  std::optional<double> theta{};
};

std::optional<double> number_of(const Syntax& tree) {
  if (tree.kind == Syntax::Kind::number) return tree.number;
  if (tree.kind != Syntax::Kind::unary || tree.text != "-") return std::nullopt;
  const auto positive = number_of(tree.children[0]);
  return positive ? std::optional(-*positive) : std::nullopt;
}

std::optional<WrittenFamily> parse_written(const std::string& text) {
  const auto word = [](const Syntax& tree) {
    return tree.kind == Syntax::Kind::name || tree.kind == Syntax::Kind::text;
  };
  try {
    const Syntax tree = parse_syntax(text);
    if (word(tree)) return WrittenFamily{tree.text};
    if (tree.kind != Syntax::Kind::call) return std::nullopt;
    WrittenFamily written{tree.text};
    for (std::size_t i = 0; i < tree.children.size(); ++i) {
      const Syntax& argument = tree.children[i];
      const auto may_be = [&](const char* name) {
        return tree.argument_names[i].empty() || tree.argument_names[i] == name;
      };
      if (word(argument) && may_be("link") && !written.link) {
        written.link = argument.text;
      } else if (number_of(argument) && may_be("theta") && !written.theta) {
        written.theta = number_of(argument);
      } else {
        return std::nullopt;
      }
    }
    return written;
  } catch (const Error&) {
    return std::nullopt;  // text that is no expression is no family
  }
}

template <class... F>
std::vector<std::string_view> names_of(FamilyList<F...> /*list*/) {
  return {F::name...};
}

template <class F>
Family to_be_estimated() {
  std::vector<double> parameters;
  if constexpr (parameter_count_of<F>() > 0) {
    for (int i = 0; i < F::parameter_count; ++i) parameters.push_back(F::first_parameter(i));
  }
  const Family family(family_of<F>(parameters.data()));
  return parameters.empty() ? family : family.estimated(true);
}

template <class... F>
std::vector<Family> all_of(FamilyList<F...> /*list*/) {
  return {to_be_estimated<F>()...};
}

/// Calls `use` for each parameter of a family, with the family's type and the parameter's index.
template <class T, class Use>
std::vector<T> of_each_parameter(const Family& family, const Use& use) {
  return visit(family, [&](const auto& one) {
    using F = std::decay_t<decltype(one)>;
    std::vector<T> all;
    if constexpr (ParametricFamily<F>) {
      for (int i = 0; i < F::parameter_count; ++i) all.push_back(use(one, i));
    }
    return all;
  });
}

}  // namespace

std::string_view Family::name() const {
  return visit(*this, [](const auto& family) -> std::string_view { return family.name; });
}

Family Family::at(std::vector<double> parameters) const {
  if (parameters.size() != parameters_.size())
    throw std::invalid_argument(fmt::format("{} has {} parameters", name(), parameters_.size()));
  Family family = *this;
  family.parameters_ = std::move(parameters);
  return family;
}

Family Family::estimated(bool estimated) const {
  if (parameters_.empty()) throw std::invalid_argument(std::string(name()) + " has no parameter");
  Family family = *this;
  family.estimated_ = estimated;
  return family;
}

std::vector<std::string_view> Family::parameter_names() const {
  return of_each_parameter<std::string_view>(
      *this, [](const auto& family, int i) { return family.parameter_name(i); });
}

bool Family::has_such_parameters() const {
  return std::ranges::all_of(working_parameters(), [](double value) { return std::isfinite(value); });
}

std::vector<double> Family::working_parameters() const {
  return of_each_parameter<double>(
      *this, [](const auto& family, int i) { return family.working(i, family.parameter(i)); });
}

Family Family::at_working(std::span<const double> working) const {
  return at(of_each_parameter<double>(*this, [&](const auto& family, int i) {
    return family.parameter_at(i, working[static_cast<std::size_t>(i)]);
  }));
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
  std::vector<std::string> arguments;
  for (const double value : parameters_)
    arguments.push_back(fmt::format("theta={}", estimated_ ? -value : value));
  if (link_ > 0) arguments.push_back(fmt::format("{}", link_name()));
  return arguments.empty() ? std::string(name()) : fmt::format("{}({})", name(), fmt::join(arguments, ", "));
}

std::string Family::title() const {
  return visit(*this, [&](const auto& family) -> std::string {
    if constexpr (ParametricFamily<std::decay_t<decltype(family)>>) {
      std::vector<std::string> values;
      // As R's paste() of round(theta, 3).
      for (const double value : parameters_)
        values.push_back(fmt::format("{:.15g}", value < 1e12 ? std::round(value * 1000) / 1000 : value));
      return fmt::format("{}({})", family.title, fmt::join(values, ","));
    } else {
      return std::string(family.name);
    }
  });
}

std::string_view Family::link_name() const {
  return custom() != nullptr ? std::string_view(custom()->link_name)
                             : link_names().at(static_cast<std::size_t>(link_));
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

std::string_view Family::residuals() const {
  return visit(*this, [](const auto& family) -> std::string_view { return family.residuals; });
}

bool Family::scale_is_known() const {
  return visit(*this, [](const auto& family) { return family.scale_is_known; });
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

bool Family::two_levels() const {
  return visit(*this, [](const auto& family) { return family.two_levels; });
}

double Family::mean(double eta) const {
  return visit(*this, [&](const auto& family) { return family.mean(eta); });
}

double Family::derivative(double eta) const {
  return visit(*this, [&](const auto& family) { return family.derivative(eta); });
}

double Family::deviance(double y, double mu, double prior) const {
  return visit(*this, [&](const auto& family) { return family.deviance(y, mu, prior); });
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

std::optional<std::string_view> Family::response_fault(double y) const {
  if (!std::isfinite(y)) return "must be finite";
  const char* fault = visit(*this, [&](const auto& family) { return family.response_fault(y); });
  return fault == nullptr ? std::nullopt : std::optional<std::string_view>(fault);
}

double Family::minus_two_log_likelihood(double y, double mu, double weight, double scale) const {
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

double Family::add_saturated(double sum, std::span<const double> responses, std::span<const double> weights,
                             double scale, const std::function<double(std::size_t)>& predictor) const {
  return visit(*this, [&](const auto& family) {
    const auto add = [&](const auto& weight_of) {
      for (std::size_t i = 0; i < responses.size(); ++i) {
        const double y = responses[i];
        const double weight = weight_of(i);
        if (!(weight > 0)) continue;
        if (!family.likelihood_rounds(y, weight)) {
          sum += family.minus_two_log_likelihood(y, y, weight, scale);
          continue;
        }
        const double mu = family.mean(predictor(i));
        sum += family.minus_two_log_likelihood(y, mu, weight, scale) - family.deviance(y, mu, weight) / scale;
      }
      return sum;
    };
    // With equal weights, what depends on the weight alone is computed once.
    return weights.empty() ? add([](std::size_t) { return 1.0; })
                           : add([&](std::size_t i) { return weights[i]; });
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
  return fmt::format(
      "constexpr auto family_of(const double* parameters) {{\n"
      "  return family_at<{}, {}>(BuiltInFamilies{{}}, parameters);\n}}\n",
      index_, link_);
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
  const auto families = built_in_families();
  const auto found = std::find_if(families.begin(), families.end(), [&](const Family& family) {
    return text == family.name() || text == in_small_letters(family.name());
  });
  return found == families.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family& family : built_in_families()) names.push_back(in_small_letters(family.name()));
  return names;
}

Family chosen_family(const std::string& text) {
  if (text.starts_with('@')) {
    const std::string path = text.substr(1);
    const std::string toml = files::read_text(path, max_family_bytes);
    try {
      return Family(parse_custom_family(toml, path));
    } catch (const Error& fault) {
      throw Error(ErrorCode::input, fault.what());  // of a file, not of the command line
    }
  }
  const auto written = parse_written(text);
  auto known = written ? parse_family(in_small_letters(written->name)) : std::nullopt;
  if (known && written->link) {
    const auto linked = known->linked(in_small_letters(*written->link));
    const auto names = known->link_names();
    if (!linked)
      throw Error(
          ErrorCode::usage,
          fmt::format("the family '{}': the link of {} is {}: write {}, or @FILE for a custom family", text,
                      in_small_letters(known->name()), base::listed({names.begin(), names.end()}, "or"),
                      in_small_letters(known->name())));
    known = linked;
  }
  if (known && !written->theta) return *known;
  if (known && known->parameters().size() == 1) {
    if (*written->theta == 0) return *known;
    Family there = known->at({std::abs(*written->theta)}).estimated(*written->theta < 0);
    if (there.has_such_parameters()) return there;
    throw Error(ErrorCode::usage, fmt::format("the family '{}': {} cannot be {:g}", text,
                                              known->parameter_names()[0], *written->theta));
  }
  throw Error(ErrorCode::usage, fmt::format("the family '{}' is not {}: write @FILE for a custom family",
                                            text, base::listed(family_names(), "or")));
}

}  // namespace tessera::gam
