// SPDX-License-Identifier: Apache-2.0
// tessera-fit: generalized additive models of large tables, over every rank and GPU of an MPI job.
#include "commands.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <tessera/tessera.hpp>

#include "common/pages.hpp"
#include "common/standard_error.hpp"
#include "common/usage_complaint.hpp"

namespace {

using namespace tessera;
using namespace tessera::fit;

/// What is not agreed between ranks, of which others may be waiting in a collective, ends all of them.
[[noreturn]] void end_job(const mpi::Session& session, const std::string& what) {
  mpi::abort_job(fmt::format("tessera-fit: rank {}{}", session.world().rank(), what),
                 exit_status(ErrorCode::job_fault));
}

/// One line on one rank: the others failed in the same way, by agreement.
void complain(const mpi::Session& session, const char* what) {
  if (session.is_root()) apps::say(fmt::format("tessera-fit: {}\n", what));
}

}  // namespace

int main(int argc, char** argv) {
  apps::keep_logs_harmless();
  CLI::App app{"Fits generalized additive models to large tables over every rank and GPU of an MPI job.",
               "tessera-fit"};
  app.formatter(apps::help_layout());
  app.footer(
      apps::footer("0 answer; 2 usage; 3 input; 4 not converged, or no finite estimate; 5 device required "
                   "but absent; 6 job fault; "
                   "75 interrupted, the same command goes on"));
  app.set_version_flag("--version", std::string("tessera-fit ") + tessera::version);
  app.require_subcommand(1);

  FitCommand fit;
  PredictCommand predict;
  SummaryCommand summary;
  ReportCommand report;
  const CLI::App* fit_app = fit.add_to(app);
  const CLI::App* predict_app = predict.add_to(app);
  summary.add_to(app);
  const CLI::App* report_app = report.add_to(app);

  if (apps::prints_page(app, argc, argv)) return EXIT_SUCCESS;

  mpi::Session session(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& fault) {
    if (fault.get_exit_code() == 0) {
      // Help and version were asked for.
      return session.is_root() ? app.exit(fault) : EXIT_SUCCESS;
    }
    complain(session, apps::usage_complaint(app, fault).c_str());
    return exit_status(ErrorCode::usage);
  }

  try {
    if (fit_app->parsed()) return fit.run(session);
    if (predict_app->parsed()) return predict.run(session);
    if (report_app->parsed()) return report.run(session);
    return summary.run(session);
  } catch (const mpi::Failure& fault) {
    end_job(session, std::string(": ") + fault.what());
  } catch (const Error& fault) {
    complain(session, fault.what());
    return exit_status(fault.code());
  } catch (const std::bad_alloc&) {
    end_job(session, " is out of memory");
  } catch (const std::exception& fault) {
    end_job(session, std::string(": ") + fault.what());
  }
}
