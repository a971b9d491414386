// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <tessera/tessera.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "exercise_report.hpp"
#include "plan_output.hpp"
#include "report.hpp"
#include "scores.hpp"

#include "common/job_arguments.hpp"
#include "common/pages.hpp"
#include "common/program_end.hpp"
#include "common/program_start.hpp"
#include "common/streams.hpp"
#include "common/text.hpp"

namespace tessera::info {
namespace {

constexpr const char* name = "tessera-info";

struct PlanCommand {
  std::string scores;
  std::int64_t units = 0;
  std::int64_t block = 1;
};

struct Options {
  Question question;
  PlanCommand plan;
  apps::DeviceArgument device;
  apps::SharingArguments sharing;
  apps::CollectiveTimeout collective_timeout;
  bool exercise = false;
  bool json = false;
};

constexpr auto least_units = std::int64_t{0};

/// CLI11's own validator clamps integers beyond 64 bits.
CLI::Validator at_least(std::int64_t least) {
  return {[least](std::string& text) {
            const auto value = apps::parse_number<std::int64_t>(text);
            if (!value || *value < least)
              return fmt::format("'{}' is not a whole number from {} to 2^63 - 1", text, least);
            return std::string();
          },
          "INTEGER"};
}

void add_block(CLI::App& app, std::int64_t& block) {
  app.add_option("--block", block, "Plan whole blocks of this many units")
      ->check(at_least(1))
      ->capture_default_str();
}

void declare_report(CLI::App& app, Options& options) {
  app.add_flag("--json", options.json, "Print JSON");
  app.add_flag("--per-rank", options.question.per_rank,
               "List every rank and device, also of more than 32 ranks, which are else summarised by node");
  app.add_option("--units", options.question.units, "Also plan this many units over the devices")
      ->check(at_least(least_units));
  add_block(app, options.question.block);
  app.add_flag("--exercise", options.exercise,
               "Compute on every device, compare results and rates, and name slow or broken devices; status "
               "6 if any is "
               "broken");
  options.device.add_to(app, "--policy");
  options.sharing.add_to(app);
  options.collective_timeout.add_to(app);
}

CLI::App* declare_plan(CLI::App& app, Options& options) {
  CLI::App* plan = app.add_subcommand("plan", "Plan from given scores in one process: no mpirun, no GPU");
  plan->add_option("--scores", options.plan.scores,
                   "Scores as '100,50;75;0' (ranks by ;, devices by ,), or @FILE with a line per rank")
      ->required();
  plan->add_option("--units", options.plan.units, "Units to plan")->required()->check(at_least(least_units));
  add_block(*plan, options.plan.block);
  plan->add_flag("--json", options.json, "Print JSON");
  return plan;
}

void print(const std::string& text) {
  apps::write_output(text);
  apps::flush_output();
}

Question question_of(const Options& options) {
  Question question = options.question;
  question.policy = options.device.policy();
  question.score_model = options.sharing.score_model();
  question.allow_sharing = options.sharing.allowed;
  question.collective_timeout = options.collective_timeout.value();
  return question;
}

void run_plan(const Options& options) {
  const Scores scores = scores_from(options.plan.scores);
  const Plan plan =
      Plan::over_devices(options.plan.units, scores.of_devices, scores.rank_offsets, options.plan.block);
  print(options.json ? plan_json(plan) : plan_table(plan));
}

/// *Collective.* Prints the hardware before the exercise, which may abort the job. JSON is one object,
/// printed at the end. Throws `Error(job_fault)` if a component is broken.
void run_report(const mpi::Session& session, const Options& options) {
  const Question question = question_of(options);
  Survey survey = info::survey(session.world(), question);
  const bool is_root = session.is_root();
  if (is_root && !options.json) print(table_report(survey));
  if (options.exercise) survey.exercise = exercise_devices(session.world(), question);
  if (is_root && options.json) print(json_report(survey));
  if (!survey.exercise) return;
  if (is_root && !options.json) print('\n' + exercise_table(*survey.exercise, lists_every_rank(survey)));
  const auto failures = failures_of(*survey.exercise);
  if (failures.empty()) return;
  throw Error(ErrorCode::job_fault, failures.size() == 1 ? failures.front()
                                                         : fmt::format("{} failures, the first: {}",
                                                                       failures.size(), failures.front()));
}

int run(int argc, char** argv, std::optional<mpi::Session>& session) {
  CLI::App app{
      "Shows the hardware of an MPI job: ranks, nodes, GPUs, who drives what, and how units are cut.", name};
  app.formatter(apps::help_layout());
  app.set_version_flag("--version", std::string("tessera-info ") + tessera::version());
  app.footer(
      apps::footer("0 answer; 2 usage; 3 input; 5 device required but absent; 6 job fault, or --exercise "
                   "found a failure"));
  apps::add_mpi_flag(app);
  app.require_subcommand(0, 1);
  Options options;
  declare_report(app, options);
  const CLI::App* plan = declare_plan(app, options);
  if (apps::prints_page(app, argc, argv)) return EXIT_SUCCESS;

  if (!apps::start(app, session, argc, argv, [&] { return plan->parsed(); })) return EXIT_SUCCESS;

  if (plan->parsed()) {
    run_plan(options);
  } else {
    session->set_timeout(options.collective_timeout.value());
    run_report(*session, options);
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tessera::info

int main(int argc, char** argv) {
  tessera::apps::keep_memory_in_reserve();
  std::optional<tessera::mpi::Session> session;
  return tessera::apps::exit_status_of(tessera::info::name, session,
                                       [&] { return tessera::info::run(argc, argv, session); });
}
