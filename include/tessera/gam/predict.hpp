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
  iterms,    ///< like `terms`, but standard errors of centred smooths include the uncertainty of the overall
             ///< mean
  lpmatrix,  ///< the rows of the model matrix, a column for each coefficient
};

/// Treatment of factor levels that did not occur in the fit.
enum class NewLevels {
  mgcv,        ///< the contribution of a random effect is 0; any other term with the factor is NaN
  population,  ///< like `mgcv`, but the contribution of a factor smooth or of bs = "mrf" is 0, too
  na,          ///< every term with the factor is NaN
  error,       ///< `Error(input)`
};

struct PredictOptions {
  PredictionType type = PredictionType::link;
  bool standard_errors = false;  ///< add standard errors of the posterior mean; for the response they are
                                 ///< multiplied by |dmu/deta|
  /// Labels of the terms to predict, as in `summary`, including "(Intercept)"; nullopt: all. Other terms
  /// count as 0 in sums and in the model matrix, and have no column for type terms. Variables that only they
  /// use are not read.
  std::optional<std::vector<std::string>> terms{};
  std::vector<std::string> exclude{};  ///< labels of terms to exclude
  NewLevels new_levels = NewLevels::mgcv;
  /// Columns of the table to copy unchanged to the output; they are read in addition to the columns of the
  /// model. A text column may have at most 100,000 different texts.
  std::vector<std::string> keep{};
  bool keep_all = false;  ///< copy every column of the table with a name
  /// Probability of the credible interval, above 0 and below 1; 0: none. For the response, the bounds of the
  /// linear predictor are transformed to means.
  double interval = 0;
  /// For type response: probability of the prediction interval, which contains a new response; 0: none. The
  /// bounds are quantiles of the family's distribution, mixed over the normal approximation of the linear
  /// predictor.
  double prediction_interval = 0;
  /// Standard errors, intervals and draws include the uncertainty of the smoothing parameters.
  bool unconditional = false;
  /// Number of draws of the coefficients from their posterior distribution; 0: predict at the estimate. The
  /// predictions at each draw are in columns "draw.1", … instead of "fit". Only for type link or response,
  /// without standard errors and intervals. A draw depends only on the seed and its number. Memory: one
  /// number per coefficient and draw.
  int draws = 0;
  std::uint64_t seed = 1;
  /// For `predict_in_parts`: maximum number of rows of the table in one part; 0: as many as fit into memory.
  std::int64_t rows_at_once = 0;
  /// For `predict_in_parts`: maximum bytes of a part per node, over all ranks of the node; default: 75 % of
  /// free memory.
  std::optional<std::int64_t> node_bytes{};
};

/// Predictions of this rank's rows of a table, in the order of the rows. NaN is a missing value.
struct Predictions {
  struct Column {
    std::string name;  ///< "fit", "se", "lower", "upper", "prediction.lower", …; "s(x)", "s(x).se", …
    std::vector<double> values;  ///< one value per row
  };

  Plan plan;                      ///< partition over the ranks of the table's rows, or of the rows of a part
  std::int64_t first_row = 0;     ///< row number in the table of the plan's first row, from 0
  std::int64_t table_rows = 0;    ///< number of rows of the whole table
  std::vector<Column> columns{};  ///< the same on every rank
  std::vector<Table::Column> kept{};   ///< columns copied from the table
  double constant = 0;                 ///< for type terms: the intercept, which is in no column
  std::vector<std::string> remarks{};  ///< e.g. on unseen factor levels; one line each, equal on every rank

  /// The values of a column; empty if there is no column of this name.
  [[nodiscard]] std::span<const double> operator[](std::string_view name) const noexcept;
};

/// *Collective.* Predicts every row of a table, which must have the columns of the formula's right-hand side.
/// `model` is the result of a fit in this program, or a model that every rank has read from the same file.
/// The prediction of a row in which a variable of a term is not finite is NaN. The prediction of a row with
/// an infinite offset is the limit, such as a mean of 0. `new_levels` says how unseen levels are treated.
/// Runs as a pass of the job: types link and response on its devices, or on the host threads of every rank,
/// as reported by `Job::last_verdict`; other types on hosts. Bits do not depend on ranks, threads, or devices
/// of one kind.
///
/// Throws the same `Error` on every rank: `usage` for a term that is not in the model; `input` for a missing
/// column, text where the model has numbers, or different models on different ranks; `interrupted` after a
/// stop request; `job_fault` if a device fails under `Policy::gpu`. Call it on the thread that calls MPI; it
/// blocks. Cost per row: O(J) for J terms, or O(J^2) with standard errors of their sum, independent of the
/// sizes of the bases; O(columns) for the model matrix.
[[nodiscard]] TESSERA_EXPORT Predictions predict(Job& job, const Model& model, const Table& table,
                                                 const PredictOptions& options = {},
                                                 FitObserver* observer = nullptr);

/// *Collective.* Like `predict`, for a table that need not fit into memory: the table is predicted in parts,
/// in order, and `take` gets the predictions of each part, without remarks, on every rank. A table in memory
/// is one part. `take` may make collective calls. If it throws, it must throw on every rank (`together`).
/// Returns the remarks. Cost: a compressed text file that is not in memory is decompressed again for each
/// part.
TESSERA_EXPORT std::vector<std::string> predict_in_parts(Job& job, const Model& model, const Table& table,
                                                         FunctionRef<void(const Predictions& part)> take,
                                                         const PredictOptions& options = {},
                                                         FitObserver* observer = nullptr);

}  // namespace TESSERA_NAMESPACE::gam
