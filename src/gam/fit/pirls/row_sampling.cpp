// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/row_sampling.hpp"

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Has no factor in common with the usual periods of tables.
constexpr int stride = 17;
constexpr std::int64_t least_rows = 5000;
constexpr std::int64_t least_rows_of_coefficient = 20;

}  // namespace

int stride_of_sample(const FitContext& fit, const Rows& rows) {
  const std::int64_t sampled = rows.frame->complete_rows / stride;
  const bool may_be_sampled = !rows.family.linear() && !rows.family.predictors().any() &&
                              !rows.series.correlated() && !fit.plan.on_devices();
  return may_be_sampled && sampled >= least_rows &&
                 sampled >= least_rows_of_coefficient * rows.design->coef_size
             ? stride
             : 1;
}

}  // namespace TESSERA_NAMESPACE::gam
