// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <tessera/gam/columns.hpp>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <tessera/tessera.hpp>

#include "common/standard_input.hpp"
#include "common/streams.hpp"

namespace TESSERA_NAMESPACE::gam {

CLI::App* ColumnsCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "columns", "Print kind, missing values, range or levels, and memory of each column of a table");
  command->add_option("DATA", data, "Table, as for fit: files or folders")->required();
  command->add_option("--column", columns, "Column to describe (repeatable; default: all)")
      ->allow_extra_args(false);
  options.add_to(*command, OptionSet::table,
                 {"na-strings", "factor", "numeric", "date", "sep", "dec", "comment", "header", "skip"});
  options.add_to(*command, OptionSet::job, {"threads"});
  command->add_flag("--json", json, "Print JSON");
  collective_timeout.add_to(*command);
  return command;
}

int ColumnsCommand::run(mpi::Session& session, StopRequest& stop) const {
  session.set_timeout(collective_timeout.value());
  Job job(session.world(), cpu_job_options(options, collective_timeout, stop));
  const TableDescription found = describe_columns(job, Table{data, options.read<TableOptions>()}, columns);
  together(session.world(), [&] {
    if (!session.is_root()) return;
    apps::write_output(apps::with_input_named(json ? columns_json(found) : columns_text(found)));
    apps::flush_output();
  });
  return EXIT_SUCCESS;
}

}  // namespace TESSERA_NAMESPACE::gam
