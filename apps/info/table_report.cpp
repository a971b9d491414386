// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tessera/version.hpp>

#include <set>

#include "node_table.hpp"
#include "plan_output.hpp"
#include "report.hpp"
#include "text_table.hpp"

#include "common/text.hpp"

namespace tessera::info {
namespace {

using apps::pluralised;

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

std::string host_table(const Survey& survey) {
  TextTable table({"rank", "threads", "from", "free GiB", "of GiB", "memory from"});
  for (const auto& rank : survey.inventory.ranks()) {
    const auto& around = survey.around[static_cast<std::size_t>(rank.rank)];
    const auto& memory = around.memory;
    table.add({std::to_string(rank.rank), std::to_string(around.threads.count), around.threads.from,
               memory ? gib(memory->free_bytes) : "-", memory ? gib(memory->limit_bytes) : "-",
               memory ? memory->source : "-"});
  }
  return table.text();
}

std::string remarks(const Survey& survey) {
  std::set<std::string> lines;
  for (const InventoryRank& its : survey.inventory.ranks()) {
    const Surroundings& rank = survey.around[static_cast<std::size_t>(its.rank)];
    for (const std::string& gpu : rank.broken)
      lines.insert(fmt::format("  {}: the driver cannot read {}\n", its.hostname, gpu));
    if (!rank.threads.ignored.empty()) lines.insert("  " + rank.threads.ignored + "\n");
    if (!rank.unguarded.empty())
      lines.insert("  other jobs may use these devices too: " + rank.unguarded + "\n");
  }
  return lines.empty() ? "" : fmt::format("\nRemarks\n{}", fmt::join(lines, ""));
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

/// e.g. "8 devices, 2 of them SIMULATED".
std::string counted_devices(const Inventory& inventory) {
  // A shared device is listed once for each rank that drives it.
  std::set<Uuid> uuids;
  std::set<Uuid> simulated;
  for (const auto& device : inventory.devices()) {
    uuids.insert(device.uuid);
    if (device.simulated) simulated.insert(device.uuid);
  }
  if (simulated.empty()) return pluralised(uuids.size(), "device");
  if (simulated.size() == uuids.size()) return pluralised(uuids.size(), "SIMULATED device");
  return fmt::format("{}, {} of them SIMULATED", pluralised(uuids.size(), "device"), simulated.size());
}

std::string headline(const Survey& survey) {
  const Inventory& inventory = survey.inventory;
  return fmt::format("tessera {}: {} on {}, {}; policy {}, scores by {}{}\n", version(),
                     pluralised(inventory.ranks().size(), "rank"), pluralised(inventory.nodes(), "node"),
                     counted_devices(inventory), to_string(survey.question.policy),
                     to_string(survey.question.score_model),
                     survey.fault_points.empty() ? "" : "; INJECTED FAULTS: " + survey.fault_points);
}

std::string software_table(const Survey& survey) {
  TextTable table({"what", "version", "ranks"});
  const std::size_t ranks = survey.inventory.ranks().size();
  for (const Software& one : survey.software)
    table.add({one.what, one.version, one.ranks.size() == ranks ? "all" : as_ranges(one.ranks)});
  return table.text();
}

template <class T>
std::string number_or_dash(const std::optional<T>& number) {
  return number ? std::to_string(*number) : "-";
}

/// The condition of every device or, without `every_device`, of devices that need attention; empty: none.
std::string condition_table(const Survey& survey, bool every_device) {
  TextTable table({"rank", "device", "free GiB", "MIG", "ECC", "corrected", "uncorrected", "remapped rows",
                   "NVLinks", "attention"});
  bool any = false;
  for (std::size_t i = 0; i < survey.details.size(); ++i) {
    const DeviceDetails& details = survey.details[i];
    if (!every_device && !details.needs_attention()) continue;
    any = true;
    const InventoryDevice& device = survey.inventory.devices()[i];
    const DeviceCondition& condition = details.condition;
    table.add({std::to_string(device.rank), std::to_string(device.index), gib(details.free_memory_bytes),
               details.mig ? "yes" : "no", details.ecc ? "on" : "off",
               number_or_dash(condition.corrected_errors), number_or_dash(condition.uncorrected_errors),
               number_or_dash(condition.remapped_rows), number_or_dash(condition.active_links),
               details.needs_attention() ? "needs a reset, or a repair" : ""});
  }
  return any ? table.text() : "";
}

/// One row per rank and per device or, for many ranks, one row per kind of node.
std::string hardware_tables(const Survey& survey) {
  const bool no_device = survey.inventory.devices().empty();
  const bool in_full = lists_every_rank(survey);
  std::string out;
  if (in_full) {
    out = "\nRanks\n" + rank_table(survey) + "\nHosts\n" + host_table(survey) + "\nDevices\n" +
          (no_device ? "  none: the job runs on the CPU\n" : device_table(survey.inventory));
  } else {
    out = "\nNodes (--per-rank lists every rank)\n" + node_table(survey);
  }
  const std::string conditions = condition_table(survey, in_full);
  return conditions.empty() ? out : out + "\nConditions\n" + conditions;
}

}  // namespace

std::string table_report(const Survey& survey) {
  std::string out =
      headline(survey) + hardware_tables(survey) + remarks(survey) + "\nSoftware\n" + software_table(survey);
  if (survey.plan) out += "\n" + plan_table(*survey.plan);
  return out;
}

}  // namespace tessera::info
