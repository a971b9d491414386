// SPDX-License-Identifier: Apache-2.0
#include "node_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <vector>

#include "text_table.hpp"

namespace tessera::info {
namespace {

/// The key of a row in the table of nodes: nodes with equal keys share a row.
struct Kind {
  int ranks = 0;
  std::set<int> cores;
  std::set<int> threads;
  std::map<std::string, int> devices;  ///< count by device name
  std::map<std::string, int> absences;

  friend auto operator<=>(const Kind&, const Kind&) = default;
};

std::vector<Kind> kinds_by_node(const Survey& survey) {
  const Inventory& inventory = survey.inventory;
  std::vector<Kind> kinds(static_cast<std::size_t>(inventory.nodes()));
  for (const InventoryRank& rank : inventory.ranks()) {
    Kind& node = kinds[static_cast<std::size_t>(rank.node)];
    ++node.ranks;
    node.cores.insert(rank.allowed_cores);
    node.threads.insert(survey.around[static_cast<std::size_t>(rank.rank)].threads.count);
    for (const InventoryDevice& device : inventory.devices_of(rank.rank)) ++node.devices[device.name];
    if (!rank.absence.empty()) ++node.absences[rank.absence];
  }
  return kinds;
}

std::string counts_of(const std::map<std::string, int>& counts) {
  std::vector<std::string> texts;
  texts.reserve(counts.size());
  for (const auto& [what, count] : counts) texts.push_back(fmt::format("{} x {}", count, what));
  return texts.empty() ? "-" : fmt::format("{}", fmt::join(texts, ", "));
}

std::string hosts_of(const std::vector<std::string>& hosts) {
  return hosts.size() <= 2 ? fmt::format("{}", fmt::join(hosts, ", "))
                           : fmt::format("{} ... {}", hosts.front(), hosts.back());
}

}  // namespace

std::string node_table(const Survey& survey) {
  const std::vector<Kind> kinds = kinds_by_node(survey);
  std::vector<std::string> host_of(kinds.size());
  for (const InventoryRank& rank : survey.inventory.ranks())
    host_of[static_cast<std::size_t>(rank.node)] = rank.hostname;
  std::map<Kind, std::vector<std::string>> alike;
  for (std::size_t node = 0; node < kinds.size(); ++node) alike[kinds[node]].push_back(host_of[node]);

  TextTable table(
      {"nodes", "ranks each", "cores a rank", "threads a rank", "devices each", "no GPU because", "hosts"});
  for (const auto& [kind, hosts] : alike)
    table.add({std::to_string(hosts.size()), std::to_string(kind.ranks),
               fmt::format("{}", fmt::join(kind.cores, ",")), fmt::format("{}", fmt::join(kind.threads, ",")),
               counts_of(kind.devices), kind.absences.empty() ? "-" : counts_of(kind.absences),
               hosts_of(hosts)});
  return table.text();
}

}  // namespace tessera::info
