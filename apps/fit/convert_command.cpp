// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "overwrite.hpp"
#include "progress.hpp"

#include <tessera/gam/convert.hpp>
#include <tessera/gam/output.hpp>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <tessera/tessera.hpp>

#include "common/file_name.hpp"

namespace TESSERA_NAMESPACE::gam {

CLI::App* ConvertCommand::add_to(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("convert", "Write a table in another format, which is read faster");
  command->add_option("DATA", data, "Table: CSV (also .csv.gz) or HDF5 with one dataset per column")
      ->required();
  command
      ->add_option("OUT", out,
                   "File, format by ending: .parquet, .feather (.arrow), .h5 (.hdf5) or .csv; without ending "
                   "Parquet if available, else HDF5; NAME/: a folder with a file for each rank")
      ->required()
      ->check(apps::name_of_whole_file());
  command->add_option("--column", columns, "Column to convert (repeatable; default: all)")
      ->allow_extra_args(false);
  options.add_to(*command, OptionSet::table,
                 {"na-strings", "factor", "numeric", "date", "sep", "dec", "comment", "header", "skip"});
  options.add_to(*command, OptionSet::job, {"threads"});
  collective_timeout.add_to(*command);
  return command;
}

int ConvertCommand::run(mpi::Session& session, StopRequest& stop) const {
  session.set_timeout(collective_timeout.value());
  Progress progress(session.is_root(), stderr);
  together(session.world(), [&] {
    if (!session.is_root()) return;
    refuse_to_overwrite({{"OUT", out}}, {data});
    if (!out.ends_with('/')) require_writable(out);
  });
  Job job(session.world(), cpu_job_options(options, collective_timeout, stop));
  convert_table(job, Table{data, options.read<TableOptions>()}, out, columns, &progress);
  progress.note(fmt::format("written to {}", out));
  return EXIT_SUCCESS;
}

}  // namespace TESSERA_NAMESPACE::gam
