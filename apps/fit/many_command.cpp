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
#include <string>
#include <string_view>
#include <tessera/tessera.hpp>
#include <vector>

#include "common/file_name.hpp"
#include "common/text.hpp"

namespace TESSERA_NAMESPACE::gam {
CLI::App* ManyCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "many", "Fit one formula to each of many responses, such as the counts of each gene");
  command->add_option("DATA", data, "Table of the covariates, as for fit: files or folders")->required();
  command
      ->add_option(
          "--responses", responses,
          "Table whose columns are the responses, FILE.npy, or FILE.h5:/PATH: a matrix, dense or sparse "
          "(default: X of DATA, if that is FILE.h5ad)")
      ->type_name("MATRIX");
  command->add_option("--formula", formula, "Terms of each model, without a response: 's(t, by = lineage)'")
      ->required();
  options.add_to(*command, OptionSet::many);
  command->get_option("--checkpoint")->check(apps::name_of_whole_file());
  options.add_to(*command, OptionSet::table);
  options.add_to(*command, OptionSet::job);
  command
      ->add_option("--out", out,
                   "Output table, a row per response; format by ending: .h5, .csv, .parquet or .feather")
      ->required()
      ->check(apps::name_of_whole_file());
  command->add_option("--tests", tests, "p and q values of each term, a row for each response")
      ->check(apps::name_of_whole_file());
  command
      ->add_option(
          "--evaluate-k", evaluated_k,
          "The AIC of each response by k of its smooths of one number, in place of the fits: 3:10, or "
          "3,6,9")
      ->excludes("--tests");
  time_limit.add_to(*command);
  collective_timeout.add_to(*command);
  return command;
}

std::string ManyCommand::matrix_of_data() const {
  if (data.size() != 1 || !data.front().ends_with(".h5ad"))
    throw apps::usage_error(
        "many: --responses is missing: give --responses, or one AnnData file (.h5ad) as DATA");
  return data.front() + ":/X";
}

std::vector<int> ManyCommand::sizes_to_evaluate() const {
  const auto number = [&](std::string_view text) {
    const auto k = apps::parse_number<int>(apps::trimmed(text));
    if (!k || *k < 3 || *k > 1000)
      throw apps::usage_error("many: --evaluate-k {}: give numbers from 3 to 1000, for example 3:10 or 3,6,9",
                              evaluated_k);
    return *k;
  };
  std::vector<int> sizes;
  if (const auto colon = evaluated_k.find(':'); colon != std::string::npos) {
    const std::string_view text = evaluated_k;
    const int last = number(text.substr(colon + 1));
    for (int k = number(text.substr(0, colon)); k <= last; ++k) sizes.push_back(k);
  } else {
    for (const std::string_view k : apps::split(evaluated_k, ',')) sizes.push_back(number(k));
  }
  return sizes;
}

int ManyCommand::run(mpi::Session& session, StopRequest& stop) const {
  session.set_timeout(collective_timeout.value());
  Progress progress(session.is_root(), stderr);
  Responses source{.path = responses};
  ManyOptions many;
  together(session.world(), [&] {
    if (source.path.empty()) source.path = matrix_of_data();
    options.read(source);
    options.read(many);
    if (!session.is_root()) return;
    std::vector<std::string> inputs = data;
    // Strips the path inside the file: FILE.h5:/PATH.
    for (const std::string& matrix : {source.path, source.weights, source.offsets})
      if (!matrix.empty()) inputs.push_back(matrix.substr(0, matrix.rfind(":/")));
    if (!source.subset.empty()) inputs.push_back(source.subset);
    refuse_to_overwrite({{"--out", out}, {"--tests", tests}, {"--checkpoint", many.checkpoint}}, inputs,
                        {.checkpoint = many.checkpoint});
  });
  Job job(session.world(), job_options(options, collective_timeout, stop));
  if (!evaluated_k.empty()) {
    PredictionsFile written(session.world(), out);
    const Predictions found = evaluate_k(job, formula, Table{data, options.read<TableOptions>()}, source,
                                         many, sizes_to_evaluate(), &progress);
    written.add(found);
    return complete(written, session.is_root(), found.remarks);
  }
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
