// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/districts.hpp"

#include <fmt/format.h>

#include <map>
#include <unordered_map>

namespace TESSERA_NAMESPACE::gam {

Districts districts_of(std::span<const DistrictEntry> entries,
                       const std::function<void(std::size_t entry, const std::string& fault)>& refuse) {
  Districts out;
  std::unordered_map<std::string, int> places;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!places.emplace(entries[i].name, static_cast<int>(i)).second)
      refuse(i, fmt::format("'{}' appears twice: give it once", entries[i].name));
    out.names.push_back(entries[i].name);
  }
  std::vector<std::map<int, double>> rows(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const DistrictEntry& entry = entries[i];
    for (std::size_t j = 0; j < entry.others.size(); ++j) {
      const auto found = places.find(entry.others[j]);
      if (found == places.end())
        refuse(i, fmt::format("'{}' has the neighbour '{}', but this name is not among the districts: add "
                              "the district, or correct the name",
                              entry.name, entry.others[j]));
      const bool own = found->second == static_cast<int>(i);
      if (entry.values.empty() && own)
        refuse(i, fmt::format("'{}' is its own neighbour: remove it from its own list of neighbours",
                              entry.name));
      rows[i][found->second] = entry.values.empty() ? -1 : entry.values[j];
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int row = static_cast<int>(i);
    if (entries[i].values.empty() && !rows[i].empty()) rows[i][row] = static_cast<double>(rows[i].size());
    for (const auto& [column, value] : rows[i]) {
      const auto& other = rows[static_cast<std::size_t>(column)];
      const auto back = other.find(row);
      if (column != row && (back == other.end() ? 0 : back->second) != value)
        refuse(i, fmt::format("{} '{}' and '{}' differs in the two directions: {}",
                              entries[i].values.empty() ? "the boundary between" : "the penalty of",
                              entries[i].name, out.names[static_cast<std::size_t>(column)],
                              entries[i].values.empty()
                                  ? "list each district as a neighbour of the other district"
                                  : "make the penalty symmetric"));
      if (value != 0) out.penalty.push_back({row, column, value});
    }
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
