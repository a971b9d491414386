// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <tessera/version.hpp>

#include <map>

#include "exercise_report.hpp"
#include "plan_output.hpp"
#include "report.hpp"

namespace tessera::info {
namespace {

using Json = nlohmann::ordered_json;

Json node_list(const Inventory& inventory) {
  std::map<int, Json> nodes;
  for (const auto& rank : inventory.ranks()) {
    Json& node = nodes[rank.node];
    if (node.is_null()) node = {{"node", rank.node}, {"hostname", rank.hostname}, {"ranks", Json::array()}};
    node["ranks"].push_back(rank.rank);
  }
  Json list = Json::array();
  for (auto& [number, node] : nodes) list.push_back(std::move(node));
  return list;
}

Json thread_object(const HostThreads& threads) {
  return {{"count", threads.count},
          {"from", threads.from},
          {"ignored", threads.ignored.empty() ? Json() : Json(threads.ignored)}};
}

Json memory_object(const std::optional<MemoryLimit>& memory) {
  if (!memory) return {};
  return {{"limit_bytes", memory->limit_bytes}, {"free_bytes", memory->free_bytes}, {"from", memory->source}};
}

Json rank_list(const Survey& survey) {
  Json list = Json::array();
  for (const auto& rank : survey.inventory.ranks()) {
    const auto& around = survey.around[static_cast<std::size_t>(rank.rank)];
    list.push_back({{"rank", rank.rank},
                    {"node", rank.node},
                    {"hostname", rank.hostname},
                    {"cpuset", rank.cpuset},
                    {"cores", rank.allowed_cores},
                    {"threads", rank.allowed_threads},
                    {"host_threads", thread_object(around.threads)},
                    {"memory", memory_object(around.memory)},
                    {"numa_nodes", around.numa_nodes},
                    {"visible", around.visible},
                    {"unreadable", around.broken},
                    {"drives", survey.inventory.devices_of(rank.rank).size()},
                    {"unguarded", around.unguarded.empty() ? Json() : Json(around.unguarded)},
                    {"absence", rank.absence.empty() ? Json() : Json(rank.absence)}});
  }
  return list;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json condition_object(const DeviceCondition& condition) {
  return {{"corrected_errors", or_null(condition.corrected_errors)},
          {"uncorrected_errors", or_null(condition.uncorrected_errors)},
          {"remapped_rows", or_null(condition.remapped_rows)},
          {"remapping_needs_reset", or_null(condition.remapping_needs_reset)},
          {"active_links", or_null(condition.active_links)}};
}

Json software_list(const std::vector<Software>& software) {
  Json list = Json::array();
  for (const Software& one : software)
    list.push_back({{"what", one.what}, {"version", one.version}, {"ranks", one.ranks}});
  return list;
}

Json device_list(const Survey& survey) {
  Json list = Json::array();
  for (std::size_t i = 0; i < survey.details.size(); ++i) {
    const InventoryDevice& device = survey.inventory.devices()[i];
    const DeviceDetails& details = survey.details[i];
    list.push_back({{"rank", device.rank},
                    {"device", device.index},
                    {"uuid", to_string(device.uuid)},
                    {"pci", to_string(device.pci)},
                    {"name", device.name},
                    {"compute_capability", {device.capability.major, device.capability.minor}},
                    {"multiprocessors", device.multiprocessors},
                    {"total_memory_bytes", device.total_memory_bytes},
                    {"free_memory_bytes", details.free_memory_bytes},
                    {"memory_budget_bytes", device.memory_budget_bytes},
                    {"numa_node", device.numa_node >= 0 ? Json(device.numa_node) : Json()},
                    {"sharers", device.sharers},
                    {"simulated", device.simulated},
                    {"mig", details.mig},
                    {"ecc", details.ecc},
                    {"condition", condition_object(details.condition)},
                    {"score", device.score}});
  }
  return list;
}

}  // namespace

std::string json_report(const Survey& survey) {
  Json report = {{"version", version()},
                 {"policy", to_string(survey.question.policy)},
                 {"score_model", to_string(survey.question.score_model)},
                 {"score_scale", score_scale},
                 {"nodes", node_list(survey.inventory)},
                 {"ranks", rank_list(survey)},
                 {"devices", device_list(survey)},
                 {"software", software_list(survey.software)},
                 {"fault_points", survey.fault_points.empty() ? Json() : Json(survey.fault_points)}};
  if (survey.plan) report["plan"] = Json::parse(plan_json(*survey.plan));
  if (survey.exercise) report["exercise"] = exercise_json(*survey.exercise);
  // A host name or driver message may be invalid UTF-8.
  return report.dump(2, ' ', true, Json::error_handler_t::replace) + '\n';
}

}  // namespace tessera::info
