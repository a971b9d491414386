// SPDX-License-Identifier: Apache-2.0
// tessera-info: what hardware a job has, who drives it, how units would be cut, and what is kept of compiled
// code.
#include <fmt/core.h>
#include <tessera/device/stored_modules.hpp>
#include <tessera/tessera.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "cache_command.hpp"
#include "common/collective_timeout.hpp"
#include "common/pages.hpp"
#include "common/program_end.hpp"
#include "common/usage_complaint.hpp"
#include "files/standard_error.hpp"
#include "files/standard_output.hpp"
#include "plan_output.hpp"
#include "report.hpp"
#include "scores.hpp"

namespace {

using namespace tessera;

constexpr const char* name = "tessera-info";

struct PlanCommand {
  std::string scores;
  std::int64_t units = 0;
  std::int64_t block = 1;
};

struct Options {
  info::Question question;
  PlanCommand plan;
  std::string policy = "auto";
  std::string score_model = "throughput";
  apps::CollectiveTimeout collective_timeout;
  bool json = false;
  bool clear = false;
};

/// The subcommands.
struct Commands {
  CLI::App* plan = nullptr;
  CLI::App* cache = nullptr;
};

constexpr auto least_block = std::int64_t{1};
constexpr auto least_units = std::int64_t{0};

/// A whole number from `least` up. CLI11 itself takes what does not fit 64 bits for the largest that does.
CLI::Validator at_least(std::int64_t least) {
  return {[least](std::string& text) {
            std::int64_t value = 0;
            const char* const end = text.data() + text.size();
            const auto [stop, error] = std::from_chars(text.data(), end, value);
            if (error != std::errc() || stop != end || value < least)
              return fmt::format("'{}' is not a whole number from {} to 2^63 - 1", text, least);
            return std::string();
          },
          "INTEGER"};
}

Commands declare(CLI::App& app, Options& options) {
  auto& question = options.question;
  app.formatter(apps::help_layout());
  app.set_version_flag("--version", std::string("tessera-info ") + tessera::version);
  app.footer(apps::footer("0 answer; 2 usage; 3 input; 5 device required but absent; 6 job fault"));
  app.add_flag("--json", options.json, "Print JSON");
  app.add_option("--units", question.units, "Plan this many units over the devices too")
      ->check(at_least(least_units));
  app.add_option("--block", question.block, "Plan whole blocks of this many units")
      ->check(at_least(least_block))
      ->capture_default_str();
  app.add_option("--policy", options.policy, "auto: GPUs if there are any; gpu: GPUs or an error; cpu")
      ->check(CLI::IsMember({"auto", "gpu", "cpu"}))
      ->capture_default_str();
  app.add_option("--score-model", options.score_model, "How GPUs are weighed against each other")
      ->check(CLI::IsMember({"spec", "throughput"}))
      ->capture_default_str();
  app.add_flag("--allow-sharing", question.allow_sharing,
               "Let ranks share a GPU where a node has more ranks");
  options.collective_timeout.add_to(app);

  CLI::App* plan = app.add_subcommand("plan", "Plan from given scores in one process: no mpirun, no GPU");
  plan->add_option("--scores", options.plan.scores,
                   "Scores as '100,50;75;0' (ranks by ;, devices by ,), or @FILE with one rank a line")
      ->required();
  plan->add_option("--units", options.plan.units, "Units to plan")->required()->check(at_least(least_units));
  plan->add_option("--block", options.plan.block, "Plan whole blocks of this many units")
      ->check(at_least(least_block))
      ->capture_default_str();
  plan->add_flag("--json", options.json, "Print JSON");

  CLI::App* cache = app.add_subcommand("cache", "Show the compiled GPU code that is kept: no mpirun, no GPU");
  cache->add_flag("--clear", options.clear, "Remove it; jobs that run are not disturbed");
  cache->add_flag("--json", options.json, "Print JSON");
  app.require_subcommand(0, 1);
  return {plan, cache};
}

/// All of an answer.
void print(const std::string& text) {
  files::write_output(text);
  files::flush_output();
}

info::Question question_of(const Options& options) {
  info::Question question = options.question;
  question.policy = options.policy == "cpu"   ? Policy::cpu
                    : options.policy == "gpu" ? Policy::gpu
                                              : Policy::automatic;
  question.score_model = options.score_model == "spec" ? ScoreModel::spec : ScoreModel::throughput;
  return question;
}

void run_plan(const Options& options) {
  const info::Scores scores = info::scores_from(options.plan.scores);
  const Plan plan =
      Plan::over_devices(options.plan.units, scores.of_devices, scores.rank_offsets, options.plan.block);
  print(options.json ? info::plan_json(plan) : info::plan_table(plan));
}

void run_cache(const Options& options) {
  const ModuleStore store = options.clear ? clear_stored_modules() : stored_modules();
  if (!store.ignored.empty()) files::say(fmt::format("tessera-info: {}\n", store.ignored));
  if (options.json)
    print(info::cache_json(store, options.clear ? "removed" : "kept"));
  else
    print(options.clear ? info::cleared_text(store) : info::cache_table(store));
}

/// The subcommands need no MPI, and must work where MPI does not start.
bool asks_for_command(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* text) {
    return std::strcmp(text, "plan") == 0 || std::strcmp(text, "cache") == 0;
  });
}

int run(int argc, char** argv, std::optional<mpi::Session>& session) {
  CLI::App app{
      "Shows the hardware of an MPI job: ranks, nodes, GPUs, who drives what, and how units are cut.", name};
  Options options;
  const Commands commands = declare(app, options);
  if (apps::prints_page(app, argc, argv)) return EXIT_SUCCESS;

  if (!asks_for_command(argc, argv)) session.emplace(argc, argv);
  const bool is_root = !session || session->is_root();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& fault) {
    if (fault.get_exit_code() == 0) return is_root ? app.exit(fault) : EXIT_SUCCESS;  // help, version
    throw Error(ErrorCode::usage, apps::usage_complaint(app, fault));
  }

  if (commands.plan->parsed()) {
    run_plan(options);
  } else if (commands.cache->parsed()) {
    run_cache(options);
  } else {
    session->set_timeout(options.collective_timeout.value());
    const info::Survey survey = info::survey(session->world(), question_of(options));
    if (is_root) print(options.json ? json_report(survey) : table_report(survey));
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  apps::keep_memory_in_reserve();
  std::optional<mpi::Session> session;
  return apps::exit_status_of(name, session, [&] { return run(argc, argv, session); });
}
