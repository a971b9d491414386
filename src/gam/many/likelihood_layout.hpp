// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/likelihood_view.hpp"
#include "gam/many/shared_design.hpp"

#include <array>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The positions of coefficients and sums in the arguments of the kernels. Depends on the sizes of the design
/// only.
struct LikelihoodLayout {
  explicit LikelihoodLayout(const SharedDesign& design);

  int parameters = 1;      ///< smoothing parameters of a component, at most, and one more for tau
  int coefficients = 0;    ///< of all groups
  long long elements = 0;  ///< of the packed matrices of all groups
  int parts = 1;           ///< pairs of tiles of columns, at most
  std::vector<LikelihoodGroup> groups;  ///< without their rows
  std::vector<LikelihoodChunk> chunks;
  // Where sums begin, with room for those of any pass.
  std::vector<long long> partial_begins;  ///< by chunk, and their end
  std::vector<long long> output_begins;   ///< by group, and their end

  /// Numbers that a pass reads beside those of the pass before.
  [[nodiscard]] int inputs_of(LikelihoodPass pass) const;
  /// Numbers of the largest input of a request, of its output and of its partial sums.
  [[nodiscard]] int inputs() const { return inputs_of(LikelihoodPass::weight_derivatives); }
  [[nodiscard]] long long outputs() const { return output_begins.back(); }
  [[nodiscard]] long long partials() const { return partial_begins.back(); }
};

}  // namespace TESSERA_NAMESPACE::gam
