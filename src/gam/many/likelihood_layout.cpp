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
  for (int i = 0; i < likelihood_passes; ++i) {
    Pass& pass = passes[static_cast<std::size_t>(i)];
    const auto sums = [&](int group) {
      return sums_of(LikelihoodPass{i}, groups[static_cast<std::size_t>(group)].columns);
    };
    pass.partial_begins = {0};
    for (const LikelihoodChunk& chunk : chunks)
      pass.partial_begins.push_back(pass.partial_begins.back() + sums(chunk.group));
    pass.output_begins = {0};
    for (int g = 0; g < static_cast<int>(groups.size()); ++g)
      pass.output_begins.push_back(pass.output_begins.back() + sums(g));
  }
}

long long LikelihoodLayout::sums_of(LikelihoodPass pass, int columns) const {
  switch (pass) {
    case LikelihoodPass::score_and_gram: return packed_size(columns) + columns;
    case LikelihoodPass::expected_gram: return packed_size(columns) + 1;
    case LikelihoodPass::loss: return 3 + columns;
    case LikelihoodPass::weight_derivatives:
      return static_cast<long long>(parameters) * (packed_size(columns) + parameters) + 2LL * columns;
    case LikelihoodPass::null_model: return 3;
  }
  return 0;
}

int LikelihoodLayout::inputs_of(LikelihoodPass pass) const {
  switch (pass) {
    case LikelihoodPass::score_and_gram: return coefficients;
    case LikelihoodPass::weight_derivatives:
      return coefficients + static_cast<int>(elements) + parameters * coefficients;
    default: return 0;
  }
}

long long LikelihoodLayout::outputs() const {
  long long most = 0;
  for (const Pass& pass : passes) most = std::max(most, pass.output_begins.back());
  return most;
}

long long LikelihoodLayout::partials() const {
  long long most = 0;
  for (const Pass& pass : passes) most = std::max(most, pass.partial_begins.back());
  return most;
}

}  // namespace TESSERA_NAMESPACE::gam
