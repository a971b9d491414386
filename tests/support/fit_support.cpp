// SPDX-License-Identifier: Apache-2.0
#include "support/fit_support.hpp"

#include "support/on_cpu.hpp"
#include "support/table_support.hpp"

#include <tessera/error.hpp>
#include <tessera/job/stop_request.hpp>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "files/input_file.hpp"
#include "gam/design/parametric_penalties.hpp"

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

class StopAfter : public FitObserver {
 public:
  StopAfter(StopRequest& stop, int iteration) : stop_(stop), text_(fmt::format("iteration {}:", iteration)) {}
  void now(std::string_view what) override {
    if (what.starts_with(text_)) stop_.request("the test");
  }

 private:
  StopRequest& stop_;
  std::string text_;
};

}  // namespace

Job cpu_job(const mpi::Communicator& comm, int threads) {
  return Job(comm, on_cpu(threads));
}

void interrupted_after(const mpi::Communicator& comm, int iteration,
                       const std::function<void(Job&, FitObserver*)>& run) {
  StopRequest stop(comm, {.signals = {}});
  Job job(comm, on_cpu(1, &stop));
  StopAfter observer(stop, iteration);
  try {
    run(job, &observer);
    ADD_FAILURE() << "not interrupted after iteration " << iteration;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::interrupted) << error.what();
  }
}

FitOptions options_of(const ReferenceCase& reference) {
  FitOptions options{
      .family = family(reference.family), .weights = reference.weights, .knots = reference.knots};
  options.offset = reference.offset;
  options.subset = reference.subset;
  options.ordered = reference.ordered;
  options.select = reference.select;
  options.gamma = reference.gamma;
  options.sp = reference.sp;
  options.min_sp = reference.min_sp;
  if (!reference.para_pen.empty()) options.para_pen = parametric_penalties(reference.para_pen);
  return options;
}

Table in_blocks(const std::string& path, std::int64_t block_rows) {
  return Table{path, {.block_rows = block_rows}};
}

FittedModel fitted(const mpi::Communicator& comm, const std::string& formula, const Table& table,
                   const FitOptions& options, int threads) {
  Job job = cpu_job(comm, threads);
  return fit(job, parse_formula(formula), table, options).model.fitted();
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
  const Predictions mine = predict(job, load_model(saved.path()), Table{data}, {.standard_errors = true});
  return {comm.allgatherv(mine["fit"]), comm.allgatherv(mine["se"])};
}

}  // namespace TESSERA_NAMESPACE::gam::testing
