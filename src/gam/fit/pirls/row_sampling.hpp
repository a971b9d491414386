// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

/// The first steps of PIRLS on a sample of the rows: far from the solution they are as good as steps on all
/// rows.
namespace TESSERA_NAMESPACE::gam {

/// The sample is every n-th run of 256 rows. Returns n, or 1 for a fit without a sample: of a Gaussian model,
/// of few rows, of correlated rows, on devices, or with a link whose range a step could leave.
[[nodiscard]] int stride_of_sample(const FitContext& fit, const Rows& rows);

/// Passes read only the sample during the lifetime of this object.
class RowSampling {
 public:
  RowSampling(RowPass& pass, int stride) : pass_(pass) { pass.read_every(stride); }
  ~RowSampling() { pass_.read_every(1); }
  RowSampling(const RowSampling&) = delete;
  RowSampling& operator=(const RowSampling&) = delete;

 private:
  RowPass& pass_;
};

}  // namespace TESSERA_NAMESPACE::gam
