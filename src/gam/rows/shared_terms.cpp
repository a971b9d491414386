// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/shared_terms.hpp"

#include "base/at.hpp"
#include "gam/rows/chunk.hpp"

#include <cstddef>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Adds array `other` of `from` to array `index` of `to`.
void add_plane(std::vector<double>& to, std::size_t index, const std::vector<double>& from,
               std::size_t other) {
  for (std::size_t r = 0; r < chunk_rows; ++r) to[index * chunk_rows + r] += from[other * chunk_rows + r];
}

}  // namespace

std::vector<double> predictors_of_formulas(const std::vector<std::vector<int>>& readers, int predictors,
                                           const std::vector<double>& sums) {
  std::vector<double> out(at(predictors) * chunk_rows);
  for (std::size_t f = 0; f < readers.size(); ++f)
    for (const int predictor : readers[f]) add_plane(out, at(predictor), sums, f);
  return out;
}

std::vector<double> scores_of_formulas(const std::vector<std::vector<int>>& readers,
                                       const std::vector<double>& scores) {
  std::vector<double> out(readers.size() * chunk_rows);
  for (std::size_t f = 0; f < readers.size(); ++f)
    for (const int predictor : readers[f]) add_plane(out, f, scores, at(predictor));
  return out;
}

std::vector<double> curvatures_of_formulas(const std::vector<std::vector<int>>& readers, int predictors,
                                           const std::vector<double>& curvatures) {
  const int formulas = static_cast<int>(readers.size());
  std::vector<double> out(at(predictor_pairs(formulas)) * chunk_rows);
  for (int f = 0; f < formulas; ++f) {
    for (int g = f; g < formulas; ++g) {
      for (const int p : readers[at(f)])
        for (const int q : readers[at(g)])
          add_plane(out, at(predictor_pair(f, g, formulas)), curvatures,
                    at(predictor_pair(p, q, predictors)));
    }
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
