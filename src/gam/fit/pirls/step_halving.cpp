// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/step_halving.hpp"

#include "gam/linalg/linalg.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

PenaltyOnLine penalty_on_line(const Design& design, std::span<const double> log_sp,
                              std::span<const double> begin, std::span<const double> end) {
  PenaltyOnLine line;
  std::size_t sp = 0;
  for (const CoefBlock& block : design.blocks) {
    if (!block.penalty) continue;
    const auto index = static_cast<std::size_t>(block.coef_begin);
    const auto size = static_cast<std::size_t>(block.coef_size);
    const auto from = begin.subspan(index, size);
    const auto to = end.subspan(index, size);
    for (std::size_t j = 0; j < block.penalty->count(); ++j) {
      const double lambda = std::exp(log_sp[sp++]);
      const std::vector<double> penalised = block.penalty->times(j, to);
      line.begin += lambda * dot(from, block.penalty->times(j, from));
      line.across += lambda * dot(from, penalised);
      line.end += lambda * dot(to, penalised);
    }
  }
  return line;
}

}  // namespace TESSERA_NAMESPACE::gam
