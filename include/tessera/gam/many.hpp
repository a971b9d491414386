// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/family.hpp>
#include <tessera/gam/fit.hpp>
#include <tessera/gam/matrix.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/gam/response_matrix.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Many models: one formula is fitted to each of many responses over the same rows, e.g. to the counts of
/// each gene in the same cells.
namespace TESSERA_NAMESPACE::gam {

/// Whether the responses of a matrix are its rows or its columns.
enum class ResponsesIn : std::uint8_t {
  automatic,  ///< the dimension whose length differs from the number of rows of the covariates
  rows,
  columns
};

/// A matrix of responses in a file that every rank can open. `path` is a table whose columns are the
/// responses, in any format of `Table`; or NumPy's "FILE.npy"; or, within an HDF5 file, "FILE.h5:/PATH": a
/// dataset of two dimensions, or a group of a compressed sparse matrix with `data`, `indices`, `indptr` and
/// `shape`, such as AnnData's `X` and `layers`. Instead of `path`, give `matrix`, a matrix in memory, or
/// `table`, whose columns are the responses; each rank must have all responses.
struct Responses {
  std::string path{};
  ResponsesIn in = ResponsesIn::automatic;
  std::string subset{};  ///< file with the names of the responses to fit, one per line; empty: all
  /// Number of responses to draw from the subset, like R's `sample` after `set.seed(seed)`; 0: all.
  int sample = 0;
  std::uint32_t seed = 1;
  std::optional<ResponseMatrix> matrix{};
  std::optional<Table> table{};
  /// Column of the covariates whose texts identify the rows of the responses: names of observations in
  /// AnnData, or values of the column of the same name in a table. Empty: rows are matched by position, or by
  /// the names of observations if covariates and responses are two AnnData files.
  std::string key{};
  /// Matrices of weights and offsets, in the formats of `path` and of the same shape. Their responses are
  /// matched to those at `path` by name if both matrices have names. Empty: none. Weights are multiplied with
  /// the prior weights; a weight of zero excludes a row from the fit of that response. Offsets are added to
  /// the linear predictors.
  std::string weights{};
  std::string offsets{};
  std::optional<ResponseMatrix> weights_matrix{};  ///< weights in memory, instead of `weights`
  std::optional<ResponseMatrix> offsets_matrix{};
};

/// Options of `fit_many`. They must be the same on every rank.
struct ManyOptions {
  /// nb, poisson, binomial, gaussian, gamma, quasipoisson or quasibinomial, with mgcv's default link (log for
  /// gamma); nb(theta = 3) fixes theta.
  ResponseFamily family{};
  std::string weights{};  ///< prior weights, a column or an expression of the covariates; empty: none
  std::map<std::string, std::vector<double>> knots{};  ///< see `FitOptions::knots`
  /// Minimum number of values of a response, and minimum fraction of rows with a value. Other responses are
  /// not fitted (status `too_few`).
  int min_rows = 2;
  double min_share = 0;
  /// Memory for sorting a matrix that is compressed by rows. A matrix of at most 64 MiB, or of `node_bytes`
  /// divided by the number of ranks, is sorted in memory by each rank; others in a scratch file on each node.
  MemoryOptions memory{};
  /// Keep the covariances of the coefficients, in HDF5 or in `ManyResults`. Standard errors of predictions
  /// require them.
  bool covariances = false;
  /// Checkpoint file, written after every batch of responses; a later call with the same input and options
  /// resumes from it, on any number of ranks, and gives the same values (`Checkpoint`). The results of the
  /// batches are in FILE.batch-N in the same folder. All these files are removed at the end. Empty: no
  /// checkpoint.
  std::string checkpoint{};
  /// Labels of terms, such as "s(age)". For each of them the model is also fitted without the term, to the
  /// same rows and with its own smoothing parameters, on the CPU. The column "partial_r2:TERM" is the
  /// relative reduction of the deviance by the term. Not for an estimated theta.
  std::vector<std::string> drop{};
  int basis_size = 0;  ///< k of every smooth of one numeric variable; 0: as in the formula
  /// If a device fails after other devices have computed responses, compute all responses again on the CPU.
  bool require_one_kind = false;
};

/// The files that `fit_many` writes. The ending of a file determines its format (.h5, .csv, .parquet,
/// .feather). `load_model` reads the model of a response from fits in HDF5.
struct ManyOutputs {
  std::string fits;     ///< fits: a row for each response
  std::string tests{};  ///< tests: a row for each response, with the p and q value of each term; empty: none
};

/// Summary of all fits, with the number of responses for each status.
struct ManySummary {
  std::int64_t responses = 0;
  std::map<std::string, std::int64_t> by_status{};
  std::vector<PhaseTime> phases{};
};

/// The results of `fit_many` as columns, in the order of the responses and the same on every rank: numbers
/// (NaN: no value), or a `Factor`.
struct ManyResults {
  std::vector<Table::Column> fits{};   ///< columns as in a file of `ManyOutputs::fits`
  std::vector<Table::Column> tests{};  ///< columns as in a file of `ManyOutputs::tests`
  ManySummary summary{};
  /// With `ManyOptions::covariances`: the matrices of a file of `ManyOutputs::fits`, by name, with a column
  /// for each response. A column of "covariance" is the upper triangle of the matrix, row by row.
  std::map<std::string, Matrix> matrices{};
  std::optional<Model> shared{};  ///< with covariances: what all models share; estimates are 0
};

/// *Collective.* Fits the formula to each response by Laplace REML, like mgcv's `gam(method = "REML")`. Each
/// response has its own smoothing parameters, and for nb its own theta (Wood, JRSSB 73 (2011); Wood, Pya and
/// Saefken, JASA 111 (2016)). The results have the same bits for any number of ranks and threads, and do not
/// depend on other responses. The formula has no response: "s(t, by = lineage) + offset(log_size)".
///
/// A table of covariates in memory must have all rows on each rank. Rows with a missing value of a covariate
/// are excluded; a missing value of a response excludes its row from that fit only. Throws the same `Error`
/// on every rank: `usage` for a family or a term that is not supported, or options that contradict each
/// other; `input`, with response and row, for data that cannot be read or that the family does not allow;
/// `interrupted` after a stop request. After an exception there is no output file.
///
/// The fits run on the GPUs of all ranks. They run on the host threads if there is no GPU or, under
/// `Policy::automatic`, if the CPU is expected to be faster; the last bits then differ. Gaussian and quasi
/// responses always run on the CPU. Memory of a rank: the model matrix, with 8 bytes for each nonzero
/// element, and some hundred megabytes of responses at a time (on a GPU a gigabyte). Cost of a response of n
/// rows with k nonzero coefficients in each: about 20 passes of n k^2 operations, plus 6 passes for each
/// smoothing parameter that affects a row. A gaussian response with one smoothing parameter takes one pass of
/// n k operations.
[[nodiscard]] TESSERA_EXPORT ManySummary fit_many(Job& job, const std::string& formula,
                                                  const Table& covariates, const Responses& responses,
                                                  const ManyOptions& options, const ManyOutputs& outputs,
                                                  FitObserver* observer = nullptr);
/// *Collective.* Like the overload above, but returns the results, gathered on every rank:
///
///     const gam::DenseMatrix counts{std::span<const float>(values), cells, genes, genes, 1};  // by rows
///     const auto results = gam::fit_many(job, "s(t)", cells, {.matrix = gam::ResponseMatrix{counts}},
///                                        {.family = gam::family("nb")});
[[nodiscard]] TESSERA_EXPORT ManyResults fit_many(Job& job, const std::string& formula,
                                                  const Table& covariates, const Responses& responses,
                                                  const ManyOptions& options = {},
                                                  FitObserver* observer = nullptr);

/// *Collective.* The AIC of each response by the number of basis functions, like tradeSeq's evaluateK: fits
/// with each of `sizes` as the k of every smooth of one numeric variable. The columns are "aic:k=3", …, NaN
/// for a fit that has not converged; `Predictions::kept` has the names of the responses. A remark has, for
/// each size, the mean difference from the response's minimum AIC, and the number of responses with their
/// minimum at this size, over the responses that converged for all sizes. Throws like `fit_many`, and `usage`
/// for a formula without such a smooth, for a size below 3, and with a checkpoint.
[[nodiscard]] TESSERA_EXPORT Predictions evaluate_k(Job& job, const std::string& formula,
                                                    const Table& covariates, const Responses& responses,
                                                    const ManyOptions& options, const std::vector<int>& sizes,
                                                    FitObserver* observer = nullptr);

/// The model of a response from results with covariances, equal to the model that `load_model` reads from a
/// file of these results. Pure. Throws `Error(usage)` for a response that does not exist or has no fit, and
/// for results without covariances.
[[nodiscard]] TESSERA_EXPORT Model model_of(const ManyResults& results, const std::string& response);

}  // namespace TESSERA_NAMESPACE::gam
