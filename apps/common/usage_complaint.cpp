// SPDX-License-Identifier: Apache-2.0
#include "common/usage_complaint.hpp"

#include <algorithm>
#include <tessera/error.hpp>
#include <utility>
#include <vector>

#include "base/did_you_mean.hpp"
#include "base/list_text.hpp"
#include "common/value.hpp"

namespace tessera::apps {
namespace {

/// Names of the options of `command`, and of its parents as far as options fall through.
std::vector<std::string> option_names(const CLI::App* command) {
  std::vector<std::string> names;
  for (; command != nullptr; command = command->get_parent()) {
    for (const CLI::Option* option : options_of(*command)) {
      for (std::string& name : names_of(*option)) names.push_back(std::move(name));
    }
    if (!command->get_fallthrough()) break;
  }
  return names;
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : subcommands_of(app)) names.push_back(command->get_name());
  return names;
}

}  // namespace

std::string usage_complaint(const CLI::App& app, const CLI::ParseError& fault) {
  const CLI::App* command = &app;
  std::string name = app.get_name();
  for (const CLI::App* parsed : app.get_subcommands()) {
    command = parsed;
    name = app.get_name() + " " + parsed->get_name();
  }
  const std::vector<std::string> subcommands = subcommand_names(app);
  const std::vector<std::string> unknown = app.remaining(true);
  const auto option = std::find_if(unknown.begin(), unknown.end(),
                                   [](const std::string& text) { return text.starts_with("-"); });
  std::string what = fault.what();
  if (option != unknown.end()) {
    const std::string given = option->substr(0, option->find('='));
    what = given + " is not an option of " + name + base::did_you_mean(option_names(command), given);
  } else if (!unknown.empty() && command == &app && !subcommands.empty()) {
    what = "'" + unknown.front() + "' is not a subcommand" +
           base::did_you_mean(subcommands, unknown.front()) + ": give " + base::list_text(subcommands, "or");
  } else if (!unknown.empty()) {
    what = "'" + unknown.front() + "' is one argument too many for " + name;
  } else if (command == &app && dynamic_cast<const CLI::RequiredError*>(&fault) != nullptr &&
             app.get_require_subcommand_min() > 0) {
    what = "the subcommand is missing: give " + base::list_text(subcommands, "or");
  }
  return what + "; see " + name + " --help";
}

bool parse(CLI::App& app, int argc, char** argv, bool prints) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::ParseError& fault) {
    if (fault.get_exit_code() != 0) throw Error(ErrorCode::usage, usage_complaint(app, fault));
    if (prints) app.exit(fault);
    return false;
  }
}

}  // namespace tessera::apps
