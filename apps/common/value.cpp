// SPDX-License-Identifier: Apache-2.0
#include "common/value.hpp"

#include <string_view>

#include "base/text.hpp"

namespace tessera::apps {

Value value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  // CLI11 describes a value as TYPE:CHECK, e.g. "TEXT:{auto,gpu,cpu}" or "INT:INT in [0 - 4096]"; our own
  // checks give e.g. "INT:[0 - 4096]".
  const std::string described = option.get_type_name();
  const std::size_t colon = described.find(':');
  Value value;
  value.name = described.substr(0, colon);
  if (colon == std::string::npos) return value;
  const std::string check = described.substr(colon + 1);
  if (check.size() > 2 && check.front() == '{' && check.back() == '}') {
    for (const std::string_view choice :
         base::split(std::string_view(check).substr(1, check.size() - 2), ','))
      value.choices.emplace_back(choice);
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
