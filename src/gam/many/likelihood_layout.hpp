// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/likelihood_view.hpp"
#include "gam/many/shared_design.hpp"

#include <array>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The kinds of passes over the rows of a response.
enum class LikelihoodPass { score_and_gram, expected_gram, loss, weight_derivatives, null_model };
inline constexpr int likelihood_passes = 5;

/// The positions of coefficients and sums in the arguments of the kernels. Depends on the sizes of the design
/// only.
struct LikelihoodLayout {
  explicit LikelihoodLayout(const SharedDesign& design);

  /// Sums of a group of `columns` columns.
  [[nodiscard]] long long sums_of(LikelihoodPass pass, int columns) const;

  int parameters = 1;      ///< smoothing parameters of a component, at most, and one more for tau
  int coefficients = 0;    ///< of all groups
  long long elements = 0;  ///< of the packed matrices of all groups
  int parts = 1;           ///< pairs of tiles of columns, at most
  std::vector<LikelihoodGroup> groups;  ///< without their rows
  std::vector<LikelihoodChunk> chunks;
  struct Pass {
    std::vector<long long> partial_begins;  ///< by chunk, and their end
    std::vector<long long> output_begins;   ///< by group, and their end
  };
  std::array<Pass, likelihood_passes> passes;

  [[nodiscard]] const Pass& of(LikelihoodPass pass) const { return passes[static_cast<std::size_t>(pass)]; }
  /// Numbers that a pass reads beside those of the pass before.
  [[nodiscard]] int inputs_of(LikelihoodPass pass) const;
  /// Numbers of the largest input and output of a request, and of its partial sums.
  [[nodiscard]] int inputs() const { return inputs_of(LikelihoodPass::weight_derivatives); }
  [[nodiscard]] long long outputs() const;
  [[nodiscard]] long long partials() const;
};

}  // namespace TESSERA_NAMESPACE::gam
