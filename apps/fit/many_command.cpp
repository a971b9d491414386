// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "overwrite.hpp"
#include "progress.hpp"

#include <tessera/gam/many.hpp>
#include <tessera/gam/output.hpp>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

#include "common/file_name.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

const std::map<std::string, ResponsesIn> orientations = {
    {"auto", ResponsesIn::automatic}, {"rows", ResponsesIn::rows}, {"columns", ResponsesIn::columns}};

}  // namespace

CLI::App* ManyCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "many", "Fit one formula to each of many responses, such as the counts of each gene");
  command->add_option("DATA", data, "Table of the covariates, as for fit: files or folders")->required();
  command
      ->add_option("--responses", responses,
                   "Table whose columns are the responses, or FILE.h5:/PATH: a matrix, dense or sparse")
      ->required()
      ->type_name("MATRIX");
  command->add_option("--formula", formula, "Terms of each model, without a response: 's(t, by = lineage)'")
      ->required();
  command->add_option("--responses-in", responses_in, "Dimension of the matrix that has the responses")
      ->check(CLI::IsMember(orientations))
      ->capture_default_str();
  command->add_option("--responses-subset", subset, "File with the names of the responses to fit, one a line")
      ->type_name("FILE");
  command->add_option("--min-rows", min_rows, "Least number of values of a response that is fitted")
      ->check(CLI::Range(2, 2'000'000'000))
      ->capture_default_str();
  command->add_option("--min-share", min_share, "Least share of the rows that have a value")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  options.add_to(*command, OptionSet::fit, {"family", "weights", "knots"});
  options.add_to(*command, OptionSet::table);
  options.add_to(*command, OptionSet::job);
  command
      ->add_option("--out", out,
                   "Fits, a row for each response: the ending .h5, .csv, .parquet or .feather is the format")
      ->required()
      ->check(apps::name_of_whole_file());
  command->add_option("--tests", tests, "p and q values of each term, a row for each response")
      ->check(apps::name_of_whole_file());
  collective_timeout.add_to(*command);
  return command;
}

int ManyCommand::run(mpi::Session& session) const {
  session.set_timeout(collective_timeout.value());
  Progress progress(session.is_root(), stderr);
  const Responses source{.path = responses, .in = orientations.at(responses_in), .subset = subset};
  ManyOptions many{.min_rows = min_rows, .min_share = min_share};
  together(session.world(), [&] {
    const FitOptions read = options.read<FitOptions>();
    many.family = read.family;
    many.weights = read.weights;
    many.knots = read.knots;
    if (!session.is_root()) return;
    std::vector<std::string> inputs = data;
    // FILE.h5:/PATH: only the file's name.
    inputs.push_back(responses.substr(0, responses.rfind(":/")));
    if (!subset.empty()) inputs.push_back(subset);
    refuse_to_overwrite({{"--out", out}, {"--tests", tests}}, inputs);
  });
  Job job(session.world(), job_options(options, collective_timeout));
  const ManySummary summary = fit_many(job, formula, Table{data, options.read<TableOptions>()}, source, many,
                                       {.fits = out, .tests = tests}, &progress);
  for (const PhaseTime& phase : summary.phases)
    progress.note(fmt::format("{}: {:.3g} s", phase.name, phase.seconds));
  std::string ends;
  for (const auto& [status, count] : summary.by_status)
    ends += fmt::format("{}{} {}", ends.empty() ? "" : ", ", count, status);
  progress.note(fmt::format("{}; written to {}", ends, out));
  return EXIT_SUCCESS;
}

}  // namespace TESSERA_NAMESPACE::gam
