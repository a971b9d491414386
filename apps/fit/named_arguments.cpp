// SPDX-License-Identifier: Apache-2.0
#include "named_arguments.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// The option's value in CLI11's notation, with name and choices, for help, manual page and completion.
std::string type_of(const OptionInfo& info) {
  constexpr std::array<const char*, 8> words{"", "INT", "FLOAT", "SIZE", "TEXT", "TEXT", "LIST", "LIST"};
  const std::string word = info.value.empty() ? words[static_cast<std::size_t>(info.kind)] : info.value;
  if (info.kind == OptionKind::flag) return "TEXT:{true,false}";
  if (!info.choices.empty()) return fmt::format("{}:{{{}}}", word, fmt::join(info.choices, ","));
  if (std::isinf(info.least) || std::isinf(info.most)) return word;
  return fmt::format("{}:[{} - {}]", word, info.least, info.most);
}

}  // namespace

void NamedArguments::add_to(CLI::App& command, OptionSet set, std::initializer_list<std::string_view> only) {
  for (OptionInfo& info : options_of(set)) {
    const bool wanted = only.size() == 0 || std::ranges::find(only, info.name) != only.end();
    if (!wanted || has(info.name)) continue;
    Argument& own = arguments_.emplace_back(Argument{.info = std::move(info)});
    const std::string name = "--" + own.info.name;
    if (own.info.kind == OptionKind::flag && own.info.preset == "false") {
      command.add_flag(name, own.set, own.info.help);
      continue;
    }
    CLI::Option* option =
        command.add_option(name, own.values, own.info.help + (own.info.repeatable ? " (repeatable)" : ""))
            ->type_name(type_of(own.info))
            ->default_str(own.info.preset)
            ->allow_extra_args(false)
            ->check(CLI::Validator(
                [set, name](const std::string& value) {
                  try {
                    check_option(set, {.name = name, .value = value});
                    return std::string();
                  } catch (const Error& error) {
                    return std::string(error.what()).substr(name.size() + 1);
                  }
                },
                ""));
    if (!own.info.repeatable) option->expected(1);
    if (own.info.kind == OptionKind::flag)
      command.add_flag("--no-" + own.info.name, own.unset, fmt::format("The same as {} false", name));
  }
}

bool NamedArguments::has(std::string_view name) const {
  return std::ranges::any_of(arguments_, [&](const Argument& one) { return one.info.name == name; });
}

std::vector<NamedOption> NamedArguments::given() const {
  std::vector<NamedOption> all;
  for (const Argument& one : arguments_) {
    const std::string name = "--" + one.info.name;
    for (const std::string& value : one.values) all.push_back({name, value});
    if (one.set || one.unset) all.push_back({name, one.set ? "true" : "false"});
  }
  return all;
}

std::string NamedArguments::value_of(std::string_view name) const {
  const auto own =
      std::ranges::find_if(arguments_, [&](const Argument& one) { return one.info.name == name; });
  return own == arguments_.end() ? std::string()
         : own->values.empty()   ? own->info.preset
                                 : own->values.back();
}

}  // namespace TESSERA_NAMESPACE::gam
