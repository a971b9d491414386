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
    groups.push_back({nullptr, static_cast<long long>(group.begin) * base::lane_count, rows, columns, inputs,
                      first_chunk, static_cast<int>(chunks.size())});
    const int parts = likelihood_parts(columns);
    const int own_chunks = static_cast<int>(chunks.size()) - first_chunk;
    inputs += likelihood_inputs(LikelihoodPass::weight_derivatives, columns, parameters);
    blocks += own_chunks * parts;
    has_tiles = has_tiles || parts > 1;
    has_split_groups = has_split_groups || own_chunks > 1;
  }
  const auto room_of = [&](const LikelihoodGroup& group) {
    long long most = 0;
    for (int pass = 0; pass < likelihood_passes; ++pass)
      most = std::max(most, likelihood_sums(LikelihoodPass{pass}, group.columns, parameters));
    return most;
  };
  partial_begins = {0};
  for (const LikelihoodChunk& chunk : chunks) {
    const LikelihoodGroup& group = groups[static_cast<std::size_t>(chunk.group)];
    partial_begins.push_back(partial_begins.back() +
                             (group.end_chunk - group.first_chunk > 1 ? room_of(group) : 0));
  }
  output_begins = {0};
  for (const LikelihoodGroup& group : groups) output_begins.push_back(output_begins.back() + room_of(group));
}

}  // namespace TESSERA_NAMESPACE::gam
