// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>
#include <tessera/gam/fit.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::gam {

struct PredictOptions {
  bool response = false;         ///< on the scale of the response; else of the linear predictor
  bool standard_errors = false;  ///< of the posterior mean; on the response's scale times |dmu/deta|
  /// For `predict_in_parts`: maximum number of rows of the table in one part; 0: as many as fit into memory.
  std::int64_t rows_at_once = 0;
  /// Likewise: per-node limit for a part, in bytes, over all ranks of the node; default: 75 % of free memory.
  std::optional<std::int64_t> node_bytes{};
};

/// Predictions of this rank's rows of a table, in their order: NaN where a value is missing.
struct Predictions {
  Plan plan;                              ///< of the table's rows, or of those of the part
  std::int64_t first_row = 0;             ///< row of the table that is the plan's first
  std::vector<double> fit{};              ///< one a row
  std::vector<double> standard_errors{};  ///< one a row; empty unless requested
  std::vector<std::string> remarks{};  ///< unseen factor levels, one line per factor; the same on every rank
};

/// *Collective.* Predicts every row of a table that has the columns of the formula's right-hand side. `model`
/// is the result of a fit of this program, or one that every rank has read from the same file. A row with an
/// unseen level is NaN; if only random effects use the factor, it is predicted without these effects, as in
/// mgcv. A pass of the job: on its devices, or on the host threads of every rank, as reported by
/// `Job::last_verdict`. Bits do not depend on ranks, threads, or devices of one kind.
///
/// Throws the same `Error` on every rank: `input` for a missing column, text where the model has numbers, or
/// different models on different ranks; `interrupted` when the job is asked to stop; `job_fault` when a
/// device fails under `Policy::gpu`. Call it on the thread that calls MPI; it blocks. Cost a row: O(J) for J
/// terms, and O(J^2) with standard errors, whatever the bases' sizes.
[[nodiscard]] Predictions predict(Job& job, const Model& model, const Table& table,
                                  const PredictOptions& options = {}, FitObserver* observer = nullptr);

/// The same for a table in a file.
[[nodiscard]] Predictions predict(Job& job, const Model& model, const TableFile& file,
                                  const PredictOptions& options = {}, FitObserver* observer = nullptr);

/// The same for a table that need not fit into memory: it is predicted in parts, in order, and `take` gets
/// the predictions of each part, on every rank. `take` may make collective calls, and must make its errors
/// collective (`together`). Returns the remarks. A packed table whose text is not in memory is unpacked again
/// for each part.
std::vector<std::string> predict_in_parts(Job& job, const Model& model, const TableFile& file,
                                          FunctionRef<void(const Predictions& part)> take,
                                          const PredictOptions& options = {},
                                          FitObserver* observer = nullptr);

}  // namespace tessera::gam
