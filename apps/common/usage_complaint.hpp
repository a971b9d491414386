// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tessera::apps {

/// One line about a command line that `app` could not parse: what is wrong with it, and whose help tells what
/// is right. What the program does not know comes first, as a misspelt option leaves a required one out.
///
///     --forumla is not an option of tessera-fit fit (did you mean '--formula'?); see tessera-fit fit --help
[[nodiscard]] std::string usage_complaint(const CLI::App& app, const CLI::ParseError& fault);

/// Parses the command line. False if it asks for the help or the version, which has been printed then if
/// `prints`. Throws `Error(usage)` with the complaint about any other that is not one of `app`.
[[nodiscard]] bool parse(CLI::App& app, int argc, char** argv, bool prints);

}  // namespace tessera::apps
