// SPDX-License-Identifier: Apache-2.0
#include "dense_products.hpp"
#include "gam/design/build_design.hpp"
#include "gam/rows/row_pass.hpp"
#include "simulated.hpp"
#include "suite.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>

#include <tessera/error.hpp>

namespace tessera::bench {
namespace {

struct GramSuite {
  std::vector<std::string> models = {"G4", "G10"};  ///< see `SimulatedModel`
  std::int64_t rows = 1'000'000;
  int repeats = 5;
  bool peer = true;  ///< compare with dense products
};

/// A larger X is measured with fewer rows: the time per row is the same.
constexpr std::int64_t max_dense_bytes = std::int64_t{4} << 30;

Measurement& in_ns_a_row(Measurement& measured, std::vector<double> seconds, std::int64_t rows) {
  for (double& value : seconds) value *= 1e9 / static_cast<double>(rows);
  measured.values = std::move(seconds);
  return measured;
}

void add_peers(Job& job, const GramSuite& suite, int columns, Case& out) {
  const std::int64_t most = max_dense_bytes / (std::int64_t{sizeof(double)} * columns);
  const std::int64_t rows = std::min({suite.rows, most, std::int64_t{1} << 30});
  const DenseProducts dense = dense_products(rows, columns, job.host_team());
  const auto measure = [&](const std::string& what, const std::function<void()>& work) {
    return in_ns_a_row(out(what, "ns a row"), seconds_of(job.comm(), suite.repeats, 1, work), rows);
  };
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [name, product] : dense.products) best = std::min(best, measure(name, product).median());
  const double write = measure("X written", dense.write).median();
  out("(X written + the better product) / crossproduct", "1").values = {
      (write + best) / out("crossproduct", "ns a row").median()};
}

/// *Collective.* Times one step of an iteration: X'WX, X'Wz and the deviance by a pass over the columns,
/// which are in place already, in ns per row. In a job of one rank also the dense product by BLAS, on the
/// same threads, of an X written at memory speed. Rank 0 prints the measurements.
std::vector<Measurement> run_gram_suite(Job& job, const GramSuite& suite) {
  const mpi::Communicator& comm = job.comm();
  std::vector<Measurement> all;
  for (const std::string& name : suite.models) {
    const SimulatedModel model = simulated_model(name);
    const Plan plan = job.plan(suite.rows, 8192);
    const gam::Frame frame = model.frame(suite.rows, job.local_range(plan), job.host_team());
    const gam::DesignDraft draft =
        gam::draft_design({comm, job.host_team()}, gam::parse_terms(model.formula()), frame, {});
    gam::Rows rows;
    rows.frame = &frame;
    rows.design = &draft.design;
    rows.family = model.engine_family();
    gam::RowPass pass(job, plan, rows);
    const std::vector<double> raw_coef(static_cast<std::size_t>(draft.design.raw_size));
    Case out("gram", fmt::format("{}, {} rows", name, suite.rows));
    in_ns_a_row(out("crossproduct", "ns a row"),
                seconds_of(comm, suite.repeats, 1, [&] { (void)pass.step(raw_coef); }), suite.rows);
    // Each smooth's constraint removes a column.
    if (suite.peer && comm.size() == 1 && job.on_host())
      add_peers(job, suite, draft.design.raw_size - model.variables / model.of_term, out);
    for (Measurement& measurement : out.take()) all.push_back(std::move(measurement));
  }
  return all;
}

}  // namespace

Suite gram_suite() {
  const auto chosen = std::make_shared<GramSuite>();
  Suite suite;
  suite.name = "gram";
  suite.description =
      "X'WX and X'Wz of smooths by a pass over the columns, on a host beside dense products by BLAS";
  suite.add_options = [chosen](CLI::App& command) {
    add_options_of_models(command, chosen->rows, chosen->models);
  };
  suite.run = in_a_job(suite.name, chosen, run_gram_suite);
  return suite;
}

}  // namespace tessera::bench
