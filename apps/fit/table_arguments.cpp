// SPDX-License-Identifier: Apache-2.0
#include "table_arguments.hpp"

#include <CLI/CLI.hpp>
#include <string_view>

#include "common/text.hpp"

namespace TESSERA_NAMESPACE::gam {

void TableArguments::add_to(CLI::App& command, bool with_types) {
  command
      .add_option("--na-strings", missing,
                  "Fields that mean a missing value, comma-separated; 'NA,N/A,' includes the empty field")
      ->capture_default_str();
  if (!with_types) return;
  command.add_option("--factor", factors, "Column to read as a factor, even if numeric (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--numeric", numbers, "Column to read as numeric, even if quoted (repeatable)")
      ->allow_extra_args(false);
}

TableOptions TableArguments::options() const {
  // "NA,,-" is NA, the empty text and "-".
  const std::vector<std::string_view> texts = apps::split(missing, ',');
  return {.missing = {texts.begin(), texts.end()}, .factors = factors, .numbers = numbers};
}

}  // namespace TESSERA_NAMESPACE::gam
