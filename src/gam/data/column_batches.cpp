// SPDX-License-Identifier: Apache-2.0
#include "gam/data/column_batches.hpp"

#include <tessera/topology/memory_shortage.hpp>

#include <algorithm>
#include <cstdint>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// *Collective.* The number of columns that fit into half of the free memory; at least one.
std::size_t fitting_columns(const mpi::Communicator& comm, std::int64_t rows, std::size_t columns) {
  const auto bytes = [&](std::size_t count) {
    return 2 * rows * static_cast<std::int64_t>(count * sizeof(double));
  };
  while (columns > 1 && find_memory_shortage(comm, bytes(columns))) columns = (columns + 1) / 2;
  return columns;
}

}  // namespace

void read_in_batches(const Workers& workers, TableReader& table, Range rows, const ColumnBatches& columns,
                     const TakeColumns& take) {
  const std::span<const std::string> names = columns.names;
  const std::size_t at_once =
      columns.at_once > 0 ? columns.at_once : fitting_columns(workers.comm, rows.size(), names.size());
  for (std::size_t begin = 0; begin < names.size(); begin += at_once) {
    const auto some = names.subspan(begin, std::min(at_once, names.size() - begin));
    FrameRequest request;
    request.options = columns.options;
    request.memory = columns.memory;
    request.every_row = true;
    for (const std::string& name : some) request.variables.push_back(column_expression(name));
    for (auto* const of_options :
         {&request.options.factors, &request.options.numbers, &request.options.dates})
      std::erase_if(*of_options,
                    [&](const std::string& name) { return std::ranges::find(some, name) == some.end(); });
    std::vector<StrayTexts> strays;
    Frame frame = table.read(workers, request, rows, columns.described ? &strays : nullptr);
    take(some, frame, strays);
  }
}

std::vector<std::string> chosen_columns(const TableReader& table, const std::vector<std::string>& columns) {
  if (columns.empty()) {
    std::vector<std::string> all = table.columns();
    std::erase(all, std::string());
    return all;
  }
  std::vector<std::string> names;
  // `TableReader::read` rejects unknown names.
  for (const std::string& name : columns) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace TESSERA_NAMESPACE::gam
