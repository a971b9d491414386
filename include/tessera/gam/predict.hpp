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
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Types of predictions, named as in `predict.gam` of mgcv.
enum class PredictionType {
  link,      ///< the linear predictor, with the formula's offsets
  response,  ///< the mean of the response
  terms,     ///< contribution of each term to the linear predictor, without intercept and offsets
  iterms,    ///< as `terms`; standard errors of centred smooths include the uncertainty of the mean
  lpmatrix,  ///< the rows of the model matrix, a column for each coefficient
};

/// Treatment of levels that the fit did not have.
enum class NewLevels {
  mgcv,        ///< a random effect adds 0; any other term with the factor is NaN
  population,  ///< a factor smooth adds 0, too
  na,          ///< every term with the factor is NaN
  error,       ///< `Error(input)`
};

struct PredictOptions {
  PredictionType type = PredictionType::link;
  bool standard_errors = false;  ///< adds standard errors of the posterior mean; for the response they are
                                 ///< multiplied by |dmu/deta|
  /// Terms to predict, named as in `summary`, including "(Intercept)"; nothing: all. Other terms count as 0
  /// in sums and in the model matrix, and get no column with type terms; variables that only they use are not
  /// read.
  std::optional<std::vector<std::string>> terms{};
  std::vector<std::string> exclude{};  ///< terms to leave out
  NewLevels new_levels = NewLevels::mgcv;
  /// Columns of the table to copy unchanged to the output; they are read in addition to those of the model.
  /// A text column may have at most 100,000 different texts.
  std::vector<std::string> keep{};
  bool keep_all = false;  ///< copy every column of the table with a name
  /// Bounds of the credible interval with this probability, above 0 and below 1; 0: none. For the response,
  /// the bounds of the linear predictor, transformed to means.
  double interval = 0;
  /// With type response: bounds of the interval that contains a new response with this probability; 0: none.
  /// They are quantiles of the family's distribution, mixed over the normal approximation of the linear
  /// predictor.
  double prediction_interval = 0;
  /// Standard errors, intervals and draws include the uncertainty of the smoothing parameters.
  bool unconditional = false;
  /// With type link or response, without standard errors and intervals: predictions at this many draws of
  /// the coefficients from their posterior distribution, in columns "draw.1", … instead of "fit"; 0: at the
  /// estimate. The seed and the draw's number determine a draw. Memory: one number per coefficient and draw.
  int draws = 0;
  std::uint64_t seed = 1;
  /// For `predict_in_parts`: maximum number of rows of the table in one part; 0: as many as fit into memory.
  std::int64_t rows_at_once = 0;
  /// For `predict_in_parts`: maximum bytes of a part per node, over all ranks of the node; default: 75 % of
  /// free memory.
  std::optional<std::int64_t> node_bytes{};
};

/// Predictions of this rank's rows of a table, in their order: NaN where a value is missing.
struct Predictions {
  struct Column {
    std::string name;  ///< "fit", "se", "lower", "upper", "prediction.lower", …; "s(x)", "s(x).se", …
    std::vector<double> values;  ///< one value per row
  };

  Plan plan;                           ///< division of the table's rows, or of a part's rows
  std::int64_t first_row = 0;          ///< table row number of the plan's first row
  std::int64_t table_rows = 0;         ///< number of rows of the whole table
  std::vector<Column> columns{};       ///< the same on every rank
  std::vector<Table::Column> kept{};   ///< copied columns of the table
  double constant = 0;                 ///< with type terms: the intercept, which no term contains
  std::vector<std::string> remarks{};  ///< unseen factor levels, one line per factor; the same on every rank

  /// The values of a column; empty if there is no column of this name.
  [[nodiscard]] std::span<const double> operator[](std::string_view name) const noexcept;
};

/// *Collective.* Predicts every row of a table with the columns of the formula's right-hand side. `model` is
/// the result of a fit of this program, or one that every rank has read from the same file. The prediction of
/// a row without a finite value of a term's variable is NaN, and that of a row with an infinite offset is its
/// limit, such as a mean of 0; `new_levels` says how unseen levels are treated. Runs as a pass of the job:
/// types link and response on its devices, or on the host threads of every rank, as reported by
/// `Job::last_verdict`; other types on hosts. Bits do not depend on ranks, threads, or devices of one kind.
///
/// Throws the same `Error` on every rank: `usage` for a term that the model lacks; `input` for a missing
/// column, text where the model has numbers, or different models on different ranks; `interrupted` when the
/// job is asked to stop; `job_fault` when a device fails under `Policy::gpu`. Call it on the thread that
/// calls MPI; it blocks. Cost per row: O(J) for J terms, and O(J^2) with standard errors of their sum,
/// whatever the bases' sizes; for the model matrix, O(columns).
[[nodiscard]] TESSERA_EXPORT Predictions predict(Job& job, const Model& model, const Table& table,
                                                 const PredictOptions& options = {},
                                                 FitObserver* observer = nullptr);

/// *Collective.* Like `predict`, for a table that need not fit into memory: the table is predicted in parts,
/// in order, and `take` gets the predictions of each part, without remarks, on every rank. A table in memory
/// is one part. `take` may make collective calls, and must make its errors collective (`together`). Returns
/// the remarks. A compressed table whose text is not in memory is unpacked again for each part.
TESSERA_EXPORT std::vector<std::string> predict_in_parts(Job& job, const Model& model, const Table& table,
                                                         FunctionRef<void(const Predictions& part)> take,
                                                         const PredictOptions& options = {},
                                                         FitObserver* observer = nullptr);

}  // namespace TESSERA_NAMESPACE::gam
