// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>

/// Help, manual page and shell completion of a program, all generated from the CLI::App that parses its
/// command line. The build asks each program for its pages:
///
///     tessera-fit --page man 2026-01-31 > tessera-fit.1
///     tessera-fit --page bash > completions/tessera-fit
namespace tessera::apps {

/// The layout of --help, as in the manual page: an option's name and value, then its description, limits and
/// default. Pass it to `CLI::App::formatter` before adding subcommands.
///
///     --collective-timeout FLOAT  Seconds after which … (0 to 1e+09, default 1800)
///     --device auto|gpu|cpu       auto: GPUs, unless …; gpu: GPUs or an error; cpu (default auto)
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> help_layout();

/// The footer of a program's help: its exit statuses, written "0 answer; 2 usage", and the environment
/// variables that all programs use.
[[nodiscard]] std::string footer(std::string_view exit_statuses);

/// The manual page (section 1) of a program and its subcommands, in roff's man macros. `app` must have a
/// name, and a footer from `footer()`. `date`: the date of the page, e.g. 2026-01-31.
[[nodiscard]] std::string man_page(const CLI::App& app, std::string_view date);

/// A bash script that completes the program's subcommands and options, and option values with a choice of
/// words. Needs only bash. Other words are completed as file names.
[[nodiscard]] std::string bash_completion(const CLI::App& app);

/// If the command line asks for a page with --page, prints the page to standard output and returns true.
/// Needs no MPI. Only the build uses --page, so --help does not list it.
[[nodiscard]] bool prints_page(const CLI::App& app, int argc, char** argv);

}  // namespace tessera::apps
