// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/fit.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <string>
#include <vector>

namespace tessera::gam {

struct PredictOptions {
  bool response = false;         ///< on the scale of the response; else of the linear predictor
  bool standard_errors = false;  ///< of the posterior mean; on the response's scale times |dmu/deta|
};

/// Predictions of this rank's rows of a table, in their order: NaN where a value is missing.
struct Predictions {
  Plan plan;                              ///< of the table's rows
  std::vector<double> fit{};              ///< one a row
  std::vector<double> standard_errors{};  ///< one a row; empty if they were not asked for
  std::vector<std::string>
      remarks{};  ///< levels that the fit had not, a line a factor; the same on every rank
};

/// *Collective.* Predicts every row of a table that has the columns of the formula's right-hand side. `model`
/// is that of a fit of this program, or one that every rank has read from the same file. A row with a level
/// that the fit has not seen is NaN, but for factors of random effects alone: such a row is predicted without
/// that effect, as mgcv does. A pass of the job: on its devices, or on the host threads of every rank, as
/// `Job::last_verdict` tells. The bits do not depend on ranks, threads, or devices of one kind.
///
/// Throws the same `Error` on every rank: `input` for a column that is not there, text where the model has
/// numbers, or another model on another rank; `interrupted` when the job is asked to stop; `job_fault` when a
/// device fails under `Policy::gpu`. Call it on the thread that calls MPI; it blocks. Cost a row: O(J) for J
/// terms, and O(J^2) with standard errors, whatever the bases' sizes.
[[nodiscard]] Predictions predict(Job& job, const Model& model, const Table& table,
                                  const PredictOptions& options = {}, FitObserver* observer = nullptr);

/// The same of a table in a file.
[[nodiscard]] Predictions predict(Job& job, const Model& model, const TableFile& file,
                                  const PredictOptions& options = {}, FitObserver* observer = nullptr);

}  // namespace tessera::gam
