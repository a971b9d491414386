// SPDX-License-Identifier: Apache-2.0
#include "table_arguments.hpp"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string_view>

namespace tessera::gam {
namespace {

/// "NA,,-" is NA, the empty text and "-".
std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

void TableArguments::add_to(CLI::App& command, bool with_types) {
  command
      .add_option("--na-strings", missing,
                  "Fields that are missing values, with commas between them: 'NA,N/A,' has the empty one too")
      ->capture_default_str();
  if (!with_types) return;
  command.add_option("--factor", factors, "Column whose fields are levels, numbers too (repeat for another)")
      ->allow_extra_args(false);
  command
      .add_option("--numeric", numbers,
                  "Column that must be numbers, those in quotes too (repeat for another)")
      ->allow_extra_args(false);
}

TableOptions TableArguments::options() const {
  return {.missing = split_at_commas(missing), .factors = factors, .numbers = numbers};
}

}  // namespace tessera::gam
