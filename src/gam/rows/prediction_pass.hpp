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

/// *Collective.* Predicts this rank's rows of `plan`, in one `Job::map`: on the job's devices or its hosts,
/// with the same bits for any number of ranks, threads and devices of one kind. `rows` needs no response. A
/// level that the design has not is one of a random effect alone, and has no column. Throws as `Job::map`.
/// Cost: O((4 J)^2) a row for J splines with standard errors, else O(4 J).
[[nodiscard]] std::vector<Prediction> predict_rows(Job& job, const Plan& plan, const Rows& rows,
                                                   const Posterior& posterior);

/// *Collective.* The same for each term of `posterior.terms`, on the hosts: a device would wait for the
/// transfer of what it returns. `take(first, predictions)` gets those of local rows from `first` on, row by
/// row, some at a time, from several threads at once.
void predict_terms(Job& job, const Plan& plan, const Rows& rows, const Posterior& posterior,
                   FunctionRef<void(std::size_t first, std::span<const Prediction> predictions)> take);

/// *Collective.* Linear predictors at several coefficients, each a column of `coefs`, on the hosts: `take`
/// gets them in the same way, of each row a number for each column. Those of incomplete rows are NaN. Cost:
/// that of the means of as many predictions, the rows' terms being evaluated once.
void predictors_at(Job& job, const Plan& plan, const Rows& rows, const Matrix& coefs,
                   FunctionRef<void(std::size_t first, std::span<const double> predictors)> take);

/// *Collective.* Rows of the model matrix, on the hosts, which `take` gets in the same way. Those of
/// incomplete rows are NaN.
void design_rows(Job& job, const Plan& plan, const Rows& rows,
                 FunctionRef<void(std::size_t first, std::span<const double> elements)> take);

}  // namespace TESSERA_NAMESPACE::gam
