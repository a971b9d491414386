// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tessera::apps {

/// One line about a command line that `app` could not parse: the error, and the command that prints the help.
/// An unknown option is reported before a missing option, because a misspelt option causes both errors.
///
///     --forumla is not an option of tessera-fit fit (did you mean '--formula'?); see tessera-fit fit --help
[[nodiscard]] std::string usage_complaint(const CLI::App& app, const CLI::ParseError& fault);

/// Returns false if the command line asks for help or version, which is printed if `prints`. Throws
/// `Error(usage)` with the `usage_complaint` if the command line is invalid.
[[nodiscard]] bool parse(CLI::App& app, int argc, char** argv, bool prints);

}  // namespace tessera::apps
