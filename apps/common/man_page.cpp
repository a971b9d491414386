// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <limits>
#include <sstream>
#include <tessera/version.hpp>

#include "common/pages.hpp"
#include "common/value.hpp"

namespace tessera::apps {
namespace {

/// Escapes text for roff, also for the start of a line and for quoted arguments.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '\'': out += "\\(aq"; break;
      case '"': out += "\\(dq"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      case '.': out += out.empty() ? "\\&." : "."; break;
      default: out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) {
  return "\\fB" + escaped(text) + "\\fR";
}
std::string italic(std::string_view text) {
  return "\\fI" + escaped(text) + "\\fR";
}

std::string sentence(std::string text) {
  if (!text.empty() && std::string_view(".!?").find(text.back()) == std::string_view::npos) text += '.';
  return text;
}

/// An option's value: " TEXT" or " auto|gpu|cpu".
std::string argument(const CLI::Option& option) {
  const Value value = value_of(option);
  std::string out;
  for (const std::string& choice : value.choices) out += (out.empty() ? " " : "|") + bold(choice);
  if (out.empty() && !value.name.empty()) out = ' ' + italic(value.name);
  return out;
}

void synopsis(std::ostream& out, const CLI::App& app, const std::string& command) {
  out << bold(command);
  bool optional = false;
  for (const CLI::Option* option : options_of(app)) {
    optional = optional || (!option->get_required() && option != app.get_help_ptr());
    if (option->get_required()) out << ' ' << bold(names_of(*option).back()) << argument(*option);
  }
  if (optional) out << " [" << italic("options") << ']';
  for (const CLI::Option* option : positionals_of(app)) out << ' ' << italic(option->get_name(true));
  out << '\n';
}

void entry(std::ostream& out, const std::string& tag, const std::string& text) {
  out << ".TP\n" << tag << '\n' << text << '\n';
}

void options(std::ostream& out, const CLI::App& app, const std::string& command) {
  out << ".SS " << escaped(command) << '\n';
  for (const CLI::Option* option : positionals_of(app))
    entry(out, italic(option->get_name(true)), escaped(sentence(option->get_description())));
  for (const CLI::Option* option : options_of(app)) {
    // List --help once, with the program, although each subcommand has it.
    if (option == app.get_help_ptr() && app.get_parent() != nullptr) continue;
    std::string tag;
    for (const std::string& name : names_of(*option)) tag += (tag.empty() ? "" : ", ") + bold(name);
    std::string text = escaped(sentence(option->get_description()));
    if (option->get_required()) text += "\nRequired.";
    if (const std::string limits = value_of(*option).limits; !limits.empty())
      text += "\nLimits: " + escaped(limits) + '.';
    if (const std::string preset = option->get_default_str(); !preset.empty())
      text += "\nDefault: " + escaped(preset) + '.';
    entry(out, tag + argument(*option), text);
  }
}

/// Writes the exit statuses from the footer's first line: "0 answer; 2 usage."
void exit_statuses(std::ostream& out, const std::string& footer) {
  std::istringstream line(footer.substr(0, footer.find(".\n")));
  line.ignore(std::numeric_limits<std::streamsize>::max(), ':');
  for (std::string status, meaning; line >> status;) {
    std::getline(line >> std::ws, meaning, ';');
    entry(out, bold(status), escaped(meaning));
  }
}

/// Writes the environment variables from the footer's lines "  NAME  meaning".
void environment(std::ostream& out, const std::string& footer) {
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) continue;
    std::istringstream words(line);
    std::string name;
    std::string meaning;
    std::getline(words >> name >> std::ws, meaning);
    entry(out, bold(name), escaped(meaning));
  }
}

}  // namespace

std::string man_page(const CLI::App& app, std::string_view date) {
  const std::string& name = app.get_name();
  std::string title = name;
  std::ranges::transform(title, title.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string purpose = app.get_description();
  if (!purpose.empty())
    purpose.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(purpose.front())));
  while (purpose.ends_with('.')) purpose.pop_back();

  std::ostringstream out;
  out << ".\\\" Made by " << escaped(name) << " from the definition of its command line.\n"
      << ".TH " << escaped(title) << " 1 " << date << " \"Tessera " << version() << "\" \"User Commands\"\n"
      << ".SH NAME\n"
      << escaped(name) << " \\- " << escaped(purpose) << '\n'
      << ".SH SYNOPSIS\n.nf\n";
  const auto subcommands = subcommands_of(app);
  if (app.get_require_subcommand_min() == 0) synopsis(out, app, name);
  for (const CLI::App* sub : subcommands) synopsis(out, *sub, name + ' ' + sub->get_name());
  out << ".fi\n.SH DESCRIPTION\n" << escaped(sentence(app.get_description())) << '\n';
  for (const CLI::App* sub : subcommands)
    entry(out, bold(name + ' ' + sub->get_name()), escaped(sentence(sub->get_description())));
  out << ".PP\nIt is started by " << bold("mpirun") << " or " << bold("srun")
      << ", with one process per rank; without them it is a job of one rank.\n";
  out << ".SH OPTIONS\n";
  options(out, app, name);
  for (const CLI::App* sub : subcommands) options(out, *sub, name + ' ' + sub->get_name());
  out << ".SH EXIT STATUS\n";
  exit_statuses(out, app.get_footer());
  out << ".SH ENVIRONMENT\n";
  environment(out, app.get_footer());
  out << ".SH SEE ALSO\n";
  for (const std::string_view other : {"tessera-bench", "tessera-fit", "tessera-info"})
    if (other != name) out << bold(other) << "(1),\n";
  out << bold("mpirun") << "(1)\n";
  return out.str();
}

}  // namespace tessera::apps
