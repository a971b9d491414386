// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "overwrite.hpp"

#include <tessera/gam/predictions_file.hpp>
#include <tessera/job/together.hpp>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "common/file_name.hpp"
#include "common/streams.hpp"

namespace TESSERA_NAMESPACE::gam {

void PosteriorArguments::add_to(CLI::App& command) {
  command.add_option("MODEL", model, "model.json of a fit")->required();
  command
      .add_option("--threads", threads, "Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  collective_timeout.add_to(command);
  command
      .add_option("--out", out, "CSV file, or a pipe; HDF5, if it ends in .h5 or .hdf5; -: standard output")
      ->check(apps::file_name())
      ->capture_default_str();
}

int PosteriorArguments::run(mpi::Session& session,
                            FunctionRef<Predictions(Job& job, const Model& model)> compute) const {
  return run_in_parts(session, [&](Job& job, const Model& model, Take take) {
    const Predictions answer = compute(job, model);
    take(answer);
    return answer.remarks;
  });
}

int PosteriorArguments::run_in_parts(
    mpi::Session& session,
    FunctionRef<std::vector<std::string>(Job& job, const Model& model, Take take)> compute) const {
  session.set_timeout(collective_timeout.value());
  const bool root = session.is_root();
  std::optional<Model> fitted;
  together(session.world(), [&] {
    if (root) refuse_to_overwrite({{"--out", out}}, {model, table, other}, {.model = model});
    fitted = load_model(model);
  });
  PredictionsFile written(session.world(), out);
  JobOptions job_options;
  job_options.policy = Policy::cpu;
  job_options.threads = threads;
  job_options.collective_timeout = collective_timeout.value();
  Job job(session.world(), job_options);
  const std::vector<std::string> remarks =
      compute(job, *fitted, [&](const Predictions& part) { written.add(part); });
  for (const std::string& remark : remarks) {
    if (root) apps::say_line({"tessera-fit: ", remark});
  }
  if (const std::string problem = written.commit(); !problem.empty())
    apps::say_line({"tessera-fit: ", problem});
  return EXIT_SUCCESS;
}

void SmoothArguments::add_to(CLI::App& command) {
  command
      .add_option("--terms", terms,
                  "Only these smooths, comma-separated, as the summary names them; default: all")
      ->allow_extra_args(false);
  command
      .add_option("--points", points,
                  "Points of each number; 0: 100, and 40 for smooths of two numbers, 15 of three, 6 of more")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  command.add_option("--interval", interval, "Probability of the bands; 0: none")->capture_default_str();
  command
      .add_option("--draws", draws, "Draws from the posterior distribution for simultaneous bands; 0: none")
      ->check(CLI::Range(0, 100'000'000))
      ->capture_default_str();
  command.add_option("--seed", seed, "Of these draws")->capture_default_str();
  command.add_flag("--unconditional", unconditional,
                   "Standard errors and bands with the uncertainty of the smoothing parameters");
}

SmoothOptions SmoothArguments::options() const {
  SmoothOptions options;
  if (!terms.empty()) options.terms = labels_in(terms);
  options.points = points;
  options.interval = interval;
  options.draws = draws;
  options.seed = seed;
  options.unconditional = unconditional;
  return options;
}

}  // namespace TESSERA_NAMESPACE::gam
