// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

#include "common/instruction_set.hpp"
#include "common/job_arguments.hpp"
#include "common/pages.hpp"
#include "common/program_end.hpp"
#include "common/program_start.hpp"

namespace tessera::bench {
namespace {

constexpr const char* name = "tessera-bench";

/// *Collective.* The inventory of the hardware, without a job, which would initialise CUDA.
Inventory look_around(const mpi::Communicator& comm, Policy policy) {
  Probe here;
  together(comm, [&] { here = probe(comm.rank()); });
  if (policy == Policy::cpu) here.devices.clear();
  const Claim mine = claim(comm, here, false);
  return gather_inventory(comm, here, mine, std::vector<std::uint64_t>(mine.devices.size(), 1));
}

void measure(const std::vector<Suite>& suites, const CLI::App& app, const mpi::Session& session,
             const SuiteOptions& options, bool json) {
  const std::string machine =
      machine_of(look_around(session.world(), options.policy)) + "; " + apps::instruction_set();
  for (const Suite& suite : suites) {
    if (!app.got_subcommand(suite.name)) continue;
    const auto measurements = suite.run(session.world(), options);
    if (!session.is_root()) continue;
    if (json) {
      print_json_lines(measurements, machine);
    } else if (!measurements.empty()) {
      print_table(measurements, machine);
    }
    std::fflush(stdout);
  }
}

int run(int argc, char** argv, std::optional<mpi::Session>& session) {
  CLI::App app{"Measures parts of Tessera, as one or more suites.", name};
  app.formatter(apps::help_layout());
  app.set_version_flag("--version", std::string("tessera-bench ") + tessera::version());
  app.footer(apps::footer(
      "0 measured; 2 usage; 3 input; 4 not converged; 5 device required but absent; 6 job fault"));
  apps::add_mpi_flag(app);
  app.require_subcommand(1, 0);
  app.fallthrough();

  bool json = false;
  apps::DeviceArgument device;
  SuiteOptions options;
  apps::CollectiveTimeout collective_timeout;
  app.add_flag("--json", json, "Print one line of JSON per measurement");
  app.add_option("--repeats", options.repeats, "Measured runs per case; default: the suite's choice")
      ->check(from_to(1, 1'000'000));
  device.add_to(app);
  app.add_option("--threads", options.threads,
                 "Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores")
      ->check(from_to(0, 65536))
      ->capture_default_str();
  collective_timeout.add_to(app);

  const std::vector<Suite> suites{fit_suite(), predict_suite(), scale_suite(),
                                  io_suite(),  start_suite(),   balance_suite()};
  for (const Suite& suite : suites) {
    CLI::App* command = app.add_subcommand(suite.name, suite.description);
    if (suite.add_options) suite.add_options(*command);
  }

  if (apps::prints_page(app, argc, argv)) return EXIT_SUCCESS;

  if (!apps::start(app, session, argc, argv, [] { return false; })) return EXIT_SUCCESS;
  options.collective_timeout = collective_timeout.value();
  session->set_timeout(options.collective_timeout);
  options.policy = device.policy();
  measure(suites, app, *session, options, json);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::apps::keep_memory_in_reserve();
  std::optional<tessera::mpi::Session> session;
  return tessera::apps::exit_status_of(tessera::bench::name, session,
                                       [&] { return tessera::bench::run(argc, argv, session); });
}
