// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/pirls/step_halving.hpp"
#include "gam/fit/pirls/step_mixing.hpp"
#include "gam/linalg/algebra.hpp"
#include "gam/reml/reml.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>
#include <tessera/job/stop_request.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Makes minus the Hessian of a log likelihood usable as X'WX. A matrix that is positive definite up to
/// rounding errors is not changed. Otherwise, after scaling the diagonal to 1, each eigenvalue v becomes
/// max(|v|, 1e-6): steps then go uphill, and are long if the likelihood is flat. Source: Nocedal and Wright,
/// Numerical Optimization (2006), sec. 3.4.
void make_definite(Matrix& hessian);

/// The solution of a working model, the same on every rank.
struct WorkingSolution {
  std::vector<double> coef;
  std::vector<double> log_sp;
  double scale = 1;
  double edf_total = 0;
  bool converged = false;   ///< of the smoothing parameters
  int doubtful_block = -1;  ///< see `RemlFit`
  bool hidden_by_rounding = false;
  /// False if X'WX, here minus the Hessian of the log likelihood with several linear predictors, had to be
  /// made positive definite: the solution is then only a step.
  bool definite = true;
  std::vector<double> end;  ///< end of the step: `coef`, or the result of mixing with earlier steps
  /// Length of the step to `coef`, as a change of the linear predictor eta, over hypot(|eta|, sqrt(scale
  /// edf)).
  double step = 0;
  PenaltyOnLine penalty;                    ///< penalty between the start of the step and `end`
  double score = 0;                         ///< REML at the minimum
  double penalised_deviance = 0;            ///< weighted residual sum of squares plus b'Sb
  std::vector<std::vector<double>> others;  ///< `log_sp` of other minima of REML, little above: see `RemlFit`

  void members(const auto& to) {
    to(coef, log_sp, scale, edf_total, converged, doubtful_block, hidden_by_rounding, definite, end, step,
       penalty, score, penalised_deviance, others);
  }
};

/// X'WX plus the penalties at the smoothing parameters `log_sp`, by coefficient.
[[nodiscard]] Matrix with_penalties(Matrix gram, const Design& design, std::span<const double> log_sp);

/// Solves the working model of each step: the smoothing parameters by REML, and the coefficients. One rank
/// solves on its threads. If the job runs on devices and the model is large, the solution is a device pass of
/// one unit, on the device of the rank that gets the unit; the usual fallback applies.
///
/// All members are *collective*, except those that return a reference.
class WorkingSolver {
 public:
  /// `design` and `stop` must outlive the solver. `may_use_devices`: false for a fit that keeps its rows on
  /// the CPU although the job has devices. `stop`: the stop request of the job, or null. `gamma`: the option
  /// of the fit.
  WorkingSolver(Job& job, const Design& design, bool scale_known, bool may_use_devices = true,
                StopRequest* stop = nullptr, double gamma = 1);

  /// Solves the working model with the sums `sums` at `coef`, over `rows` rows. The search for smoothing
  /// parameters starts at `log_sp` (empty: a default); `search` limits its extent. `past`: the steps to mix
  /// with this one; null: a full step. `scale`: the scale, if it is known. `held`: a linear predictor whose
  /// coefficients stay; -1: none. Returns nothing after a fallback. Throws the errors of `fit_reml`, on every
  /// rank; `Error(interrupted)` if a rank is asked to stop before the end.
  ///
  /// With several linear predictors, if the log likelihood is not concave at `coef`, smoothing parameters
  /// stay until steps are short: REML of a quadratic approximation far from a maximum is uninformative.
  [[nodiscard]] std::optional<WorkingSolution> solve(const RawSums& sums, std::span<const double> coef,
                                                     std::span<const double> log_sp, std::int64_t rows,
                                                     const std::vector<PastStep>* past = nullptr,
                                                     Search search = Search::global, double scale = 1,
                                                     int held = -1);

  /// Moves the last solution to rank 0 if another rank has it, and replaces its coefficients by `coef`, the
  /// end of the fit, which may differ from the solution.
  void bring_to_root(std::span<const double> coef);
  [[nodiscard]] const RemlFit& fit() const noexcept { return fit_; }
  [[nodiscard]] const PartedMatrix& gram() const noexcept { return gram_; }

  /// Why the CPU computes large products although the job runs on devices; empty if devices do.
  [[nodiscard]] const std::string& no_device_algebra() const noexcept { return why_not_; }

 private:
  [[nodiscard]] double step_length(const PartedMatrix& gram, std::span<const double> coef) const;

  Job& job_;
  const Design& design_;
  bool scale_known_;
  double gamma_;
  std::function<void()> check_;  ///< throws if this rank is asked to stop
  HostAlgebra host_;
  bool on_device_ = false;
  Plan unit_;  ///< plan of one unit, which the rank `solver_` has
  int solver_ = 0;
  std::vector<BlockBasis> bases_;
  std::vector<Matrix> roots_;  ///< `penalty_roots` of the design
  std::string why_not_;
  RemlFit fit_;
  PartedMatrix gram_;
};

}  // namespace TESSERA_NAMESPACE::gam
