// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tessera::apps {

/// For options that name a file: an empty text, such as a script's variable that is not set, is refused.
[[nodiscard]] inline CLI::Validator file_name() {
  return {[](std::string& text) { return std::string(text.empty() ? "the name of the file is empty" : ""); },
          ""};
}

}  // namespace tessera::apps
