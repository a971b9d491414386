// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "files/output_stream.hpp"

namespace tessera::apps {

/// For options that name a file: an empty text, such as a script's variable that is not set, is refused.
[[nodiscard]] inline CLI::Validator file_name() {
  return {[](std::string& text) { return std::string(text.empty() ? "the name of the file is empty" : ""); },
          ""};
}

/// For a file that is written as a whole, and under its name: standard output is refused too.
[[nodiscard]] inline CLI::Validator name_of_whole_file() {
  return {[](std::string& text) -> std::string {
            if (text.empty()) return "the name of the file is empty";
            if (!files::is_standard_output(text)) return "";
            return text + " is standard output, and this is written as a file: give the name of one";
          },
          ""};
}

}  // namespace tessera::apps
