// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/prediction.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/function.hpp>
#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// An output column for each linear predictor.
[[nodiscard]] TermColumns columns_by_predictor(const Design& design, int predictors);

/// *Collective.* Predicts this rank's rows of `plan` in one `Job::map`, on devices or CPUs. Results are
/// bitwise equal for any number of ranks, threads and devices of one model. `rows` needs no response. Levels
/// unknown to the design are allowed in random effects, and contribute nothing. Throws like `Job::map`. Cost
/// per row for J splines: O((4 J)^2) with standard errors, otherwise O(4 J).
[[nodiscard]] std::vector<Prediction> predict_rows(Job& job, const Plan& plan, const Rows& rows,
                                                   const Posterior& posterior);

/// *Collective.* Predicts each column of `posterior.terms` for this rank's rows. CPU only, because the
/// transfer of results would dominate on a device. `take(first, predictions)` gets row-major pieces that
/// begin at local row `first`, concurrently from several threads.
void predict_terms(Job& job, const Plan& plan, const Rows& rows, const Posterior& posterior,
                   FunctionRef<void(std::size_t first, std::span<const Prediction> predictions)> take);

/// *Collective.* Linear predictors for several coefficient vectors, the columns of `coefs`. CPU only. `take`:
/// as above, one number per row and vector; NaN for incomplete rows. Evaluates terms once per row.
void predictors_at(Job& job, const Plan& plan, const Rows& rows, const Matrix& coefs,
                   FunctionRef<void(std::size_t first, std::span<const double> predictors)> take);

/// *Collective.* Rows of the model matrix. CPU only. `take`: as above; NaN for incomplete rows.
void design_rows(Job& job, const Plan& plan, const Rows& rows,
                 FunctionRef<void(std::size_t first, std::span<const double> elements)> take);

}  // namespace TESSERA_NAMESPACE::gam
