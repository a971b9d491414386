// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/likelihood_view.hpp"
#include "gam/many/shared_design.hpp"

#include <array>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Positions of coefficients and sums in the kernels' arguments. They depend only on the sizes of the design.
struct LikelihoodLayout {
  explicit LikelihoodLayout(const SharedDesign& design);

  int parameters = 1;                   ///< largest number of smoothing parameters of a component, plus tau
  int inputs = 0;                       ///< total of the numbers that passes read, over all groups
  int blocks = 0;                       ///< CUDA blocks of a pass over all groups
  bool has_tiles = false;               ///< whether the products of some groups are formed in tiles
  bool has_split_groups = false;        ///< whether some groups have several chunks
  std::vector<LikelihoodGroup> groups;  ///< groups, whose pointers to rows are not set
  std::vector<LikelihoodChunk> chunks;
  // Offsets of sums, with space for the sums of any pass.
  std::vector<long long> partial_begins;  ///< first partial sum of each chunk, and the end; groups of one
                                          ///< chunk have none
  std::vector<long long> output_begins;   ///< first output of each group, and the end

  /// The size of the output of a request and of its partial sums, in numbers.
  [[nodiscard]] long long outputs() const { return output_begins.back(); }
  [[nodiscard]] long long partials() const { return partial_begins.back(); }
  /// Whether `LikelihoodPass::settle` is possible for groups [first, end): one CUDA block sums all rows.
  [[nodiscard]] bool can_settle(std::size_t first, std::size_t end) const {
    const LikelihoodGroup& group = groups[first];
    return end - first == 1 && group.end_chunk - group.first_chunk == 1 &&
           group.columns <= most_columns_in_registers;
  }
};

}  // namespace TESSERA_NAMESPACE::gam
