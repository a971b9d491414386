// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <tessera/gam/anova.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/report.hpp>
#include <tessera/job/together.hpp>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/streams.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

DevianceTest test_of(const std::string& name, const Model& model) {
  if (name == "none") return DevianceTest::none;
  if (name == "F") return DevianceTest::f;
  if (name == "Chisq") return DevianceTest::chi_squared;
  return model.scale() == 1 ? DevianceTest::chi_squared : DevianceTest::f;
}

}  // namespace

CLI::App* AnovaCommand::add_to(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "anova", "Test the terms of a model, or compare several models of the same rows, as R's anova.gam");
  command->add_option("MODELS", models, "model.json of one or several fits")->required();
  command
      ->add_option("--test", test,
                   "Test of several models; auto: F if the first model's scale is estimated, else Chisq")
      ->check(CLI::IsMember({"auto", "F", "Chisq", "none"}))
      ->capture_default_str();
  command->add_flag("--json", json, "Print JSON");
  return command;
}

int AnovaCommand::run(const mpi::Session& session) const {
  together(session.world(), [&] {
    if (!session.is_root()) return;
    std::vector<Model> loaded;
    for (const std::string& path : models) loaded.push_back(load_model(path));
    const DevianceTest wanted = test_of(test, loaded.front());
    apps::write_output(json ? anova_json(loaded, wanted) : anova_text(loaded, wanted));
    apps::flush_output();
  });
  return EXIT_SUCCESS;
}

}  // namespace TESSERA_NAMESPACE::gam
