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

/// Writes a fit's state after each iteration; decides from which state a run resumes, and reports it.
///
/// Bits of two kinds of hardware are never mixed: a state resumes on the hardware on which it was written, or
/// the fit starts over. A fit that fell back to the CPU, or chose it, resumes there.
///
/// All members that are marked *Collective* throw the same `Error` on every rank.
class FitCheckpoint {
 public:
  /// *Collective.* Opens `path` (see `Checkpoint`, whose errors it throws); empty: nothing is written.
  /// `may_stay_on_cpu`: the fit may resume a state that a job with devices wrote on its CPU.
  FitCheckpoint(tessera::Job& job, const std::string& path, const Fingerprint& fingerprint,
                bool may_stay_on_cpu, FitObserver& observer);

  /// The state to resume from, the same on every rank; empty: the fit starts from the beginning.
  [[nodiscard]] const std::optional<FitState>& resumed() const noexcept { return resumed_; }
  /// The verdict of a fit that stays on the CPU although the job has devices; else empty.
  [[nodiscard]] const std::string& why_on_cpu() const noexcept { return why_on_cpu_; }
  /// The last iteration whose state is in the file; empty if there is none.
  [[nodiscard]] std::optional<int> kept() const noexcept { return kept_; }
  [[nodiscard]] std::string path() const { return checkpoint_ ? checkpoint_->path() : std::string(); }

  /// *Collective.* Writes rank 0's state of an iteration, with this object's `hardware` and `why_on_cpu`. A
  /// failure to write is a warning, given once until a write succeeds again: the fit continues. Throws
  /// `Error(job_fault)` if a later start of the job has taken over.
  void keep(FitState state);
  /// Call before the first iteration: the fit, and any later run of it, stays on the CPU; `verdict` has the
  /// reason.
  void stay_on_cpu(std::string verdict);
  /// *Collective.* Records that the fit fell back and starts over on the CPU.
  void keep_on_cpu();

  /// *Collective.* After all ranks agreed to stop because of `cause`: ensures that the last state is in the
  /// file, and throws an `Error(interrupted)` that says how to resume, or `Error(job_fault)` if the state
  /// cannot be written.
  [[noreturn]] void stop(const std::string& cause);
  /// The checkpoint's files, to be removed when the result is safe; null: none.
  [[nodiscard]] const std::shared_ptr<Checkpoint>& files() const noexcept { return checkpoint_; }

 private:
  void save();

  tessera::Job& job_;
  FitObserver& observer_;
  std::shared_ptr<Checkpoint> checkpoint_;
  std::optional<FitState> resumed_;
  bool began_on_host_;
  std::string hardware_;          // the hardware, written with each state
  std::string why_on_cpu_;        // also written with each state
  std::optional<FitState> last_;  // the latest state, which may not be written yet
  std::optional<int> kept_;
  std::string problem_;  // why `last_` is not in the file, or not durable there
};

}  // namespace TESSERA_NAMESPACE::gam
