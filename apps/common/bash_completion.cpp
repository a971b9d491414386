// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include "common/pages.hpp"
#include "common/value.hpp"

namespace tessera::apps {
namespace {

std::string joined(const std::vector<std::string>& words, const char* separator) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : separator) + word;
  return out;
}

/// The options that are understood behind a subcommand: its own, and those that fall through to its parent.
std::vector<const CLI::Option*> options_within(const CLI::App& app, const CLI::App* sub) {
  auto options = options_of(sub == nullptr ? app : *sub);
  if (sub != nullptr && sub->get_fallthrough())
    for (const CLI::Option* option : options_of(app))
      if (std::ranges::none_of(options, [&](const auto* own) { return names_of(*own) == names_of(*option); }))
        options.push_back(option);
  return options;
}

/// Cases "command:option" of a bash case statement, with what the option's value can be.
void values(std::ostream& out, const CLI::App& app, const CLI::App* sub) {
  const std::string command = sub == nullptr ? "" : sub->get_name();
  for (const CLI::Option* option : options_within(app, sub)) {
    const Value value = value_of(*option);
    if (value.name.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : names_of(*option)) patterns.push_back(command + ':' + name);
    out << "  " << joined(patterns, " | ") << ") words='" << joined(value.choices, " ") << "' ;;\n";
  }
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  std::string function = '_' + app.get_name();
  std::ranges::replace(function, '-', '_');
  const auto subcommands = subcommands_of(app);
  std::vector<std::string> commands;
  for (const CLI::App* sub : subcommands) commands.push_back(sub->get_name());

  std::ostringstream out;
  out << "# bash completion of " << app.get_name() << ", made from the definition of its command line\n"
      << function << "() {\n"
      << "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= word "
         "words\n"
      << "  # In --option=value bash takes = for a word of its own.\n"
      << "  if [[ $current == = ]]; then\n"
      << "    current=''\n"
      << "  elif [[ $previous == = ]]; then\n"
      << "    previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
      << "  fi\n";
  if (!commands.empty())
    out << "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
        << "    case $word in\n"
        << "    " << joined(commands, " | ") << ")\n"
        << "      command=$word\n"
        << "      break\n"
        << "      ;;\n"
        << "    esac\n"
        << "  done\n";
  out << "  case $command:$previous in\n";
  values(out, app, nullptr);
  for (const CLI::App* sub : subcommands) values(out, app, sub);
  out << "  *)\n"
      << "    case $command in\n";
  const auto words = [&](const CLI::App* sub) {
    std::vector<std::string> names = sub == nullptr ? commands : std::vector<std::string>();
    for (const CLI::Option* option : options_within(app, sub)) names.push_back(names_of(*option).back());
    out << "    '" << (sub == nullptr ? "" : sub->get_name()) << "') words='" << joined(names, " ")
        << "' ;;\n";
  };
  words(nullptr);
  for (const CLI::App* sub : subcommands) words(sub);
  out << "    esac\n"
      << "    # Files first, where an operand is a file.\n"
      << "    [[ -z $command || $current == -* ]] || words=''\n"
      << "    ;;\n"
      << "  esac\n"
      << "  # shellcheck disable=SC2207 # no word has a space\n"
      << "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      << "}\n"
      << "complete -o default -F " << function << ' ' << app.get_name() << '\n';
  return out.str();
}

}  // namespace tessera::apps
