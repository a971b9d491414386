// SPDX-License-Identifier: Apache-2.0
#include "gam/posterior/smooth_grid.hpp"

#include <tessera/gam/posterior.hpp>
#include <tessera/job/together.hpp>

#include <vector>

namespace TESSERA_NAMESPACE::gam {

Predictions smooth_estimates(Job& job, const Model& model, const SmoothOptions& options) {
  std::vector<Piece> pieces;
  together(job.comm(), [&] {
    for (const CoefBlock* block : smooths_of(model.fitted(), options))
      pieces.push_back(piece_of(model.fitted(), *block, options.points));
  });
  return answer_of(job, model.fitted(), {"smooth"}, pieces, options);
}

}  // namespace TESSERA_NAMESPACE::gam
