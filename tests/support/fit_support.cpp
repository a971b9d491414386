// SPDX-License-Identifier: Apache-2.0
#include "support/fit_support.hpp"

#include "support/table_support.hpp"

#include <span>

#include "files/input_file.hpp"

namespace tessera::gam::testing {

Job cpu_job(const mpi::Communicator& comm, int threads) {
  JobOptions options;
  options.policy = Policy::cpu;
  options.threads = threads;
  return Job(comm, options);
}

FitOptions options_of(const ReferenceCase& reference) {
  FitOptions options;
  options.family = family(reference.family);
  options.weights = reference.weights;
  options.knots = reference.knots;
  options.offset = reference.offset;
  options.subset = reference.subset;
  options.ordered = reference.ordered;
  options.select = reference.select;
  options.gamma = reference.gamma;
  options.sp = reference.sp;
  options.min_sp = reference.min_sp;
  return options;
}

TableFile in_blocks(const std::string& path, std::int64_t block_rows) {
  TableFile file{path};
  file.options.block_rows = block_rows;
  return file;
}

FittedModel fitted(const mpi::Communicator& comm, const std::string& formula, const TableFile& file,
                   const FitOptions& options, int threads) {
  Job job = cpu_job(comm, threads);
  return fit(job, parse_formula(formula), file, options).model.fitted();
}

std::string text_of(const mpi::Communicator& comm, const Model& model) {
  const SharedFile file(comm, "model.json");
  if (comm.rank() != 0) return {};
  save_model(model, file.path());
  return files::read_text(file.path(), std::int64_t{1} << 30);
}

AllPredictions predicted_from_file(Job& job, const FittedModel& model, const std::string& data,
                                   int inline_limit) {
  const mpi::Communicator& comm = job.comm();
  const SharedFile saved(comm, "model.json");
  if (comm.rank() == 0) save_model(model, saved.path(), inline_limit);
  comm.barrier();
  const Predictions mine = predict(job, load_model(saved.path()), TableFile{data}, {.standard_errors = true});
  return {comm.allgatherv(mine["fit"]), comm.allgatherv(mine["se"])};
}

}  // namespace tessera::gam::testing
