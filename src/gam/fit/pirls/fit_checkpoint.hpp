// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/pirls/fit_state.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/job/checkpoint.hpp>
#include <tessera/job/job.hpp>

#include <memory>
#include <optional>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// Writes a fit's state after each iteration. Decides, and reports, from which state a run resumes. A fit
/// never mixes results of two kinds of hardware: it resumes on the hardware that wrote the state, or starts
/// over. A fit that fell back to the CPU, or chose the CPU, resumes on the CPU.
///
/// All *collective* members throw the same `Error` on every rank.
class FitCheckpoint {
 public:
  /// *Collective.* Opens `path`; if empty, nothing is written. Throws the errors of `Checkpoint`.
  /// `may_stay_on_cpu`: the fit may resume, on the CPU, a state that a job with devices wrote on its CPU.
  FitCheckpoint(tessera::Job& job, const std::string& path, const Fingerprint& fingerprint,
                bool may_stay_on_cpu, FitObserver& observer);

  /// The same on every rank; empty: the fit starts from the beginning.
  [[nodiscard]] const std::optional<FitState>& resumed() const noexcept { return resumed_; }
  /// Why the fit stays on the CPU although the job has devices; else empty.
  [[nodiscard]] const std::string& why_on_cpu() const noexcept { return why_on_cpu_; }
  /// The last iteration whose state is in the file; empty without one.
  [[nodiscard]] std::optional<int> kept() const noexcept { return kept_; }
  [[nodiscard]] std::string path() const { return checkpoint_ ? checkpoint_->path() : std::string(); }

  /// *Collective.* Writes rank 0's state of an iteration, with this object's `hardware` and `why_on_cpu`. If
  /// a write fails, the fit continues; one warning is given until a write succeeds. Throws `Error(job_fault)`
  /// if a later start of the job has taken over.
  void keep(FitState state);
  /// Keeps the fit, and any run that resumes it, on the CPU. `verdict`: why. Call before the first iteration.
  void stay_on_cpu(std::string verdict);
  /// *Collective.* The fit fell back, and starts over on the CPU.
  void keep_on_cpu();

  /// *Collective.* After all ranks agreed to stop because of `cause`: ensures that the last state is in the
  /// file, and throws an `Error(interrupted)` that says how to resume, or `Error(job_fault)` if the state
  /// cannot be written.
  [[noreturn]] void stop(const std::string& cause);
  /// The checkpoint's files, which the caller removes once the result is saved; null without a checkpoint.
  [[nodiscard]] const std::shared_ptr<Checkpoint>& files() const noexcept { return checkpoint_; }

 private:
  void save();

  tessera::Job& job_;
  FitObserver& observer_;
  std::shared_ptr<Checkpoint> checkpoint_;
  std::optional<FitState> resumed_;
  bool began_on_host_;
  std::string hardware_;  // written with each state, like `why_on_cpu_`
  std::string why_on_cpu_;
  std::optional<FitState> last_;  // the latest state, which may not be written yet
  std::optional<int> kept_;
  std::string problem_;  // why `last_` is not durably in the file
};

}  // namespace TESSERA_NAMESPACE::gam
