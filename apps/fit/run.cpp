// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include "commands.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <tessera/version.hpp>

#include "common/pages.hpp"
#include "common/program_start.hpp"

namespace TESSERA_NAMESPACE::gam {

int run_program(int argc, char** argv, std::optional<mpi::Session>& session) {
  CLI::App app{"Fits generalized additive models to large tables over every rank and GPU of an MPI job.",
               "tessera-fit"};
  app.formatter(apps::help_layout());
  app.footer(
      apps::footer("0 answer; 2 usage; 3 input; 4 not converged, or no finite estimate; 5 device required "
                   "but absent; 6 job fault; "
                   "75 interrupted, the same command resumes"));
  app.set_version_flag("--version", std::string("tessera-fit ") + tessera::version());
  apps::add_mpi_flag(app);
  app.require_subcommand(1);

  FitCommand fit;
  PredictCommand predict;
  SliceCommand slice;
  SmoothsCommand smooths;
  DerivativesCommand derivatives;
  ContrastsCommand contrasts;
  SimulateCommand simulate;
  ConvertCommand convert;
  SummaryCommand summary;
  AnovaCommand anova;
  CheckCommand check;
  ReportCommand report;
  const CLI::App* fit_app = fit.add_to(app);
  const CLI::App* predict_app = predict.add_to(app);
  const CLI::App* slice_app = slice.add_to(app);
  const CLI::App* smooths_app = smooths.add_to(app);
  const CLI::App* derivatives_app = derivatives.add_to(app);
  const CLI::App* contrasts_app = contrasts.add_to(app);
  const CLI::App* simulate_app = simulate.add_to(app);
  const CLI::App* convert_app = convert.add_to(app);
  const CLI::App* summary_app = summary.add_to(app);
  const CLI::App* anova_app = anova.add_to(app);
  const CLI::App* check_app = check.add_to(app);
  const CLI::App* report_app = report.add_to(app);

  if (apps::prints_page(app, argc, argv)) return EXIT_SUCCESS;

  const auto needs_one_rank = [&] {
    return summary_app->parsed() || (report_app->parsed() && report.data.empty());
  };
  if (!apps::start(app, session, argc, argv, needs_one_rank)) return EXIT_SUCCESS;
  if (fit_app->parsed()) return fit.run(*session);
  if (predict_app->parsed()) return predict.run(*session);
  if (slice_app->parsed()) return slice.run(*session);
  if (smooths_app->parsed()) return smooths.run(*session);
  if (derivatives_app->parsed()) return derivatives.run(*session);
  if (contrasts_app->parsed()) return contrasts.run(*session);
  if (simulate_app->parsed()) return simulate.run(*session);
  if (convert_app->parsed()) return convert.run(*session);
  if (anova_app->parsed()) return anova.run(*session);
  if (check_app->parsed()) return check.run(*session);
  if (report_app->parsed()) return report.run(*session);
  return summary.run(*session);
}

}  // namespace TESSERA_NAMESPACE::gam
