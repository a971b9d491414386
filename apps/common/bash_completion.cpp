// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/pages.hpp"
#include "common/value.hpp"

namespace tessera::apps {
namespace {

/// The options permitted after a subcommand: its own options and its parent's options that fall through.
std::vector<const CLI::Option*> options_within(const CLI::App& app, const CLI::App* sub) {
  auto options = options_of(sub == nullptr ? app : *sub);
  if (sub != nullptr && sub->get_fallthrough())
    for (const CLI::Option* option : options_of(app))
      if (std::ranges::none_of(options, [&](const auto* own) { return names_of(*own) == names_of(*option); }))
        options.push_back(option);
  return options;
}

/// The branches "command:option" of a bash case statement, each with the choices of the option's value.
std::string values(const CLI::App& app, const CLI::App* sub) {
  const std::string command = sub == nullptr ? "" : sub->get_name();
  std::string text;
  for (const CLI::Option* option : options_within(app, sub)) {
    const Value value = value_of(*option);
    if (value.name.empty()) continue;
    std::vector<std::string> patterns = names_of(*option);
    for (std::string& pattern : patterns) pattern.insert(0, command + ':');
    text += fmt::format("  {}) words='{}' ;;\n", fmt::join(patterns, " | "), fmt::join(value.choices, " "));
  }
  return text;
}

/// The `case` branch of a subcommand (null: the program), with the words that may follow.
std::string words(const CLI::App& app, const CLI::App* sub, std::vector<std::string> names) {
  for (const CLI::Option* option : options_within(app, sub)) names.push_back(names_of(*option).back());
  return fmt::format("    '{}') words='{}' ;;\n", sub == nullptr ? "" : sub->get_name(),
                     fmt::join(names, " "));
}

constexpr char head[] = R"(# bash completion of {}, made from the definition of its command line
{}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command= word words
  # In --option=value bash takes = for a word of its own.
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = ]]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
)";

constexpr char search_of_command[] = R"(  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in
    {})
      command=$word
      break
      ;;
    esac
  done
)";

constexpr char tail[] = R"(    esac
    # Files first, where an operand is a file.
    [[ -z $command || $current == -* ]] || words=''
    ;;
  esac
  # shellcheck disable=SC2207 # no word has a space
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F {} {}
)";

}  // namespace

std::string bash_completion(const CLI::App& app) {
  std::string function = '_' + app.get_name();
  std::ranges::replace(function, '-', '_');
  const auto subcommands = subcommands_of(app);
  std::vector<std::string> commands;
  commands.reserve(subcommands.size());
  for (const CLI::App* sub : subcommands) commands.push_back(sub->get_name());

  std::string text = fmt::format(head, app.get_name(), function);
  if (!commands.empty()) text += fmt::format(search_of_command, fmt::join(commands, " | "));
  text += "  case $command:$previous in\n";
  text += values(app, nullptr);
  for (const CLI::App* sub : subcommands) text += values(app, sub);
  text += "  *)\n    case $command in\n";
  text += words(app, nullptr, commands);
  for (const CLI::App* sub : subcommands) text += words(app, sub, {});
  return text + fmt::format(tail, function, app.get_name());
}

}  // namespace tessera::apps
