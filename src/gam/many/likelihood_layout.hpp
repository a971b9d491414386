// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/likelihood_view.hpp"
#include "gam/many/shared_design.hpp"

#include <array>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Layout of the kernels' inputs and outputs. Depends only on the sizes of the design.
struct LikelihoodLayout {
  explicit LikelihoodLayout(const SharedDesign& design);

  int parameters = 1;  ///< maximum number of smoothing parameters of a component, plus tau
  int inputs = 0;      ///< size of the inputs of all groups
  int blocks = 0;
  bool has_tiles = false;               ///< some groups form their products in tiles
  bool has_split_groups = false;        ///< some groups have several chunks
  std::vector<LikelihoodGroup> groups;  ///< without pointers to rows
  std::vector<LikelihoodChunk> chunks;
  // Offsets, with space for the sums of any pass.
  std::vector<long long> partial_begins;  ///< by chunk, then the end; no space for a group's only chunk
  std::vector<long long> output_begins;   ///< by group, then the end

  /// Number of outputs and of partial sums of a request.
  [[nodiscard]] long long outputs() const { return output_begins.back(); }
  [[nodiscard]] long long partials() const { return partial_begins.back(); }
  /// Whether `LikelihoodPass::settle` is possible for groups [first, end): one CUDA block must sum all rows.
  [[nodiscard]] bool can_settle(std::size_t first, std::size_t end) const {
    const LikelihoodGroup& group = groups[first];
    return end - first == 1 && group.end_chunk - group.first_chunk == 1 &&
           group.columns <= most_columns_in_registers;
  }
};

}  // namespace TESSERA_NAMESPACE::gam
