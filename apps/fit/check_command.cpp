// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "progress.hpp"

#include <tessera/gam/check.hpp>
#include <tessera/gam/report.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <tessera/tessera.hpp>

#include "common/streams.hpp"

namespace TESSERA_NAMESPACE::gam {

void add_largest_concurvity(CLI::App& command, CheckOptions& options) {
  command
      .add_option("--largest-concurvity", options.largest_concurvity,
                  "Concurvity is computed for models of so many coefficients at most")
      ->check(CLI::Range(0, 20000))
      ->capture_default_str();
}

CLI::App* CheckCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "check", "Check a model against its table: bases (k.check), residuals, concurvity");
  command->add_option("MODEL", model, "model.json of a fit")->required();
  command->add_option("DATA", data, "The table that the model was fitted to")->required();
  command->add_option("--seed", options.seed, "Of the sample and the permutations")->capture_default_str();
  command->add_option("--sample", options.largest_sample, "Rows of the check of bases at most")
      ->check(CLI::Range(4, 100000))
      ->capture_default_str();
  command->add_option("--permutations", options.permutations, "For the p-values of that check")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  add_largest_concurvity(*command, options);
  command
      ->add_option("--autocorrelation", options.lags,
                   "Autocorrelation of residuals at so many lags, in the order of the rows")
      ->check(CLI::Range(0, 1000));
  command->add_option("--series", options.series,
                      "Column with a value for each series, of the autocorrelation");
  table.add_to(*command, true);
  command
      ->add_option("--threads", threads, "Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  memory.add_to(*command, "--memory",
                "Memory limit per node for columns, such as 2G; the rest is kept in scratch files (default: "
                "3/4 of free memory)");
  command
      ->add_option("--scratch", options.memory.scratch,
                   "Folder for scratch files, on a disk (default: $TMPDIR or /var/tmp)")
      ->type_name("DIR");
  command->add_flag("--json", json, "Print JSON");
  collective_timeout.add_to(*command);
  return command;
}

int CheckCommand::run(mpi::Session& session) const {
  session.set_timeout(collective_timeout.value());
  Progress progress(session.is_root(), stderr);
  std::optional<Model> fitted;
  together(session.world(), [&] { fitted = load_model(model); });
  JobOptions job_options;
  job_options.policy = Policy::cpu;
  job_options.threads = threads;
  job_options.collective_timeout = collective_timeout.value();
  Job job(session.world(), job_options);
  CheckOptions wanted = options;
  wanted.memory.node_bytes = memory.bytes();
  const Check found = check(job, *fitted, TableFile{data, table.options()}, wanted, &progress);
  together(session.world(), [&] {
    if (!session.is_root()) return;
    apps::write_output(json ? check_json(found, wanted) : check_text(found, wanted));
    apps::flush_output();
  });
  return EXIT_SUCCESS;
}

}  // namespace TESSERA_NAMESPACE::gam
