// SPDX-License-Identifier: Apache-2.0
#include "base/vectors.hpp"
#include "files/output_file.hpp"

#include <nlohmann/json.hpp>
#include <tessera/gam/report.hpp>
#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::gam {
namespace {

using Json = nlohmann::ordered_json;

Json failure_json(const Verdict::Failure& failure) {
  return {{"rank", failure.rank}, {"host", failure.hostname}, {"device", failure.device},
          {"uuid", failure.uuid}, {"stage", failure.stage},   {"reason", failure.reason}};
}

Json verdict_json(const Verdict& verdict) {
  Json json{{"text", to_string(verdict)}};
  switch (verdict.ran) {
    case Verdict::Ran::devices: json["ran"] = "devices"; break;
    case Verdict::Ran::host: json["ran"] = "host"; break;
    case Verdict::Ran::fallback: json["ran"] = "fallback"; break;
    case Verdict::Ran::none: json["ran"] = "none"; break;
  }
  json["devices"] = verdict.devices;
  if (verdict.shares > 0) json["shares"] = verdict.shares;
  json["simulated"] = verdict.simulated;
  if (verdict.ran == Verdict::Ran::fallback) json["failure"] = failure_json(verdict.failure);
  for (const Verdict::Failure& failure : verdict.excluded) json["excluded"].push_back(failure_json(failure));
  return json;
}

}  // namespace

std::string save_run_report(const Job& job, const FitResult& result, const std::string& checksum,
                            const std::string& path, const std::string& log_problem) {
  const Inventory& inventory = job.inventory();
  Json json{
      {"format", "tessera-fit run"}, {"version", 2}, {"tessera", tessera::version()}, {"model", checksum}};
  Json ranks = Json::array();
  for (const InventoryRank& rank : inventory.ranks()) {
    ranks.push_back({{"rank", rank.rank},
                     {"node", rank.node},
                     {"host", rank.hostname},
                     {"cpuset", rank.cpuset},
                     {"absence", rank.absence.empty() ? Json() : Json(rank.absence)}});
  }
  json["ranks"] = std::move(ranks);
  json["threads_per_rank"] = job.threads();
  json["threads_from"] = job.host_threads().from;
  json["instruction_set"] = base::instruction_set();
  Json devices = Json::array();
  for (const InventoryDevice& device : inventory.devices()) {
    devices.push_back({{"rank", device.rank},
                       {"device", device.index},
                       {"uuid", to_string(device.uuid)},
                       {"name", device.name},
                       {"score", device.score},
                       {"memory_budget_bytes", device.memory_budget_bytes},
                       {"sharers", device.sharers},
                       {"simulated", device.simulated}});
  }
  json["devices"] = std::move(devices);
  Json tiles = Json::array();
  for (const PlannedTile& tile : result.plan.tiles()) {
    tiles.push_back(
        {{"rank", tile.rank}, {"device", tile.device}, {"begin", tile.units.begin}, {"end", tile.units.end}});
  }
  Json ranges = Json::array();
  for (int rank = 0; rank < result.plan.ranks(); ++rank) {
    ranges.push_back({result.plan.range_of(rank).begin, result.plan.range_of(rank).end});
  }
  json["plan"] = {{"units", result.plan.units()},
                  {"block", result.plan.block()},
                  {"rank_ranges", std::move(ranges)},
                  {"tiles", std::move(tiles)}};
  json["verdict"] = verdict_json(job.last_verdict());
  const std::string& why =
      result.model.no_estimate().empty() ? result.model.why_not_converged() : result.model.no_estimate();
  json["fit"] = {{"converged", result.model.converged()},
                 {"why_not", why.empty() ? Json() : Json(why)},
                 {"iterations", result.model.iterations()},
                 {"resumed_from_iteration", result.resumed_from ? Json(*result.resumed_from) : Json()}};
  if (result.estimate) {
    json["estimate"] = {{"host_seconds", result.estimate->host_seconds},
                        {"device_seconds", result.estimate->device_seconds}};
  }
  json["spilled"] = {{"bytes", result.spilled_bytes},
                     {"scratch", result.scratch.empty() ? Json() : Json(result.scratch)}};
  if (!log_problem.empty()) json["log"] = "lines were dropped: " + log_problem;
  Json times = Json::array();
  for (const PhaseTime& phase : result.phases) {
    times.push_back({{"phase", phase.name}, {"seconds", phase.seconds}, {"bytes", phase.bytes}});
  }
  json["phases"] = std::move(times);
  files::OutputFile file(path);
  // Host names and driver messages need not be UTF-8.
  file.write(json.dump(1, ' ', false, Json::error_handler_t::replace));
  file.write("\n");
  return file.commit();
}

}  // namespace TESSERA_NAMESPACE::gam
