// SPDX-License-Identifier: Apache-2.0
#include "gam/many/likelihood_layout.hpp"

#include <algorithm>

namespace TESSERA_NAMESPACE::gam {

LikelihoodLayout::LikelihoodLayout(const SharedDesign& design) {
  for (const DesignComponent& component : design.components)
    parameters = std::max(parameters, static_cast<int>(component.parameters.size()) + 1);
  for (const RowGroup& group : design.groups) {
    const auto columns = static_cast<int>(group.columns.size());
    const int rows = (group.end - group.begin) * base::lane_count;
    const auto first_chunk = static_cast<int>(chunks.size());
    for (int begin = 0; begin < rows; begin += rows_of_chunk)
      chunks.push_back({static_cast<int>(groups.size()), begin, std::min(begin + rows_of_chunk, rows)});
    groups.push_back({nullptr, static_cast<long long>(group.begin) * base::lane_count, rows, columns,
                      coefficients, elements, first_chunk, static_cast<int>(chunks.size())});
    coefficients += columns;
    elements += packed_size(columns);
    if (columns > most_columns_in_registers) {
      const int tiles = (columns - 1) / tile_columns + 1;
      parts = std::max(parts, packed_size(tiles));
    }
  }
  const auto room_of = [&](const LikelihoodGroup& group) {
    long long most = 0;
    for (int pass = 0; pass < likelihood_passes; ++pass)
      most = std::max(most, likelihood_sums(LikelihoodPass{pass}, group.columns, parameters));
    return most;
  };
  partial_begins = {0};
  for (const LikelihoodChunk& chunk : chunks)
    partial_begins.push_back(partial_begins.back() + room_of(groups[static_cast<std::size_t>(chunk.group)]));
  output_begins = {0};
  for (const LikelihoodGroup& group : groups) output_begins.push_back(output_begins.back() + room_of(group));
}

int LikelihoodLayout::inputs_of(LikelihoodPass pass) const {
  switch (pass) {
    case LikelihoodPass::score_and_gram: return coefficients;
    case LikelihoodPass::weight_derivatives:
      return coefficients + static_cast<int>(elements) + parameters * coefficients;
    default: return 0;
  }
}

}  // namespace TESSERA_NAMESPACE::gam
