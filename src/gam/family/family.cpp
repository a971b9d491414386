// SPDX-License-Identifier: Apache-2.0
#include "gam/family/family.hpp"

#include "gam/family/visit.hpp"
#include "gam/formula/syntax.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/family.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "base/listed.hpp"
#include "files/input_file.hpp"

namespace tessera::gam {
namespace {

/// Of a file of a few expressions.
constexpr std::int64_t max_family_bytes = std::int64_t{1} << 20;

std::string in_small_letters(std::string_view name) {
  std::string small(name);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

/// A family as R's users write it: "poisson", "poisson()", "Gamma(link = log)", "binomial('logit')".
struct WrittenFamily {
  std::string name;
  std::optional<std::string> link;
};

std::optional<WrittenFamily> parse_written(const std::string& text) {
  const auto word = [](const Syntax& tree) {
    return tree.kind == Syntax::Kind::name || tree.kind == Syntax::Kind::text;
  };
  try {
    const Syntax tree = parse_syntax(text);
    if (word(tree)) return WrittenFamily{tree.text, std::nullopt};
    if (tree.kind != Syntax::Kind::call || tree.children.size() > 1) return std::nullopt;
    if (tree.children.empty()) return WrittenFamily{tree.text, std::nullopt};
    const std::string& argument = tree.argument_names[0];
    if (!word(tree.children[0]) || !(argument.empty() || argument == "link")) return std::nullopt;
    return WrittenFamily{tree.text, tree.children[0].text};
  } catch (const Error&) {
    return std::nullopt;  // what is no expression is no family
  }
}

template <class... F>
std::vector<std::string_view> names_of(FamilyList<F...> /*list*/) {
  return {F::name...};
}

template <class... F>
std::vector<Family> all_of(FamilyList<F...> /*list*/) {
  return {Family(F{})...};
}

}  // namespace

std::string_view Family::name() const {
  return visit(*this, [](const auto& family) -> std::string_view { return family.name; });
}

std::string_view Family::link_name() const {
  return visit(*this, [](const auto& family) -> std::string_view { return family.link_name; });
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
      return family.link(mean);
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
    // With one weight for all, what depends on it alone is computed once.
    return weights.empty() ? add([](std::size_t) { return 1.0; })
                           : add([&](std::size_t i) { return weights[i]; });
  });
}

double Family::aic_scale(double deviance, double rows, double scale) const {
  return visit(*this, [&](const auto& family) { return family.aic_scale(deviance, rows, scale); });
}

std::string Family::device_source() const {
  if (const CustomFamily* family = custom())
    return family_device_source(*family) + "constexpr OwnFamily family{};\n";
  return fmt::format("constexpr auto family = family_at<{}>(BuiltInFamilies{{}});\n", index_);
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
      throw Error(ErrorCode::input, fault.what());  // of a file, and not of the command line
    }
  }
  const auto written = parse_written(text);
  const auto known = written ? parse_family(in_small_letters(written->name)) : std::nullopt;
  if (known && written->link && in_small_letters(*written->link) != known->link_name())
    throw Error(ErrorCode::usage,
                fmt::format("the family '{}': {} is there with the link {} alone: write {}, or @FILE for a "
                            "custom family",
                            text, in_small_letters(known->name()), known->link_name(),
                            in_small_letters(known->name())));
  if (known) return *known;
  throw Error(ErrorCode::usage, fmt::format("the family '{}' is not {}: write @FILE for a custom family",
                                            text, base::listed(family_names(), "or")));
}

}  // namespace tessera::gam
