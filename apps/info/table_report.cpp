// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tessera/version.hpp>

#include <set>

#include "base/counted.hpp"
#include "plan_output.hpp"
#include "report.hpp"
#include "text_table.hpp"

namespace tessera::info {
namespace {

using base::counted;

std::string gib(std::int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / (1 << 30));
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string rank_table(const Survey& survey) {
  TextTable table(
      {"rank", "node", "host", "cores", "threads", "cpuset", "NUMA", "sees", "drives", "no GPU because"});
  for (const auto& rank : survey.inventory.ranks()) {
    const auto& around = survey.around[static_cast<std::size_t>(rank.rank)];
    table.add({std::to_string(rank.rank), std::to_string(rank.node), rank.hostname,
               std::to_string(rank.allowed_cores), std::to_string(rank.allowed_threads), or_dash(rank.cpuset),
               or_dash(fmt::format("{}", fmt::join(around.numa_nodes, ","))),
               std::to_string(around.visible.size()),
               std::to_string(survey.inventory.devices_of(rank.rank).size()), rank.absence});
  }
  return table.text();
}

/// What a job would do on each rank's host, and why.
std::string host_table(const Survey& survey) {
  TextTable table({"rank", "threads", "from", "free GiB", "of GiB", "memory from"});
  std::set<std::string> ignored;
  for (const auto& rank : survey.inventory.ranks()) {
    const auto& around = survey.around[static_cast<std::size_t>(rank.rank)];
    const auto& memory = around.memory;
    table.add({std::to_string(rank.rank), std::to_string(around.threads.count), around.threads.from,
               memory ? gib(memory->free_bytes) : "-", memory ? gib(memory->limit_bytes) : "-",
               memory ? memory->source : "-"});
    if (!around.threads.ignored.empty()) ignored.insert("  " + around.threads.ignored + "\n");
  }
  return table.text() + fmt::format("{}", fmt::join(ignored, ""));
}

std::string device_table(const Inventory& inventory) {
  TextTable table({"rank", "device", "name", "capability", "SMs", "GiB", "budget GiB", "NUMA", "PCI",
                   "sharers", "score", "UUID"});
  for (const auto& device : inventory.devices()) {
    const double score = static_cast<double>(device.score) / static_cast<double>(score_scale);
    table.add({std::to_string(device.rank), std::to_string(device.index), device.name,
               fmt::format("{}.{}", device.capability.major, device.capability.minor),
               std::to_string(device.multiprocessors), gib(device.total_memory_bytes),
               gib(device.memory_budget_bytes),
               device.numa_node >= 0 ? std::to_string(device.numa_node) : "-", to_string(device.pci),
               std::to_string(device.sharers), fmt::format("{:.1f}", score), to_string(device.uuid)});
  }
  return table.text();
}

}  // namespace

std::string table_report(const Survey& survey) {
  const Inventory& inventory = survey.inventory;
  // A shared device is listed once for each rank that drives it.
  std::set<Uuid> uuids;
  for (const auto& device : inventory.devices()) uuids.insert(device.uuid);
  std::string out = fmt::format("tessera {}: {} on {}, {}; policy {}, scores by {}\n\nRanks\n{}", version(),
                                counted(inventory.ranks().size(), "rank"), counted(inventory.nodes(), "node"),
                                counted(uuids.size(), "device"), to_string(survey.question.policy),
                                to_string(survey.question.score_model), rank_table(survey));
  out += "\nHosts\n" + host_table(survey);
  out += "\nDevices\n";
  out += inventory.devices().empty() ? "  none: the job runs on the CPU\n" : device_table(inventory);
  std::set<std::string> unguarded;
  for (const Surroundings& rank : survey.around)
    if (!rank.unguarded.empty())
      unguarded.insert("  other jobs are not kept off these devices: " + rank.unguarded + "\n");
  out += fmt::format("{}", fmt::join(unguarded, ""));
  if (survey.plan) out += "\n" + plan_table(*survey.plan);
  return out;
}

}  // namespace tessera::info
