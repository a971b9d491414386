// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"
#include "overwrite.hpp"

#include <tessera/job/together.hpp>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "common/file_name.hpp"
#include "common/streams.hpp"

namespace TESSERA_NAMESPACE::gam {

JobOptions job_options(const NamedArguments& options, const apps::CollectiveTimeout& timeout,
                       StopRequest& stop) {
  JobOptions read = options.read<JobOptions>();
  read.collective_timeout = timeout.value();
  read.stop = &stop;
  return read;
}

JobOptions cpu_job_options(const NamedArguments& options, const apps::CollectiveTimeout& timeout,
                           StopRequest& stop) {
  JobOptions read = job_options(options, timeout, stop);
  read.policy = Policy::cpu;
  return read;
}

void add_out(CLI::App& command, std::string& out) {
  command
      .add_option(
          "--out", out,
          "CSV file, or a pipe; HDF5, Parquet or Feather, if it ends in .h5, .parquet or .feather; NAME/: a "
          "folder with a file for each rank; -: standard output")
      ->check(apps::file_name())
      ->capture_default_str();
}

int complete(PredictionsFile& written, bool root, const std::vector<std::string>& remarks) {
  for (const std::string& remark : remarks) {
    if (root) apps::say_line({"tessera-fit: ", remark});
  }
  if (const std::string problem = written.commit(); !problem.empty())
    apps::say_line({"tessera-fit: ", problem});
  return EXIT_SUCCESS;
}

void PosteriorArguments::add_to(CLI::App& command) {
  command.add_option("MODEL", model, "model.json of a fit, or a response of many models: fits.h5:NAME")
      ->required();
  options.add_to(command, OptionSet::job, {"threads"});
  collective_timeout.add_to(command);
  add_out(command, out);
}

int PosteriorArguments::run(mpi::Session& session, StopRequest& stop,
                            FunctionRef<Predictions(Job& job, const Model& model)> compute) const {
  return run_in_parts(session, stop, [&](Job& job, const Model& read, Take take) {
    const Predictions answer = compute(job, read);
    take(answer);
    return answer.remarks;
  });
}

int PosteriorArguments::run_in_parts(
    mpi::Session& session, StopRequest& stop,
    FunctionRef<std::vector<std::string>(Job& job, const Model& model, Take take)> compute) const {
  session.set_timeout(collective_timeout.value());
  const bool root = session.is_root();
  std::optional<Model> fitted;
  together(session.world(), [&] {
    if (root) refuse_to_overwrite({{"--out", out}}, {file_of_model(model), table, other}, {.model = model});
    fitted = load_model(model);
  });
  PredictionsFile written(session.world(), out);
  Job job(session.world(), cpu_job_options(options, collective_timeout, stop));
  return complete(written, root, compute(job, *fitted, [&](const Predictions& part) { written.add(part); }));
}

}  // namespace TESSERA_NAMESPACE::gam
