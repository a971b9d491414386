// SPDX-License-Identifier: Apache-2.0
// Parses calls of families, and lists the available families.
#include "gam/family/family.hpp"

#include "base/errors.hpp"
#include "base/list_text.hpp"
#include "base/math/elementary.hpp"
#include "files/input_file.hpp"
#include "gam/family/user_several.hpp"
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
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::int64_t max_family_bytes = std::int64_t{1} << 20;

std::string in_small_letters(std::string_view name) {
  std::string small(name);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

/// A parsed call, such as "Gamma(link = log)".
struct WrittenFamily {
  struct Argument {
    std::string name;  ///< empty for a positional argument
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

/// The values of a number or of c(a, b); empty for any other expression.
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

/// Null unless the call names a family with several linear predictors.
std::shared_ptr<const SeveralFamily> several_of(const WrittenFamily& written) {
  std::vector<SeveralArgument> arguments;
  for (const WrittenFamily::Argument& one : written.arguments)
    arguments.push_back({one.name, one.numbers, one.words});
  return several_family(in_small_letters(written.name), arguments);
}

template <class F>
F made_of(const std::vector<double>& values) {
  return family_of<F>(values.data(), static_cast<int>(values.size()));
}

/// Initial estimates of `count` parameters, then the constants.
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

/// Index of a word among `F::choices`, the named values of a constant.
template <class F>
std::optional<double> choice_of(const std::string& word) {
  if constexpr (requires { F::choices; }) {
    const auto* const found = std::ranges::find(F::choices, word);
    if (found != std::end(F::choices)) return static_cast<double>(found - std::begin(F::choices));
  }
  return std::nullopt;
}

/// Translates R's power(lambda) to the name of the link.
std::string_view power_link(const std::string& text) {
  constexpr std::pair<const char*, const char*> known[] = {{"power(0)", "log"},
                                                           {"power(1)", "identity"},
                                                           {"power(0.5)", "sqrt"},
                                                           {"power(-1)", "inverse"},
                                                           {"power(-2)", "1/mu^2"}};
  const auto* const found = std::ranges::find(known, text, [](const auto& one) { return one.first; });
  return found == std::end(known) ? std::string_view(text) : std::string_view(found->second);
}

/// The arguments of a call, matched to those of a family type.
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

template <class F>
std::size_t parameter_count_with([[maybe_unused]] const GivenArguments& given) {
  if constexpr (CountedFamily<F>) {
    const double classes = given.classes.value_or(static_cast<double>(given.theta.size()) + 2);
    if (!given.classes && given.theta.empty())
      throw base::usage_error("{0}: the number of classes is missing: write {0}(R=4)", F::name);
    if (!(classes >= F::least_classes && classes <= F::most_classes && classes == std::floor(classes)))
      throw base::usage_error(
          "{}: R is {:g}: give the number of classes, from {} to {}; for two classes, use binomial", F::name,
          classes, F::least_classes, F::most_classes);
    if (!given.theta.empty() && static_cast<double>(given.theta.size()) != classes - 2)
      throw base::usage_error("{}: theta has {} numbers, but {:g} classes need {:g}: leave out R or theta",
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

/// The family with the values of a call, and R's defaults for missing arguments. As in mgcv, a negative theta
/// is minus an initial estimate, and theta = 0 counts as missing.
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
    // theta has the distances between successive thresholds.
    for (std::size_t i = 1; has_theta && i < values.size(); ++i)
      values[i] = made_of<F>(values).parameter_at(static_cast<int>(i), base::log(values[i]));
  }
  const Family family(made_of<F>(values));
  if (parameter_count_of<F>() == 0) return family;
  return family.estimated(!has_theta ||
                          std::ranges::any_of(given.theta, [](double value) { return value < 0; }));
}

std::optional<std::string_view> nearest_to(std::string_view name) {
  constexpr std::pair<const char*, const char*> known[] = {
      {"cox.ph", "write poisson for events in intervals, with offset(log(time))"},
      {"bcg", "write gaussian or gamma for uncensored responses"},
      {"gfam", "fit the rows of each family separately"},
      {"mvn", "fit each response separately"}};
  const auto* const found =
      std::ranges::find(known, name, [](const auto& one) { return std::string_view(one.first); });
  return found == std::end(known) ? std::nullopt : std::optional<std::string_view>(found->second);
}

struct CalledFamily {
  GivenArguments given;
  Family family;
};

/// Applies the arguments to the family type at `index` of the list. The link is still the default.
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

Family own_family(const std::string& toml, const std::string& origin) {
  if (auto several = parse_own_several(toml, origin)) return Family(std::move(several));
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
      throw Error(ErrorCode::input, fault.what());  // the error is in a file, not in an option
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
  if (!quantile_families(text).empty()) refuse(": a fit has only one quantile: fit each quantile separately");
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
      refuse(fmt::format(": {} needs the link {}: write {}, or @FILE for a custom family", name,
                         base::list_text({names.begin(), names.end()}, "or"), name));
    family = *linked;
  }
  if (family.name() == Elf::name && family.parameters()[Elf::at_qu] == 0)
    refuse(" lacks the quantile: write elf(qu=0.9)");
  const std::vector<double> working = family.working_parameters();
  const auto invalid = std::ranges::find_if(working, [](double value) { return !std::isfinite(value); });
  if (invalid != working.end()) {
    const auto index = static_cast<std::size_t>(invalid - working.begin());
    refuse(fmt::format(": {} cannot be {:g}", family.parameter_names()[index], family.parameters()[index]));
  }
  return family;
}

}  // namespace TESSERA_NAMESPACE::gam
