// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>

/// A program's manual page and completion say what its --help says, because all three are made from one
/// definition: the CLI::App that parses the command line. The build asks each program for its pages:
///
///     tessera-fit --page man 2026-01-31 > tessera-fit.1
///     tessera-fit --page bash > completions/tessera-fit
namespace tessera::apps {

/// The layout of --help, as that of the manual page: what an option takes behind its name, and what it must
/// be behind its description. For `CLI::App::formatter`, before subcommands are added.
///
///     --device auto|gpu|cpu       auto: GPUs if there are any; gpu: GPUs or an error; cpu (default auto)
///     --threads INT               Host threads a rank; 0: all that it may use (0 to 4096, default 0)
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> help_layout();

/// The footer of a program's help: its exit statuses, as "0 answer; 2 usage", and the environment variables
/// that every program heeds.
[[nodiscard]] std::string footer(std::string_view exit_statuses);

/// The manual page (section 1) of a program and its subcommands, in roff's man macros. `app` has a name, and
/// its footer is one of `footer()`. `date` is that of the page, e.g. 2026-01-31.
[[nodiscard]] std::string man_page(const CLI::App& app, std::string_view date);

/// A bash script that completes the program's subcommands, options, and values that are a choice of words.
/// It needs nothing but bash; where it completes nothing, bash completes the names of files.
[[nodiscard]] std::string bash_completion(const CLI::App& app);

/// Prints a page to standard output if the command line asks for one. True if so: there is nothing else to
/// do. Needs no MPI. The option is for the build alone, so that --help does not list it.
[[nodiscard]] bool prints_page(const CLI::App& app, int argc, char** argv);

}  // namespace tessera::apps
