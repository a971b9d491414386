// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "formula.hpp"
#include "frame.hpp"
#include "model.hpp"
#include "progress.hpp"

#include <tessera/job/job.hpp>
#include <tessera/job/stop_request.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera::fit {

struct FitOptions {
  AnyFamily family;
  std::string weights;                               ///< column of prior weights; empty: none
  std::map<std::string, std::vector<double>> knots;  ///< supplied limits or knots, by variable
  TableOptions table;                                ///< how the fields of the table are read
  std::int64_t block_rows = 8192;                    ///< rows in which the order of additions is fixed
  bool residuals = true;     ///< keep the residuals of a sample of the rows in the model, for a report
  double tolerance = 1e-12;  ///< stop when |change of deviance| < tolerance (0.1 + |deviance|), and when
  /// the whole step left is below this part of the linear predictor and its standard error, in the norm of
  /// the working weights
  double step_tolerance = 1e-9;
  int max_iterations = 200;
};

class FitKeeper;

/// What a fit may be given beside its data, the same on every rank; null: it does without.
struct FitControl {
  FitKeeper* keeper = nullptr;           ///< keeps its state after every iteration, and knows where to begin
  tessera::StopRequest* stop = nullptr;  ///< that of the job: looked after outside passes too
  /// What rank 0 takes for the table, with which the keeper's states go: another is refused. The same on
  /// every rank, whether it is null.
  const apps::FileState* table = nullptr;
};

/// Where the time of a fit went, for the run report.
struct PhaseTime {
  std::string name;
  double seconds = 0;
  std::int64_t bytes = 0;  ///< read from the file, or from columns in passes, by all ranks
};

/// Thrown on every rank at once when a pass that began on devices ended on the CPU: the fit starts over
/// there, so that its model has the bits of a run that was on the CPU from the start.
struct FellBack {};

/// What a fit reads of a table: the formula's variables, and the weights. Numbers it must have for smooths
/// other than re, offsets, weights, and a response that is not binomial: what else is text is a factor.
[[nodiscard]] FrameRequest request_for(const Formula& formula, const FitOptions& options);

/// Fits the model to rows that are in memory: this rank's part of `plan`, whose block is the unit of
/// reproducibility. *Collective.* The model is complete on rank 0; the other ranks get its coefficients
/// and scalars. Throws the same `tessera::Error` on every rank; `FellBack` as it says; a model that has not
/// converged is returned with `converged` false. With a stop request, `Error(interrupted)`.
///
/// Performance iteration with fast REML, as mgcv's `bam(method = "fREML")`, with its halving of steps that
/// overshoot (step_halving.hpp): Wood, Goude and Shaw, "Generalized additive models for large data sets",
/// Applied Statistics 64 (2015); Wood et al., JASA 112 (2017).
[[nodiscard]] Model fit_frame(tessera::Job& job, const tessera::Plan& plan, Frame frame,
                              const Formula& formula, const FitOptions& options, Progress& progress,
                              std::vector<PhaseTime>& phases, const FitControl& control = {});

/// Reads the table and fits; starts over on the CPU where a device fails. *Collective.*
[[nodiscard]] Model fit_file(tessera::Job& job, const std::string& path, const Formula& formula,
                             const FitOptions& options, Progress& progress, std::vector<PhaseTime>& phases,
                             tessera::Plan& plan, const FitControl& control = {});

}  // namespace tessera::fit
