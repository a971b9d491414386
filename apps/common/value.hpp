// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tessera::apps {

/// The value of an option, from its type and checks: a choice of words, or a type name with limits.
struct Value {
  std::string name;                  ///< e.g. TEXT or INT; empty for a flag
  std::string limits;                ///< e.g. "0 - 4096"; empty: no limits
  std::vector<std::string> choices;  ///< e.g. auto, gpu, cpu; empty: any text
};

[[nodiscard]] Value value_of(const CLI::Option& option);

[[nodiscard]] std::vector<const CLI::App*> subcommands_of(const CLI::App& app);
/// Options with a name (not positional ones), in the order of their definition.
[[nodiscard]] std::vector<const CLI::Option*> options_of(const CLI::App& app);
[[nodiscard]] std::vector<const CLI::Option*> positionals_of(const CLI::App& app);
/// An option's names as typed, short before long: -h, --help.
[[nodiscard]] std::vector<std::string> names_of(const CLI::Option& option);

}  // namespace tessera::apps
