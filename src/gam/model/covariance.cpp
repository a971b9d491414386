// SPDX-License-Identifier: Apache-2.0
#include "gam/model/covariance.hpp"

#include "gam/linalg/linalg.hpp"
#include "gam/linalg/whole_inverse.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

PartedMatrix with_uncertainty(PartedMatrix sum, const Matrix& k) {
  const Part& part = sum.part();
  Matrix of_core(sum.core.rows(), k.cols());
  Matrix of_part(part.size(), k.cols());
  for (int j = 0; j < k.cols(); ++j) {
    std::ranges::copy(core_of(k.column(j), part), of_core.column(j).begin());
    const std::vector<double> own = part_of(k.column(j), part);
    std::ranges::copy(own, of_part.column(j).begin());
    for (std::size_t i = 0; i < own.size(); ++i) sum.diagonal[i] += own[i] * own[i];
  }
  add_multiple(sum.core.values(), 1, multiply_nt(of_core, of_core).values());
  if (sum.is_parted()) add_multiple(sum.border.values(), 1, multiply_nt(of_part, of_core).values());
  return sum;
}

void require_covariance(const FittedModel& model, const char* what) {
  if (model.why_no_covariance.empty()) return;
  throw Error(ErrorCode::usage, fmt::format("{} need covariances, but {}", what, model.why_no_covariance));
}

void require_whole_covariance(const FittedModel& model, const char* what) {
  require_covariance(model, what);
  if (!model.covariance.is_parted()) return;
  throw Error(ErrorCode::usage,
              fmt::format("{} need the full covariance matrix, but the model stores only its diagonal for "
                          "large random effects: fit a model without large random effects",
                          what));
}

void require_computable_covariance(const FittedModel& model, const char* what) {
  require_covariance(model, what);
  if (WholeInverse::follows_from(model.covariance)) return;
  throw Error(
      ErrorCode::usage,
      fmt::format("{} need the full covariance matrix, but the model stores only a part: fit a model with at "
                  "most one large random effect and without curves by levels of large factors",
                  what));
}

Matrix uncertainty_root(const FittedModel& model) {
  require_computable_covariance(model, "unconditional standard errors");
  return model.smoothing_uncertainty().root;
}

PartedMatrix covariance_of(const FittedModel& model, bool unconditional) {
  require_covariance(model, "standard errors");
  if (!unconditional) return model.covariance;
  return with_uncertainty(model.covariance, uncertainty_root(model));
}

}  // namespace TESSERA_NAMESPACE::gam
