// SPDX-License-Identifier: Apache-2.0
// tessera-bench: measures parts of Tessera on this machine, beside a peer where there is one.
#include "fit_suite.hpp"
#include "measurement.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <tessera/tessera.hpp>

namespace {

using namespace tessera;

struct FitCommand {
  bench::FitSuite suite;
  std::string device = "auto";
  int threads = 0;
  bool no_peer = false;
};

int run(FitCommand command, bool json, const mpi::Session& session) {
  JobOptions options;
  options.policy = command.device == "cpu"   ? Policy::cpu
                   : command.device == "gpu" ? Policy::gpu
                                             : Policy::automatic;
  options.threads = command.threads;
  Job job(session.world(), options);
  command.suite.peer = !command.no_peer;
  const auto measurements = bench::run_fit_suite(job, command.suite);
  const std::string machine = bench::machine_of(job.inventory());
  if (!session.is_root()) return EXIT_SUCCESS;
  if (json) {
    bench::print_json_lines(measurements, machine);
  } else {
    bench::print_table(measurements, machine);
    fmt::print("{}\n", to_string(job.last_verdict()));
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  mpi::Session session(argc, argv);
  const auto complain = [&](const std::string& what) {
    if (session.is_root()) fmt::print(stderr, "tessera-bench: {}\n", what);
  };

  CLI::App app{"Measures parts of Tessera on this machine, beside a peer where there is one."};
  app.set_version_flag("--version", std::string("tessera-bench ") + tessera::version);
  app.footer(
      "Exit status: 0 measured; 2 usage; 3 input; 4 not converged; 5 device required but absent; "
      "6 job fault.");
  app.require_subcommand(1);
  bool json = false;
  app.add_flag("--json", json, "Print one line of JSON a measurement");
  app.fallthrough();

  FitCommand fit;
  CLI::App* fit_app = app.add_subcommand(
      "fit", "Whole fits of simulated data in memory, beside bam() of R's mgcv where that is installed");
  fit_app->add_option("--rows", fit.suite.rows, "Rows of the table")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  fit_app->add_option("--models", fit.suite.models, "G4: gaussian, 4 smooths with k=20; G10; B4: binomial")
      ->delimiter(',')
      ->check(CLI::IsMember({"G4", "G10", "B4"}))
      ->capture_default_str();
  fit_app->add_option("--repeats", fit.suite.repeats, "Runs of each")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  fit_app->add_option("--device", fit.device, "auto: GPUs if there are any; gpu: GPUs or an error; cpu")
      ->check(CLI::IsMember({"auto", "gpu", "cpu"}))
      ->capture_default_str();
  fit_app->add_option("--threads", fit.threads, "Host threads of a rank; 0: as many as it may use")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  fit_app->add_option("--block-rows", fit.suite.block_rows, "Rows in which the order of additions is fixed")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  fit_app->add_flag("--no-peer", fit.no_peer, "Do not run bam()");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& fault) {
    if (fault.get_exit_code() == 0) return session.is_root() ? app.exit(fault) : EXIT_SUCCESS;
    complain(std::string(fault.what()) + "; see tessera-bench --help");
    return exit_status(ErrorCode::usage);
  }
  try {
    return run(fit, json, session);
  } catch (const Error& fault) {
    complain(fault.what());
    return exit_status(fault.code());
  } catch (const std::exception& fault) {
    mpi::abort_job(fmt::format("tessera-bench: rank {}: {}", session.world().rank(), fault.what()),
                   exit_status(ErrorCode::job_fault));
  }
}
