// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "files/output_stream.hpp"

namespace tessera::apps {

/// Refuses an empty name, e.g. from an unset variable of a script.
[[nodiscard]] inline CLI::Validator file_name() {
  return {[](std::string& text) { return std::string(text.empty() ? "the file name is empty" : ""); }, ""};
}

/// Like `file_name`, for files that are written atomically: also refuses standard output.
[[nodiscard]] inline CLI::Validator name_of_whole_file() {
  return {[](std::string& text) -> std::string {
            if (text.empty()) return "the file name is empty";
            if (!files::is_standard_output(text)) return "";
            return text + " is standard output: give the name of a file";
          },
          ""};
}

}  // namespace tessera::apps
