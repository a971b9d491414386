// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/family.hpp>
#include <tessera/gam/formula.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/checkpoint.hpp>
#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Options of a fit. They must be the same on every rank.
struct FitOptions {
  ResponseFamily family{};
  std::string weights{};  ///< prior weights, a column or an expression as in formulas; empty: none
  /// An expression that is added to the linear predictor in the fit, but not in predictions, like `offset` of
  /// mgcv's bam; empty: none.
  std::string offset{};
  std::string subset{};  ///< condition that a row must meet, else it is excluded; empty: none
  /// Correlation of the residuals of neighbouring complete rows, which are an AR(1) process, like `rho` of
  /// bam: between -1 and 1; 0: none. For families other than gaussian with the identity link it applies to
  /// the working residuals.
  double rho = 0;
  /// Instead of using `rho`, estimate the correlation by minimising fREML. For gaussian models with the
  /// identity link.
  bool estimate_rho = false;
  /// Rows at which a series of correlated residuals starts, like `AR.start` of bam: a column of TRUE and
  /// FALSE, or an expression; empty: all rows are one series.
  std::string ar_start{};
  /// Columns that are factors, each with its levels in order; the first is the reference level. Other values
  /// count as missing, as in R's factor(x, levels = ...).
  std::map<std::string, std::vector<std::string>> levels{};
  /// Columns that are ordered factors, each with its levels in order. An empty list keeps the order of the
  /// column's levels.
  std::map<std::string, std::vector<std::string>> ordered{};
  bool drop_unused_levels = true;                      ///< drop levels that occur in no complete row
  std::map<std::string, std::vector<double>> knots{};  ///< limits, knots or points of a basis, by variable
  /// Values of the smoothing parameters, in the order of mgcv's `sp`. A negative value is estimated; empty:
  /// all are estimated. The `sp` argument of a smooth in the formula takes precedence.
  std::vector<double> sp{};
  /// Numbers, at least 0, that are added to the smoothing parameter of each penalty, like `min.sp` of mgcv's
  /// gam; in the order of mgcv's `full.sp`; empty: 0.
  std::vector<double> min_sp{};
  /// Penalties of parametric terms, by the term's label in summaries: "z", or "z.1" in the second linear
  /// predictor.
  std::map<std::string, ParametricPenalty> para_pen{};
  /// Whether smooths may be shrunk to zero: their null spaces are penalised, as in mgcv.
  bool select = false;
  double gamma = 1;  ///< mgcv's gamma: in REML a row counts as 1 / gamma rows; above 1 fits are smoother
  /// Store in the model the data that reports and predictions at typical values need: the residuals of a
  /// sample of rows, typical values of each variable, and, for smooths of two numeric variables, the region
  /// that has data.
  bool residuals = true;
  /// Number of rows of the table to store in the model, at most 2000: one row from each of this many equal
  /// parts of the complete rows, or all rows if there are fewer. The choice depends only on the number of
  /// complete rows. Above 0, the model also stores the mean of each numeric variable.
  int sample = 0;
  /// Convergence tolerances. The iteration stops if |change of deviance| < tolerance (0.1 + |deviance|), and
  /// the last step changed the linear predictor eta by at most step_tolerance hypot(|eta|, sqrt(scale edf)).
  /// Norms are weighted by the working weights.
  double tolerance = 1e-12;
  double step_tolerance = 1e-9;
  int max_iterations = 200;
  /// Maximum number of coefficients p of a random effect that is tested against a zero variance; the test
  /// takes several products of p x p matrices. The statistic and p-value of a larger effect are NaN, as with
  /// `re.test = FALSE` in mgcv's summary.
  int largest_tested_effect = 1000;
  /// Checkpoint file, written after every iteration; a later fit of the same model to the same table resumes
  /// from the checkpoint and gives the same bits as an uninterrupted fit (`Checkpoint`). Empty: none.
  std::string checkpoint{};
  MemoryOptions memory{};  ///< where the columns are stored; no effect on bits and checkpoints
};

/// Progress callbacks of a fit, called on every rank, on the thread that called `fit`. The defaults do
/// nothing; overrides must not throw.
class TESSERA_EXPORT FitObserver {
 public:
  virtual ~FitObserver() = default;
  /// The current activity, which replaces the previous one: "iteration 3: deviance 12.5, ...".
  virtual void now(std::string_view /*what*/) {}
  /// A line for the log: "x: numbers, 3 missing".
  virtual void note(std::string_view /*what*/) {}
};

/// Time and bytes of a phase of a fit, over all its passes.
struct PhaseTime {
  std::string name;
  double seconds = 0;
  std::int64_t bytes = 0;  ///< bytes that all ranks have read from files, or from columns in passes
};

/// Time of the passes over the rows, estimated from the numbers of rows, products per row, host threads and
/// devices.
struct CostEstimate {
  double host_seconds = 0;
  double device_seconds = 0;  ///< including start-up, and the compilation of kernels that are not cached
};

/// The result of a fit. Every rank gets one.
struct FitResult {
  Model model;
  Plan plan;  ///< partition of the table's rows over the ranks during the fit
  std::vector<PhaseTime> phases{};
  /// The estimate by which the fit has chosen between devices and hosts; empty if it had no choice.
  std::optional<CostEstimate> estimate{};
  std::optional<int> resumed_from{};  ///< iteration of an earlier run from which this run resumed
  /// The checkpoint of `FitOptions::checkpoint`; null without one. Its files stay until all ranks call
  /// `checkpoint->remove()` (*collective*). Call it after saving the model, during the lifetime of the job.
  std::shared_ptr<Checkpoint> checkpoint{};
  std::optional<int> kept{};       ///< last iteration whose state is in the checkpoint
  std::int64_t spilled_bytes = 0;  ///< size of the columns of all ranks in scratch files
  std::string scratch{};           ///< folder of the scratch files
};

/// *Collective.* Fits a generalized additive model by performance iteration with fast REML, with the result
/// of mgcv's `bam(method = "fREML")`: Wood, Goude and Shaw, Applied Statistics 64 (2015). The model has the
/// same bits for any number of ranks and threads of a job on the CPU, and of devices of one kind.
///
/// Under `Policy::automatic`, a fit of files or by a single rank runs on the CPU if this is estimated to be
/// faster, and its verdict says so. If a device fails, the fit restarts on the CPU, and its verdict says so.
/// A fit that does not converge returns a model whose `converged()` is false. Throws the same `Error` on
/// every rank: `usage` for options that do not suit the formula or the table; `input` for invalid data, with
/// row and column, and for a model that exceeds the ranks' memory; `not_converged` if the first step cannot
/// be computed; `interrupted` after a stop request (`JobOptions::stop`), with advice how to resume;
/// `job_fault` as passes do.
///
/// Fits by several jobs over serial communicators in one process take turns on the GPUs: a fit waits at its
/// first pass on devices, and holds the devices until its end (`DeviceTurn`).
///
/// Call it on the thread that calls MPI; it blocks. The passes over the rows run on the job's devices, each
/// with its own stream, or on its host threads. Each rank reads its rows of a file, and reads them again for
/// the CPU if a device fails. Memory of a rank: the columns that the model uses, within `FitOptions::memory`
/// (numeric columns in memory are read in place and must not change during the call), and a few p x p
/// matrices on rank 0 for p coefficients. Cost: an iteration is one pass over the rows and some p^3
/// operations on one rank.
[[nodiscard]] TESSERA_EXPORT FitResult fit(Job& job, const Formula& formula, const Table& table,
                                           const FitOptions& options = {}, FitObserver* observer = nullptr);

}  // namespace TESSERA_NAMESPACE::gam
