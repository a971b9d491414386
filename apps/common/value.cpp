// SPDX-License-Identifier: Apache-2.0
#include "common/value.hpp"

#include <algorithm>

namespace tessera::apps {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

Value value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  // CLI11 describes a value as TYPE:CHECK, e.g. "TEXT:{auto,gpu,cpu}" or "INT:INT in [0 - 4096]"; a check of
  // our own is "INT:[0 - 4096]".
  const std::string described = option.get_type_name();
  const std::size_t colon = described.find(':');
  Value value;
  value.name = described.substr(0, colon);
  if (colon == std::string::npos) return value;
  const std::string check = described.substr(colon + 1);
  if (check.size() > 2 && check.front() == '{' && check.back() == '}') {
    value.choices = split(check.substr(1, check.size() - 2), ',');
  } else if (const std::size_t limits = check.find('['); limits != std::string::npos) {
    value.limits = check.substr(limits + 1, check.find(']', limits) - limits - 1);
  } else {
    value.name = check;
  }
  return value;
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* sub) { return !sub->get_name().empty(); });
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  return app.get_options(
      [](const CLI::Option* option) { return option->nonpositional() && !option->get_group().empty(); });
}

std::vector<const CLI::Option*> positionals_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace tessera::apps
